package mutation_test

import (
	"context"
	"slices"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/edgemill/edgemill/mutation"
)

// lent is a batch whose every byte, those of its strings too, lies in memory
// that the lender writes to again.
type lent struct {
	batch  mutation.Batch
	memory [][]byte
}

func lend(b mutation.Batch) *lent {
	l := &lent{batch: b}
	l.batch.Edges, l.batch.Fresh = slices.Clone(b.Edges), slices.Clone(b.Fresh)
	for i := range l.batch.Edges {
		e := &l.batch.Edges[i]
		e.Predicate, e.Lang = l.string(e.Predicate), l.string(e.Lang)
		e.Value.Data = l.bytes(e.Value.Data)
		e.Facets = slices.Clone(e.Facets)
		for n := range e.Facets {
			e.Facets[n].Key, e.Facets[n].Value = l.string(e.Facets[n].Key), l.bytes(e.Facets[n].Value)
		}
	}
	return l
}

func (l *lent) bytes(b []byte) []byte {
	b = slices.Clone(b)
	l.memory = append(l.memory, b)
	return b
}

func (l *lent) string(s string) string {
	b := l.bytes([]byte(s))
	return unsafe.String(unsafe.SliceData(b), len(b))
}

// scribble writes over all of it.
func (l *lent) scribble() {
	for _, b := range l.memory {
		for i := range b {
			b[i] = '#'
		}
	}
	for i := range l.batch.Edges {
		clear(l.batch.Edges[i].Facets)
	}
	clear(l.batch.Edges)
	clear(l.batch.Fresh)
}

// TestNothingKeptIsBorrowed writes over a batch's memory once Apply has
// returned, and lets the Applier's scratch go through other batches: what the
// transactions hold stays as it was (I7).
func TestNothingKeptIsBorrowed(t *testing.T) {
	for name, opts := range failureOptions() {
		t.Run(name, func(t *testing.T) {
			a, err := mutation.New(opts)
			require.NoError(t, err)
			for seed := range uint64(12) {
				scribbleOver(t, a, seed+1)
			}
		})
	}
}

func scribbleOver(t *testing.T, a *mutation.Applier, seed uint64) {
	g := newGraphGen(seed)
	store := openTestStore(t)
	txns := []*mutation.Txn{mutation.NewTxn(store, 10), mutation.NewTxn(store, 10), mutation.NewTxn(store, 10)}
	var states []txnState
	for _, tx := range txns {
		states = append(states, stateOf(tx))
	}
	for n := range 12 {
		tx := txns[n%len(txns)]
		batch := lend(g.batch())
		_, _ = a.Apply(context.Background(), tx, g.snap, batch.batch) // One that fails does for this as well.
		states[n%len(txns)] = stateOf(tx)
		batch.scribble()
		for i, tx := range txns {
			require.Equal(t, states[i], stateOf(tx), "transaction %d after batch %d, seed %d", i, n, seed)
		}
	}
	for _, tx := range txns {
		tx.Release()
	}
}

// TestNamesInReusedMemory has the names of another batch's predicates in the
// memory of the names before.
func TestNamesInReusedMemory(t *testing.T) {
	snap := parseSnapshot(t, shapeSchema)
	store := openTestStore(t)
	for name, opts := range failureOptions() {
		a, err := mutation.New(opts)
		require.NoError(t, err)
		memory := []byte("name")
		edge := stringEdge(1, unsafe.String(unsafe.SliceData(memory), len(memory)), "x")
		for _, predicate := range []string{"name", "code"} {
			copy(memory, predicate)
			tx := mutation.NewTxn(store, 10)
			_, err := a.Apply(context.Background(), tx, snap, mutation.Batch{Edges: []mutation.Edge{edge}})
			require.NoError(t, err)
			require.Equal(t, map[mutation.Name]bool{{Predicate: predicate}: true}, touchedNames(tx), name)
			tx.Release()
		}
	}
}

// TestWhatIsGivenStaysAsItIs checks that Apply writes to nothing that it is
// given, and that an Applier's options stay what they are (I6).
func TestWhatIsGivenStaysAsItIs(t *testing.T) {
	for name, opts := range failureOptions() {
		t.Run(name, func(t *testing.T) {
			a, err := mutation.New(opts)
			require.NoError(t, err)
			inForce := a.Options()
			for seed := range uint64(20) {
				g := newGraphGen(seed + 100)
				tx := mutation.NewTxn(openTestStore(t), 10)
				b := g.batch()
				given := lend(b).batch
				schemaText := predicatesText(g)
				_, err := a.Apply(context.Background(), tx, g.snap, b)
				if err != nil {
					require.Empty(t, tx.Deltas().Sorted())
				}
				if diff := cmp.Diff(given, b); diff != "" {
					t.Fatalf("the batch (-given +after):\n%s", diff)
				}
				require.Equal(t, schemaText, predicatesText(g))
				tx.Release()
			}
			require.Equal(t, inForce, a.Options())
		})
	}
}

func predicatesText(g *graphGen) (texts []string) {
	for p := range g.snap.All() {
		texts = append(texts, p.String())
	}
	return texts
}

// TestReportsAreKept applies other batches after one whose report is kept (I7).
func TestReportsAreKept(t *testing.T) {
	store := openTestStore(t)
	for name, opts := range failureOptions() {
		a, err := mutation.New(opts)
		require.NoError(t, err)
		apply := func(g *graphGen) mutation.Report {
			tx := mutation.NewTxn(store, 10)
			defer tx.Release()
			r, err := a.Apply(context.Background(), tx, g.snap, g.batch())
			require.NoError(t, err)
			return r
		}
		g := newGraphGen(7)
		g.bad = false
		kept := apply(g)
		was := kept
		was.Grants, was.Passes = slices.Clone(kept.Grants), slices.Clone(kept.Passes)
		for range 10 {
			apply(g)
		}
		require.Equal(t, was, kept, name)
	}
}
