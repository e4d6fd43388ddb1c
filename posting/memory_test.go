package posting

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestLargestValueInMemory: a store in memory refuses what Badger would end of.
func TestLargestValueInMemory(t *testing.T) {
	for _, size := range []int64{smallTable, DefaultMemTableSize} {
		s := openStore(t, Options{InMemory: true, MemTableSize: size})
		put := func(n int64) error {
			return s.Commit(ctxBg, Commit{TS: 1, Entries: []Entry{{Key: testKey(1), Value: make([]byte, n), Meta: MetaDelta, Version: 1}}})
		}
		least := min(maxBadgerValue, size/10)
		require.NoError(t, put(least-1))
		require.ErrorIs(t, put(least), ErrBadCommit)
		require.NoError(t, s.Close())
	}
}
