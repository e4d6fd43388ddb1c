package posting

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var ctxBg = context.Background()

func TestCommitIsReadable(t *testing.T) {
	for _, opts := range []Options{{}, {InMemory: true}, {Commit: CommitOptions{NoSync: true}}} {
		t.Run(fmt.Sprintf("memory %v, no sync %v", opts.InMemory, opts.Commit.NoSync), func(t *testing.T) {
			opts.Dir = t.TempDir()
			s := openStore(t, opts)
			mustCommit(t, s, testCommit(7, 3, 30))
			mustCommit(t, s, testCommit(5, 5000, 300))
			require.Equal(t, map[uint64]int{7: 3, 5: 5000}, commitsIn(t, s.db))
			require.NoError(t, s.Close())
		})
	}
}

// The greatest version can be asked for while commits go to Badger, and is never
// below one that can be read.
func TestMaxVersionBesideCommits(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, Options{Dir: dir})
	const last = 200
	stop, asked := make(chan struct{}), make(chan bool)
	go func() {
		ordered, before := true, uint64(0)
		for {
			v := s.MaxVersion()
			ordered, before = ordered && before <= v, v
			select {
			case <-stop:
				asked <- ordered
				return
			default:
			}
		}
	}()
	for ts := uint64(1); ts <= last; ts++ {
		mustCommit(t, s, testCommit(ts, 1, 20))
		require.Equal(t, ts, s.MaxVersion())
	}
	close(stop)
	require.True(t, <-asked, "it never falls")

	mustCommit(t, s, testCommit(last-50, 3, 20))
	require.EqualValues(t, last, s.MaxVersion())
	abandon(t, s)
	s = openStore(t, Options{Dir: dir})
	require.EqualValues(t, last, s.MaxVersion(), "in Badger")
	abandon(t, s)
	loseBadger(t, dir)
	s = openStore(t, Options{Dir: dir})
	require.EqualValues(t, last, s.MaxVersion(), "from the log")
	require.NoError(t, s.Close())
}

// Entries have versions of their own, and all but deltas let Badger drop what
// is below; a value of any size goes, also into Badger's value log.
func TestCommitEntries(t *testing.T) {
	for _, filler := range []int{0, 2 * batchMax} {
		dir := t.TempDir()
		s := openStore(t, Options{Dir: dir})
		entries := []Entry{
			{Key: []byte("a"), Value: []byte("schema"), Meta: MetaSchema, Version: 12},
			{Key: []byte("b"), Value: []byte("list"), Meta: MetaComplete, Version: 4},
			{Key: []byte("c"), Meta: MetaEmpty, Version: 9},
			{Key: []byte("d"), Value: make([]byte, 3<<20), Meta: MetaDelta, Version: 11},
		}
		want := make([]stored, len(entries))
		for i, e := range entries {
			want[i] = stored{string(e.Key), e.Version, string(e.Value), e.Meta, e.Meta != MetaDelta}
		}
		for i := range filler {
			entries = append(entries, Entry{Key: fmt.Appendf(nil, "x%05d", i), Meta: MetaDelta, Version: 3})
		}
		c := Commit{TS: 11, Entries: entries}
		mustCommit(t, s, c)
		require.Equal(t, want, dump(t, s.db)[:4])
		abandon(t, s)
		loseBadger(t, dir)
		s = openStore(t, Options{Dir: dir})
		require.Equal(t, want, dump(t, s.db)[:4], "from the log")
		require.NoError(t, s.Close())
	}
}

// What a commit refers to is the caller's again once it was acknowledged.
func TestCommitKeepsNothing(t *testing.T) {
	s := openStore(t, Options{Dir: t.TempDir()})
	key, value := []byte("key"), []byte("value")
	readable := make(chan error, 1)
	c := Commit{TS: 3, Entries: []Entry{{Key: key, Value: value, Meta: MetaDelta, Version: 3}}}
	c.Readable = func(err error) { readable <- err }
	require.NoError(t, s.Commit(ctxBg, c))
	copy(key, "XXX")
	copy(value, "YYYYY")
	require.NoError(t, <-readable)
	require.Equal(t, []stored{{"key", 3, "value", MetaDelta, false}}, dump(t, s.db))
	require.NoError(t, s.Close())
}

