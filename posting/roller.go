package posting

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// RollupOptions say when lists are rolled up in the background. The zero value
// of each field is a sane default.
type RollupOptions struct {
	// Off rolls nothing up but what RollUp is asked to.
	Off bool
	// MinDeltas is from how many deltas above its complete list a list is rolled
	// up; default 16. A list of 16 KiB has one more, and so on.
	MinDeltas int
	// MinBytes is from how many bytes of deltas it is; default 64 KiB, and a
	// fourth of what the complete list has.
	MinBytes int
	// Rate is how many bytes of rolled-up lists are written a second at most;
	// default 16 MiB, no bound if negative.
	Rate int64
}

func (o RollupOptions) withDefaults() RollupOptions {
	if o.MinDeltas <= 0 {
		o.MinDeltas = 16
	}
	if o.MinBytes <= 0 {
		o.MinBytes = 64 << 10
	}
	if o.Rate == 0 {
		o.Rate = 16 << 20
	}
	return o
}

// RollupStats counts what was rolled up.
type RollupStats struct {
	// Lists were rolled up; they were written as Entries values, parts of split
	// lists included, of Bytes in all.
	Lists, Entries, Bytes uint64
	// Skipped lists are as they were: they are being altered, or the store has
	// no room for a value of that size (in memory).
	Skipped uint64
	// Failed lists could not be read or written.
	Failed uint64
}

func (s *RollupStats) add(o RollupStats) {
	s.Lists += o.Lists
	s.Entries += o.Entries
	s.Bytes += o.Bytes
	s.Skipped += o.Skipped
	s.Failed += o.Failed
}

// RollupClock hands out a rollup's timestamps: new ones that no transaction or
// commit gets, through which every commit is readable. conflict.Timestamps is
// one.
type RollupClock interface {
	Timestamp(ctx context.Context) (ts uint64, release func(), err error)
}

// RollupGuard is asked for each batch of rollups. Until release is called, which
// it is when all of the batch can be read, nobody bars a key that barred does not
// name, and the roller does not touch those that it does.
type RollupGuard func() (barred func(k *Key) bool, release func())

// Roller rolls up lists: it puts complete lists in the place of the deltas that
// commits leave. A reader of a list that was committed to n times merges n
// deltas; the roller sees to it that there are few.
//
// Why it may write at the version newest+1, which is long past, where newest is
// that of the newest delta that went in: the rollup reads at a timestamp ts of
// its own, when every commit at or below ts can be read.
//
//   - No delta of the key has the version newest+1, or will have. It is not
//     above ts, since newest is below ts: ts is no commit's. If a commit had it
//     and had written the key, it would have been read, and be the newest. And
//     commits to come have timestamps above ts.
//   - A reader at or above newest+1 sees the same list in it as in the deltas,
//     and one below does not see it.
//   - Two rollups of one key at once, or one again from the log after a crash,
//     write the same: what was newest decides what is in it. If a commit came
//     between, the later one has a greater version than the earlier one's ts,
//     and so than what the earlier one writes.
//   - Only where a delta lies above the complete list is anything written, so no
//     rollup stands in the place of another one.
//
// Whoever writes a list at a version that is not a commit's, or deletes one,
// bars its predicate meanwhile (RollupGuard): a rollup might bring back what is
// being deleted, as a part that the deleter has not seen.
//
// One goroutine works in the background, on what readers and the writer tell
// (hotKeys), in small batches at a bounded rate, and waits a little for a moment
// without commits. Its methods may be called from any goroutine.
type Roller struct {
	store *Store
	clock RollupClock
	guard RollupGuard
	opts  RollupOptions

	stop    context.CancelFunc
	stopped sync.WaitGroup
	stats   struct {
		sync.Mutex
		RollupStats
	}
}

// NewRoller begins to roll up the store's lists, with at most one Roller a
// store. A nil guard bars nothing. Close ends it, before the store and the clock
// end.
func NewRoller(store *Store, clock RollupClock, guard RollupGuard, opts RollupOptions) *Roller {
	r := &Roller{store: store, clock: clock, guard: guard, opts: opts.withDefaults()}
	ctx, cancel := context.WithCancel(context.Background())
	r.stop = cancel
	if r.opts.Off {
		return r
	}
	hot := newHotKeys(rollupRule{minDeltas: r.opts.MinDeltas, minBytes: r.opts.MinBytes})
	store.hot.Store(hot)
	r.stopped.Add(1)
	go func() {
		defer r.stopped.Done()
		r.work(ctx, hot)
	}()
	return r
}

