package conflict

import (
	"context"
	"fmt"
	"sync"
)

// Oracle is the embedded Arbiter and Timestamps: one counter for all
// timestamps, the keys of recent commits, and the line between what can be read
// and what is still on its way.
//
// The plain way is one lock around everything. It is right, but a
// decision over some thousand keys then stops everyone who only wants a start
// timestamp. A lock for each stripe of the keys looks better and gains nothing: a
// transaction of two hundred keys takes most of the stripes, so two of them
// hardly ever run side by side, and one of twenty pays more for the locks than for
// its keys. So there are two locks: decisions, held while one transaction's keys
// are looked up and written down, some tens of nanoseconds each, and times, held
// for a few dozen instructions, in which no key is looked at.
//
//   - O1: decisions are serial. Looking up all keys, taking the commit timestamp
//     and writing all keys down happen under decisions, so of two transactions
//     that meet, the later decision sees the earlier one's keys.
//   - O2: times are serial. A commit becomes pending under the same hold of times
//     in which its timestamp is taken, so whoever holds any timestamp ts knows that
//     each commit at or below ts is pending or settled, and never waits for one
//     that is still to be decided.
//   - O3: what is forgotten can't matter. A key goes only when its newest commit is
//     at or below every registered start and before every pending commit, so below
//     any start to come, and a transaction with an older start than a forgotten
//     key's commit is refused with ErrTooOld.
//   - O4: whoever begins sees what anyone has been told of. A start timestamp is
//     above each commit that was acknowledged, settled or named in a refusal before,
//     and a read timestamp at or above it. The number after a commit timestamp of
//     this oracle is never a commit's, so that a start need not be above other
//     commits too.
//
// From O1 and O2: let a and b meet, a decided first. If b's start is below a's
// commit then b's decision finds that, and b is refused. Else b reads a's writes:
// nothing is read at a start before all commits through it are visible.
//
// A new timestamp for each start would satisfy O4 too. But it lies above every
// commit that was decided, so each transaction that reads would wait for the syncs
// of strangers. The price is a refusal, in place of a wait, for who begins while a
// commit that it meets is on its way. Who says what it will write begins above
// those; a refusal names the commit, so the next try begins above it; and the
// Gate is for those who meet often.
//
// Memory follows the open transactions: the keys of commits since the oldest
// open start, and one entry for each open timestamp and pending commit. Reads do
// not hold keys. All methods are safe for concurrent use; no goroutine is
// started.
type Oracle struct {
	decisions struct { // before times, where both are held
		sync.Mutex
		keys      recentKeys
		conflicts uint64
	}
	times struct {
		sync.Mutex
		last    uint64 // the newest timestamp handed out
		commit  uint64 // the newest that was handed out for a commit
		told    uint64 // the newest commit that somebody was told of
		horizon uint64 // the newest horizon handed out
		starts  openTimes
		reads   openTimes
		pending pendingCommits
		closed  bool
	}
	closing chan struct{}
}

// OracleStats is a glance at an Oracle.
type OracleStats struct {
	Last      uint64 // the newest timestamp handed out
	Visible   uint64 // every commit at or below it is settled
	Open      int    // transactions that began and are not done
	Reads     int    // reads that began and are not done
	Pending   int    // commits from the oldest unsettled one on
	Keys      int    // keys remembered, expired ones that were not dropped yet included
	Conflicts uint64 // commits refused with ErrConflict since the start
}

// NewOracle returns an oracle whose timestamps go on above last. It knows
// nothing of what was committed up to last: a transaction that started below it
// is ErrTooOld.
func NewOracle(last uint64) *Oracle {
	o := &Oracle{closing: make(chan struct{})}
	o.decisions.keys = newRecentKeys(last)
	o.times.last = last
	return o
}

// Begin implements Timestamps. With no commit on its way the timestamp is a new
// one.
func (o *Oracle) Begin(ctx context.Context, above uint64, keys Set) (uint64, error) {
	if err := ctx.Err(); err != nil {
		return 0, fmt.Errorf("begin a transaction: %w", err)
	}
	above = max(above, o.newestOf(keys))
	o.times.Lock()
	defer o.times.Unlock()
	ts, err := o.start(above)
	if err != nil {
		return 0, fmt.Errorf("begin a transaction: %w", err)
	}
	o.times.starts.add(ts)
	return ts, nil
}

// newestOf returns the newest commit that meets keys, as far as it can be on its
// way; 0 for none.
func (o *Oracle) newestOf(keys Set) uint64 {
	if len(keys.Exclusive)+len(keys.Shared) == 0 || !o.anyPending() {
		return 0
	}
	o.decisions.Lock()
	defer o.decisions.Unlock()
	return o.decisions.keys.newestOf(keys)
}

func (o *Oracle) anyPending() bool {
	o.times.Lock()
	defer o.times.Unlock()
	return o.times.pending.count() > 0
}

