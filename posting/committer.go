package posting

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/bits"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// Committer makes commits of any number of callers durable together.
//
// The problem: a commit has to be on the disk before it is acknowledged, whole
// or not at all, and a sync takes longer than all the rest. Badger alone, with
// SyncWrites, pays a sync a transaction, cuts a transaction that is larger than
// its batch in pieces which a crash leaves half there, and syncs only the
// active memory table, so that with a sync now and then nobody knows what is
// safe.
//
// The simple answer is a lock: append the transaction to a log, sync, write it
// to Badger, release. It is right, and one sync serves one client.
//
// What is done: whoever waits while a sync runs goes into the next one.
//
//	callers      encode, each its own commit
//	             queue, in order of arrival
//	turn         take what waits -> append one record -> sync -> answer each
//	             bounded queue of groups
//	writer       put the group, or the small ones that wait, into Badger by timestamp
//	             -> Readable -> retire log segments
//
// Whoever has the turn owns the log, the writer's goroutine owns Badger's writes;
// a group belongs to one of them at a time. While a group is written to Badger
// the next one is appended and synced. A group is closed when it is taken, not
// by a timer: one client alone has the latency of an append and a sync, and the
// more clients there are the more a sync serves.
//
// A caller that finds nobody before it takes the turn itself, with its own commit
// as the group, since waking another goroutine can take as long as a sync. What
// has come meanwhile is left to the committer's goroutine, which keeps the turn
// while there is work: no caller works for others.
//
// Invariants:
//
// C1: a commit is answered with nil after the record of its group was synced
// (with NoSync: written), and with an error only if nothing of it will be read
// again.
//
// C2: groups reach Badger in the order of the log, the commits of one, or of
// small ones that are put together, in that of their timestamps.
//
// C3: every caller is answered, and every Readable called, exactly once.
//
// C4: a log segment is removed when all its commits are durable in Badger
// (retirer), so log and Badger together hold every acknowledged commit at any
// moment.
//
// C5: what the log holds may be written to Badger again at any time: same keys,
// same versions, same values.
//
// Rejected: the committer's goroutine for everything, which costs a lone client
// two hand-overs (see docs/decisions.md); leaders among the callers for
// everything, who have to hand the turn on under load, which is a wake-up as
// well; waiting a little for company, which costs one client that little for nothing;
// writing to Badger before the sync, which would make unacknowledged data
// readable and need undoing; Badger's own log as the only one, for the reasons
// above.
type Committer struct {
	opts    CommitOptions
	limits  limits
	space   spaceGuard
	log     *commitLog // nil in memory: then the answer waits for Badger
	retirer *retirer   // nil in memory
	put     func([]encodedCommit) error
	logger  *slog.Logger // may be nil

	queue    waitQueue
	groups   groupQueue
	failures failures
	running  sync.WaitGroup
	applied  atomic.Uint64
	stats    struct {
		sync.Mutex
		CommitStats
	}
}

// maxGroupBytes bounds a group of more than one commit, so that a small commit
// does not wait for the writing of many large ones.
const maxGroupBytes = 16 << 20

// start sets the two goroutines going.
func (c *Committer) start() {
	c.queue.changed.L = &c.queue.mu
	c.queue.maxCommits, c.queue.maxAge, c.queue.maxBytes = c.opts.MaxGroup, c.opts.MaxAge, maxGroupBytes
	c.groups.changed.L = &c.groups.mu
	c.running.Add(2)
	go func() {
		defer c.running.Done()
		defer c.groups.close()
		for group := c.queue.take(); group != nil; group = c.queue.take() {
			c.handle(group)
			if len(group) > 1 {
				// Whoever can run runs before the next group is taken: those who
				// were just answered may have another commit for it.
				runtime.Gosched()
			}
			c.queue.giveTurn()
		}
	}()
	go func() {
		defer c.running.Done()
		for g := c.groups.pop(); g != nil; g = c.groups.pop() {
			c.write(g)
			c.groups.written(g)
		}
	}()
}

// Commit is Store.Commit.
func (c *Committer) Commit(ctx context.Context, commit Commit) error {
	w := newWaiter()
	w.readable = commit.Readable
	lead, err := c.enter(ctx, w, &commit)
	switch {
	case err != nil:
		w.refuse(err)
		return <-w.answer
	case lead:
		c.handle([]*waiter{w})
		c.queue.giveTurn()
		return <-w.answer
	}
	return c.await(ctx, w)
}

