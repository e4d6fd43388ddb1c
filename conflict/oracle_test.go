package conflict

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"pgregory.net/rapid"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// begin starts a transaction of which nothing is known.
func begin(t testing.TB, o *Oracle) uint64 {
	t.Helper()
	ts, err := o.Begin(t.Context(), 0, Set{})
	require.NoError(t, err)
	return ts
}

// beginToRead starts a transaction and waits until it can read.
func (o *Oracle) beginToRead(ctx context.Context) (uint64, error) {
	ts, err := o.Begin(ctx, 0, Set{})
	if err != nil {
		return 0, err
	}
	if err := o.WaitVisible(ctx, ts); err != nil {
		o.Done(ts)
		return 0, err
	}
	return ts, nil
}

// commit decides and settles.
func commit(t testing.TB, o *Oracle, startTS uint64, keys Set) (uint64, error) {
	t.Helper()
	ts, err := o.Commit(t.Context(), startTS, keys)
	if err == nil {
		o.Visible(ts)
	}
	o.Done(startTS)
	return ts, err
}

// checkInBubble runs a property under synctest, so that who waits and who does
// not can be told exactly. A *testing.T would be asked for its deadline, which a
// bubble has not.
func checkInBubble(t *testing.T, property func(*rapid.T)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		rapid.Check(struct{ testing.TB }{t}, property)
	})
}

func exclusive(keys ...uint64) Set { return NewSet(keys, nil) }
func shared(keys ...uint64) Set    { return NewSet(nil, keys) }

func TestOracleKindsThatMeet(t *testing.T) {
	for _, test := range []struct {
		name          string
		first, second Set
		met           uint64 // 0: both commit
	}{
		{"nothing", Set{}, Set{}, 0},
		{"different keys", exclusive(1, 2), exclusive(3, 4), 0},
		{"exclusive and exclusive", exclusive(1, 2), exclusive(2, 3), 2},
		{"exclusive, then shared", exclusive(7), shared(7), 7},
		{"shared, then exclusive", shared(7), exclusive(7), 7},
		{"shared and shared", shared(7), shared(7), 0},
		{"both kinds count as exclusive", NewSet([]uint64{7}, []uint64{7}), shared(7), 7},
		{"exclusive keys are named first", NewSet([]uint64{9}, []uint64{1}), NewSet([]uint64{1, 9}, nil), 1},
		{"the greatest key", exclusive(^uint64(0)), exclusive(^uint64(0)), ^uint64(0)},
		{"a zero that was not dropped", Set{Exclusive: []uint64{0}}, Set{Exclusive: []uint64{0}}, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			o := NewOracle(0)
			a, b := begin(t, o), begin(t, o)
			first, err := commit(t, o, a, test.first)
			require.NoError(t, err)
			require.Greater(t, first, b)
			second, err := commit(t, o, b, test.second)
			if test.met == 0 {
				require.NoError(t, err)
				require.Greater(t, second, first)
				return
			}
			var conflict *ConflictError
			require.ErrorAs(t, err, &conflict)
			require.ErrorIs(t, err, ErrConflict)
			require.Equal(t, &ConflictError{Key: test.met, StartTS: b, CommitTS: first}, conflict)
			require.Contains(t, err.Error(), fmt.Sprintf("%016x was committed at %d, after the start at %d", test.met, first, b))

			retry := begin(t, o)
			_, err = commit(t, o, retry, test.second)
			require.NoError(t, err, "a retry starts after what it met")
			require.Equal(t, uint64(1), o.Stats().Conflicts)
		})
	}
}

// A shared commit after an exclusive one must not hide it.
func TestOracleRemembersBothKinds(t *testing.T) {
	o := NewOracle(0)
	old := begin(t, o)
	_, err := commit(t, o, begin(t, o), exclusive(5))
	require.NoError(t, err)
	_, err = commit(t, o, begin(t, o), shared(5))
	require.NoError(t, err)
	_, err = commit(t, o, old, shared(5))
	require.ErrorIs(t, err, ErrConflict)
}

