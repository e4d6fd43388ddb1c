package mutation

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
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
