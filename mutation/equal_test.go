package mutation_test

import (
	"bytes"
	"cmp"
	"context"
	"flag"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/edgemill/edgemill/mutation"
	"github.com/edgemill/edgemill/posting"
	"github.com/edgemill/edgemill/schema"
)

var (
	rounds    = flag.Int("rounds", 400, "how many random transactions TestParallelEqualsSerial applies")
	roundSeed = flag.Uint64("seed", 0, "seed of the random transactions; 0 for one from the clock")
)

// roundsPerStore is the number of transactions on one store and one schema. A
// seed makes all of them.
const roundsPerStore = 20

// TestParallelEqualsSerial applies random transactions with the serial applier
// and with parallel ones of random grants, on the same store, and compares the
// deltas byte for byte and the conflict keys one by one (I4).
func TestParallelEqualsSerial(t *testing.T) {
	seed := *roundSeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	if testing.Short() {
		*rounds = min(*rounds, 100)
	}
	began := time.Now()
	for done := 0; done < *rounds; done += roundsPerStore {
		equalOnStore(t, seed)
		seed++
	}
	t.Logf("%d transactions in %v, seeds up to %d", *rounds, time.Since(began).Round(time.Second), seed-1)
}

func equalOnStore(t *testing.T, seed uint64) {
	defer func() {
		if t.Failed() {
			t.Logf("again with: go test ./mutation -run %s -args -rounds %d -seed %d", t.Name(), roundsPerStore, seed)
		}
	}()
	g := newGraphGen(seed)
	store, err := posting.Open(posting.Options{InMemory: true})
	require.NoError(t, err)
	defer func() { require.NoError(t, store.Close()) }()
	for ts := uint64(10); ts < 10+2*roundsPerStore; ts += 2 {
		g.round(t, store, ts)
	}
}

// round is one transaction: the same batches through the serial applier and
// through a parallel one. It is committed now and then. The serial applier is
// not always told which uids are fresh, and so finds out that nothing is there.
func (g *graphGen) round(t *testing.T, store *posting.Store, ts uint64) {
	var wait firstRead
	serial, parallel := mutation.NewTxn(store, ts), mutation.NewTxnAfter(store, ts, wait.readable)
	defer serial.Release()
	defer parallel.Release()
	model, err := mutation.New(mutation.Options{})
	require.NoError(t, err)
	fast, err := mutation.New(g.options())
	require.NoError(t, err)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS([]int{1, 2, 8, 64}[g.rnd.IntN(4)]))
	g.nextTransaction()
	for range 1 + g.rnd.IntN(3) {
		b := g.batch()
		plain := b
		if g.rnd.IntN(2) == 0 {
			plain.Fresh = nil
		}
		want, wantErr := model.Apply(context.Background(), serial, g.snap, plain)
		got, gotErr := fast.Apply(wait.context(), parallel, g.snap, b)
		require.False(t, wait.inPass, "the batch waited inside a pass")
		require.True(t, wait.waited || got.Reads == 0, "the batch read without a wait")
		require.Equal(t, wantErr == nil, gotErr == nil, "serial: %v, %s: %v", wantErr, fast.Options(), gotErr)
		requireEqualTxns(t, g.snap, serial, parallel, b, fast.Options())
		if wantErr == nil {
			require.Equal(t, want.Edges, got.Edges)
			require.LessOrEqual(t, got.Reads, want.Reads, "reads of %s", fast.Options())
			continue
		}
		var bad *mutation.EdgeError
		require.ErrorAs(t, wantErr, &bad)
		require.ErrorAs(t, gotErr, &bad)
	}
	if g.rnd.IntN(4) > 0 {
		commitTestTxn(t, store, serial, ts+1)
	}
}

// firstRead notes when a transaction waits for what can't be read yet: before the
// passes it does so with the context given to Apply.
type firstRead struct{ waited, inPass bool }

type applyKey struct{}

func (f *firstRead) context() context.Context {
	return context.WithValue(context.Background(), applyKey{}, true)
}

func (f *firstRead) readable(ctx context.Context) error {
	f.waited = true
	f.inPass = f.inPass || ctx.Value(applyKey{}) == nil
	return nil
}

func (g *graphGen) options() mutation.Options {
	all := parallelisms()
	return mutation.Options{Parallelism: all[g.rnd.IntN(len(all))], EdgesPerWorker: 1 + g.rnd.IntN(3), MinEdges: 1}
}

func parallelisms() []mutation.Parallelism {
	return []mutation.Parallelism{
		mutation.Off, mutation.Workers(1), mutation.Workers(2), mutation.Workers(3), mutation.Workers(8),
		mutation.Workers(32), mutation.Auto, mutation.Factor(2),
	}
}

// requireEqualTxns compares what two transactions would commit.
func requireEqualTxns(t *testing.T, snap *schema.Snapshot, serial, parallel *mutation.Txn, b mutation.Batch, opts mutation.Options) {
	t.Helper()
	want, got := serial.Deltas().Sorted(), parallel.Deltas().Sorted()
	same := func(a, b posting.KeyValue) bool { return bytes.Equal(a.Key, b.Key) && bytes.Equal(a.Value, b.Value) }
	if !slices.EqualFunc(want, got, same) {
		for p := range snap.All() {
			t.Log(p)
		}
		for i, e := range b.Edges {
			if len(b.Edges) < 100 {
				t.Logf("%d: %+v", i, e)
			}
		}
		require.Equal(t, deltasText(t, want), deltasText(t, got), "%s", opts)
		require.Equal(t, want, got, "%s", opts)
	}
	require.Equal(t, serial.ConflictKeys(), parallel.ConflictKeys(), "%s", opts)
	require.Equal(t, touchedNames(serial), touchedNames(parallel))
}

func touchedNames(txn *mutation.Txn) map[mutation.Name]bool {
	names := map[mutation.Name]bool{}
	txn.Touched(func(n mutation.Name) bool { names[n] = true; return true })
	return names
}

func deltasText(t *testing.T, kvs []posting.KeyValue) string {
	var b strings.Builder
	for _, kv := range kvs {
		k, err := posting.ParseKey(kv.Key)
		require.NoError(t, err)
		fmt.Fprintf(&b, "%s:", k)
		ps, err := posting.DecodeDelta(nil, kv.Value)
		require.NoError(t, err)
		for _, p := range ps {
			fmt.Fprintf(&b, " %d op%d %q%s", p.UID, p.Op, p.Value, p.Lang)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func sortBySubject(edges []mutation.Edge) {
	slices.SortStableFunc(edges, func(a, b mutation.Edge) int { return cmp.Compare(a.Subject, b.Subject) })
}
