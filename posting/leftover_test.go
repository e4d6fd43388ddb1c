package posting

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// A process that was killed leaves memory tables, which are read whatever the size
// of those to come.
func TestOpenWithLargerTables(t *testing.T) {
	dir, left := t.TempDir(), t.TempDir()
	s := openStore(t, Options{Dir: dir, MemTableSize: 16 * smallTable})
	mustCommit(t, s, testCommit(1, 30_000, 24))
	require.NoError(t, os.Mkdir(filepath.Join(left, "p"), 0o755))
	names, err := filepath.Glob(filepath.Join(dir, "p", "*"))
	require.NoError(t, err)
	for _, name := range names {
		if filepath.Ext(name) == valueSuffix {
			continue // empty, and of 2 GiB
		}
		data, err := os.ReadFile(name)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(left, "p", filepath.Base(name)), data, 0o600))
	}
	require.NoError(t, s.Close())

	s = openStore(t, Options{Dir: left})
	require.EqualValues(t, 16*smallTable, s.opts.MemTableSize)
	require.Equal(t, map[uint64]int{1: 30_000}, commitsIn(t, s.db))
	require.NoError(t, s.Close())
	s = openStore(t, Options{Dir: left})
	require.EqualValues(t, smallTable, s.opts.MemTableSize)
	require.Equal(t, map[uint64]int{1: 30_000}, commitsIn(t, s.db))
	require.NoError(t, s.Close())
}

// A process that was killed while Badger made a file leaves one without a size.
func TestOpenWithUnfinishedFiles(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, Options{Dir: dir})
	mustCommit(t, s, testCommit(1, 10, 30))
	abandon(t, s)
	for _, name := range []string{"00077.mem", "000077.vlog", "DISCARD"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "p", name), nil, 0o600))
	}
	s = openStore(t, Options{Dir: dir})
	require.Equal(t, map[uint64]int{1: 10}, commitsIn(t, s.db))

	require.ErrorIs(t, dropUnfinished(filepath.Join(dir, "p")), ErrInUse)
	require.NoError(t, s.Close())
	require.NoError(t, dropUnfinished(filepath.Join(dir, "none")))
}

// A store whose Badger files are gone is not begun anew without a word.
func TestOpenWithoutBadger(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, Options{Dir: dir})
	c := testCommit(1, 10, 30)
	c.Applied = 7
	mustCommit(t, s, c)
	require.NoError(t, s.Close())
	loseBadger(t, dir)
	for range 2 {
		_, err := Open(Options{Dir: dir, MemTableSize: smallTable})
		require.ErrorIs(t, err, ErrNoStore)
		require.ErrorContains(t, err, filepath.Join(dir, "edgemill"))
	}
	require.NoError(t, os.RemoveAll(filepath.Join(dir, "edgemill")))
	s = openStore(t, Options{Dir: dir})
	require.Empty(t, commitsIn(t, s.db))
	require.Zero(t, s.Applied())
	require.NoError(t, s.Close())
}

// Files that are not named as segments are none.
func TestOpenBesideOtherLogs(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, Options{Dir: dir})
	mustCommit(t, s, testCommit(1, 10, 30))
	abandon(t, s)
	segment, err := os.ReadFile(logFiles(t, dir)[0])
	require.NoError(t, err)
	for _, name := range []string{"1.log", "0000001.log", "000003.log.bak", "x.log"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "edgemill", logDirName, name), segment, 0o600))
	}
	s = openStore(t, Options{Dir: dir})
	require.Equal(t, map[uint64]int{1: 10}, commitsIn(t, s.db))
	require.NoError(t, s.Close())
}