func TestCommitRefusesWhatBadgerWould(t *testing.T) {
	tests := []struct {
		name  string
		entry Entry
		says  string
	}{
		{"no key", Entry{Version: 1}, "an empty key"},
		{"long key", Entry{Key: make([]byte, maxStoredKeyLen+1), Version: 1}, "a key of 65001 bytes"},
		{"Badger's key", Entry{Key: []byte("!badger!head"), Version: 1}, "a key of Badger's own"},
		{"no version", Entry{Key: []byte("k")}, "version 0"},
		{"large entry", Entry{Key: make([]byte, 60000), Value: make([]byte, 100_000), Version: 1}, "more than a batch's"},
	}
	s := openStore(t, Options{Dir: t.TempDir()})
	memory := openStore(t, Options{InMemory: true})
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			told := 0
			c := Commit{TS: 1, Entries: []Entry{tt.entry}, Readable: func(err error) {
				told++
				require.ErrorIs(t, err, ErrBadCommit)
			}}
			err := s.Commit(ctxBg, c)
			require.ErrorIs(t, err, ErrBadCommit)
			require.ErrorContains(t, err, tt.says)
			require.Equal(t, 1, told)
		})
	}
	large := Commit{TS: 1, Entries: []Entry{{Key: []byte("k"), Value: make([]byte, 1<<20), Version: 1}}}
	require.ErrorIs(t, memory.Commit(ctxBg, large), ErrBadCommit, "Badger has no value log in memory")
	require.NoError(t, s.Commit(ctxBg, large))
	require.NoError(t, s.Close())
	require.NoError(t, memory.Close())
}

// The largest entries that are let through go in.
func TestCommitAtTheLimits(t *testing.T) {
	s := openStore(t, Options{Dir: t.TempDir()})
	room := int(s.committer.limits.entry)
	mustCommit(t, s, Commit{TS: 2, Entries: []Entry{
		{Key: make([]byte, maxStoredKeyLen), Value: make([]byte, room-versionLen-maxStoredKeyLen), Version: 1},
		{Key: []byte("k"), Value: make([]byte, s.committer.limits.inline-1), Version: math.MaxUint64},
		{Key: []byte("k"), Value: make([]byte, s.committer.limits.inline), Version: 2},
	}})
	require.Len(t, dump(t, s.db), 3)
	require.NoError(t, s.Close())
}

// gate is a file system whose syncs wait to be let through.
type gate struct {
	LogFS
	syncing chan struct{} // one for each sync that began
	let     chan error    // what the sync comes to
}

type gateFile struct {
	LogFile
	gate *gate
}

func newGate() *gate {
	return &gate{LogFS: osFS{}, syncing: make(chan struct{}), let: make(chan error)}
}

func (g *gate) Create(name string) (LogFile, error) {
	f, err := g.LogFS.Create(name)
	return gateFile{f, g}, err
}

func (f gateFile) Sync() error {
	f.gate.syncing <- struct{}{}
	if err := <-f.gate.let; err != nil {
		return err
	}
	return f.LogFile.Sync()
}

// pass lets n syncs through.
func (g *gate) pass(n int) {
	for range n {
		<-g.syncing
		g.let <- nil
	}
}

// open lets all syncs through from now on.
func (g *gate) open(t testing.TB) {
	stop := make(chan struct{})
	t.Cleanup(func() { close(stop) })
	go func() {
		for {
			select {
			case <-g.syncing:
				g.let <- nil
			case <-stop:
				return
			}
		}
	}()
}

// waiting is how many callers no group has taken.
func waiting(s *Store) int {
	s.committer.queue.mu.Lock()
	defer s.committer.queue.mu.Unlock()
	return len(s.committer.queue.mu.waiting)
}

func waitFor(t testing.TB, what string, cond func() bool) {
	t.Helper()
	require.Eventually(t, cond, 10*time.Second, time.Millisecond, what)
}

