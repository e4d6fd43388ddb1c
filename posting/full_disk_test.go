package posting

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// fullReserveEnv turns a child of the crash tests into one that goes on where
// there is no space, with so many bytes as its reserve (-1 for none).
const fullReserveEnv = "EDGEMILL_FULL_RESERVE"

// The lines of such a child beside those of acknowledged commits.
const (
	fullLine  = "full"
	againLine = "again"
)

// fullChild commits until it is killed. With a reserve it ends well once
// commits went through, were refused, and went through again.
func fullChild(dir string, reserve int64) error {
	s, err := Open(Options{Dir: dir, MemTableSize: smallTable, Commit: CommitOptions{Reserve: reserve, NoSync: true}})
	if err != nil {
		return err
	}
	full := false
	for ts := uint64(1); ; ts++ {
		err := s.Commit(ctxBg, testCommit(ts, 500, 100))
		switch {
		case err == nil && full && reserve > 0:
			fmt.Println(againLine)
			return s.Close()
		case err == nil:
			fmt.Println(ts, 500)
		case !errors.Is(err, ErrNoSpace):
			return err
		case !full:
			full = true
			fmt.Println(fullLine)
		default:
			time.Sleep(time.Millisecond)
		}
	}
}

// tinyDisk mounts a file system of so many megabytes, and returns it and how it
// is made larger.
func tinyDisk(t *testing.T, megabytes int) (dir string, grow func(megabytes int)) {
	dir = t.TempDir()
	size := func(mb int) string { return fmt.Sprintf("size=%dm", mb) }
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, size(megabytes)); err != nil {
		t.Skipf("a file system of its own cannot be mounted: %v", err)
	}
	t.Cleanup(func() { require.NoError(t, unix.Unmount(dir, unix.MNT_DETACH)) })
	return dir, func(mb int) {
		require.NoError(t, unix.Mount("tmpfs", dir, "tmpfs", unix.MS_REMOUNT, size(mb)))
	}
}

// startFull starts a child and returns its lines.
func startFull(t *testing.T, dir string, reserve int64) (*exec.Cmd, *bufio.Scanner) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), crashDirEnv+"="+dir, fmt.Sprintf("%s=%d", fullReserveEnv, reserve))
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	return cmd, bufio.NewScanner(out)
}

// acknowledgedBy takes a line's commit into the map.
func acknowledgedBy(t *testing.T, line string, acknowledged map[uint64]int) {
	ts, n, found := strings.Cut(line, " ")
	require.True(t, found, line)
	at, err := strconv.ParseUint(ts, 10, 64)
	require.NoError(t, err)
	acknowledged[at], err = strconv.Atoi(n)
	require.NoError(t, err)
}

// Without a reserve Badger runs into the full disk, which ends the process
// where it stands, or leaves it without a word. Nothing is lost.
func TestFullDiskWithoutReserve(t *testing.T) {
	dir, grow := tinyDisk(t, 40)
	cmd, lines := startFull(t, dir, -1)
	timer := time.AfterFunc(20*time.Second, func() { _ = cmd.Process.Kill() })
	defer timer.Stop()
	acknowledged := map[uint64]int{}
	for lines.Scan() {
		if lines.Text() == fullLine {
			timer.Reset(2 * time.Second)
			continue
		}
		acknowledgedBy(t, lines.Text(), acknowledged)
	}
	require.Error(t, cmd.Wait())
	t.Logf("%d acknowledged; %v", len(acknowledged), cmd.ProcessState)
	require.NotEmpty(t, acknowledged)
	grow(400)
	s := openStore(t, Options{Dir: dir})
	found := commitsIn(t, s.db)
	for ts := range acknowledged {
		require.Contains(t, found, ts)
	}
	require.NoError(t, s.Close())
}

// The reserve answers in time, and commits go on once there is space.
func TestFullDiskWithReserve(t *testing.T) {
	dir, grow := tinyDisk(t, 100)
	cmd, lines := startFull(t, dir, 40<<20)
	acknowledged, last := map[uint64]int{}, ""
	for lines.Scan() {
		switch last = lines.Text(); last {
		case fullLine:
			grow(400)
		case againLine:
		default:
			acknowledgedBy(t, last, acknowledged)
		}
	}
	require.NoError(t, cmd.Wait())
	require.Equal(t, againLine, last)
	s := openStore(t, Options{Dir: dir})
	found := commitsIn(t, s.db)
	require.Len(t, found, len(acknowledged)+1, "and the one after the disk had grown")
	for ts := range acknowledged {
		require.Contains(t, found, ts)
	}
	require.NoError(t, s.Close())
}