// Done implements Timestamps. A timestamp that is not open is ignored.
func (o *Oracle) Done(startTS uint64) {
	o.times.Lock()
	defer o.times.Unlock()
	o.times.starts.remove(startTS)
}

// BeginRead implements Timestamps. It waits for commits that somebody was told of
// and that can't be read yet; others on their way come after it. The timestamp was
// handed out before: no commit can come at or below it any more (O2), so it need
// not be a new one.
func (o *Oracle) BeginRead(ctx context.Context) (uint64, error) {
	return o.read(ctx, o.known)
}

// ReadAt implements Timestamps. A timestamp above the newest handed out is
// ErrUnknownTimestamp.
func (o *Oracle) ReadAt(ctx context.Context, readTS uint64) error {
	_, err := o.read(ctx, func() (uint64, error) { return readTS, o.readable(readTS) })
	return err
}

// DoneRead implements Timestamps. A timestamp that is not open is ignored.
func (o *Oracle) DoneRead(readTS uint64) {
	o.times.Lock()
	defer o.times.Unlock()
	o.times.reads.remove(readTS)
}

// Timestamp implements Timestamps.
func (o *Oracle) Timestamp(ctx context.Context) (uint64, func(), error) {
	ts, err := o.read(ctx, o.next)
	if err != nil {
		return 0, nil, err
	}
	return ts, sync.OnceFunc(func() { o.DoneRead(ts) }), nil
}

// Commit implements Arbiter. The error of a conflict is a *ConflictError; a
// start above the newest timestamp handed out is ErrUnknownTimestamp. The
// keys of an abandoned commit stay: they cost at most a retry.
func (o *Oracle) Commit(ctx context.Context, startTS uint64, keys Set) (uint64, error) {
	if err := ctx.Err(); err != nil {
		return 0, fmt.Errorf("commit the transaction at %d: %w", startTS, err)
	}
	o.decisions.Lock()
	defer o.decisions.Unlock()
	if err := o.check(startTS, keys); err != nil {
		return 0, err
	}
	commitTS, oldest, err := o.decide(startTS)
	if err != nil {
		return 0, fmt.Errorf("commit the transaction at %d: %w", startTS, err)
	}
	o.decisions.keys.record(commitTS, oldest, keys)
	return commitTS, nil
}

// check runs under decisions.
func (o *Oracle) check(startTS uint64, keys Set) error {
	if forgotten := o.decisions.keys.forgotten; startTS < forgotten {
		return fmt.Errorf("commit the transaction at %d: %w: keys are remembered from %d on",
			startTS, ErrTooOld, forgotten)
	}
	if met := o.decisions.keys.meet(startTS, keys); met != nil {
		o.decisions.conflicts++
		o.Acknowledged(met.CommitTS)
		return met
	}
	return nil
}

// decide takes the commit timestamp and makes it pending (O2). It returns also
// the timestamp at or below which keys may be forgotten.
func (o *Oracle) decide(startTS uint64) (commitTS, oldest uint64, err error) {
	o.times.Lock()
	defer o.times.Unlock()
	if startTS > o.times.last {
		return 0, 0, ErrUnknownTimestamp
	}
	if o.times.last == o.times.commit {
		o.times.last++ // It stays for those who begin between the two (O4).
	}
	if commitTS, err = o.next(); err != nil {
		return 0, 0, err
	}
	o.times.commit = commitTS
	o.times.pending.add(commitTS)
	o.assert()
	oldest = o.visible()
	if start, open := o.times.starts.oldest(); open {
		oldest = min(oldest, start)
	}
	return commitTS, oldest, nil
}

// Acknowledged implements Arbiter. A timestamp that was never handed out is
// ignored.
func (o *Oracle) Acknowledged(commitTS uint64) {
	o.times.Lock()
	defer o.times.Unlock()
	if commitTS <= o.times.commit {
		o.times.told = max(o.times.told, commitTS)
	}
}

// Visible implements Arbiter. A timestamp that is not pending is ignored.
func (o *Oracle) Visible(commitTS uint64) { o.settle(commitTS) }

// Abandoned implements Arbiter. A timestamp that is not pending is ignored.
func (o *Oracle) Abandoned(commitTS uint64) { o.settle(commitTS) }

func (o *Oracle) settle(commitTS uint64) {
	o.times.Lock()
	defer o.times.Unlock()
	if o.times.pending.settle(commitTS) {
		o.times.told = max(o.times.told, commitTS)
	}
}

// WaitVisible implements Timestamps. A timestamp above the newest handed out
// is ErrUnknownTimestamp: commits below it may still be decided.
func (o *Oracle) WaitVisible(ctx context.Context, ts uint64) error {
	below, err := o.through(ts)
	if err == nil {
		err = o.await(ctx, below)
	}
	if err != nil {
		return fmt.Errorf("wait for the commits through %d: %w", ts, err)
	}
	return nil
}