func TestOracleRefusesForeignTimestamps(t *testing.T) {
	o := NewOracle(100)
	_, err := o.Commit(t.Context(), 99, exclusive(1))
	require.ErrorIs(t, err, ErrTooOld)
	_, err = o.Commit(t.Context(), 101, exclusive(1))
	require.ErrorIs(t, err, ErrUnknownTimestamp)
	ts, err := o.Commit(t.Context(), 100, exclusive(1))
	require.NoError(t, err)
	require.Equal(t, uint64(101), ts)
	_, err = o.Commit(t.Context(), 100, exclusive(1))
	require.ErrorIs(t, err, ErrConflict)

	_, err = o.Begin(t.Context(), 102, Set{})
	require.ErrorIs(t, err, ErrUnknownTimestamp)
	require.ErrorIs(t, o.WaitVisible(t.Context(), 102), ErrUnknownTimestamp)
	require.ErrorIs(t, o.ReadAt(t.Context(), 102), ErrUnknownTimestamp)
	o.Visible(7) // never decided
	o.Done(7)    // never begun
	o.DoneRead(7)
	require.Equal(t, OracleStats{Last: 101, Visible: 100, Pending: 1, Keys: 1, Conflicts: 1}, o.Stats())
}

func TestOracleForgetsOnlyWhatNobodyNeeds(t *testing.T) {
	const commits, size = 2000, 50
	run := func(t *testing.T, o *Oracle) {
		for i := range uint64(commits) {
			keys := make([]uint64, size)
			for j := range keys {
				keys[j] = i*size + uint64(j) + 1
			}
			_, err := commit(t, o, begin(t, o), exclusive(keys...))
			require.NoError(t, err)
		}
	}
	o := NewOracle(0)
	outside := begin(t, o)
	o.Done(outside)
	run(t, o)
	require.Less(t, o.Stats().Keys, keyShards*minSlots, "with nobody open, keys go")
	_, err := o.Commit(t.Context(), outside, exclusive(commits*size+1))
	require.ErrorIs(t, err, ErrTooOld, "its keys may have been forgotten")

	o = NewOracle(0)
	read, err := o.BeginRead(t.Context())
	require.NoError(t, err)
	run(t, o)
	require.Less(t, o.Stats().Keys, keyShards*minSlots, "a long read holds no keys")
	require.Equal(t, read, o.Horizon())

	o = NewOracle(0)
	old := begin(t, o)
	run(t, o)
	require.Equal(t, commits*size, o.Stats().Keys, "an open transaction holds them")
	for _, key := range []uint64{1, commits * size / 2, commits * size} {
		_, err = o.Commit(t.Context(), old, exclusive(key))
		require.ErrorIs(t, err, ErrConflict)
	}
	o.Done(old)
	run(t, o)
	run(t, o)
	require.Less(t, o.Stats().Keys, 2*keyShards*minSlots, "and lets them go")
	slots := 0
	for i := range o.decisions.keys.shards {
		slots += len(o.decisions.keys.shards[i].slots)
	}
	require.LessOrEqual(t, slots, 4*keyShards*minSlots, "with their memory")
}

// With one transaction open all the time, but never the same one for long,
// memory stays that of the keys between.
func TestOracleMemoryFollowsTheOldestStart(t *testing.T) {
	o := NewOracle(0)
	open := []uint64{}
	most := 0
	for i := range uint64(20000) {
		open = append(open, begin(t, o))
		if len(open) > 10 {
			_, err := commit(t, o, open[0], exclusive(10*i+1, 10*i+2, 10*i+3))
			require.NoError(t, err)
			open = open[1:]
		}
		if i%1000 == 0 {
			most = max(most, o.Stats().Keys)
		}
	}
	require.Less(t, most, keyShards*minSlots)
	require.LessOrEqual(t, cap(o.times.starts.entries), 64)
	require.LessOrEqual(t, cap(o.times.pending.queue), 64)
}

// Who was refused for a commit that can't be read yet waits for it, and so does
// everyone from then on.
func TestOracleRefusalNamesWhatTheNextTryWaitsFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := NewOracle(10)
		a, b := begin(t, o), begin(t, o)
		first, err := o.Commit(t.Context(), a, exclusive(1))
		require.NoError(t, err)
		_, err = o.Commit(t.Context(), b, exclusive(1))
		require.ErrorIs(t, err, ErrConflict)
		var again atomic.Uint64
		into(t, &again, o.beginToRead)
		synctest.Wait()
		require.Zero(t, again.Load())
		o.Visible(first)
		synctest.Wait()
		require.Equal(t, first+1, again.Load())
		_, err = o.Commit(t.Context(), again.Load(), exclusive(1))
		require.NoError(t, err)
	})
}

