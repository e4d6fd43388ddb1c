package edgemill

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/edgemill/edgemill/posting"
)

// TestPostingSorter sorts random postings, with buffers of all sizes, and
// compares with a stable sort in memory.
func TestPostingSorter(t *testing.T) {
	store, err := posting.Open(posting.Options{InMemory: true})
	require.NoError(t, err)
	defer func() { require.NoError(t, store.Close()) }()
	key := rapid.SliceOfN(rapid.ByteRange(0, 2), 1, 12)
	rapid.Check(t, func(rt *rapid.T) {
		s := postingSorter{store: store, limit: rapid.IntRange(1, 3000).Draw(rt, "limit")}
		var want []keyedPosting
		for i := range rapid.IntRange(0, 200).Draw(rt, "n") {
			p := keyedPosting{key: key.Draw(rt, "key"), uid: uint64(i)}
			if i%7 == 0 {
				p.rich = fmt.Append(nil, "rich", i)
			}
			want = append(want, p)
			require.NoError(rt, s.add(p))
		}
		slices.SortStableFunc(want, func(a, b keyedPosting) int { return bytes.Compare(a.key, b.key) })
		i := 0
		require.NoError(rt, s.each(func(p keyedPosting) error {
			require.True(rt, bytes.Equal(want[i].key, p.key) && bytes.Equal(want[i].rich, p.rich), "%d", i)
			require.Equal(rt, want[i].uid, p.uid)
			i++
			return nil
		}))
		require.Equal(rt, len(want), i)
		require.NoError(rt, s.close())
	})
}

func TestPostingSorterStops(t *testing.T) {
	stop := errors.New("stop")
	store, err := posting.Open(posting.Options{InMemory: true})
	require.NoError(t, err)
	for _, limit := range []int{10, 1 << 20} {
		s := postingSorter{store: store, limit: limit}
		for i := range 10 {
			require.NoError(t, s.add(keyedPosting{key: []byte{byte(i)}}))
		}
		require.ErrorIs(t, s.each(func(keyedPosting) error { return stop }), stop)
		require.NoError(t, s.close())
	}
	require.NoError(t, store.Close())
}

// TestScratch: a scratch file leaves nothing in the folder, and the disk's
// reserve alone.
func TestScratch(t *testing.T) {
	dir, free := t.TempDir(), int64(1<<20)
	store, err := posting.Open(posting.Options{Dir: dir, Commit: posting.CommitOptions{
		Reserve: 100, SpaceCheck: func(string) (int64, error) { return free, nil },
	}})
	require.NoError(t, err)
	before, err := os.ReadDir(filepath.Join(dir, "edgemill"))
	require.NoError(t, err)
	s := postingSorter{store: store, limit: 10}
	require.NoError(t, s.add(keyedPosting{key: []byte("a")}))
	require.NoError(t, s.add(keyedPosting{key: []byte("b")}))
	after, err := os.ReadDir(filepath.Join(dir, "edgemill"))
	require.NoError(t, err)
	require.Equal(t, len(before), len(after))
	free = 100
	require.ErrorIs(t, s.add(keyedPosting{key: []byte("c")}), posting.ErrNoSpace)
	require.NoError(t, s.close())
	require.NoError(t, store.Close())
}
