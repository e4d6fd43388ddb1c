package edgemill_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/edgemill/edgemill"
	"github.com/edgemill/edgemill/mutation"
	"github.com/edgemill/edgemill/posting"
)

// mountSmall mounts a file system of so many bytes in memory, or skips the test
// where that is not permitted.
func mountSmall(t *testing.T, dir, size string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(dir, 0o755))
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size="+size); err != nil {
		t.Skipf("mounting a small file system: %v", err)
	}
	t.Cleanup(func() { require.NoError(t, unix.Unmount(dir, unix.MNT_DETACH)) })
}

// fill writes a file that leaves so many bytes free.
func fill(t *testing.T, dir string, left int64) (free func()) {
	t.Helper()
	var st unix.Statfs_t
	require.NoError(t, unix.Statfs(dir, &st))
	name := filepath.Join(dir, "ballast")
	file, err := os.Create(name)
	require.NoError(t, err)
	defer file.Close()
	block := make([]byte, 64<<10)
	for n := int64(st.Bavail)*int64(st.Bsize) - left; n > 0; n -= int64(len(block)) {
		_, err := file.Write(block[:min(n, int64(len(block)))])
		require.NoError(t, err)
	}
	return func() { require.NoError(t, os.Remove(name)) }
}

func mailEdges(from, n uint64) []mutation.Edge {
	edges := make([]mutation.Edge, n)
	for i := range edges {
		uid := from + uint64(i)
		edges[i] = mutation.Edge{Subject: uid, Predicate: "mail", Value: intText(uid)}
	}
	return edges
}

// TestDiskReserve fills a disk up to the reserve: commits are refused in time,
// nothing of them is there, and once there is space they go through again.
func TestDiskReserve(t *testing.T) {
	ctx := context.Background()
	mount := t.TempDir()
	mountSmall(t, mount, "96m")
	opts := edgemill.Options{Dir: filepath.Join(mount, "store"), MemTableSize: 2 << 20}
	db, err := edgemill.Open(ctx, opts)
	require.NoError(t, err)
	require.NoError(t, db.Alter(ctx, "mail: string @index(exact) ."))
	_, err = db.RunTxn(ctx, mailEdges(1, 1000), nil)
	require.NoError(t, err)

	free := fill(t, mount, 12<<20)
	for range 3 {
		begun := time.Now()
		_, err = db.RunTxn(ctx, mailEdges(5000, 1000), nil)
		require.ErrorIs(t, err, posting.ErrNoSpace)
		require.Less(t, time.Since(begun), 5*time.Second)
	}
	require.ErrorIs(t, db.Alter(ctx, "mail: string ."), posting.ErrNoSpace)
	requireSubjects(t, db, 1000)
	free()
	_, err = db.RunTxn(ctx, mailEdges(5000, 1000), nil)
	require.NoError(t, err)
	requireSubjects(t, db, 2000)
	require.NoError(t, db.Alter(ctx, "mail: string @index(hash) ."))
	verifyClean(t, db)
	require.NoError(t, ignoreFailures(db.Close()))

	db, err = edgemill.Open(ctx, opts)
	require.NoError(t, err)
	requireSubjects(t, db, 2000)
	verifyClean(t, db)
	require.NoError(t, db.Close())
}

// ignoreFailures: Close tells also of the commits that were refused before.
func ignoreFailures(err error) error {
	if errors.Is(err, posting.ErrNoSpace) {
		return nil
	}
	return err
}

func requireSubjects(t *testing.T, db *edgemill.DB, n int) {
	t.Helper()
	view, err := db.View(context.Background(), 0)
	require.NoError(t, err)
	defer view.Close()
	found := 0
	for _, err := range view.Has("mail", 0) {
		require.NoError(t, err)
		found++
	}
	require.Equal(t, n, found)
}

// TestDiskFull lets Badger's part of the store run out of space, with nobody
// looking: Badger writes to memory-mapped files, so the process ends with SIGBUS
// (or the store is read-only, where Badger notices). What was acknowledged stands
// in the log, which is on another disk here, and is there after reopening.
func TestDiskFull(t *testing.T) {
	if testing.Short() {
		t.Skip("runs processes")
	}
	dir := filepath.Join(t.TempDir(), "store")
	mount := filepath.Join(dir, "p")
	mountSmall(t, mount, "16m")
	child, said := startCrash(t, dir, 1, "commit load")
	kill := time.AfterFunc(20*time.Second, func() { _ = child.Process.Kill() })
	defer kill.Stop()
	r := heard(said, func(string) {})
	t.Logf("%d transactions, then %v %s", len(r.committed), child.Wait(), r.failed)
	require.NotEmpty(t, r.committed)

	require.NoError(t, unix.Mount("tmpfs", mount, "tmpfs", unix.MS_REMOUNT, "size=512m"))
	checkCrash(t, dir, []crashRun{r})
}
