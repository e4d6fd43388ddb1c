//go:build invariants

package conflict

import "fmt"

// assert panics unless every queue's ready requests are its first ones, and every
// pass counts its blocked ones rightly, so that those in flight have none (G1).
// The caller holds mu. It walks everything.
func (g *Gate) assert() {
	blocked := map[*Pass]int{}
	for _, queue := range g.mu.queues.slots {
		if queue.head != nil {
			queue.assert(blocked)
		}
	}
	for p, n := range blocked {
		if p.released || p.blocked != n {
			panic(fmt.Sprintf("conflict: G1: a pass counts %d blocked requests and has %d", p.blocked, n))
		}
	}
}

// assert counts the queue's blocked requests by pass, zeros too.
func (queue gateQueue) assert(blocked map[*Pass]int) {
	var before *request
	for r := queue.head; r != nil; before, r = r, r.next {
		if r.key != queue.key || r.ready != (before == nil || follows(before, r)) {
			panic(fmt.Sprintf("conflict: G1: request for %016x, ready %v", r.key, r.ready))
		}
		count := blocked[r.pass]
		if !r.ready {
			count++
		}
		blocked[r.pass] = count
	}
	if queue.head.prev != before {
		panic(fmt.Sprintf("conflict: the queue of %016x has lost its tail", queue.key))
	}
}
