package mutation_test

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/edgemill/edgemill/mutation"
	"github.com/edgemill/edgemill/schema"
)

// TestManyTransactions applies batches of many transactions at once with one
// Applier, and compares each with the serial applier's result.
func TestManyTransactions(t *testing.T) {
	snap := shapeSnapshot(t)
	store := openTestStore(t)
	clients := len(shapes())
	if testing.Short() {
		clients = 5
	}
	before := mutation.NewTxn(store, 10)
	applyWith(t, mutation.Options{}, before, snap, mutation.Batch{Edges: shapes()[0].edges(1)})
	commitTestTxn(t, store, before, 11)
	before.Release()
	a, err := mutation.New(mutation.Options{MinEdges: 1, Parallelism: mutation.Workers(4), EdgesPerWorker: 1})
	require.NoError(t, err)
	done := make([]*mutation.Txn, clients)
	errs := make([]error, clients)
	batch := func(client int, n uint64) mutation.Batch {
		return mutation.Batch{Edges: shapes()[client].edges(n)}
	}
	var join sync.WaitGroup
	for client := range clients {
		done[client] = mutation.NewTxn(store, 20)
		join.Go(func() {
			for n := uint64(2); n < 4 && errs[client] == nil; n++ {
				_, errs[client] = a.Apply(context.Background(), done[client], snap, batch(client, n))
			}
		})
	}
	join.Wait()
	for client, tx := range done {
		require.NoError(t, errs[client])
		want := mutation.NewTxn(store, 20)
		applyWith(t, mutation.Options{}, want, snap, batch(client, 2))
		applyWith(t, mutation.Options{}, want, snap, batch(client, 3))
		requireEqualTxns(t, snap, want, tx, batch(client, 3), a.Options())
		want.Release()
		tx.Release()
	}
}

// meter counts how many tasks run at once.
type meter struct {
	busy, most, tasks atomic.Int64
}

func (m *meter) enter(string) error {
	now := m.busy.Add(1)
	for most := m.most.Load(); now > most && !m.most.CompareAndSwap(most, now); most = m.most.Load() {
	}
	m.tasks.Add(1)
	time.Sleep(200 * time.Microsecond)
	m.busy.Add(-1)
	return nil
}

// hotBatch has n edges on one target and with one value; batches that start at
// different subjects commute.
func hotBatch(start uint64, n int) mutation.Batch {
	var b mutation.Batch
	for i := range uint64(n) {
		b.Edges = append(b.Edges, targetEdge(start+i, "pal", 9), stringEdge(start+i, "tag", "red"))
	}
	return b
}

// TestBatchesOfOneTransactionWait applies batches of one transaction from many
// goroutines: they run one after the other, and none is lost.
func TestBatchesOfOneTransactionWait(t *testing.T) {
	snap := parseSnapshot(t, shapeSchema)
	store := openTestStore(t)
	a, err := mutation.New(mutation.Options{MinEdges: 1, Parallelism: mutation.Off})
	require.NoError(t, err)
	var m meter
	a.Inject(m.enter)
	tx := mutation.NewTxn(store, 20)
	defer tx.Release()
	const clients = 8
	errs := make([]error, clients)
	var join sync.WaitGroup
	for client := range clients {
		join.Go(func() {
			_, errs[client] = a.Apply(context.Background(), tx, snap, hotBatch(uint64(1000*(client+1)), 20))
		})
	}
	join.Wait()
	want := mutation.NewTxn(store, 20)
	defer want.Release()
	for client := range clients {
		require.NoError(t, errs[client])
		applyWith(t, mutation.Options{}, want, snap, hotBatch(uint64(1000*(client+1)), 20))
	}
	requireEqualTxns(t, snap, want, tx, hotBatch(1000, 20), a.Options())
	require.EqualValues(t, 1, m.most.Load(), "batches of one transaction ran at once")
}

// TestReadersSeeWholeBatches reads a transaction's deltas while batches are
// applied to it: a reader sees those before or those after, never a part (I3).
func TestReadersSeeWholeBatches(t *testing.T) {
	snap := parseSnapshot(t, "code: string .")
	store := openTestStore(t)
	a, err := mutation.New(mutation.Options{MinEdges: 1, Parallelism: mutation.Workers(8), EdgesPerWorker: 1})
	require.NoError(t, err)
	tx := mutation.NewTxn(store, 20)
	defer tx.Release()
	const edges, batches = 64, 100
	var stop atomic.Bool
	var torn atomic.Int64
	var readers sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			for !stop.Load() {
				n := 0
				for range tx.Deltas().All() {
					n++
				}
				if n%edges != 0 {
					torn.Store(int64(n))
				}
				runtime.Gosched()
			}
		})
	}
	for i := range uint64(batches) {
		var b mutation.Batch
		for n := range uint64(edges) {
			b.Edges = append(b.Edges, stringEdge(1+i*edges+n, "code", "x"))
		}
		_, err := a.Apply(context.Background(), tx, snap, b)
		require.NoError(t, err)
	}
	stop.Store(true)
	readers.Wait()
	require.Zero(t, torn.Load(), "a reader saw so many deltas")
	require.Len(t, tx.Deltas().Sorted(), edges*batches)
}

// TestWorkersAtOnce checks that no more tasks run at once than a batch has
// workers, however many predicates and parts there are.
func TestWorkersAtOnce(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(8))
	snap := shapeSnapshot(t)
	store := openTestStore(t)
	for _, workers := range []int{1, 2, 5} {
		a, err := mutation.New(mutation.Options{MinEdges: 1, Parallelism: mutation.Workers(workers), EdgesPerWorker: 1})
		require.NoError(t, err)
		var m meter
		a.Inject(m.enter)
		tx := mutation.NewTxn(store, 20)
		r, err := a.Apply(context.Background(), tx, snap, mutation.Batch{Edges: manyPredicates()})
		require.NoError(t, err)
		tx.Release()
		require.Equal(t, workers, r.Workers)
		require.EqualValues(t, workers, m.most.Load())
		require.Greater(t, m.tasks.Load(), int64(400), "a fold and an own for each predicate")
	}
}

func manyPredicates() (edges []mutation.Edge) {
	for i := range uint64(200) {
		edges = append(edges, stringEdge(1+i, fmt.Sprintf("one%d", i), "a b"))
	}
	return edges
}

// TestClientsShareWorkers checks that many batches at once have no more
// goroutines than clients and one Applier's helpers.
func TestClientsShareWorkers(t *testing.T) {
	snap := parseSnapshot(t, shapeSchema)
	store := openTestStore(t)
	const workers, clients = 4, 6
	a, err := mutation.New(mutation.Options{MinEdges: 1, Parallelism: mutation.Workers(workers), EdgesPerWorker: 1})
	require.NoError(t, err)
	var m meter
	a.Inject(m.enter)
	var join sync.WaitGroup
	for client := range clients {
		join.Go(func() { applyOften(t, a, mutation.NewTxn(store, 20), snap, hotBatch(uint64(1000*(client+1)), 200)) })
	}
	join.Wait()
	require.LessOrEqual(t, m.most.Load(), int64(clients+workers-1))
}

func applyOften(t *testing.T, a *mutation.Applier, tx *mutation.Txn, snap *schema.Snapshot, b mutation.Batch) {
	defer tx.Release()
	for range 5 {
		if _, err := a.Apply(context.Background(), tx, snap, b); err != nil {
			t.Error(err)
		}
	}
}
