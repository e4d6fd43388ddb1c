package posting

import (
	"bytes"
	"context"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestHorizon(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, Options{Dir: dir})
	deltasAt(t, s, testKey(1), map[uint64][]byte{10: sets(9, 3), 20: sets(19, 4)})
	require.NoError(t, s.RaiseHorizon(20))
	require.NoError(t, s.RaiseHorizon(15), "it does not fall")
	abandon(t, s)

	s = openStore(t, Options{Dir: dir, CacheBytes: 1 << 20})
	require.Equal(t, uint64(20), s.Horizon())
	require.Equal(t, []uint64{3, 4}, listAt(t, s, 20, testKey(1)))
	old := s.Snapshot(19)
	defer old.Release()
	sweep := old.Sweep(nil)
	defer sweep.Close()
	ctx, key := context.Background(), testKey(1)
	for what, read := range map[string]func() error{
		"list":     func() error { _, err := old.List(key); return err },
		"under":    func() error { _, err := old.ListUnder(key, sets(9, 3)); return err },
		"sweep":    func() error { _, err := sweep.List(key); return err },
		"walk":     func() error { return old.Walk(ctx, nil, func([]byte) error { return nil }) },
		"lists":    func() error { return old.WalkLists(ctx, nil, nil, func([]byte, *List) error { return nil }) },
		"versions": func() error { return old.WalkVersions(ctx, nil, nil, func([]byte, []Version) error { return nil }) },
		"values":   func() error { return old.WalkValues(ctx, nil, func(_, _ []byte, _ uint64) error { return nil }) },
		"rollup":   func() error { _, err := old.RollUp(key); return err },
		"past":     func() error { _, err := s.Past(19); return err },
	} {
		require.ErrorIs(t, read(), ErrTooOld, what)
	}
	require.NoError(t, s.Close())
}

// TestHorizonStaysAtTheMark of a log that feeds the store.
func TestHorizonStaysAtTheMark(t *testing.T) {
	s := openStore(t, Options{Dir: t.TempDir()})
	mustCommit(t, s, Commit{TS: 30, Applied: 12, Entries: []Entry{{Key: testKey(1), Value: sets(9, 3), Meta: MetaDelta, Version: 30}}})
	require.NoError(t, s.RaiseHorizon(30))
	require.Equal(t, uint64(12), s.Horizon())
	require.NoError(t, s.Close())
}

// TestForgotten: where only a rollup is left above the timestamp, a Past is not
// told that nothing was there.
func TestForgotten(t *testing.T) {
	s := openStore(t, Options{InMemory: true, CacheBytes: 1 << 20})
	defer func() { require.NoError(t, s.Close()) }()
	var pack PackBuilder
	pack.Add(3)
	mustCommit(t, s, Commit{TS: 30, Entries: ListEntries(testKey(1), Complete{Pack: pack.Pack()}, 21)})
	deltasAt(t, s, testKey(2), map[uint64][]byte{20: sets(19, 4)})
	mustCommit(t, s, deletion(15, testKey(3)))
	for range 2 {
		r, err := s.Past(15)
		require.NoError(t, err)
		_, err = r.List(testKey(1))
		require.ErrorIs(t, err, ErrTooOld)
		require.ErrorContains(t, err, "data pal 0x1")
		for uid := uint64(2); uid < 5; uid++ {
			l, err := r.List(testKey(uid))
			require.NoError(t, err)
			require.Empty(t, l)
		}
		r.Release()
		require.Empty(t, listAt(t, s, 15, testKey(1)), "a Reader reads what is there")
		require.Equal(t, []uint64{3}, listAt(t, s, 21, testKey(1)))
	}
}