// held is a store whose committer is in the sync of the commit at 1, with n
// more commits, at 2 and so on, waiting for it; their errors come on the
// channel.
func held(t *testing.T, n int, opts CommitOptions) (*Store, *gate, chan error) {
	g := newGate()
	opts.FS = g
	if opts.MaxAge == 0 {
		opts.MaxAge = time.Hour // however slow the test is
	}
	s := openStore(t, Options{Dir: t.TempDir(), Commit: opts})
	errs := make(chan error, n+1)
	commit := func(ts int) { errs <- s.Commit(ctxBg, testCommit(uint64(ts), 2, 30)) }
	go commit(1)
	g.pass(1) // of the new segment
	<-g.syncing
	for i := range n {
		go commit(n + 1 - i) // timestamps against the order of arrival
		waitFor(t, "the commit waits", func() bool { return waiting(s) == i+1 })
	}
	return s, g, errs
}

// Those who come while a sync runs share the next one.
func TestGroupIsWhatWaits(t *testing.T) {
	s, g, errs := held(t, 50, CommitOptions{})
	require.Empty(t, errs, "an answer before the sync")
	g.let <- nil
	require.NoError(t, <-errs)
	<-g.syncing
	require.Empty(t, errs, "an answer before the sync")
	g.let <- nil
	for range 50 {
		require.NoError(t, <-errs)
	}
	stats := s.CommitStats()
	require.EqualValues(t, 2, stats.Groups)
	require.EqualValues(t, 51, stats.Commits)
	require.Equal(t, 50, stats.LargestGroup)
	require.InDelta(t, 25.5, stats.MeanGroup(), 0.01)
	require.EqualValues(t, 2, stats.Syncs)
	require.NoError(t, s.Close())
}

func TestGroupBounds(t *testing.T) {
	tests := []struct {
		name   string
		opts   CommitOptions
		groups int
	}{
		{"count", CommitOptions{MaxGroup: 4}, 1 + 3},
		{"age", CommitOptions{MaxAge: time.Nanosecond}, 1 + 10},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, g, errs := held(t, 10, tt.opts)
			g.let <- nil
			g.pass(tt.groups - 1)
			for range 11 {
				require.NoError(t, <-errs)
			}
			require.EqualValues(t, tt.groups, s.CommitStats().Groups)
			require.NoError(t, s.Close())
		})
	}
}

// A group goes into Badger by timestamp, whatever the order of arrival.
func TestGroupIsWrittenByTimestamp(t *testing.T) {
	s, g, errs := held(t, 20, CommitOptions{})
	var wrote []uint64
	put := s.committer.put
	s.committer.put = func(commits []encodedCommit) error {
		for _, c := range commits {
			wrote = append(wrote, c.ts)
		}
		return put(commits)
	}
	g.let <- nil
	g.pass(1)
	for range 21 {
		require.NoError(t, <-errs)
	}
	require.NoError(t, s.Close())
	require.IsIncreasing(t, wrote)
	require.Len(t, wrote, 21)
}

// Small groups that wait for Badger go there together, large ones alone.
func TestSmallGroupsAreWrittenTogether(t *testing.T) {
	s := openStore(t, Options{Dir: t.TempDir(), Commit: CommitOptions{NoSync: true}})
	put, let := s.committer.put, make(chan struct{})
	var wrote [][]uint64
	s.committer.put = func(commits []encodedCommit) error {
		<-let
		var all []uint64
		for _, c := range commits {
			all = append(all, c.ts)
		}
		wrote = append(wrote, all)
		return put(commits)
	}
	var readable []uint64 // told by one goroutine
	commit := func(ts uint64, size int) {
		c := testCommit(ts, 1, size)
		c.Readable = func(err error) {
			require.NoError(t, err)
			readable = append(readable, ts)
		}
		require.NoError(t, s.Commit(ctxBg, c))
	}
	commit(1, 30)
	waitFor(t, "the writer has it", func() bool {
		s.committer.groups.mu.Lock()
		defer s.committer.groups.mu.Unlock()
		return len(s.committer.groups.mu.groups) == 0
	})
	for _, ts := range []uint64{5, 3, 4} {
		commit(ts, 30)
	}
	commit(6, maxJoinedBytes)
	commit(8, 30)
	commit(7, 30)
	close(let)
	require.NoError(t, s.Flush(ctxBg))
	require.Equal(t, [][]uint64{{1}, {3, 4, 5}, {6}, {7, 8}}, wrote)
	require.Equal(t, []uint64{1, 3, 4, 5, 6, 7, 8}, readable)
	require.EqualValues(t, 7, s.CommitStats().Groups)
	require.NoError(t, s.Close())
	require.Zero(t, s.committer.groups.mu.bytes)
}

