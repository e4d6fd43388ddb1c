package mutation_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/edgemill/edgemill/conflict"
	"github.com/edgemill/edgemill/mutation"
	"github.com/edgemill/edgemill/posting"
	"github.com/edgemill/edgemill/schema"
	"github.com/edgemill/edgemill/schema/token"
)

// txnState is all that can be seen of a transaction, in memory of its own.
type txnState struct {
	deltas  []posting.KeyValue
	keys    conflict.Set
	touched map[mutation.Name]bool
}

func stateOf(tx *mutation.Txn) txnState {
	s := txnState{touched: touchedNames(tx)}
	for _, kv := range tx.Deltas().Sorted() {
		s.deltas = append(s.deltas, posting.KeyValue{Key: slices.Clone(kv.Key), Value: slices.Clone(kv.Value)})
	}
	keys := tx.ConflictKeys()
	s.keys = conflict.Set{Exclusive: slices.Clone(keys.Exclusive), Shared: slices.Clone(keys.Shared)}
	return s
}

// failing is a batch that is to fail, in a transaction between two that work.
type failing struct {
	t     *testing.T
	store *posting.Store
	snap  *schema.Snapshot
	a     *mutation.Applier
	// tx has had one batch.
	tx *mutation.Txn
}

func newFailing(t *testing.T, snap *schema.Snapshot, opts mutation.Options) *failing {
	f := &failing{t: t, store: openTestStore(t), snap: snap}
	var err error
	f.a, err = mutation.New(opts)
	require.NoError(t, err)
	before := mutation.NewTxn(f.store, 10)
	applyWith(t, mutation.Options{}, before, snap, f.some(1))
	commitTestTxn(t, f.store, before, 11)
	before.Release()
	f.tx = mutation.NewTxn(f.store, 20)
	t.Cleanup(func() { f.tx.Release() })
	f.apply(f.first())
	return f
}

func (f *failing) some(seed uint64) mutation.Batch {
	return mutation.Batch{Edges: slices.Clip(shapes()[0].edges(seed)[:600])}
}

func (f *failing) first() mutation.Batch { return f.some(2) }
func (f *failing) next() mutation.Batch  { return f.some(3) }

func (f *failing) apply(b mutation.Batch) {
	f.t.Helper()
	_, err := f.a.Apply(context.Background(), f.tx, f.snap, b)
	require.NoError(f.t, err)
}

// fail applies a batch that fails, and checks that it left nothing.
func (f *failing) fail(ctx context.Context, b mutation.Batch) error {
	f.t.Helper()
	before := stateOf(f.tx)
	_, err := f.a.Apply(ctx, f.tx, f.snap, b)
	require.Error(f.t, err)
	require.Equal(f.t, before, stateOf(f.tx), "after %v", err)
	return err
}

// works applies the next batch, and checks that the transaction is as if
// nothing had failed.
func (f *failing) works() {
	f.t.Helper()
	f.apply(f.next())
	want := mutation.NewTxn(f.store, 20)
	defer want.Release()
	applyWith(f.t, mutation.Options{}, want, f.snap, f.first())
	applyWith(f.t, mutation.Options{}, want, f.snap, f.next())
	requireEqualTxns(f.t, f.snap, want, f.tx, f.next(), f.a.Options())
}

func failureOptions() map[string]mutation.Options {
	return map[string]mutation.Options{
		"serial": {},
		"off":    {MinEdges: 1, Parallelism: mutation.Off},
		"8":      {MinEdges: 1, Parallelism: mutation.Workers(8), EdgesPerWorker: 1},
	}
}

var errInjected = errors.New("injected")

// TestInjectedFailures makes each stage fail, at its first task and at its
// last, with an error and with a panic: the batch leaves nothing (I3), and no
// goroutine (I5).
func TestInjectedFailures(t *testing.T) {
	snap := parseSnapshot(t, shapeSchema)
	for _, stage := range []string{"fold", "own", "recount", "publish"} {
		for _, panics := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/panics=%v", stage, panics), func(t *testing.T) {
				f := newFailing(t, snap, failureOptions()["8"])
				tasks := f.countTasks(stage)
				for _, at := range []int64{1, (tasks + 1) / 2, tasks} {
					f.a.Inject(failAt(stage, at, panics))
					err := f.fail(context.Background(), f.next())
					if panics {
						require.ErrorContains(t, err, "panic: injected")
					} else {
						require.ErrorIs(t, err, errInjected)
					}
					f.a.Inject(nil)
				}
				f.works()
			})
		}
	}
}

// countTasks is the number of a stage's tasks in the next batch.
func (f *failing) countTasks(stage string) int64 {
	var n atomic.Int64
	f.a.Inject(func(s string) error {
		if s == stage {
			n.Add(1)
		}
		return nil
	})
	other := mutation.NewTxn(f.store, 20)
	defer other.Release()
	_, err := f.a.Apply(context.Background(), other, f.snap, f.next())
	require.NoError(f.t, err)
	f.a.Inject(nil)
	require.Positive(f.t, n.Load())
	return n.Load()
}

func failAt(stage string, at int64, panics bool) func(string) error {
	var n atomic.Int64
	return func(s string) error {
		if s != stage || n.Add(1) != at {
			return nil
		}
		if panics {
			panic("injected")
		}
		return errInjected
	}
}