// Close ends the background work within the time of a small commit. It may be
// repeated.
func (r *Roller) Close() {
	r.store.hot.Store(nil)
	r.stop()
	r.stopped.Wait()
}

// Stats returns the counts since the Roller began, as they stand.
func (r *Roller) Stats() RollupStats {
	r.stats.Lock()
	defer r.stats.Unlock()
	return r.stats.RollupStats
}

const (
	// batchKeys and batchBytes bound a batch in the background. Its entries are
	// in one commit, which is all that a commit may have to wait for.
	batchKeys  = 256
	batchBytes = 1 << 20
	// gatherTime is how long the first key of a batch waits for others.
	gatherTime = 10 * time.Millisecond
	// politeTime is how long a batch waits at most for a moment without
	// commits, and politeStep how long between two looks.
	politeTime = 50 * time.Millisecond
	politeStep = 2 * time.Millisecond
	// pauseAfterError keeps a store without space from being asked all the time.
	pauseAfterError = time.Second
	// keyCost is about what a rollup costs beside its bytes, in bytes.
	keyCost = 1 << 10
)

// work takes batches from the queue until the context ends.
func (r *Roller) work(ctx context.Context, hot *hotKeys) {
	for keys := r.gather(ctx, hot); keys != nil; keys = r.gather(ctx, hot) {
		r.giveWay(ctx)
		stats, err := r.rollUpHot(ctx, hot, keys)
		pause := pauseAfterError
		if err == nil {
			pause = r.pace(stats, len(keys))
		} else if ctx.Err() == nil {
			r.store.committer.warn(fmt.Errorf("background rollup: %w", err))
		}
		sleep(ctx, pause)
	}
}

// gather waits for keys and returns a batch of them; nil when the context ends.
func (r *Roller) gather(ctx context.Context, hot *hotKeys) [][]byte {
	var keys [][]byte
	take := func(key []byte) {
		hot.taken(r.store.marks.hash(key))
		keys = append(keys, key)
	}
	select {
	case key := <-hot.queue:
		take(key)
	case <-ctx.Done():
		return nil
	}
	enough := time.NewTimer(gatherTime)
	defer enough.Stop()
	for len(keys) < batchKeys {
		select {
		case key := <-hot.queue:
			take(key)
		case <-enough.C:
			return distinct(keys)
		case <-ctx.Done():
			return nil
		}
	}
	return distinct(keys)
}

func distinct(keys [][]byte) [][]byte {
	slices.SortFunc(keys, bytes.Compare)
	return slices.CompactFunc(keys, bytes.Equal)
}

// giveWay waits for a moment in which no commit is queued, but not for long.
func (r *Roller) giveWay(ctx context.Context) {
	for waited := time.Duration(0); waited < politeTime && r.store.committer.queue.busy(); waited += politeStep {
		if !sleep(ctx, politeStep) {
			return
		}
	}
}

// pace is how long to rest after a batch.
func (r *Roller) pace(done RollupStats, keys int) time.Duration {
	if r.opts.Rate < 0 {
		return 0
	}
	cost := float64(done.Bytes) + float64(keys)*keyCost
	return time.Duration(cost / float64(r.opts.Rate) * float64(time.Second))
}

// sleep waits, and reports whether the context has not ended meanwhile.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// rollUpHot rolls up those of the keys whose lists are due.
func (r *Roller) rollUpHot(ctx context.Context, hot *hotKeys, keys [][]byte) (RollupStats, error) {
	b, err := r.begin(ctx)
	if err != nil {
		return RollupStats{}, err
	}
	defer b.end()
	for _, key := range keys {
		if err := ctx.Err(); err != nil {
			return b.stats, err
		}
		if err := b.rollUp(ctx, key, batchBytes, hot.rule.due); err != nil {
			return b.stats, err
		}
	}
	return b.stats, b.flush(ctx)
}

const (
	// pageKeys and pageBytes bound what RollUp does at one timestamp.
	pageKeys  = 64 << 10
	pageBytes = 4 << 20
)

// RollUp rolls up every list that has a delta above its complete list, as they
// stand when it comes to them, in the order of their keys, and returns when that
// is durable and readable. Commits go on meanwhile; rollups too, which leave
// less to do. Lists that can't be read or written are left and counted; the
// error is about the first of them, or the context's.
func (r *Roller) RollUp(ctx context.Context) (RollupStats, error) {
	var all RollupStats
	var first error
	from := []byte{byte(SpaceList)}
	for from != nil {
		b, err := r.begin(ctx)
		if err != nil {
			return all, err
		}
		next, err := b.page(ctx, from)
		b.end()
		all.add(b.stats)
		if err != nil {
			return all, err
		}
		if first == nil {
			first = b.first
		}
		from = next
	}
	if first != nil {
		first = fmt.Errorf("%d lists were not rolled up, the first: %w", all.Failed, first)
	}
	return all, first
}