func TestCommitIsCancelled(t *testing.T) {
	s, g, errs := held(t, 0, CommitOptions{})
	ctx, cancel := context.WithCancel(ctxBg)
	told := make(chan error, 2)
	c := testCommit(2, 1, 30)
	c.Readable = func(err error) { told <- err }
	answer := make(chan error)
	go func() { answer <- s.Commit(ctx, c) }()
	waitFor(t, "the commit waits", func() bool { return waiting(s) == 1 })
	cancel()
	require.ErrorIs(t, <-answer, context.Canceled)
	require.ErrorIs(t, <-told, context.Canceled)
	require.ErrorIs(t, s.Commit(ctx, c), context.Canceled)
	require.ErrorIs(t, <-told, context.Canceled)

	// Once a group has it, the outcome is waited for.
	ctx, cancel = context.WithCancel(ctxBg)
	c.TS = 3
	go func() { answer <- s.Commit(ctx, c) }()
	waitFor(t, "the commit waits", func() bool { return waiting(s) == 1 })
	g.let <- nil
	<-g.syncing
	cancel()
	g.let <- nil
	require.NoError(t, <-answer)
	require.NoError(t, <-told)
	require.NoError(t, <-errs)
	require.NoError(t, s.Close())
}

func TestFlushAfterNothing(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, Options{Dir: dir})
	require.NoError(t, s.Flush(ctxBg))
	require.Empty(t, logFiles(t, dir), "nothing was written")
	require.NoError(t, s.Close())
	require.ErrorIs(t, s.Flush(ctxBg), ErrClosed)
	told := 0
	c := testCommit(1, 1, 30)
	c.Readable = func(err error) { told++ }
	require.ErrorIs(t, s.Commit(ctxBg, c), ErrClosed)
	require.Equal(t, 1, told)
}

// A Flush waits for what was begun before it, in Badger.
func TestFlushWaits(t *testing.T) {
	s, g, errs := held(t, 3, CommitOptions{})
	flushed := make(chan error, 1)
	go func() { flushed <- s.Flush(ctxBg) }()
	waitFor(t, "the flush waits", func() bool { return waiting(s) == 4 })
	short, cancel := context.WithTimeout(ctxBg, time.Millisecond)
	defer cancel()
	require.ErrorIs(t, s.Flush(short), context.DeadlineExceeded)
	require.Empty(t, flushed)
	g.let <- nil
	g.pass(1)
	require.NoError(t, <-flushed)
	require.Len(t, commitsIn(t, s.db), 4)
	require.Len(t, errs, 4)
	require.NoError(t, s.Close())
}

// Without syncs a Flush is what makes commits survive the machine.
func TestFlushSyncs(t *testing.T) {
	fs := newMemFS()
	dir := t.TempDir()
	s := openStore(t, Options{Dir: dir, Commit: CommitOptions{NoSync: true, FS: fs}})
	inLog := func() (n int) {
		groups, _, err := replayedIn(fs.crash(), filepath.Join(dir, "edgemill", logDirName))
		require.NoError(t, err)
		for _, g := range groups {
			n += len(g)
		}
		return n
	}
	for ts := range uint64(5) {
		mustCommit(t, s, testCommit(ts+1, 1, 30))
	}
	require.Zero(t, inLog())
	require.NoError(t, s.Flush(ctxBg))
	require.Equal(t, 5, inLog())
	require.NoError(t, s.Close())
}

// Many Flushes and commits at once, with failures in between: each commit's
// failure is told by every Flush that waited for it, and by the next one if
// there was none.
func TestFlushTellsFailures(t *testing.T) {
	s, g, errs := held(t, 3, CommitOptions{})
	var flushed sync.WaitGroup
	told := make([]error, 3)
	for i := range told {
		flushed.Go(func() { told[i] = s.Flush(ctxBg) })
		waitFor(t, "the flush waits", func() bool { return waiting(s) == 4+i })
	}
	g.let <- errors.New("disk gone")
	g.pass(1) // the segment in place of the one that failed
	require.ErrorContains(t, <-errs, "disk gone")
	g.pass(1) // the later group goes through
	for range 3 {
		require.NoError(t, <-errs)
	}
	flushed.Wait()
	for _, err := range told {
		require.ErrorContains(t, err, "disk gone")
	}
	g.open(t)
	require.NoError(t, s.Flush(ctxBg), "it has been told")
	require.Len(t, commitsIn(t, s.db), 3)
	require.NoError(t, s.Close())
}

