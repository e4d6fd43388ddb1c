package posting

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

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