// Who says what it will write begins above the commits that it would meet, also
// those of which nobody was told, and above no others.
func TestOracleBeginsAboveWhatItMeets(t *testing.T) {
	o := NewOracle(10)
	start := begin(t, o)
	first, err := o.Commit(t.Context(), start, NewSet([]uint64{1}, []uint64{7}))
	require.NoError(t, err)
	second, err := o.Commit(t.Context(), start, exclusive(2))
	require.NoError(t, err)
	for _, test := range []struct {
		keys Set
		want uint64
	}{
		{Set{}, first - 1},
		{exclusive(3), first - 1},
		{exclusive(1), first + 1},
		{shared(1), first + 1},
		{exclusive(7), first + 1},
		{shared(7), first - 1},
		{exclusive(1, 2, 3), second + 1},
	} {
		ts, err := o.Begin(t.Context(), 0, test.keys)
		require.NoError(t, err)
		require.Equal(t, test.want, ts, "%v", test.keys)
		o.Done(ts)
	}
	_, err = o.Commit(t.Context(), first+1, exclusive(1))
	require.NoError(t, err, "it is above the commit that it meets")
	require.Equal(t, first-1, o.Horizon(), "the commits on their way hold the horizon")
}

// into makes a call that may wait, and notes its timestamp.
func into(t *testing.T, ts *atomic.Uint64, call func(context.Context) (uint64, error)) {
	go func() {
		got, err := call(t.Context())
		if err != nil {
			t.Error(err)
		}
		ts.Store(got)
	}()
}

func TestOracleVisibility(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := NewOracle(10)
		a, b := begin(t, o), begin(t, o)
		first, err := o.Commit(t.Context(), a, exclusive(1))
		require.NoError(t, err)
		second, err := o.Commit(t.Context(), b, exclusive(2))
		require.NoError(t, err)
		require.Equal(t, first-1, begin(t, o), "a commit of which nobody was told keeps nobody")

		o.Acknowledged(second)
		o.Acknowledged(second + 10) // never handed out
		var began, read, waited, before atomic.Uint64
		into(t, &began, o.beginToRead)
		synctest.Wait()
		into(t, &read, o.BeginRead)
		into(t, &waited, func(ctx context.Context) (uint64, error) { return first, o.WaitVisible(ctx, first) })
		require.NoError(t, o.WaitVisible(t.Context(), first-1))
		synctest.Wait()
		require.Zero(t, began.Load()+read.Load()+waited.Load())

		o.Visible(second)
		o.Visible(second)
		synctest.Wait()
		require.Zero(t, began.Load()+read.Load()+waited.Load(), "the one below is on its way")
		require.Equal(t, first-1, o.Stats().Visible)

		third, err := o.Commit(t.Context(), b, exclusive(3))
		require.NoError(t, err)
		o.Acknowledged(third)
		into(t, &before, o.beginToRead)
		o.Abandoned(first)
		synctest.Wait()
		require.Equal(t, second+1, began.Load(), "what comes later keeps nobody")
		require.Equal(t, second, read.Load())
		require.Equal(t, first, waited.Load())
		require.Zero(t, before.Load())

		o.Visible(third)
		synctest.Wait()
		require.Equal(t, third+1, before.Load())
	})
}

func TestOracleWaitsEndWithTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := NewOracle(0)
		start := begin(t, o)
		pending, err := o.Commit(t.Context(), start, Set{})
		require.NoError(t, err)
		o.Done(start)
		o.Acknowledged(pending)
		calls := map[string]func(context.Context) error{
			"begin":     func(ctx context.Context) error { _, err := o.beginToRead(ctx); return err },
			"read":      func(ctx context.Context) error { _, err := o.BeginRead(ctx); return err },
			"read at":   func(ctx context.Context) error { return o.ReadAt(ctx, pending) },
			"timestamp": func(ctx context.Context) error { _, _, err := o.Timestamp(ctx); return err },
			"wait":      func(ctx context.Context) error { return o.WaitVisible(ctx, pending) },
		}
		for name, call := range calls {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			require.ErrorIs(t, call(ctx), context.DeadlineExceeded, name)
			require.ErrorIs(t, call(ctx), context.DeadlineExceeded, name)
			cancel()
			stats := o.Stats()
			require.Zero(t, stats.Open+stats.Reads, name)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err = o.Commit(ctx, pending, exclusive(1))
		require.ErrorIs(t, err, context.Canceled)
		require.Equal(t, 1, o.Stats().Pending, "nothing was decided")

		for name, call := range calls {
			go func() {
				if err := call(t.Context()); !errors.Is(err, ErrClosed) {
					t.Errorf("%s: %v", name, err)
				}
			}()
		}
		synctest.Wait()
		o.Close()
		o.Close()
		synctest.Wait()
		for name, call := range calls {
			require.ErrorIs(t, call(t.Context()), ErrClosed, name)
		}
		_, err = o.Commit(t.Context(), pending, exclusive(1))
		require.ErrorIs(t, err, ErrClosed)
		o.Visible(pending)
		require.Equal(t, o.Stats().Last, o.Horizon(), "nothing stays open")
	})
}