// A failure that nobody waited for is told by the next Flush whose context
// does not end, also when all groups since went through.
func TestFlushTellsOldFailures(t *testing.T) {
	dir := t.TempDir()
	fs := newMemFS()
	s := openStore(t, Options{Dir: dir, Commit: CommitOptions{FS: fs}})
	for i, cause := range []string{"first", "second"} {
		fs.fault = func(op, _ string) (bool, error) { return false, errors.New(cause + " " + op) }
		require.ErrorContains(t, s.Commit(ctxBg, testCommit(uint64(1+2*i), 1, 30)), cause)
		fs.fault = nil
		mustCommit(t, s, testCommit(uint64(2+2*i), 1, 30))
	}
	gone, cancel := context.WithCancel(ctxBg)
	cancel()
	if err := s.Flush(gone); errors.Is(err, context.Canceled) {
		err = s.Flush(ctxBg)
		require.ErrorContains(t, err, "first")
		require.ErrorContains(t, err, "second")
	}
	require.NoError(t, s.Flush(ctxBg))
	require.EqualValues(t, 2, s.CommitStats().Failed)
	require.Equal(t, map[uint64]int{2: 1, 4: 1}, commitsIn(t, s.db))
	require.NoError(t, s.Close())
}

// The last group of all fails: whoever waits is answered.
func TestFlushOfALastFailure(t *testing.T) {
	s, g, errs := held(t, 0, CommitOptions{})
	flushed := make(chan error, 1)
	go func() { flushed <- s.Flush(ctxBg) }()
	waitFor(t, "the flush waits", func() bool { return waiting(s) == 1 })
	g.let <- errors.New("disk gone")
	<-g.syncing
	g.let <- errors.New("still gone")
	require.ErrorContains(t, <-errs, "disk gone")
	go func() { // the flush needs a segment that is in order
		for range g.syncing {
			g.let <- nil
		}
	}()
	require.ErrorContains(t, <-flushed, "disk gone")
	require.NoError(t, s.Close())
	close(g.syncing)
}

func TestFailuresAreBounded(t *testing.T) {
	var f failures
	for i := range 1000 {
		f.add(fmt.Errorf("failure %d;", i))
	}
	err := f.end(f.begin())
	require.ErrorContains(t, err, "failure 0;")
	require.ErrorContains(t, err, fmt.Sprintf("and %d more failures", 1000-maxCauses))
	require.NoError(t, f.end(f.begin()))
}

// Several Flushes wait at a time: what one has told another may tell too, if it
// was there before, and nothing is told again or forgotten.
func TestFailuresOfOverlappingFlushes(t *testing.T) {
	var f failures
	fail := func(what string, n int) {
		for i := range n {
			f.add(fmt.Errorf("%s %d;", what, i))
		}
	}
	f.begin()
	fail("first", maxCauses+6)
	err := f.end(f.begin())
	require.ErrorContains(t, err, "first 63;")
	require.ErrorContains(t, err, "and 6 more failures")
	require.NoError(t, f.end(f.begin()), "nothing has failed since")

	fail("second", 5)
	f.cancel() // who waited goes away
	err = f.end(f.begin())
	require.ErrorContains(t, err, "second 4;")
	require.NotContains(t, err.Error(), "first")
	require.NotContains(t, err.Error(), "more")

	waits := f.begin()
	for range 100 { // what is kept for one who waits is bounded
		fail("third", maxCauses)
		require.Error(t, f.end(f.begin()))
		require.LessOrEqual(t, len(f.mu.causes), maxKept)
	}
	require.ErrorContains(t, f.end(waits), fmt.Sprintf("and %d more failures", 100*maxCauses-maxKept))
	require.NoError(t, f.end(f.begin()))
	require.Empty(t, f.mu.causes)
}

