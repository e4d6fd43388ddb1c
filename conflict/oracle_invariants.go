//go:build invariants

package conflict

import "fmt"

// assert panics unless the pending commits are in order and at or below the
// newest timestamp (O2), and what was forgotten is not above any registered
// start (O3). The caller holds decisions and times.
func (o *Oracle) assert() {
	before := uint64(0)
	for _, c := range o.times.pending.queue {
		if c.ts <= before || c.ts > o.times.last {
			panic(fmt.Sprintf("conflict: O2: commit %d is pending after %d, the newest is %d", c.ts, before, o.times.last))
		}
		before = c.ts
	}
	if oldest, open := o.times.starts.oldest(); open && oldest < o.decisions.keys.forgotten {
		panic(fmt.Sprintf("conflict: O3: %d is open, keys through %d are forgotten", oldest, o.decisions.keys.forgotten))
	}
}