func TestOracleHorizon(t *testing.T) {
	o := NewOracle(100)
	require.Equal(t, uint64(100), o.Horizon())
	start := begin(t, o)
	require.Equal(t, start, o.Horizon(), "a start holds it")
	read, err := o.BeginRead(t.Context())
	require.NoError(t, err)
	again, err := o.BeginRead(t.Context())
	require.NoError(t, err)
	require.Equal(t, read, again, "a read needs no timestamp of its own")
	commitTS, err := o.Commit(t.Context(), start, exclusive(1))
	require.NoError(t, err)
	o.Done(start)
	require.Equal(t, read, o.Horizon(), "a read holds it")
	o.DoneRead(read)
	require.Equal(t, read, o.Horizon(), "each one of them")
	o.DoneRead(again)
	require.Equal(t, commitTS-1, o.Horizon(), "a commit on its way holds it")
	o.Visible(commitTS)
	require.Equal(t, commitTS, o.Horizon())

	require.ErrorIs(t, o.ReadAt(t.Context(), commitTS-1), ErrTooOld)
	require.NoError(t, o.ReadAt(t.Context(), commitTS))
	ts, release, err := o.Timestamp(t.Context())
	require.NoError(t, err)
	require.Equal(t, commitTS+1, ts)
	require.Greater(t, begin(t, o), ts, "nobody else gets it")
	o.DoneRead(commitTS)
	require.Equal(t, ts, o.Horizon())
	release()
	release()
	require.Equal(t, ts+1, o.Horizon())
}

// modelCommit is a commit as the naive model keeps it: for ever, in a list.
type modelCommit struct {
	ts      uint64
	keys    Set
	settled bool
}

// waiting is a call that may wait for commits to be visible.
type waiting struct {
	ts     uint64 // what it is to return, and waits through
	open   *[]uint64
	cancel context.CancelFunc
	result chan error
	got    uint64
}

// oracleModel runs an Oracle and the naive model beside each other.
type oracleModel struct {
	o             *Oracle
	last, horizon uint64
	told          uint64 // the newest commit that somebody was told of
	newest        uint64 // the newest commit
	commits       []*modelCommit
	starts, reads []uint64
	waits         []*waiting
}

func meet(a, b Set) bool {
	both := func(x, y []uint64) bool {
		return slices.ContainsFunc(x, func(key uint64) bool { return slices.Contains(y, key) })
	}
	return both(a.Exclusive, b.Exclusive) || both(a.Exclusive, b.Shared) || both(a.Shared, b.Exclusive)
}

func drawSet(t *rapid.T) Set {
	keys := rapid.SliceOfN(rapid.Uint64Range(1, 12), 0, 4)
	return NewSet(keys.Draw(t, "exclusive"), keys.Draw(t, "shared"))
}

func (m *oracleModel) blocked(ts uint64) bool {
	return slices.ContainsFunc(m.commits, func(c *modelCommit) bool { return c.ts <= ts && !c.settled })
}

func (m *oracleModel) call(ts uint64, open *[]uint64, call func(context.Context) (uint64, error)) {
	ctx, cancel := context.WithCancel(context.Background())
	w := &waiting{ts: ts, open: open, cancel: cancel, result: make(chan error, 1)}
	go func() {
		var err error
		w.got, err = call(ctx)
		w.result <- err
	}()
	synctest.Wait()
	m.waits = append(m.waits, w)
}