// TestOldVersionsGo: what lies below a complete list or a deletion goes when
// Badger compacts, below the horizon and not above.
func TestOldVersionsGo(t *testing.T) {
	s := openStore(t, Options{Dir: t.TempDir(), Commit: CommitOptions{NoSync: true}})
	defer func() { require.NoError(t, s.Close()) }()
	deltasAt(t, s, testKey(1), map[uint64][]byte{10: sets(9, 3), 20: sets(19, 4)})
	deltasAt(t, s, testKey(2), map[uint64][]byte{10: sets(9, 3), 40: sets(39, 4)})
	deltasAt(t, s, testKey(3), map[uint64][]byte{10: sets(9, 3)})
	roller := NewRoller(s, &handClock{next: 100}, nil, RollupOptions{Off: true})
	_, err := roller.RollUp(context.Background())
	require.NoError(t, err)
	roller.Close()
	mustCommit(t, s, deletion(30, testKey(3)))
	versions := func(uid uint64) (n int) {
		for _, v := range dump(t, s.db) {
			if v.Key == string(testKey(uid)) {
				n++
			}
		}
		return n
	}
	fill(t, s)
	require.Equal(t, []int{3, 3, 3}, []int{versions(1), versions(2), versions(3)}, "the horizon is at 0")
	require.NoError(t, s.RaiseHorizon(35))
	fill(t, s)
	require.Equal(t, []int{1, 3, 0}, []int{versions(1), versions(2), versions(3)})
	require.Equal(t, []uint64{3, 4}, listAt(t, s, 35, testKey(1)))
	require.Equal(t, []uint64{3}, listAt(t, s, 39, testKey(2)))
	require.Empty(t, listAt(t, s, 35, testKey(3)))
}

// fill gives Badger so much beside the test's keys that they are in tables, and
// has it compact.
func fill(t *testing.T, s *Store) {
	for uid := range uint64(60) {
		for _, key := range [][]byte{AppendDataKey(nil, 0, "a", uid), AppendDataKey(nil, 0, "z", uid)} {
			value := AppendPosting(nil, &Posting{UID: uid + 1, Value: make([]byte, 40<<10), Op: OpSet, StartTS: 1, Type: PostingValue})
			mustCommit(t, s, Commit{TS: 50, Entries: []Entry{{Key: key, Value: value, Meta: MetaDelta, Version: 50}}})
		}
	}
	for range 2 {
		require.NoError(t, s.db.Flatten(1))
	}
}

// TestCollectValues removes a file of the value log whose values were rolled up,
// and keeps what is still used of it.
func TestCollectValues(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, Options{Dir: dir})
	files := func() []string {
		names, err := filepath.Glob(filepath.Join(dir, "p", "*"+valueSuffix))
		require.NoError(t, err)
		return names
	}
	large := func(b byte) []byte {
		return AppendPosting(nil, &Posting{UID: DeleteAllUID, Value: bytes.Repeat([]byte{b}, 300<<10), Op: OpSet, StartTS: 1, Type: PostingValue})
	}
	for uid := uint64(1); uid <= 8; uid++ {
		deltasAt(t, s, testKey(uid), map[uint64][]byte{10: large('a'), 20: large('b')})
	}
	require.NoError(t, s.Close())

	s = openStore(t, Options{Dir: dir}) // with a new file of the value log
	roller := NewRoller(s, &handClock{next: 100}, nil, RollupOptions{Off: true})
	_, err := roller.RollUp(context.Background())
	require.NoError(t, err)
	roller.Close()
	before := files()
	keeper := NewKeeper(s, func() uint64 { return 100 }, CleanUpOptions{Off: true})
	defer keeper.Close()
	require.NoError(t, s.RaiseHorizon(100))
	fill(t, s)
	fill(t, s)
	n, err := keeper.CleanUp(context.Background())
	require.NoError(t, err)
	require.Positive(t, n)
	require.NotContains(t, files(), before[0])
	r := s.Reader(100)
	for uid := uint64(1); uid <= 8; uid++ {
		l, err := r.List(testKey(uid))
		require.NoError(t, err)
		p, _ := l.Find(DeleteAllUID)
		require.Len(t, p.Value, 300<<10)
		require.Equal(t, byte('b'), p.Value[0])
	}
	r.Release()
	require.NoError(t, s.Close())
}