// Whatever the size of the memory table, Badger takes commits of any number of
// entries.
func TestManyEntriesInSmallTables(t *testing.T) {
	for _, size := range []int64{128 << 10, 256 << 10, 512 << 10, 1 << 20} {
		s := openStore(t, Options{Dir: t.TempDir(), MemTableSize: size, Commit: CommitOptions{NoSync: true}})
		for n := 100; n <= 1100; n += 100 {
			mustCommit(t, s, testCommit(uint64(n), n, 24))
		}
		require.NoError(t, s.Close())
	}
}

// Below the reserve nothing is touched; above it again, commits go on.
func TestNoSpace(t *testing.T) {
	dir := t.TempDir()
	var mu sync.Mutex
	free, cause := int64(1<<30), error(nil)
	set := func(n int64, err error) { mu.Lock(); free, cause = n, err; mu.Unlock() }
	var asked []string
	check := func(path string) (int64, error) {
		mu.Lock()
		defer mu.Unlock()
		asked = append(asked, path)
		return free, cause
	}
	s := openStore(t, Options{Dir: dir, Commit: CommitOptions{Reserve: 1 << 20, SpaceCheck: check}})
	mustCommit(t, s, testCommit(1, 1, 30))
	require.Equal(t, []string{filepath.Join(dir, "p")}, asked)
	before, err := os.ReadFile(logFiles(t, dir)[0])
	require.NoError(t, err)

	set(1<<20-1, nil)
	err = s.Commit(ctxBg, testCommit(2, 1, 30))
	require.ErrorIs(t, err, ErrNoSpace)
	set(1<<20+1000, nil)
	require.ErrorIs(t, s.Commit(ctxBg, testCommit(3, 10, 200)), ErrNoSpace, "the group's own size counts")
	set(1<<30, errors.New("no statfs"))
	require.ErrorContains(t, s.Commit(ctxBg, testCommit(4, 1, 30)), "no statfs")
	after, err := os.ReadFile(logFiles(t, dir)[0])
	require.NoError(t, err)
	require.Equal(t, before, after)

	set(1<<30, nil)
	mustCommit(t, s, testCommit(5, 1, 30))
	err = s.Flush(ctxBg)
	require.ErrorIs(t, err, ErrNoSpace)
	require.ErrorContains(t, err, "no statfs")
	require.NoError(t, s.Flush(ctxBg))
	require.Equal(t, map[uint64]int{1: 1, 5: 1}, commitsIn(t, s.db))
	require.NoError(t, s.Close())
}

// What Badger has not been given yet needs room there too.
func TestNoSpaceForWhatWaits(t *testing.T) {
	const reserve, size = 1 << 20, 4000
	free := func(string) (int64, error) { return reserve + 4*size, nil }
	s := openStore(t, Options{Dir: t.TempDir(), Commit: CommitOptions{NoSync: true, Reserve: reserve, SpaceCheck: free}})
	put, let := s.committer.put, make(chan struct{})
	s.committer.put = func(commits []encodedCommit) error { <-let; return put(commits) }
	require.NoError(t, s.Commit(ctxBg, testCommit(1, 1, size)))
	err := s.Commit(ctxBg, testCommit(2, 1, size))
	require.ErrorIs(t, err, ErrNoSpace)
	require.ErrorContains(t, err, "3 times its size")
	close(let)
	require.ErrorIs(t, s.Flush(ctxBg), ErrNoSpace)
	waitFor(t, "the writer has done", func() bool { return s.committer.groups.unwritten() == 0 })
	mustCommit(t, s, testCommit(3, 1, size))
	require.Equal(t, map[uint64]int{1: 1, 3: 1}, commitsIn(t, s.db))
	require.NoError(t, s.Close())
}

func TestReserveIsEightTables(t *testing.T) {
	s, err := Open(Options{Dir: t.TempDir(), MemTableSize: smallTable})
	require.NoError(t, err)
	require.EqualValues(t, 8*smallTable, s.committer.space.reserve)
	free, err := statFree(s.opts.Dir)
	require.NoError(t, err)
	require.Positive(t, free)
	require.NoError(t, s.Close())
}

// A write to Badger that fails once is tried again.
func TestBadgerWriteIsRetried(t *testing.T) {
	s := openStore(t, Options{Dir: t.TempDir()})
	put, failed := s.committer.put, 0
	s.committer.put = func(c []encodedCommit) error {
		if failed < 2 {
			failed++
			return errors.New("not now")
		}
		return put(c)
	}
	mustCommit(t, s, testCommit(1, 1, 30))
	require.NoError(t, s.Flush(ctxBg))
	require.NoError(t, s.Close())
}

