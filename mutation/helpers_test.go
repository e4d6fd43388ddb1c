package mutation

import (
	"context"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/edgemill/edgemill/posting"
	"github.com/edgemill/edgemill/schema"
	"github.com/edgemill/edgemill/schema/value"
)

func TestHelpers(t *testing.T) {
	var h helpers
	require.Equal(t, 2, h.take(2, 3))
	require.Equal(t, 1, h.take(2, 3), "no more than are free")
	require.Zero(t, h.take(1, 3))
	require.Zero(t, h.take(1, 1), "a budget that became smaller")
	h.give(3)
	require.Equal(t, 3, h.take(9, 3))
	require.Zero(t, h.take(0, 9))
}

// TestHelpersShared checks that the budget holds whoever takes from it.
func TestHelpersShared(t *testing.T) {
	const budget = 3
	var h helpers
	var busy, most atomic.Int64
	var clients sync.WaitGroup
	for range 16 {
		clients.Go(func() {
			for range 1000 {
				n := h.take(2, budget)
				now := busy.Add(int64(n))
				for old := most.Load(); now > old && !most.CompareAndSwap(old, now); old = most.Load() {
				}
				busy.Add(-int64(n))
				h.give(n)
			}
		})
	}
	clients.Wait()
	require.LessOrEqual(t, most.Load(), int64(budget))
	require.Zero(t, h.busy.Load())
}

// TestHelpersOfBatches has many clients apply at once: beside them no more work
// than one batch alone may have.
func TestHelpersOfBatches(t *testing.T) {
	const clients, workers = 16, 4
	parsed, err := schema.Parse("p: int @index(int) .")
	require.NoError(t, err)
	snap := schema.NewSnapshot(parsed.Predicates, nil)
	store, err := posting.Open(posting.Options{InMemory: true})
	require.NoError(t, err)
	defer store.Close()
	a, err := New(Options{Parallelism: Workers(workers), EdgesPerWorker: 1, MinEdges: 1})
	require.NoError(t, err)
	var busy, most atomic.Int64
	a.inject = func(string) error {
		now := busy.Add(1)
		for old := most.Load(); now > old && !most.CompareAndSwap(old, now); old = most.Load() {
		}
		time.Sleep(time.Millisecond)
		busy.Add(-1)
		return nil
	}
	var b Batch
	for i := range 64 {
		v := value.Value{Type: value.Default, Data: []byte(strconv.Itoa(i))}
		b.Edges = append(b.Edges, Edge{Subject: uint64(i + 1), Predicate: "p", Value: v})
	}
	var applying sync.WaitGroup
	for range clients {
		applying.Go(func() {
			for range 3 {
				txn := NewTxn(store, 1)
				report, err := a.Apply(context.Background(), txn, snap, b)
				if err != nil || report.Workers != workers || report.NoFanOut() {
					t.Errorf("%+v, %v", report, err)
				}
				txn.Release()
			}
		})
	}
	applying.Wait()
	require.LessOrEqual(t, most.Load(), int64(clients+workers-1))
	require.Zero(t, a.helpers.busy.Load())
}