// enter encodes a commit and queues its caller, or gives him the turn.
func (c *Committer) enter(ctx context.Context, w *waiter, commit *Commit) (lead bool, err error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	if w.commit, err = encodeCommit(commit, c.limits); err != nil {
		return false, err
	}
	lead, open := c.queue.addOrLead(w)
	if !open {
		return false, ErrClosed
	}
	return lead, nil
}

// await waits for the answer, or withdraws while it still can.
func (c *Committer) await(ctx context.Context, w *waiter) error {
	select {
	case err := <-w.answer:
		return err
	case <-ctx.Done():
	}
	if c.queue.withdraw(w) {
		w.refuse(ctx.Err())
	}
	return <-w.answer
}

// Flush is Store.Flush.
func (c *Committer) Flush(ctx context.Context) error {
	w := newWaiter()
	w.flush = true
	from := c.failures.begin()
	if !c.queue.add(w) {
		c.failures.cancel()
		return ErrClosed
	}
	select {
	case <-w.answer:
		return c.failures.end(from)
	case <-ctx.Done():
		c.failures.cancel()
		return ctx.Err()
	}
}

// Stats is Store.CommitStats.
func (c *Committer) Stats() CommitStats {
	c.stats.Lock()
	defer c.stats.Unlock()
	s := c.stats.CommitStats
	if c.log != nil {
		s.Segments = c.log.count()
	}
	return s
}

// Applied is Store.Applied.
func (c *Committer) Applied() uint64 { return c.applied.Load() }

// handle takes a group to where it is answered and hands it to the writer. The
// caller has the turn.
func (c *Committer) handle(group []*waiter) {
	g := &commitGroup{commits: group}
	if slices.ContainsFunc(group, func(w *waiter) bool { return w.flush }) {
		g.separate(group)
	}
	c.admit(g)
	if err := c.makeDurable(g); err != nil {
		c.fail(g.commits, err)
		g.commits = nil
	}
	c.count(g)
	if c.log != nil {
		for _, w := range g.commits {
			w.answer <- nil
		}
	}
	c.groups.push(g)
}

// spaceInBadger is how many times its size a commit takes in Badger: in a table,
// and in the next one while a compaction writes that. What the memory tables take
// is the reserve's.
const spaceInBadger = 2

// admit refuses the commits that there is no room for: in the log, and in Badger
// with all that it has not been given yet.
func (c *Committer) admit(g *commitGroup) {
	left, err := c.space.free()
	left -= spaceInBadger * c.groups.unwritten()
	if fatal := c.failures.fatal(); fatal != nil {
		err = fatal
	}
	if err != nil {
		c.fail(g.commits, err)
		g.commits = nil
		return
	}
	var refused []*waiter
	g.commits = slices.DeleteFunc(g.commits, func(w *waiter) bool {
		n := int64(len(w.commit.data))
		if (1+spaceInBadger)*n > left {
			refused = append(refused, w)
			return true
		}
		left -= (1 + spaceInBadger) * n
		g.size += n
		return false
	})
	if len(refused) > 0 {
		c.fail(refused, fmt.Errorf("%w: a commit takes %d times its size, and %d bytes are left above the reserve of %d",
			ErrNoSpace, 1+spaceInBadger, left, c.space.reserve))
	}
}

// fail refuses commits for one cause, which Flush will tell.
func (c *Committer) fail(refused []*waiter, cause error) {
	if len(refused) == 0 {
		return
	}
	c.failures.add(cause)
	c.stats.Lock()
	c.stats.Failed += uint64(len(refused))
	c.stats.Unlock()
	for _, w := range refused {
		w.refuse(cause)
	}
}

// makeDurable appends the group to the log, in order of arrival, and syncs (C1).
func (c *Committer) makeDurable(g *commitGroup) error {
	commits := g.encoded()
	if c.log == nil || (len(commits) == 0 && len(g.flushes) == 0) {
		return nil
	}
	err := c.log.append(commits, !c.opts.NoSync || len(g.flushes) > 0)
	if errors.Is(err, unix.ENOSPC) {
		err = fmt.Errorf("%w: %w", ErrNoSpace, err)
	}
	if err != nil && len(g.commits) == 0 {
		c.failures.add(err)
	}
	g.segment = c.log.number
	c.applied.Store(c.log.applied)
	return err
}