// Where it goes on failing, what was acknowledged is told as unreadable, the
// store takes nothing more, and opening it again brings everything back.
func TestBadgerWriteFails(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, Options{Dir: dir})
	mustCommit(t, s, testCommit(1, 1, 30))
	s.committer.put = func([]encodedCommit) error { return errors.New("value log broken") }
	readable := make(chan error, 1)
	c := testCommit(2, 1, 30)
	c.Applied, c.Readable = 9, func(err error) { readable <- err }
	require.NoError(t, s.Commit(ctxBg, c), "it is durable")
	require.ErrorIs(t, <-readable, ErrReadOnly)
	for range 2 {
		err := s.Flush(ctxBg)
		require.ErrorIs(t, err, ErrReadOnly)
		require.ErrorContains(t, err, "value log broken")
		require.ErrorIs(t, s.Commit(ctxBg, testCommit(3, 1, 30)), ErrReadOnly)
	}
	require.NoError(t, s.Close())
	require.NotEmpty(t, logFiles(t, dir))

	s = openStore(t, Options{Dir: dir})
	require.Equal(t, map[uint64]int{1: 1, 2: 1}, commitsIn(t, s.db))
	require.EqualValues(t, 9, s.Applied())
	require.NoError(t, s.Close())
	require.Empty(t, logFiles(t, dir))
}

// The mark is durable with its commit, outlives segments and clean closes, and
// never goes back.
func TestApplied(t *testing.T) {
	dir := t.TempDir()
	opts := Options{Dir: dir, Commit: CommitOptions{SegmentSize: 1}}
	s := openStore(t, opts)
	require.Zero(t, s.Applied())
	for i, mark := range []uint64{3, 0, 8, 5} {
		c := testCommit(uint64(i+1), 1, 30)
		c.Applied = mark
		mustCommit(t, s, c)
	}
	require.NoError(t, s.Commit(ctxBg, Commit{Applied: 11}), "a mark alone")
	require.EqualValues(t, 11, s.Applied())
	require.Greater(t, len(logFiles(t, dir)), 3)
	require.NoError(t, os.Remove(logFiles(t, dir)[0]))
	require.NoError(t, os.Remove(logFiles(t, dir)[0]))
	abandon(t, s)
	s = openStore(t, opts)
	require.EqualValues(t, 11, s.Applied())
	require.NoError(t, s.Close())
	s = openStore(t, opts)
	require.EqualValues(t, 11, s.Applied())
	mustCommit(t, s, testCommit(20, 1, 30))
	require.EqualValues(t, 11, s.Applied())
	abandon(t, s)
	s = openStore(t, opts)
	require.EqualValues(t, 11, s.Applied())
	require.NoError(t, s.Close())

	memory := openStore(t, Options{InMemory: true})
	require.NoError(t, memory.Commit(ctxBg, Commit{TS: 1, Applied: 4}))
	require.EqualValues(t, 4, memory.Applied())
	require.NoError(t, memory.Close())
}

// A commit without anything is acknowledged, and its place in time is not lost
// on who waits to read.
func TestEmptyCommit(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, Options{Dir: dir})
	mustCommit(t, s, Commit{TS: 3})
	mustCommit(t, s, Commit{TS: 4, Deltas: &Deltas{}})
	require.Empty(t, logFiles(t, dir))
	require.NoError(t, s.Close())
}

// Close settles what was begun, while more and more is asked for.
func TestCloseDuringLoad(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, Options{Dir: dir})
	var mu sync.Mutex
	acknowledged := map[uint64]int{}
	var wg sync.WaitGroup
	for client := range 32 {
		wg.Go(func() {
			for i := 0; ; i++ {
				ts, n := uint64(client*100_000+i+1), 1+i%7*50
				err := s.Commit(ctxBg, testCommit(ts, n, 40))
				if errors.Is(err, ErrClosed) {
					return
				}
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				acknowledged[ts] = n
				mu.Unlock()
			}
		})
	}
	time.Sleep(200 * time.Millisecond)
	start := time.Now()
	require.NoError(t, s.Close())
	require.Less(t, time.Since(start), 10*time.Second, "on a busy machine too")
	wg.Wait()
	require.Empty(t, logFiles(t, dir))
	s = openStore(t, Options{Dir: dir})
	require.Equal(t, acknowledged, commitsIn(t, s.db))
	require.NoError(t, s.Close())
}