// rollupBatch is the rollups at one timestamp. It belongs to one goroutine.
type rollupBatch struct {
	roller  *Roller
	ts      uint64
	reader  *Reader
	barred  func(*Key) bool
	release []func()

	// entries replace the deltas of lists lists, and have size bytes.
	entries     []Entry
	lists, size int

	stats RollupStats
	// first is why a list could not be rolled up.
	first error
}

// begin takes the guard and a timestamp; end gives them back.
func (r *Roller) begin(ctx context.Context) (*rollupBatch, error) {
	b := &rollupBatch{roller: r}
	if r.guard != nil {
		barred, release := r.guard()
		b.barred = barred
		b.release = append(b.release, release)
	}
	ts, release, err := r.clock.Timestamp(ctx)
	if err != nil {
		b.end()
		return nil, err
	}
	b.ts, b.reader = ts, r.store.Reader(ts)
	b.release = append(b.release, release, b.reader.Release)
	return b, nil
}

func (b *rollupBatch) end() {
	for _, release := range slices.Backward(b.release) {
		release()
	}
	b.release = nil
	b.roller.stats.Lock()
	defer b.roller.stats.Unlock()
	b.roller.stats.add(b.stats)
}

// page rolls up the lists from a key on, until it has done enough, and returns
// the first key that it left; nil for none.
func (b *rollupBatch) page(ctx context.Context, from []byte) (next []byte, err error) {
	keys := 0
	err = b.reader.walkMeta(ctx, []byte{byte(SpaceList)}, from, func(key []byte, meta byte) error {
		if keys++; keys > pageKeys || b.size > pageBytes {
			next = bytes.Clone(key)
			return errPageFull
		}
		if meta != MetaDelta {
			return nil
		}
		return b.rollUp(ctx, bytes.Clone(key), 2*pageBytes, func(l *List) bool { return l.deltas > 0 })
	})
	if err != nil && !errors.Is(err, errPageFull) {
		return nil, err
	}
	return next, b.flush(ctx)
}

// errPageFull ends the walk of one page.
var errPageFull = errors.New("page is full")

// rollUp adds what replaces the list's deltas, and stores what was added when
// that has come to size bytes. It keeps the key.
func (b *rollupBatch) rollUp(ctx context.Context, key []byte, size int, due func(*List) bool) error {
	entries, err := b.replacement(key, due)
	if err != nil {
		b.fail(err)
	}
	if len(entries) == 0 {
		return nil
	}
	for i := range entries {
		b.size += len(entries[i].Key) + len(entries[i].Value)
	}
	b.entries = append(b.entries, entries...)
	b.lists++
	if b.size < size {
		return nil
	}
	return b.flush(ctx)
}

// replacement is what replaces the list's deltas; nothing where they are left.
func (b *rollupBatch) replacement(key []byte, due func(*List) bool) ([]Entry, error) {
	k, err := ParseKey(key)
	if err != nil {
		return nil, fmt.Errorf("key %x: %w", key, err)
	}
	if b.barred != nil && b.barred(&k) {
		b.stats.Skipped++
		return nil, nil
	}
	entries, err := b.reader.rollUpIf(key, due)
	if err != nil {
		return nil, err
	}
	if !b.fits(entries) {
		b.stats.Skipped++
		return nil, nil
	}
	return entries, nil
}

// fits reports whether Badger takes all of the entries.
func (b *rollupBatch) fits(entries []Entry) bool {
	tooLarge := func(e Entry) bool { return b.roller.store.committer.limits.check(e) != nil }
	return !slices.ContainsFunc(entries, tooLarge)
}

func (b *rollupBatch) fail(err error) {
	b.stats.Failed++
	if b.first == nil {
		b.first = err
	}
}

// flush stores what was added as one commit, main lists and parts at once, and
// waits until it can be read.
func (b *rollupBatch) flush(ctx context.Context) error {
	if len(b.entries) == 0 {
		return nil
	}
	readable := make(chan error, 1)
	err := b.roller.store.Commit(ctx, Commit{TS: b.ts, Entries: b.entries, Readable: func(err error) { readable <- err }})
	if err == nil {
		err = <-readable
	}
	if err != nil {
		return err
	}
	b.stats.Lists += uint64(b.lists)
	b.stats.Entries += uint64(len(b.entries))
	b.stats.Bytes += uint64(b.size)
	b.entries, b.lists, b.size = nil, 0, 0
	return nil
}
