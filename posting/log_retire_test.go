package posting

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/dgraph-io/badger/v4"
	"github.com/stretchr/testify/require"
)

// watchedFS tells when a segment is about to be removed.
type watchedFS struct {
	LogFS
	remove func(name string)
}

func (w watchedFS) Remove(name string) error {
	if strings.HasSuffix(name, logSuffix) {
		w.remove(name)
	}
	return w.LogFS.Remove(name)
}

// openSynced opens a copy of what Badger itself has made durable: tables and
// manifest, and the value log, but no memory table.
func openSynced(t testing.TB, from string) *badger.DB {
	t.Helper()
	to := t.TempDir()
	for !copySynced(t, from, to) {
		require.NoError(t, os.RemoveAll(to))
		require.NoError(t, os.Mkdir(to, 0o700))
	}
	db, err := badger.OpenManaged(badger.DefaultOptions(to).WithLogger(nil).WithNumVersionsToKeep(1 << 30))
	require.NoError(t, err)
	return db
}

// copySynced reports whether all tables of the manifest were there to be
// copied: Badger goes on meanwhile, and compacts.
func copySynced(t testing.TB, from, to string) bool {
	t.Helper()
	copyFile(t, from, to, badger.ManifestFilename)
	f, err := os.Open(filepath.Join(to, badger.ManifestFilename))
	require.NoError(t, err)
	defer f.Close()
	manifest, _, err := badger.ReplayManifestFile(f, 0, badger.DefaultOptions(to))
	require.NoError(t, err)
	for id := range manifest.Tables {
		if !copyFile(t, from, to, fmt.Sprintf("%06d.sst", id)) {
			return false
		}
	}
	values, err := numberedFiles(from, valueSuffix)
	require.NoError(t, err)
	for _, n := range values {
		copyFile(t, from, to, fmt.Sprintf("%06d%s", n, valueSuffix))
	}
	return true
}

func copyFile(t testing.TB, from, to, name string) bool {
	t.Helper()
	src, err := os.Open(filepath.Join(from, name))
	if errors.Is(err, os.ErrNotExist) {
		return false
	}
	require.NoError(t, err)
	dst, err := os.Create(filepath.Join(to, name))
	require.NoError(t, err)
	_, err = io.CopyN(dst, src, copyLimit)
	if !errors.Is(err, io.EOF) {
		require.NoError(t, err)
	}
	require.NoError(t, errors.Join(src.Close(), dst.Close()))
	return true
}

// copyLimit is what is copied of a file: Badger makes its value log as large as
// it may become.
const copyLimit = 64 << 20

// retirement is a store in which, at each removal of a segment, what Badger
// would have without its memory tables is compared with what the segment held.
type retirement struct {
	t       *testing.T
	dir     string
	store   *Store
	ts      uint64
	removed int
	mu      sync.Mutex
	// held are the commits of each segment, and their sizes; nil once nothing is
	// to be looked at any more.
	held map[string]map[uint64]int
}

func newRetirement(t *testing.T) *retirement {
	r := &retirement{t: t, dir: t.TempDir(), held: map[string]map[uint64]int{}}
	r.store = openStore(t, Options{Dir: r.dir, MemTableSize: smallTable, Commit: CommitOptions{
		FS: watchedFS{LogFS: osFS{}, remove: r.removing}, NoSync: true, SegmentSize: smallTable,
	}})
	return r
}

func (r *retirement) removing(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.held == nil {
		return
	}
	if r.removed++; r.removed%4 != 1 {
		return // Looking takes long.
	}
	db := openSynced(r.t, filepath.Join(r.dir, "p"))
	found, _ := entriesIn(r.t, db)
	for ts, n := range r.held[name] {
		if found[ts] != n { // Not by require: this is the writer's goroutine.
			r.t.Errorf("%s is removed, and of the commit at %d only %d of %d entries are durable", name, ts, found[ts], n)
		}
	}
	require.NoError(r.t, db.Close())
}

// commit writes a commit and notes which segment has it.
func (r *retirement) commit(entries, size int) {
	r.ts++
	mustCommit(r.t, r.store, testCommit(r.ts, entries, size))
	names := logFiles(r.t, r.dir)
	name := names[len(names)-1]
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.held[name] == nil {
		r.held[name] = map[uint64]int{}
	}
	r.held[name][r.ts] = entries
}