// A log that cannot be read is an error of Open that names the file, and leaves
// nothing open or changed.
func TestOpenWithDamagedLog(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, Options{Dir: dir})
	for ts := range uint64(3) {
		mustCommit(t, s, testCommit(ts+1, 1, 30))
	}
	abandon(t, s)
	name := logFiles(t, dir)[0]
	good, err := os.ReadFile(name)
	require.NoError(t, err)
	for _, tt := range []struct {
		at   int
		is   error
		says string
	}{{8, ErrNewerFormat, "log format"}, {70, ErrBadState, "byte 64"}} {
		bad := clone(good)
		bad[tt.at]++
		require.NoError(t, os.WriteFile(name, bad, 0o644))
		_, err = Open(Options{Dir: dir})
		require.ErrorIs(t, err, tt.is)
		require.ErrorContains(t, err, name)
		require.ErrorContains(t, err, tt.says)
	}
	require.NoError(t, os.WriteFile(name, good, 0o644))
	s = openStore(t, Options{Dir: dir})
	require.Len(t, commitsIn(t, s.db), 3)
	require.NoError(t, s.Close())
}

// A group that fails on its way to the disk is gone: for readers, after the end
// of the process, and after that of the machine. The next one is clean.
func TestFailedGroupIsGone(t *testing.T) {
	fail := errors.New("injected")
	seen := map[string]bool{}
	first := func(want, op string) bool {
		hit := op == want && !seen[op]
		seen[op] = true
		return hit
	}
	for _, tt := range []struct {
		name  string
		fault func(op, name string) (bool, error)
	}{
		{"append", func(op, _ string) (bool, error) { return false, ifOp(fail, op == "write") }},
		{"append in half", func(op, _ string) (bool, error) { return false, ifOp(errHalf, op == "write") }},
		{"append that was done", func(op, _ string) (bool, error) { return true, ifOp(fail, op == "write") }},
		{"append, truncate", func(op, _ string) (bool, error) { return true, ifOp(fail, op == "write" || op == "truncate") }},
		{"sync", func(op, _ string) (bool, error) { return false, ifOp(fail, op == "sync") }},
		{"sync that was done", func(op, _ string) (bool, error) { return true, ifOp(fail, op == "sync") }},
		{"sync, once", func(op, _ string) (bool, error) { return true, ifOp(fail, first("sync", op)) }},
		{"sync, rename", func(op, _ string) (bool, error) { return true, ifOp(fail, op == "sync" || op == "rename") }},
		{"sync, once, and of the folder", func(op, _ string) (bool, error) {
			return true, ifOp(fail, op == "syncdir" || first("sync", op))
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			clear(seen)
			failedGroup(t, tt.fault)
		})
	}
}

func ifOp(err error, hit bool) error {
	if hit {
		return err
	}
	return nil
}

func failedGroup(t *testing.T, fault func(op, name string) (bool, error)) {
	dir := t.TempDir()
	fs := newMemFS()
	s := openStore(t, Options{Dir: dir, Commit: CommitOptions{FS: fs}})
	mustCommit(t, s, testCommit(1, 2, 30))
	fs.fault = fault
	told := make(chan error, 1)
	c := testCommit(2, 2, 30)
	c.Readable = func(err error) { told <- err }
	require.Error(t, s.Commit(ctxBg, c))
	require.Error(t, <-told)
	fs.fault = nil
	mustCommit(t, s, testCommit(3, 2, 30))
	require.Error(t, s.Flush(ctxBg))
	want := map[uint64]int{1: 2, 3: 2}
	require.Equal(t, want, commitsIn(t, s.db))
	crashed, killed := fs.crash(), fs.kill()
	abandon(t, s)
	for _, left := range []*memFS{crashed, killed} {
		loseBadger(t, dir)
		s = openStore(t, Options{Dir: dir, Commit: CommitOptions{FS: left}})
		require.Equal(t, want, commitsIn(t, s.db))
		abandon(t, s)
	}
}