func (m *oracleModel) visible() uint64 {
	visible := m.last
	for _, c := range m.commits {
		if !c.settled {
			visible = min(visible, c.ts-1)
		}
	}
	return visible
}

func (m *oracleModel) begin(t *rapid.T) {
	keys, above := drawSet(t), uint64(0)
	if len(m.commits) > 0 && rapid.Bool().Draw(t, "above another") {
		above = rapid.SampledFrom(m.commits).Draw(t, "which").ts
	}
	want := max(m.visible(), m.told+1, above+1)
	for _, c := range m.commits {
		require.NotEqual(t, c.ts, want, "a commit has it")
		if meet(c.keys, keys) {
			want = max(want, c.ts+1)
		}
	}
	if !m.blocked(m.last) {
		want = m.last + 1
	}
	m.last = max(m.last, want)
	ts, err := m.o.Begin(context.Background(), above, keys)
	require.NoError(t, err)
	require.Equal(t, want, ts)
	m.starts = append(m.starts, ts)
}

func (m *oracleModel) beginRead(*rapid.T) {
	m.call(max(m.visible(), m.told), &m.reads, m.o.BeginRead)
}

func (m *oracleModel) timestamp(*rapid.T) {
	m.last++
	m.call(m.last, &m.reads, func(ctx context.Context) (uint64, error) {
		ts, _, err := m.o.Timestamp(ctx)
		return ts, err
	})
}

func (m *oracleModel) acknowledge(t *rapid.T) {
	if len(m.commits) == 0 {
		t.Skip("no commit")
	}
	c := rapid.SampledFrom(m.commits).Draw(t, "commit")
	m.told = max(m.told, c.ts)
	m.o.Acknowledged(c.ts)
}

func (m *oracleModel) readAt(t *rapid.T) {
	ts := rapid.Uint64Range(0, m.last).Draw(t, "read at")
	if ts < m.horizon {
		require.ErrorIs(t, m.o.ReadAt(context.Background(), ts), ErrTooOld)
		return
	}
	m.call(ts, &m.reads, func(ctx context.Context) (uint64, error) { return ts, m.o.ReadAt(ctx, ts) })
}

func (m *oracleModel) waitVisible(t *rapid.T) {
	ts := rapid.Uint64Range(0, m.last).Draw(t, "wait for")
	m.call(ts, nil, func(ctx context.Context) (uint64, error) { return ts, m.o.WaitVisible(ctx, ts) })
}

func (m *oracleModel) commit(t *rapid.T) {
	if len(m.starts) == 0 {
		t.Skip("no transaction")
	}
	start, keys := rapid.SampledFrom(m.starts).Draw(t, "transaction"), drawSet(t)
	met := slices.ContainsFunc(m.commits, func(c *modelCommit) bool { return c.ts > start && meet(c.keys, keys) })
	ts, err := m.o.Commit(context.Background(), start, keys)
	if met {
		var conflict *ConflictError
		require.ErrorAs(t, err, &conflict)
		m.told = max(m.told, conflict.CommitTS)
		return
	}
	require.NoError(t, err)
	if m.last == m.newest {
		m.last++
	}
	m.last++
	m.newest = m.last
	require.Equal(t, m.last, ts)
	m.commits = append(m.commits, &modelCommit{ts: ts, keys: keys})
}

func (m *oracleModel) settle(t *rapid.T) {
	if len(m.commits) == 0 {
		t.Skip("no commit")
	}
	c := rapid.SampledFrom(m.commits).Draw(t, "commit")
	if !c.settled {
		m.told = max(m.told, c.ts)
	}
	c.settled = true
	if rapid.Bool().Draw(t, "failed") {
		m.o.Abandoned(c.ts)
	} else {
		m.o.Visible(c.ts)
	}
}

func (m *oracleModel) end(t *rapid.T) {
	if len(m.starts)+len(m.reads) == 0 {
		t.Skip("nothing open")
	}
	at := rapid.IntRange(0, len(m.starts)+len(m.reads)-1).Draw(t, "which")
	if at < len(m.starts) {
		m.o.Done(m.starts[at])
		m.starts = slices.Delete(m.starts, at, at+1)
		return
	}
	at -= len(m.starts)
	m.o.DoneRead(m.reads[at])
	m.reads = slices.Delete(m.reads, at, at+1)
}

