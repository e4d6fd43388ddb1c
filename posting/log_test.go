package posting

import (
	"errors"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

const testLogDir = "/log"

// logCommit is an encoded commit of one entry, told apart by its timestamp.
func logCommit(t testing.TB, ts uint64, size int) encodedCommit {
	c := testCommit(ts, 1, size)
	c.Applied = ts
	e, err := encodeCommit(&c, limits{value: 1 << 30, inline: 1 << 30, entry: 1 << 30})
	require.NoError(t, err)
	return e
}

// replayed opens the log and returns the timestamps of each group.
func replayed(fs LogFS) (groups [][]uint64, l *commitLog, err error) {
	return replayedIn(fs, testLogDir)
}

func replayedIn(fs LogFS, dir string) (groups [][]uint64, l *commitLog, err error) {
	l, err = openLog(fs, dir, 1<<10)
	if err != nil {
		return nil, nil, err
	}
	err = l.replay(func(group []encodedCommit) error {
		var all []uint64
		for _, c := range group {
			all = append(all, c.ts)
		}
		groups = append(groups, all)
		return nil
	})
	return groups, l, err
}

// filledLog is a log of groups of one commit, 1 to n, in segments of at least
// segment bytes, and the place of each group.
func filledLog(t testing.TB, n int, segment int64) (*memFS, []groupPlace) {
	fs := newMemFS()
	l, err := openLog(fs, testLogDir, segment)
	require.NoError(t, err)
	require.NoError(t, l.replay(nil))
	var places []groupPlace
	for i := range n {
		require.NoError(t, l.append([]encodedCommit{logCommit(t, uint64(i+1), 100)}, true))
		name := l.segmentName(l.number)
		start := int64(segmentHeadLen)
		if i > 0 && places[i-1].name == name {
			start = places[i-1].end
		}
		places = append(places, groupPlace{name, start, l.end})
	}
	return fs, places
}

// groupPlace is where a group stands.
type groupPlace struct {
	name       string
	start, end int64
}

// upTo is 1 to n, a group each.
func upTo(n int) (groups [][]uint64) {
	for i := range n {
		groups = append(groups, []uint64{uint64(i + 1)})
	}
	return groups
}

func TestLogReplay(t *testing.T) {
	fs, places := filledLog(t, 20, 1<<10)
	require.NotEqual(t, places[0].name, places[19].name, "more than one segment")
	for _, left := range []*memFS{fs.crash(), fs.kill()} {
		groups, l, err := replayed(left)
		require.NoError(t, err)
		require.Equal(t, upTo(20), groups)
		require.EqualValues(t, 20, l.applied)
		require.NoError(t, l.append([]encodedCommit{logCommit(t, 21, 5000), logCommit(t, 22, 10)}, true))
		groups, _, err = replayed(left.crash())
		require.NoError(t, err)
		require.Equal(t, append(upTo(20), []uint64{21, 22}), groups)
	}
}

// A log cut anywhere in its last segment opens with the groups before the cut,
// and goes on.
func TestLogTornTail(t *testing.T) {
	fs, places := filledLog(t, 9, 1<<10)
	last := places[8].name
	for size := int64(0); size <= places[8].end; size++ {
		left := fs.kill()
		left.names[last].data = left.names[last].data[:size]
		want := 0
		for _, p := range places {
			if p.name != last || p.end <= size {
				want++
			}
		}
		groups, l, err := replayed(left)
		require.NoError(t, err, "cut at %d", size)
		require.Equal(t, upTo(want), groups, "cut at %d", size)
		require.NoError(t, l.append([]encodedCommit{logCommit(t, uint64(want+1), 50)}, true))
		groups, _, err = replayed(left.kill())
		require.NoError(t, err, "cut at %d", size)
		require.Equal(t, upTo(want+1), groups, "cut at %d", size)
	}
}

// A byte changed anywhere but in the last group is an error that names file
// and place; the last group cannot be told from a torn one.
func TestLogDamage(t *testing.T) {
	fs, places := filledLog(t, 9, 1<<10)
	for name, inode := range fs.names {
		end := int64(0)
		for _, p := range places {
			if p.name == name {
				end = p.end
			}
		}
		for at := range end {
			left := fs.kill()
			left.names[name].data[at] ^= 0x41
			groups, _, err := replayed(left)
			if name == places[8].name && at >= places[8].start {
				require.NoError(t, err, "%s byte %d", name, at)
				require.Equal(t, upTo(8), groups)
				continue
			}
			require.Error(t, err, "%s byte %d of %d", name, at, len(inode.data))
			require.ErrorContains(t, err, name)
			require.True(t, errors.Is(err, ErrBadState) || errors.Is(err, ErrNewerFormat), err)
		}
	}
}

func TestLogUnreadable(t *testing.T) {
	fs, places := filledLog(t, 20, 1<<10)
	first, last := places[0].name, places[19].name
	tests := []struct {
		name   string
		damage func(m *memFS)
		is     error
		says   string
	}{
		{"missing segment", func(m *memFS) { delete(m.names, places[8].name) }, ErrBadState, places[8].name},
		{"newer format", func(m *memFS) { m.names[last].data[8] = 2 }, ErrNewerFormat, last},
		{"empty segment within", func(m *memFS) { m.names[first].data = nil }, ErrBadState, first},
		{"cut within", func(m *memFS) { m.names[first].data = m.names[first].data[:200] }, ErrBadState, "byte 64"},
		{"segments swapped", func(m *memFS) { m.names[last].data = m.names[first].data }, ErrBadState, "of segment 1"},
		{"not a log", func(m *memFS) { copy(m.names[last].data, "SQLite") }, ErrBadState, "not a log segment"},
		{"read error", func(m *memFS) {
			m.fault = func(op, name string) (bool, error) {
				if op == "read" && name == first {
					return false, errors.New("bad sector")
				}
				return false, nil
			}
		}, nil, "bad sector"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			left := fs.kill()
			tt.damage(left)
			_, _, err := replayed(left)
			require.ErrorContains(t, err, tt.says)
			if tt.is != nil {
				require.ErrorIs(t, err, tt.is)
			}
		})
	}
}