func (r *retirement) close() {
	r.mu.Lock()
	r.held = nil
	r.mu.Unlock()
	require.Len(r.t, commitsIn(r.t, r.store.db), int(r.ts))
	require.NoError(r.t, r.store.Close())
	require.Empty(r.t, logFiles(r.t, r.dir))
}

// What a segment held is in synced tables when it is removed.
func TestRetiredIsDurable(t *testing.T) {
	r := newRetirement(t)
	for range 60 {
		r.commit(2000, 100)
	}
	require.GreaterOrEqual(t, r.removed, 5)
	require.Less(t, r.store.CommitStats().Segments, 20)
	r.close()
}

// Values in Badger's value log fill no memory table, and Badger does not sync
// them: they do not let a segment go, and are synced before one does.
func TestRetiredIsDurableInTheValueLog(t *testing.T) {
	r := newRetirement(t)
	size := int(r.store.committer.limits.inline)
	for range 40 {
		r.commit(4, size)
	}
	require.Zero(t, r.removed)
	require.Greater(t, r.store.CommitStats().Segments, 10)
	for range 25 {
		r.commit(3000, 100)
	}
	require.GreaterOrEqual(t, r.removed, 10)
	require.EqualValues(t, 160, r.store.committer.retirer.spilled)
	r.close()
}

// Segments that were replayed go like others, and a store that is opened again
// and again does not gather them.
func TestReplayedSegmentsRetire(t *testing.T) {
	dir := t.TempDir()
	opts := Options{Dir: dir, Commit: CommitOptions{SegmentSize: smallTable, NoSync: true}}
	ts := uint64(0)
	for range 4 {
		s := openStore(t, opts)
		for range 28 { // more than it takes to let what was replayed go
			ts++
			mustCommit(t, s, testCommit(ts, 3000, 100))
		}
		require.NoError(t, s.Flush(ctxBg))
		require.Less(t, len(logFiles(t, dir)), 16)
		abandon(t, s)
	}
	s := openStore(t, opts)
	require.Len(t, commitsIn(t, s.db), int(ts))
	require.NoError(t, s.Close())
}

// A segment that cannot be removed stays, and commits go on; it is tried again.
func TestRetireFails(t *testing.T) {
	fs := newMemFS()
	dir := t.TempDir()
	s := openStore(t, Options{Dir: dir, Commit: CommitOptions{FS: fs, SegmentSize: smallTable}})
	var mu sync.Mutex
	failing := true
	fs.fault = func(op, _ string) (bool, error) {
		mu.Lock()
		defer mu.Unlock()
		return false, ifOp(errors.New("no"), op == "remove" && failing)
	}
	ts := uint64(0)
	fill := func() {
		for range 50 {
			ts++
			mustCommit(t, s, testCommit(ts, 3000, 100))
		}
	}
	fill()
	many := s.CommitStats().Segments
	require.Greater(t, many, 15)
	require.NoError(t, s.Flush(ctxBg))
	mu.Lock()
	failing = false
	mu.Unlock()
	fill()
	require.Less(t, s.CommitStats().Segments, many)
	require.NoError(t, s.Close())
}

// What the log holds may be written again any number of times: all versions of
// all keys stay as they are.
func TestReplayChangesNothing(t *testing.T) {
	dir := t.TempDir()
	opts := Options{Dir: dir, Commit: CommitOptions{SegmentSize: smallTable / 4}}
	s := openStore(t, opts)
	for ts := range uint64(10) {
		mustCommit(t, s, testCommit(2*ts+1, 1+int(ts*ts*ts), 100))
		c := testCommit(2*ts+2, 1, 110_000)
		for i := range 5 { // many versions of the same keys, some of which hide others
			value, _ := c.Deltas.Get(testKey(c.TS << 20))
			e := Entry{Key: testKey(uint64(i)), Value: value, Meta: MetaDelta, Version: c.TS}
			if i == int(ts)%5 {
				e.Meta = MetaComplete
			}
			c.Entries = append(c.Entries, e)
		}
		mustCommit(t, s, c)
	}
	before := dump(t, s.db)
	require.Greater(t, len(logFiles(t, dir)), 3)
	abandon(t, s)
	for range 3 {
		s = openStore(t, opts)
		require.Equal(t, before, dump(t, s.db))
		require.EqualValues(t, 20, s.MaxVersion())
		abandon(t, s)
	}
	s = openStore(t, opts)
	require.NoError(t, s.Close())
	s = openStore(t, opts)
	require.Equal(t, before, dump(t, s.db))
	require.NoError(t, s.Close())
}