func (m *oracleModel) cancel(t *rapid.T) {
	if len(m.waits) == 0 {
		t.Skip("nobody waits")
	}
	at := rapid.IntRange(0, len(m.waits)-1).Draw(t, "who")
	m.waits[at].cancel()
	require.ErrorIs(t, <-m.waits[at].result, context.Canceled)
	m.waits = slices.Delete(m.waits, at, at+1)
}

func (m *oracleModel) readHorizon(t *rapid.T) {
	want := m.visible()
	for _, ts := range slices.Concat(m.starts, m.reads) {
		want = min(want, ts)
	}
	for _, w := range m.waits {
		if w.open != nil {
			want = min(want, w.ts)
		}
	}
	require.Equal(t, want, m.o.Horizon())
	require.GreaterOrEqual(t, want, m.horizon, "it never falls")
	m.horizon = want
}

// check runs after each step: whoever waits must, and nobody else does.
func (m *oracleModel) check(t *rapid.T) {
	synctest.Wait()
	m.waits = slices.DeleteFunc(m.waits, func(w *waiting) bool {
		if m.blocked(w.ts) {
			require.Empty(t, w.result, "%d is not visible", w.ts)
			return false
		}
		require.NoError(t, <-w.result)
		w.cancel()
		require.Equal(t, w.ts, w.got)
		if w.open != nil {
			*w.open = append(*w.open, w.ts)
		}
		return true
	})
	stats := m.o.Stats()
	require.Equal(t, m.last, stats.Last)
}

func (m *oracleModel) finish(t *rapid.T) {
	for _, c := range m.commits {
		c.settled = true
		m.o.Visible(c.ts)
	}
	m.check(t)
	for len(m.starts)+len(m.reads) > 0 {
		m.end(t)
	}
	stats := m.o.Stats()
	require.Zero(t, stats.Open+stats.Reads+stats.Pending)
	require.Equal(t, stats.Last, m.o.Horizon())
}

func TestOracleAgainstModel(t *testing.T) {
	checkInBubble(t, func(t *rapid.T) {
		last := rapid.Uint64Range(0, 5).Draw(t, "last")
		m := &oracleModel{o: NewOracle(last), last: last}
		t.Repeat(map[string]func(*rapid.T){
			"begin": m.begin, "begin again": m.begin, "begin read": m.beginRead, "timestamp": m.timestamp, "acknowledge": m.acknowledge, "read at": m.readAt,
			"wait": m.waitVisible, "commit": m.commit, "commit again": m.commit, "settle": m.settle,
			"settle again": m.settle, "end": m.end, "cancel": m.cancel, "horizon": m.readHorizon, "": m.check,
		})
		m.finish(t)
	})
}

// The table against a map that forgets nothing, with keys that crowd a few
// shards so that tables fill, are rebuilt and shrink.
func TestRecentKeysAgainstMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := newRecentKeys(0)
		crowd := rapid.IntRange(1, 4).Draw(t, "shards")
		var keys []uint64
		for key := uint64(1); len(keys) < 60; key++ {
			if r.seed.hash(key)%keyShards < uint64(crowd) {
				keys = append(keys, key)
			}
		}
		model := map[uint64]keyCommit{}
		expired := uint64(0)
		for ts := uint64(1); ts < 60; ts++ {
			if rapid.IntRange(0, 9).Draw(t, "advance") == 0 {
				expired = rapid.Uint64Range(expired, ts-1).Draw(t, "expired")
			}
			some := rapid.SliceOfN(rapid.SampledFrom(keys), 0, 12)
			set := NewSet(some.Draw(t, "exclusive"), some.Draw(t, "shared"))
			r.record(ts, expired, set)
			for _, key := range set.Exclusive {
				model[key] = keyCommit{key: key, exclusive: ts, shared: model[key].shared}
			}
			for _, key := range set.Shared {
				model[key] = keyCommit{key: key, exclusive: model[key].exclusive, shared: ts}
			}
			r.next = rapid.IntRange(0, crowd).Draw(t, "sweep")
			compareRecentKeys(t, &r, model, expired)
		}
	})
}

