package conflict

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

var (
	// ErrGateFull says that as many wait at the gate as may.
	ErrGateFull = errors.New("too many transactions wait at the gate")
	// ErrReleased says that a pass was used after its release.
	ErrReleased = errors.New("pass was released")
)

// Gate admits transactions: one whose keys meet those of a transaction in
// flight waits before it starts, instead of being refused when it commits.
//
// The plain way is a lock for each key, taken in key order. It can't
// deadlock, but who waits for his tenth key keeps nine others from those who
// could run, and who asks for one key more later is out of order. Here
// a transaction enters the queues of all its keys in one step, under one short
// lock, and runs when in every queue nobody before it meets it. A queue's
// requests that nothing blocks are always its first: one exclusive, or all
// shared up to the first exclusive. Each pass counts its blocked requests,
// and the one who takes that count to zero wakes it: there is no goroutine and no
// timer for a waiter, and nobody wakes in vain.
//
//   - G1: no two passes in flight hold keys that meet. A pass is in flight when
//     none of its requests is blocked, and a request that enters a queue, at its
//     end or (TryAdd) at its front, blocks or is blocked by each that it meets
//     there; TryAdd never blocks one in flight, it is refused.
//   - G2: nobody waits in a ring. A waiting pass waits for passes that came to the
//     gate before it, as the lock is the same for all queues, or for passes in
//     flight that added a key. Those in flight wait for nobody. So the oldest waiter
//     waits for those in flight only, and goes on once they are released.
//
// G2 is also the fairness: one who comes later never overtakes an earlier waiter
// whom it meets. Only a pass in flight goes before waiters, with the keys that it
// adds: it can't wait, and to refuse it would throw work away.
//
// All methods are safe for concurrent use; a gate starts no goroutine.
type Gate struct {
	limit int
	mu    struct {
		sync.Mutex
		queues gateQueues
		stats  GateStats
	}
}

// GateStats counts what happened at a Gate.
type GateStats struct {
	Waits    uint64        // passes that had to wait, whatever came of it
	Waiting  int           // those that wait now
	WaitTime time.Duration // the time of all waits that have ended
	InFlight int           // passes admitted and not released
	Refused  uint64        // ErrGateFull, and keys that TryAdd was refused
}

// Pass is the leave to run that a Gate gave. It belongs to one transaction.
// A nil Pass may be released.
type Pass struct {
	gate     *Gate
	requests [][]request // one slice from Enter, and one from each TryAdd
	blocked  int         // requests that others block; under gate.mu
	released bool        // under gate.mu
	above    uint64      // as Above has it; under gate.mu until its turn
	turn     chan struct{}
}

// NewGate returns a gate at which at most limit transactions wait; 0 means any
// number.
func NewGate(limit int) *Gate {
	g := &Gate{limit: limit}
	g.mu.queues = newGateQueues()
	return g
}

// Enter waits until nobody in flight, and nobody who came before and still
// waits, holds a key that meets keys. It returns ErrGateFull at once where it
// would have to wait beyond the limit, and the context's error when that ends,
// and then leaves nothing behind. The pass must be released. The keys should
// be a superset of what the first batch will write exclusively, as far as it
// can be told without reading; too few cost a conflict later, too many a wait.
// Who has a start timestamp already, and so may not wait, enters with an empty
// set, which never does, and adds its keys.
func (g *Gate) Enter(ctx context.Context, keys Set) (*Pass, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("enter the gate: %w", err)
	}
	p := newPass(g, keys)
	if err := g.enqueue(p); err != nil {
		return nil, err
	}
	if p.turn == nil {
		return p, nil
	}
	return g.wait(ctx, p)
}

// TryAdd adds keys to a pass in flight, and never waits. If another pass in
// flight holds a key that meets them it returns a *ConflictError, and the pass
// is as it was. Keys that the pass has are kept; a shared one can become
// exclusive.
func (g *Gate) TryAdd(p *Pass, keys Set) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if p.released {
		return fmt.Errorf("add keys: %w", ErrReleased)
	}
	add, err := g.mu.queues.addition(p, keys)
	if err != nil {
		g.mu.stats.Refused++
		return err
	}
	g.mu.queues.add(p, add)
	g.assert()
	return nil
}

// Release gives the pass back and lets those go on who waited for it. It may be
// repeated.
func (p *Pass) Release() { p.ReleaseAt(0) }

// ReleaseAt is Release for a transaction that was decided to commit at a
// timestamp: those who waited for it begin above that.
func (p *Pass) ReleaseAt(commitTS uint64) {
	if p == nil {
		return
	}
	p.gate.mu.Lock()
	defer p.gate.mu.Unlock()
	if !p.released {
		p.gate.mu.stats.InFlight--
		p.gate.drop(p, commitTS)
	}
}

// Above returns the newest commit timestamp of those that the pass waited for, and
// of those that they had waited for, 0 for none: what the transaction has to begin
// above.
func (p *Pass) Above() uint64 {
	if p == nil {
		return 0
	}
	return p.above
}

// Stats returns the counts so far.
func (g *Gate) Stats() GateStats {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.mu.stats
}

func newPass(g *Gate, keys Set) *Pass {
	requests := make([]request, 0, len(keys.Exclusive)+len(keys.Shared))
	p := &Pass{gate: g}
	for _, key := range keys.Exclusive {
		requests = append(requests, request{key: key, pass: p, exclusive: true})
	}
	for _, key := range keys.Shared {
		requests = append(requests, request{key: key, pass: p})
	}
	p.requests = [][]request{requests}
	return p
}

// enqueue puts the pass in all its queues in one step. It has p.turn only if it
// must wait.
func (g *Gate) enqueue(p *Pass) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	requests := p.requests[0]
	for i := range requests {
		if !g.mu.queues.pushBack(&requests[i]) {
			p.blocked++
		}
	}
	g.assert()
	if p.blocked == 0 {
		g.mu.stats.InFlight++
		return nil
	}
	if g.limit > 0 && g.mu.stats.Waiting >= g.limit {
		g.mu.stats.Refused++
		g.drop(p, 0)
		return fmt.Errorf("enter the gate: %w: %d", ErrGateFull, g.limit)
	}
	g.mu.stats.Waits++
	g.mu.stats.Waiting++
	p.turn = make(chan struct{})
	return nil
}

func (g *Gate) wait(ctx context.Context, p *Pass) (*Pass, error) {
	since := time.Now()
	var err error
	select {
	case <-p.turn:
	case <-ctx.Done():
		err = ctx.Err()
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.mu.stats.WaitTime += time.Since(since)
	if err == nil {
		return p, nil
	}
	if p.blocked == 0 { // its turn came at the same moment
		g.mu.stats.InFlight--
	} else {
		g.mu.stats.Waiting--
	}
	g.drop(p, 0)
	return nil, fmt.Errorf("enter the gate: %w", err)
}

// drop takes the pass out of its queues and wakes those whose turn that is, who
// begin above its commit. The caller holds mu.
func (g *Gate) drop(p *Pass, commitTS uint64) {
	p.released = true
	above := max(p.above, commitTS)
	for _, requests := range p.requests {
		for i := range requests {
			g.mu.queues.remove(&requests[i], above, g.unblocked)
		}
	}
	p.requests = nil
	g.assert()
}

// unblocked takes one from the pass's blocked requests. The caller holds mu.
func (g *Gate) unblocked(p *Pass) {
	p.blocked--
	if p.blocked == 0 {
		g.mu.stats.Waiting--
		g.mu.stats.InFlight++
		close(p.turn)
	}
}
