package posting

import (
	"slices"
	"sync"
	"time"
)

// waiter is one caller that waits for the committer: with a commit, or with a
// Flush.
type waiter struct {
	commit   encodedCommit
	readable func(error)
	// flush marks a Flush, which carries no commit.
	flush bool
	// arrived is when it was queued.
	arrived time.Time
	// answer takes one error, nil included, and never blocks who sends it.
	answer chan error
}

func newWaiter() *waiter { return &waiter{answer: make(chan error, 1)} }

// refuse answers a commit that did not come about.
func (w *waiter) refuse(err error) {
	if w.readable != nil {
		w.readable(err)
	}
	w.answer <- err
}

// waitQueue is the callers that no group has taken yet, in order of arrival, and
// the turn: the right to take a group and see it through the log, which one
// goroutine has at a time.
type waitQueue struct {
	mu struct {
		sync.Mutex
		waiting []*waiter
		// taken says that somebody has the turn.
		taken  bool
		closed bool
	}
	// changed is signalled when take may find what it waits for.
	changed sync.Cond
	// A group is of at most maxCommits, of maxBytes in all unless it is one
	// commit, and of arrivals within maxAge.
	maxCommits int
	maxBytes   int
	maxAge     time.Duration
}

// add queues a caller, or reports that the queue is closed.
func (q *waitQueue) add(w *waiter) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.mu.closed {
		return false
	}
	q.append(w)
	return true
}

// append runs under mu.
func (q *waitQueue) append(w *waiter) {
	w.arrived = time.Now()
	q.mu.waiting = append(q.mu.waiting, w)
	if !q.mu.taken {
		q.changed.Signal()
	}
}

// addOrLead is add, but where nobody waits and nobody has the turn the caller has
// it then, and is a group of its own.
func (q *waitQueue) addOrLead(w *waiter) (lead, open bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.mu.closed:
		return false, false
	case q.mu.taken || len(q.mu.waiting) > 0:
		q.append(w)
		return false, true
	}
	q.mu.taken = true
	return true, true
}

// giveTurn gives the turn back.
func (q *waitQueue) giveTurn() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.mu.taken = false
	if len(q.mu.waiting) > 0 || q.mu.closed {
		q.changed.Signal()
	}
}

// withdraw takes a caller back, and reports whether no group had it yet.
func (q *waitQueue) withdraw(w *waiter) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	i := slices.Index(q.mu.waiting, w)
	if i >= 0 {
		q.mu.waiting = slices.Delete(q.mu.waiting, i, i+1)
	}
	return i >= 0
}

// take waits until somebody is there and the turn is free, and returns a group and
// with it the turn; nil when the queue is closed and empty. It never waits for more.
func (q *waitQueue) take() []*waiter {
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.mu.taken || len(q.mu.waiting) == 0 {
		if !q.mu.taken && q.mu.closed {
			return nil
		}
		q.changed.Wait()
	}
	q.mu.taken = true
	n, size := 0, 0
	for _, w := range q.mu.waiting {
		size += len(w.commit.data)
		full := n == q.maxCommits || size > q.maxBytes
		if n > 0 && (full || w.arrived.Sub(q.mu.waiting[0].arrived) > q.maxAge) {
			break
		}
		n++
	}
	group := slices.Clone(q.mu.waiting[:n])
	q.mu.waiting = slices.Delete(q.mu.waiting, 0, n)
	return group
}

// busy reports whether somebody waits.
func (q *waitQueue) busy() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.mu.waiting) > 0
}

// close lets nobody in any more.
func (q *waitQueue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.mu.closed = true
	q.changed.Signal()
}

// commitGroup is what goes from who has the turn to the writer.
type commitGroup struct {
	// commits are those that go into Badger; they are durable if there is a log.
	commits []*waiter
	// flushes were queued before the group was taken.
	flushes []*waiter
	// only is the memory of a single commit.
	only [1]encodedCommit
	// segment is the log segment that holds the commits.
	segment uint64
	size    int64
}

// separate keeps apart those who wait for a Flush.
func (g *commitGroup) separate(group []*waiter) {
	g.commits = nil
	for _, w := range group {
		if w.flush {
			g.flushes = append(g.flushes, w)
		} else {
			g.commits = append(g.commits, w)
		}
	}
}

// takes adds the next group, if both are so small that Badger takes them
// together in less time.
func (g *commitGroup) takes(next *commitGroup) bool {
	if g.segment != next.segment || g.size+next.size > maxJoinedBytes {
		return false
	}
	g.commits = append(g.commits, next.commits...)
	g.flushes = append(g.flushes, next.flushes...)
	g.size += next.size
	return true
}

// encoded returns the commits that have anything to store, in their order.
func (g *commitGroup) encoded() []encodedCommit {
	if len(g.commits) == 1 && !g.commits[0].commit.empty() {
		g.only[0] = g.commits[0].commit
		return g.only[:]
	}
	all := make([]encodedCommit, 0, len(g.commits))
	for _, w := range g.commits {
		if !w.commit.empty() {
			all = append(all, w.commit)
		}
	}
	return all
}

// groupQueue is the groups that wait for Badger, in order. It is bounded, since
// it keeps them in memory and Close has to wait for them.
type groupQueue struct {
	mu struct {
		sync.Mutex
		groups []*commitGroup
		// bytes are of these and of the group last popped.
		bytes  int64
		closed bool
	}
	changed sync.Cond
}

const (
	maxBacklogBytes  = 64 << 20
	maxBacklogGroups = 64
	// maxJoinedBytes bounds groups that go into Badger together.
	maxJoinedBytes = 256 << 10
)

// push waits until there is room. An empty queue takes a group of any size.
func (q *groupQueue) push(g *commitGroup) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.mu.groups) >= maxBacklogGroups || (q.mu.bytes > 0 && q.mu.bytes+g.size > maxBacklogBytes) {
		q.changed.Wait()
	}
	q.mu.groups = append(q.mu.groups, g)
	q.mu.bytes += g.size
	q.changed.Broadcast()
}

// pop waits for the next group; nil when the queue is closed and empty.
func (q *groupQueue) pop() *commitGroup {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.mu.groups) == 0 {
		if q.mu.closed {
			return nil
		}
		q.changed.Wait()
	}
	g, n := q.mu.groups[0], 1
	for n < len(q.mu.groups) && g.takes(q.mu.groups[n]) {
		n++
	}
	q.mu.groups = slices.Delete(q.mu.groups, 0, n)
	return g
}

// unwritten is how many bytes Badger has not been given, or may not have taken yet.
func (q *groupQueue) unwritten() int64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.mu.bytes
}

// written makes room after a popped group is in Badger.
func (q *groupQueue) written(g *commitGroup) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.mu.bytes -= g.size
	q.changed.Broadcast()
}

func (q *groupQueue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.mu.closed = true
	q.changed.Broadcast()
}