func compareRecentKeys(t *rapid.T, r *recentKeys, model map[uint64]keyCommit, expired uint64) {
	require.LessOrEqual(t, r.forgotten, expired)
	found := 0
	for _, key := range slices.Sorted(maps.Keys(model)) {
		want := model[key]
		got := r.find(key)
		if got == nil {
			require.LessOrEqual(t, want.newest(), r.forgotten, "key %d was dropped silently", key)
			continue
		}
		found++
		// A key that was dropped and came again lacks only what was forgotten.
		for _, kind := range [][2]uint64{{want.exclusive, got.exclusive}, {want.shared, got.shared}} {
			if kind[0] > r.forgotten {
				require.Equal(t, kind[0], kind[1])
			}
		}
	}
	require.Equal(t, found, r.count())
	for i := range r.shards {
		require.LessOrEqual(t, 3*r.shards[i].used, 2*len(r.shards[i].slots))
	}
}

// Neighbouring keys, as one list's key combined with many uids gives them, must
// not crowd a part of the table.
func TestRecentKeysSpread(t *testing.T) {
	const n = 1 << 14
	for _, step := range []uint64{1, 2, 3, 256, 1 << 16, 1 << 32, 1 << 50} {
		r := newRecentKeys(0)
		base := rand.Uint64()
		var set Set
		for i := range uint64(n) {
			set.Exclusive = append(set.Exclusive, base^(i*step))
		}
		r.record(1, 0, set)
		for i := range r.shards {
			require.Less(t, r.shards[i].used, 3*n/keyShards, "step %d", step)
		}
		probes := 0
		for _, key := range set.Exclusive {
			hash := r.seed.hash(key)
			slots := r.shard(hash).slots
			for at := hash >> 8; slots[at&uint64(len(slots)-1)].key != key; at++ {
				probes++
			}
		}
		require.Less(t, probes, 4*n, "step %d", step)
	}
}

// history is what a transaction of the stress test did.
type history struct {
	start, commit uint64
	keys          Set
}

// Goroutines commit random sets, settle late, out of order or not at all, and
// the whole history is checked afterwards: no two transactions that meet
// overlap, and nobody began before all below was settled.
func TestOracleStress(t *testing.T) {
	const workers, rounds = 8, 300
	o := NewOracle(0)
	defer o.Close()
	var settled sync.Map
	var mu sync.Mutex
	var all []history
	var group, settling sync.WaitGroup
	for w := range workers {
		group.Go(func() {
			random := rand.New(rand.NewPCG(1, uint64(w)))
			for range rounds {
				start, err := o.beginToRead(t.Context())
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				for _, h := range all {
					if _, ok := settled.Load(h.commit); !ok && h.commit <= start {
						t.Errorf("began at %d before %d was settled", start, h.commit)
					}
				}
				mu.Unlock()
				keys := randomSet(random, 200, 6)
				ts, err := o.Commit(t.Context(), start, keys)
				o.Done(start)
				if errors.Is(err, ErrConflict) {
					continue
				}
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				all = append(all, history{start, ts, keys})
				mu.Unlock()
				delay := time.Duration(random.IntN(200)) * time.Microsecond
				settle := o.Visible
				if random.IntN(8) == 0 {
					settle = o.Abandoned
				}
				settling.Go(func() {
					time.Sleep(delay)
					settled.Store(ts, true)
					settle(ts)
				})
				if random.IntN(16) == 0 {
					o.Horizon()
				}
			}
		})
	}
	group.Wait()
	settling.Wait()
	checkHistory(t, all)
	stats := o.Stats()
	require.Zero(t, stats.Open+stats.Reads+stats.Pending)
	require.Equal(t, stats.Last, stats.Visible)
}

func randomSet(random *rand.Rand, universe uint64, most int) Set {
	draw := func() []uint64 {
		keys := make([]uint64, random.IntN(most))
		for i := range keys {
			keys[i] = 1 + random.Uint64N(universe)
		}
		return keys
	}
	return NewSet(draw(), draw())
}

func checkHistory(t *testing.T, all []history) {
	t.Helper()
	require.NotEmpty(t, all)
	slices.SortFunc(all, func(a, b history) int { return int(a.commit) - int(b.commit) })
	for i, b := range all {
		require.Greater(t, b.commit, b.start)
		for _, a := range all[:i] {
			require.Less(t, a.commit, b.commit)
			if a.commit > b.start && meet(a.keys, b.keys) {
				t.Fatalf("%v and %v meet and both committed", a, b)
			}
		}
	}
}
