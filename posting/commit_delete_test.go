package posting

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
)

// deletion commits n keys that are deleted at a timestamp.
func deletion(ts uint64, keys ...[]byte) Commit {
	c := Commit{TS: ts}
	for _, key := range keys {
		c.Entries = append(c.Entries, Entry{Key: key, Version: ts, Delete: true})
	}
	return c
}

func refDelta(uid, startTS uint64) []byte { return AppendRefPosting(nil, uid, 0, OpSet, startTS) }

func listAt(t *testing.T, s *Store, ts uint64, key []byte) []uint64 {
	t.Helper()
	r := s.Reader(ts)
	defer r.Release()
	l, err := r.List(key)
	require.NoError(t, err)
	var uids []uint64
	for uid := range l.UIDs(0) {
		uids = append(uids, uid)
	}
	return uids
}

// TestDelete deletes keys in small commits and in large ones, which go to
// Badger by different ways, with and without a replay in between.
func TestDelete(t *testing.T) {
	for name, n := range map[string]int{"batch": 10, "loader": 3 * batchMax} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			s := openStore(t, Options{Dir: dir})
			set, keys := Commit{TS: 5}, [][]byte(nil)
			for i := range n {
				keys = append(keys, testKey(uint64(i+1)))
				set.Entries = append(set.Entries, Entry{Key: keys[i], Value: refDelta(7, 4), Meta: MetaDelta, Version: 5})
			}
			mustCommit(t, s, set)
			mustCommit(t, s, deletion(8, keys...))
			abandon(t, s)
			loseBadger(t, dir)

			s = openStore(t, Options{Dir: dir})
			mustCommit(t, s, Commit{TS: 10, Entries: []Entry{{Key: keys[0], Value: refDelta(9, 9), Meta: MetaDelta, Version: 10}}})
			for _, key := range keys {
				require.Equal(t, []uint64{7}, listAt(t, s, 7, key), "an older read sees what it saw")
				require.Empty(t, listAt(t, s, 9, key))
			}
			require.Equal(t, []uint64{9}, listAt(t, s, 10, keys[0]), "nothing comes back from below the deletion")
			require.NoError(t, s.Close())
		})
	}
}

func TestDeleteTakesNoValue(t *testing.T) {
	s := openStore(t, Options{InMemory: true})
	for _, e := range []Entry{
		{Key: testKey(1), Version: 5, Delete: true, Value: []byte("x")},
		{Key: testKey(1), Version: 5, Delete: true, Meta: MetaEmpty},
		{Key: testKey(1), Version: 5, Meta: metaDelete},
	} {
		err := s.Commit(context.Background(), Commit{TS: 5, Entries: []Entry{e}})
		require.ErrorIs(t, err, ErrBadCommit)
	}
	require.NoError(t, s.Close())
}

func TestListEntries(t *testing.T) {
	var small, large PackBuilder
	for i := range uint64(400_000) {
		large.Add(i*1000 + 1)
	}
	small.Add(3)
	key := AppendReverseKey(nil, 0, "pal", 1)
	tests := []struct {
		name    string
		pack    Pack
		uids    int
		entries func(int) bool
	}{
		{"empty", Pack{}, 0, func(n int) bool { return n == 1 }},
		{"whole", small.Pack(), 1, func(n int) bool { return n == 1 }},
		{"split", large.Pack(), 400_000, func(n int) bool { return n > 2 }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := openStore(t, Options{InMemory: true, MemTableSize: 16 << 20})
			entries := ListEntries(key, Complete{Pack: tt.pack}, 6)
			require.True(t, tt.entries(len(entries)), "%d entries", len(entries))
			mustCommit(t, s, Commit{TS: 6, Entries: entries})
			require.Len(t, listAt(t, s, 6, key), tt.uids)
			require.NoError(t, s.Close())
		})
	}
}
