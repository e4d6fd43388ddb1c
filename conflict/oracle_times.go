package conflict

import (
	"cmp"
	"slices"
)

// openTimes are the timestamps in use, in order, with the number of their users.
// New ones are nearly always the greatest, and there are at most as many as there
// are clients, so a sorted slice does better than a heap or a list with an index.
// Not safe for concurrent use.
type openTimes struct {
	entries []openTime
	uses    int
}

type openTime struct {
	ts   uint64
	uses int
}

func (o *openTimes) add(ts uint64) {
	o.uses++
	at, found := o.find(ts)
	if found {
		o.entries[at].uses++
		return
	}
	o.entries = slices.Insert(o.entries, at, openTime{ts: ts, uses: 1})
}

func (o *openTimes) remove(ts uint64) {
	at, found := o.find(ts)
	if !found {
		return
	}
	o.uses--
	o.entries[at].uses--
	if o.entries[at].uses == 0 {
		o.entries = slices.Delete(o.entries, at, at+1)
	}
}

func (o *openTimes) find(ts uint64) (int, bool) {
	if n := len(o.entries); n == 0 || o.entries[n-1].ts < ts {
		return n, false
	}
	return slices.BinarySearchFunc(o.entries, ts, func(e openTime, ts uint64) int {
		return cmp.Compare(e.ts, ts)
	})
}

func (o *openTimes) oldest() (ts uint64, found bool) {
	if len(o.entries) == 0 {
		return 0, false
	}
	return o.entries[0].ts, true
}

func (o *openTimes) count() int { return o.uses }

// pendingCommits is the queue of decided commits, in timestamp order, from the
// oldest unsettled one on: the timestamps before its first are visible. A
// waiter waits for one commit, the last at or below its timestamp, to leave
// the queue; as commits leave in order, all before it have left then. The channel
// is made for the first waiter and shared, so one who gives up leaves nothing
// behind. Not safe for concurrent use.
type pendingCommits struct {
	queue []pendingCommit
}

type pendingCommit struct {
	ts      uint64
	settled bool
	left    chan struct{} // closed when the commit leaves; nil if nobody waits
}

// add appends a commit; ts is above all before it.
func (p *pendingCommits) add(ts uint64) {
	p.queue = append(p.queue, pendingCommit{ts: ts})
}

// settle marks a commit, and lets those go before which nothing is unsettled. It
// reports whether the commit was in the queue.
func (p *pendingCommits) settle(ts uint64) bool {
	at, found := p.find(ts)
	if !found {
		return false
	}
	p.queue[at].settled = true
	gone := 0
	for ; gone < len(p.queue) && p.queue[gone].settled; gone++ {
		if left := p.queue[gone].left; left != nil {
			close(left)
		}
	}
	p.queue = slices.Delete(p.queue, 0, gone)
	return true
}

// through returns a channel that is closed when every commit at or below ts is
// settled, or nil if that is so now.
func (p *pendingCommits) through(ts uint64) <-chan struct{} {
	at, found := p.find(ts)
	if !found {
		at--
	}
	if at < 0 {
		return nil
	}
	commit := &p.queue[at]
	if commit.left == nil {
		commit.left = make(chan struct{})
	}
	return commit.left
}

func (p *pendingCommits) find(ts uint64) (int, bool) {
	return slices.BinarySearchFunc(p.queue, ts, func(c pendingCommit, ts uint64) int {
		return cmp.Compare(c.ts, ts)
	})
}

func (p *pendingCommits) oldest() (ts uint64, found bool) {
	if len(p.queue) == 0 {
		return 0, false
	}
	return p.queue[0].ts, true
}

func (p *pendingCommits) count() int { return len(p.queue) }