// count takes a group into the statistics.
func (c *Committer) count(g *commitGroup) {
	c.stats.Lock()
	defer c.stats.Unlock()
	s := &c.stats.CommitStats
	if c.log != nil {
		s.Syncs, s.SyncTime = c.log.syncs, c.log.syncTime
	}
	if n := len(g.commits); n > 0 {
		s.Groups++
		s.Commits += uint64(n)
		s.LargestGroup = max(s.LargestGroup, n)
		s.Sizes[min(bits.Len(uint(n-1)), len(s.Sizes)-1)]++
		s.Bytes += uint64(g.size)
	}
}

// write puts a group into Badger (C2) and tells who waits for that.
func (c *Committer) write(g *commitGroup) {
	slices.SortStableFunc(g.commits, func(a, b *waiter) int { return cmp.Compare(a.commit.ts, b.commit.ts) })
	start := time.Now()
	err := c.putSurely(g)
	for _, w := range g.commits {
		c.tellWritten(w, err)
	}
	for _, w := range g.flushes {
		w.answer <- nil
	}
	c.stats.Lock()
	c.stats.WriteTime += time.Since(start)
	c.stats.Unlock()
	if c.retirer != nil && err == nil {
		c.warn(c.retirer.retire())
	}
}

func (c *Committer) tellWritten(w *waiter, err error) {
	if w.readable != nil {
		w.readable(err)
	}
	if c.log != nil {
		return // C1: it has been answered.
	}
	if err == nil && w.commit.applied > c.applied.Load() {
		c.applied.Store(w.commit.applied)
	}
	w.answer <- err
}

// retryDelays are the pauses before a write to Badger is tried, and tried again.
var retryDelays = [...]time.Duration{0, 20 * time.Millisecond, 200 * time.Millisecond}

// putSurely writes the group, several times if need be. Where that fails,
// nothing is written until the store is opened again and the log replayed: a
// later commit must not be there without an earlier one.
func (c *Committer) putSurely(g *commitGroup) error {
	if len(g.commits) == 0 {
		return nil
	}
	if c.retirer != nil && g.segment != 0 {
		c.retirer.reached(g.segment)
	}
	err := c.failures.fatal()
	if err != nil {
		return err
	}
	commits := g.encoded()
	for _, delay := range retryDelays {
		time.Sleep(delay)
		if err = c.put(commits); err == nil {
			return nil
		}
	}
	err = fmt.Errorf("%w: %w", ErrReadOnly, err)
	c.failures.setFatal(err)
	return err
}

// warn logs what goes wrong without a commit being touched.
func (c *Committer) warn(err error) {
	if err != nil && c.logger != nil {
		c.logger.Warn(err.Error())
	}
}

// close settles everything that was queued and ends both goroutines. The log
// stays until Badger was closed well.
func (c *Committer) close() error {
	c.queue.close()
	c.running.Wait()
	if c.log == nil {
		return nil
	}
	return c.log.close()
}

// removeLog removes the log after Badger was closed without an error, which
// makes all that it took durable.
func (c *Committer) removeLog() error {
	if c.log == nil || c.failures.fatal() != nil {
		return nil
	}
	for c.log.count() > 0 {
		if err := c.log.removeOldest(); err != nil {
			return fmt.Errorf("commit log: remove: %w", err)
		}
	}
	return nil
}

// replayBytes is how much of the log goes into Badger at a time: single small
// groups would be slow.
const replayBytes = 8 << 20

// replay writes what the log holds into Badger (C5). It runs before the
// goroutines do.
func (c *Committer) replay() error {
	if first := c.log.first(); first != 0 {
		c.retirer.current = first
	}
	var commits []encodedCommit
	size := 0
	put := func() error {
		defer clear(commits)
		err := c.put(commits)
		commits, size = commits[:0], 0
		return err
	}
	err := c.log.replay(func(group []encodedCommit) error {
		for i := range group {
			size += len(group[i].data)
		}
		commits = append(commits, group...)
		if size < replayBytes {
			return nil
		}
		return put()
	})
	if err == nil {
		err = put()
	}
	if err != nil {
		return fmt.Errorf("replay of the commit log: %w", err)
	}
	c.retirer.reached(c.log.number + 1)
	return nil
}
