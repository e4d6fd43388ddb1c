package posting

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// commitDelta commits one delta as a transaction.
func commitDelta(t testing.TB, s *Store, ts uint64, key, delta []byte) {
	t.Helper()
	var run Run
	run.Add(key, delta)
	c := Commit{TS: ts, Deltas: &Deltas{}}
	c.Deltas.Publish(&run)
	mustCommit(t, s, c)
}

// snapshotAt reads as listAt does, with the cache.
func snapshotAt(t *testing.T, s *Store, ts uint64, key []byte) []uint64 {
	t.Helper()
	r := s.Snapshot(ts)
	defer r.Release()
	l, err := r.List(key)
	require.NoError(t, err)
	if s.cache != nil {
		s.cache.lists.Wait()
	}
	var uids []uint64
	for uid := range l.UIDs(0) {
		uids = append(uids, uid)
	}
	return uids
}

// TestCacheTimestamps: a list is found again by those it is right for.
func TestCacheTimestamps(t *testing.T) {
	s := openStore(t, Options{InMemory: true, CacheBytes: 1 << 20})
	defer func() { require.NoError(t, s.Close()) }()
	key := testKey(1)
	commitDelta(t, s, 10, key, sets(9, 3))
	for _, tt := range []struct {
		commit uint64
		ts     uint64
		want   []uint64
		hit    bool
	}{
		{ts: 15, want: []uint64{3}},
		{ts: 16, want: []uint64{3}},
		{ts: 15, want: []uint64{3}, hit: true},
		{ts: 12, want: []uint64{3}, hit: true},
		{ts: 18, want: []uint64{3}, hit: true},
		{ts: 9},
		{ts: 17, want: []uint64{3}, hit: true},
		{commit: 20, ts: 19, want: []uint64{3}},
		{ts: 20, want: []uint64{3, 20}},
		{ts: 20, want: []uint64{3, 20}},
		{ts: 25, want: []uint64{3, 20}, hit: true},
		{ts: 19, want: []uint64{3}},
		{ts: 30, want: []uint64{3, 20}, hit: true},
		{commit: 40, ts: 41, want: []uint64{3, 20, 40}},
	} {
		if tt.commit > 0 {
			commitDelta(t, s, tt.commit, key, sets(tt.commit-1, tt.commit))
		}
		before := s.CacheStats()
		require.Equal(t, tt.want, snapshotAt(t, s, tt.ts, key), "at %d", tt.ts)
		require.Equal(t, tt.hit, s.CacheStats().Hits > before.Hits, "at %d", tt.ts)
	}
	require.Positive(t, s.CacheStats().Bytes)
}

// TestCacheRewrites: lists that are written at versions that were read at
// already are read anew.
func TestCacheRewrites(t *testing.T) {
	s := openStore(t, Options{InMemory: true, CacheBytes: 1 << 20})
	defer func() { require.NoError(t, s.Close()) }()
	key := testKey(1)
	commitDelta(t, s, 10, key, sets(9, 3))
	for range 3 {
		require.Equal(t, []uint64{3}, snapshotAt(t, s, 50, key))
	}
	require.NotZero(t, s.CacheStats().Hits)
	mustCommit(t, s, deletion(20, key))
	require.Empty(t, snapshotAt(t, s, 50, key))
	require.Equal(t, []uint64{3}, snapshotAt(t, s, 15, key))
	deltasAt(t, s, key, map[uint64][]byte{30: sets(29, 4)})
	require.Equal(t, []uint64{4}, snapshotAt(t, s, 50, key))
}

// TestCacheBelowRewrites: who reads below a deletion or a list that was written
// whole, after it went to the store, keeps the list for those below it only.
func TestCacheBelowRewrites(t *testing.T) {
	whole := func(version uint64, key []byte) Entry {
		return Entry{Key: key, Meta: MetaEmpty, Version: version}
	}
	for name, c := range map[string]Commit{
		"deletion":   deletion(20, testKey(1)),
		"whole list": {TS: 20, Entries: []Entry{whole(20, testKey(1))}},
	} {
		t.Run(name, func(t *testing.T) {
			s := openStore(t, Options{InMemory: true, CacheBytes: 1 << 20})
			defer func() { require.NoError(t, s.Close()) }()
			key := testKey(1)
			commitDelta(t, s, 10, key, sets(9, 3))
			mustCommit(t, s, c)
			for range 3 {
				require.Equal(t, []uint64{3}, snapshotAt(t, s, 15, key))
			}
			require.NotZero(t, s.CacheStats().Hits)
			for range 3 {
				require.Empty(t, snapshotAt(t, s, 50, key))
			}
			require.Equal(t, []uint64{3}, snapshotAt(t, s, 19, key))
			commitDelta(t, s, 60, key, sets(59, 4))
			for range 3 {
				require.Equal(t, []uint64{4}, snapshotAt(t, s, 70, key))
				require.Equal(t, []uint64{3}, snapshotAt(t, s, 15, key))
			}
		})
	}
}

// TestCachedUnder lays a transaction's own deltas on lists from the cache and
// from the store.
func TestCachedUnder(t *testing.T) {
	for _, size := range []int64{0, 1 << 20} {
		s := openStore(t, Options{InMemory: true, CacheBytes: size})
		key := testKey(1)
		commitDelta(t, s, 10, key, sets(9, 3, 5))
		r := s.Snapshot(20)
		for range 2 {
			snapshotAt(t, s, 20, key)
			for _, tt := range []struct {
				delta []byte
				want  []uint64
			}{
				{nil, []uint64{3, 5}},
				{sets(20, 4), []uint64{3, 4, 5}},
				{AppendRefPosting(nil, 3, 0, OpDelete, 20), []uint64{5}},
				{AppendDeleteAll(nil, 20), nil},
				{append(AppendDeleteAll(nil, 20), sets(20, 7)...), []uint64{7}},
			} {
				l, err := r.ListUnder(key, tt.delta)
				require.NoError(t, err)
				var uids []uint64
				for uid := range l.UIDs(0) {
					uids = append(uids, uid)
				}
				require.Equal(t, tt.want, uids)
			}
		}
		r.Release()
		require.NoError(t, s.Close())
	}
}
