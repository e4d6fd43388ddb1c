package posting

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// spaceGuard keeps a reserve free on the disk. Badger maps its files into
// memory, and where the disk has no page for a mapped byte the process ends on
// the spot; so the disk must never become full.
type spaceGuard struct {
	// paths are folders, one on each file system that is written to.
	paths   []string
	reserve int64
	check   func(path string) (free int64, err error)
}

// free is how many bytes may still be written, negative below the reserve.
func (g *spaceGuard) free() (int64, error) {
	least := int64(1<<63 - 1)
	for _, path := range g.paths {
		free, err := g.check(path)
		if err != nil {
			return 0, fmt.Errorf("free space of %s: %w", path, err)
		}
		least = min(least, free-g.reserve)
	}
	return least, nil
}

// statFree asks the operating system what is free to users.
func statFree(path string) (int64, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(path, &st); err != nil {
		return 0, err
	}
	return int64(min(st.Bavail, uint64(1<<62)/uint64(max(st.Bsize, 1)))) * st.Bsize, nil
}

// onePerFileSystem leaves out a second folder on the same file system.
func onePerFileSystem(a, b string) []string {
	var sa, sb unix.Stat_t
	if unix.Stat(a, &sa) == nil && unix.Stat(b, &sb) == nil && sa.Dev == sb.Dev {
		return []string{a}
	}
	return []string{a, b}
}