// logModel is what a log with failing operations promised so far.
type logModel struct {
	// acknowledged timestamps in order, and how many of them with a sync.
	acknowledged []uint64
	durable      int
	// unsettled were refused by a disk that then refused also to take them
	// back; the next group that goes through settles that.
	unsettled map[uint64]bool
}

func (m *logModel) appended(ts uint64, synced bool, err error) {
	if err != nil {
		m.unsettled[ts] = true
		return
	}
	m.acknowledged = append(m.acknowledged, ts)
	clear(m.unsettled)
	if synced {
		m.durable = len(m.acknowledged)
	}
}

// check compares what a log is replayed as; at least so many of those
// acknowledged have to be there, from the first.
func (m *logModel) check(t *rapid.T, what string, fs *memFS, least int) {
	groups, _, err := replayed(fs)
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	var got []uint64
	for _, ts := range slices.Concat(groups...) {
		if !m.unsettled[ts] {
			got = append(got, ts)
		}
	}
	if len(got) < least || len(got) > len(m.acknowledged) || !slices.Equal(got, m.acknowledged[:len(got)]) {
		t.Fatalf("%s: replayed %v, of %v, %d at least", what, groups, m.acknowledged, least)
	}
}

// Whatever operations of the file system fail, and whether the process ends or
// the machine does: what was acknowledged is replayed, in order, and what was
// refused is not.
func TestLogFaults(t *testing.T) {
	encoded := make([]encodedCommit, 40)
	for i := range encoded {
		encoded[i] = logCommit(t, uint64(i+1), 100)
	}
	rapid.Check(t, func(t *rapid.T) {
		fs := newMemFS()
		failing := false
		rate := rapid.IntRange(0, 8).Draw(t, "rate")
		fs.fault = func(op, name string) (bool, error) {
			if !failing || op == "read" || rapid.IntRange(0, rate).Draw(t, op) > 0 {
				return false, nil
			}
			if op == "write" && rapid.Bool().Draw(t, "half") {
				return false, errHalf
			}
			return rapid.Bool().Draw(t, "done"), errors.New("injected")
		}
		l, err := openLog(fs, testLogDir, 600)
		if err != nil {
			t.Fatal(err)
		}
		m := logModel{unsettled: map[uint64]bool{}}
		for i := range rapid.IntRange(1, len(encoded)).Draw(t, "groups") {
			failing = rapid.Bool().Draw(t, "failing")
			synced := rapid.Bool().Draw(t, "sync")
			err := l.append(encoded[i:i+1], synced)
			failing = false
			m.appended(encoded[i].ts, synced, err)
			m.check(t, "killed", fs.kill(), len(m.acknowledged))
			m.check(t, "crashed", fs.crash(), m.durable)
		}
	})
}

// What a killed process wrote and did not sync is durable once the log was
// replayed, before a next segment or a Flush relies on it.
func TestReplayIsDurable(t *testing.T) {
	fs := newMemFS()
	l, err := openLog(fs, testLogDir, 1<<20)
	require.NoError(t, err)
	for ts := range uint64(3) {
		require.NoError(t, l.append([]encodedCommit{logCommit(t, ts+1, 100)}, ts == 0))
	}
	killed := fs.kill()
	l, err = openLog(killed, testLogDir, 1<<20)
	require.NoError(t, err)
	require.NoError(t, l.replay(func([]encodedCommit) error { return nil }))
	groups, _, err := replayed(killed.crash())
	require.NoError(t, err)
	require.Len(t, groups, 3)
	require.NoError(t, l.append([]encodedCommit{logCommit(t, 4, 100)}, true))
	groups, _, err = replayed(killed.crash())
	require.NoError(t, err)
	require.Len(t, groups, 4)

	killed = fs.kill()
	killed.fault = func(op, name string) (bool, error) { return false, ifOp(errors.New("no sync"), op == "sync") }
	l, err = openLog(killed, testLogDir, 1<<20)
	require.NoError(t, err)
	require.ErrorContains(t, l.replay(func([]encodedCommit) error { return nil }), "no sync")
}