// TestTokenizerPanics gives a predicate a tokenizer that no schema can have.
func TestTokenizerPanics(t *testing.T) {
	preds := parsePredicates(shapeSchema+"broken: string @index(term) .", 0)
	for _, p := range preds {
		if p.Name == "broken" {
			p.Tokenizers = []*token.Tokenizer{nil}
		}
	}
	snap := schema.NewSnapshot(preds, nil)
	for name, opts := range failureOptions() {
		t.Run(name, func(t *testing.T) {
			f := newFailing(t, snap, opts)
			b := f.next()
			b.Edges = slices.Insert(b.Edges, len(b.Edges)/2, stringEdge(500, "broken", "x"))
			require.ErrorContains(t, f.fail(context.Background(), b), "panic")
			f.works()
		})
	}
}

// TestBadEdges puts each kind of bad edge first, in the middle and last in a
// large batch.
func TestBadEdges(t *testing.T) {
	snap := parseSnapshot(t, shapeSchema)
	tagged, badTarget := stringEdge(9, "code", "x"), targetEdge(9, "pal", ^uint64(0))
	tagged.Lang = "en"
	badFacets := targetEdge(9, "pal", 3)
	badFacets.Facets = []mutation.Facet{{Key: "a", Value: []byte("x")}, {Key: "a"}}
	taken := stringEdge(9, "mail", "taken")
	for name, bad := range map[string][]mutation.Edge{
		"unknown predicate":     {stringEdge(9, "nobody", "x")},
		"unknown in a delete":   {deletion(stringEdge(9, "nobody", "x"))},
		"a value that is none":  {stringEdge(9, "age", "x")},
		"no UTF-8":              {stringEdge(9, "code", "x\xff")},
		"a tag without @lang":   {tagged},
		"a uid for a value":     {targetEdge(9, "age", 3)},
		"a value for a uid":     {stringEdge(9, "pal", "x")},
		"uid 0":                 {targetEdge(0, "pal", 3)},
		"the greatest uid":      {badTarget},
		"a star as a set":       {{Subject: 9, Predicate: "pal", Object: mutation.ObjectStar}},
		"a facet twice":         {badFacets},
		"a token that's long":   {stringEdge(9, "name", string(make([]byte, 70_000)))},
		"a value that is held":  {taken, stringEdge(8, "mail", "taken")},
		"a star with no object": {{Subject: 9, Predicate: mutation.StarPredicate, Op: mutation.Delete, Object: mutation.ObjectUID, Target: 3}},
	} {
		for applier, opts := range failureOptions() {
			t.Run(name+"/"+applier, func(t *testing.T) {
				f := newFailing(t, snap, opts)
				n := len(f.next().Edges)
				for _, at := range []int{0, n / 2, n} {
					b := mutation.Batch{Edges: slices.Insert(f.next().Edges, at, bad...)}
					err := f.fail(context.Background(), b)
					var edge *mutation.EdgeError
					require.ErrorAs(t, err, &edge)
					last := bad[len(bad)-1]
					require.Equal(t, last.Predicate, edge.Predicate)
					require.Equal(t, last.Subject, edge.Subject)
					require.Equal(t, at+len(bad)-1, edge.Index)
					require.ErrorContains(t, err, fmt.Sprintf("%q", last.Predicate))
				}
				f.works()
			})
		}
	}
}

// TestFirstErrorEndsTheRest checks that no task begins after one has failed,
// but for those that other workers have just taken (I5).
func TestFirstErrorEndsTheRest(t *testing.T) {
	const workers = 4
	a, err := mutation.New(mutation.Options{MinEdges: 1, Parallelism: mutation.Workers(workers), EdgesPerWorker: 1})
	require.NoError(t, err)
	var begun atomic.Int64
	a.Inject(func(string) error {
		begun.Add(1)
		return errInjected
	})
	tx := mutation.NewTxn(openTestStore(t), 10)
	defer tx.Release()
	_, err = a.Apply(context.Background(), tx, shapeSnapshot(t), mutation.Batch{Edges: manyPredicates()})
	require.ErrorIs(t, err, errInjected)
	require.LessOrEqual(t, begun.Load(), int64(workers))
}

// TestFailureEndsTheRunning lets a task of many edges begin when that of a
// single edge has failed: it ends at its first look (I5).
func TestFailureEndsTheRunning(t *testing.T) {
	a, err := mutation.New(mutation.Options{MinEdges: 1, Parallelism: mutation.Workers(2), EdgesPerWorker: 1})
	require.NoError(t, err)
	var begun atomic.Int64
	failed := make(chan struct{})
	a.Inject(func(string) error {
		if begun.Add(1) > 1 {
			close(failed)
			return errInjected
		}
		<-failed
		time.Sleep(20 * time.Millisecond) // until the failure is known
		return nil
	})
	var edges []mutation.Edge
	for range 50_000 {
		edges = append(edges, stringEdge(1, "code", "x"))
	}
	edges = append(edges, stringEdge(1, "name", "x"))
	tx := mutation.NewTxn(openTestStore(t), 10)
	defer tx.Release()
	ctx := &countingContext{Context: context.Background()}
	_, err = a.Apply(ctx, tx, parseSnapshot(t, shapeSchema), mutation.Batch{Edges: edges})
	require.ErrorIs(t, err, errInjected)
	require.Less(t, ctx.asked.Load(), int64(20))
}
