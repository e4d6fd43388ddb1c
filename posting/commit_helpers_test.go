package posting

import (
	"context"
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/dgraph-io/badger/v4"
	"github.com/stretchr/testify/require"
)

// smallTable is a memory table that a test can fill.
const smallTable = 1 << 20

func openStore(t testing.TB, opts Options) *Store {
	t.Helper()
	if opts.MemTableSize == 0 {
		opts.MemTableSize = smallTable
	}
	if opts.Commit.Reserve == 0 {
		opts.Commit.Reserve = -1
	}
	s, err := Open(opts)
	require.NoError(t, err)
	return s
}

// testKey is a data key of one predicate.
func testKey(uid uint64) []byte { return AppendDataKey(nil, 0, "pal", uid) }

// testCommit is a commit of n deltas at a timestamp, each of a key of its own,
// whose values tell timestamp, number and n, and are size bytes long.
func testCommit(ts uint64, n, size int) Commit {
	var run Run
	for i := range n {
		value := make([]byte, max(size, 24))
		binary.BigEndian.PutUint64(value, ts)
		binary.BigEndian.PutUint64(value[8:], uint64(i))
		binary.BigEndian.PutUint64(value[16:], uint64(n))
		run.Add(testKey(ts<<20|uint64(i)), value)
	}
	deltas := &Deltas{}
	deltas.Publish(&run)
	return Commit{TS: ts, Deltas: deltas}
}

// stored is a version of a key.
type stored struct {
	Key     string
	Version uint64
	Value   string
	Meta    byte
	Discard bool
}

// dump returns all versions that Badger holds.
func dump(t testing.TB, db *badger.DB) []stored {
	t.Helper()
	txn := db.NewTransactionAt(math.MaxUint64, false)
	defer txn.Discard()
	opt := badger.DefaultIteratorOptions
	opt.AllVersions = true
	it := txn.NewIterator(opt)
	defer it.Close()
	var all []stored
	for it.Rewind(); it.Valid(); it.Next() {
		value, err := it.Item().ValueCopy(nil)
		require.NoError(t, err)
		all = append(all, stored{
			Key: string(it.Item().KeyCopy(nil)), Version: it.Item().Version(), Value: string(value),
			Meta: it.Item().UserMeta(), Discard: it.Item().DiscardEarlierVersions(),
		})
	}
	return all
}

// commitsIn counts, by timestamp, the entries of test commits that a store
// holds, and fails where a commit is there in part.
func commitsIn(t testing.TB, db *badger.DB) map[uint64]int {
	t.Helper()
	found, whole := entriesIn(t, db)
	for ts, n := range found {
		require.Equal(t, whole[ts], n, "the commit at %d is there in part", ts)
	}
	return found
}

// entriesIn counts the entries of test commits that are there, and how many
// there should be of the same ones.
func entriesIn(t testing.TB, db *badger.DB) (found, whole map[uint64]int) {
	t.Helper()
	found, whole = map[uint64]int{}, map[uint64]int{}
	for _, e := range dump(t, db) {
		ts := binary.BigEndian.Uint64([]byte(e.Value))
		require.Equal(t, e.Version, ts)
		found[ts]++
		whole[ts] = int(binary.BigEndian.Uint64([]byte(e.Value[16:])))
	}
	return found, whole
}

// abandon ends a store as the end of its process would: nothing is flushed, the
// log stays.
func abandon(t testing.TB, s *Store) {
	t.Helper()
	s.cache.close()
	require.NoError(t, s.closeCommitter())
	require.NoError(t, s.db.Close())
	require.NoError(t, s.state.close())
}

// logFiles are the segments' names, in order.
func logFiles(t testing.TB, dir string) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "edgemill", logDirName, "*"+logSuffix))
	require.NoError(t, err)
	return names
}

// loseBadger removes the Badger folder, so that what is found afterwards came
// from the log.
func loseBadger(t testing.TB, dir string) {
	t.Helper()
	require.NoError(t, os.RemoveAll(filepath.Join(dir, "p")))
}

// mustCommit commits and waits until it can be read.
func mustCommit(t testing.TB, s *Store, c Commit) {
	t.Helper()
	var wg sync.WaitGroup
	wg.Add(1)
	var readable error
	c.Readable = func(err error) { readable = err; wg.Done() }
	require.NoError(t, s.Commit(context.Background(), c))
	wg.Wait()
	require.NoError(t, readable)
}
