package mutation

import "sync/atomic"

// helpers counts the goroutines that help the callers of an Applier's batches.
// All batches share one budget of them, so that many clients at once do not run
// many times the workers that one may have: a pass takes those that are free
// when it begins, and with none the caller does all of it. Only time depends on
// how many there are (I4).
type helpers struct {
	busy atomic.Int64
}

// take gives as many as are wanted and free, where so many may be busy.
func (h *helpers) take(want, budget int) int {
	for {
		busy := h.busy.Load()
		n := min(int64(want), int64(budget)-busy)
		if n <= 0 {
			return 0
		}
		if h.busy.CompareAndSwap(busy, busy+n) {
			return int(n)
		}
	}
}

func (h *helpers) give(n int) { h.busy.Add(-int64(n)) }