// Horizon implements Timestamps: the least of the open starts, the open reads,
// the timestamp before the oldest pending commit, and the newest timestamp.
// Versions that no reader at or above it sees may be dropped.
func (o *Oracle) Horizon() uint64 {
	o.times.Lock()
	defer o.times.Unlock()
	horizon := o.visible()
	if ts, open := o.times.starts.oldest(); open {
		horizon = min(horizon, ts)
	}
	if ts, open := o.times.reads.oldest(); open {
		horizon = min(horizon, ts)
	}
	// It can't fall: commits come above all timestamps handed out, starts and reads
	// at or above what is visible, and ReadAt takes nothing below the horizon noted
	// here.
	o.times.horizon = horizon
	return horizon
}

// Close ends every wait with ErrClosed, and no timestamp is handed out any
// more. What is in flight may still be settled and done. Close may be repeated.
func (o *Oracle) Close() {
	o.times.Lock()
	defer o.times.Unlock()
	if !o.times.closed {
		o.times.closed = true
		close(o.closing)
	}
}

// Stats returns a glance at the oracle.
func (o *Oracle) Stats() OracleStats {
	o.decisions.Lock()
	defer o.decisions.Unlock()
	o.times.Lock()
	defer o.times.Unlock()
	return OracleStats{
		Last:      o.times.last,
		Visible:   o.visible(),
		Open:      o.times.starts.count(),
		Reads:     o.times.reads.count(),
		Pending:   o.times.pending.count(),
		Keys:      o.decisions.keys.count(),
		Conflicts: o.decisions.conflicts,
	}
}

// read registers a read at the timestamp that choose returns, and waits for
// the commits below.
func (o *Oracle) read(ctx context.Context, choose func() (uint64, error)) (uint64, error) {
	ts, below, err := o.register(ctx, choose)
	if err != nil {
		return 0, fmt.Errorf("begin a read: %w", err)
	}
	if err := o.await(ctx, below); err != nil {
		o.DoneRead(ts)
		return 0, fmt.Errorf("begin a read at %d: %w", ts, err)
	}
	return ts, nil
}

// register opens a timestamp to read at under the hold of times in which it was
// chosen, so that no horizon passes it, and returns what to await before it is
// used.
func (o *Oracle) register(ctx context.Context, choose func() (uint64, error)) (uint64, <-chan struct{}, error) {
	if err := ctx.Err(); err != nil {
		return 0, nil, err
	}
	o.times.Lock()
	defer o.times.Unlock()
	ts, err := choose()
	if err != nil {
		return 0, nil, err
	}
	o.times.reads.add(ts)
	return ts, o.times.pending.through(ts), nil
}

// next runs under times and hands out a new timestamp.
func (o *Oracle) next() (uint64, error) {
	if o.times.closed {
		return 0, ErrClosed
	}
	o.times.last++
	return o.times.last, nil
}

// start runs under times and returns a start timestamp above a commit: a new one
// if that means no wait, else the least one (O4).
func (o *Oracle) start(above uint64) (uint64, error) {
	if above > o.times.commit {
		return 0, fmt.Errorf("%w: commit %d", ErrUnknownTimestamp, above)
	}
	if o.times.closed || o.times.pending.count() == 0 {
		return o.next()
	}
	ts := max(o.visible(), o.times.told+1, above+1)
	o.times.last = max(o.times.last, ts)
	return ts, nil
}

// known runs under times and returns the least timestamp from which one sees all
// that anybody has been told of (O4).
func (o *Oracle) known() (uint64, error) {
	if o.times.closed {
		return 0, ErrClosed
	}
	return max(o.visible(), o.times.told), nil
}

// readable runs under times and says whether one may still read at ts.
func (o *Oracle) readable(ts uint64) error {
	switch {
	case o.times.closed:
		return ErrClosed
	case ts > o.times.last:
		return fmt.Errorf("%w: %d, the newest is %d", ErrUnknownTimestamp, ts, o.times.last)
	case ts < o.times.horizon:
		return fmt.Errorf("%w: %d is below the horizon %d", ErrTooOld, ts, o.times.horizon)
	}
	return nil
}

// visible runs under times.
func (o *Oracle) visible() uint64 {
	if oldest, waiting := o.times.pending.oldest(); waiting {
		return oldest - 1
	}
	return o.times.last
}

func (o *Oracle) through(ts uint64) (<-chan struct{}, error) {
	o.times.Lock()
	defer o.times.Unlock()
	if ts > o.times.last {
		return nil, fmt.Errorf("%w: the newest is %d", ErrUnknownTimestamp, o.times.last)
	}
	return o.times.pending.through(ts), nil
}

// await waits for a channel of pendingCommits.through; nil means that there is
// nothing to wait for.
func (o *Oracle) await(ctx context.Context, below <-chan struct{}) error {
	if below == nil {
		return nil
	}
	select {
	case <-below:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-o.closing:
		return ErrClosed
	}
}
