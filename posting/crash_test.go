package posting

import (
	"bufio"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The environment of a child that is to be killed: the store's folder, the
// timestamp from which on to commit, the size of each commit (0 for all sizes)
// and whether to leave syncs out.
const (
	crashDirEnv    = "EDGEMILL_CRASH_DIR"
	crashFromEnv   = "EDGEMILL_CRASH_FROM"
	crashSizeEnv   = "EDGEMILL_CRASH_SIZE"
	crashNoSyncEnv = "EDGEMILL_CRASH_NOSYNC"
	// crashesEnv says how many children to kill; default 6.
	crashesEnv = "EDGEMILL_CRASHES"
)

// crashClients commit at once in a child.
const crashClients = 6

// crashChild commits transactions of all sizes for ever, and prints the
// timestamp and the size of each one that was acknowledged.
func crashChild(dir string) {
	err := crashMode(dir)
	if err == nil {
		os.Exit(0)
	}
	fmt.Fprintln(os.Stderr, "child:", err)
	os.Exit(3)
}

func crashMode(dir string) error {
	if reserve, err := strconv.ParseInt(os.Getenv(fullReserveEnv), 10, 64); err == nil {
		return fullChild(dir, reserve)
	}
	from, err := strconv.ParseUint(os.Getenv(crashFromEnv), 10, 64)
	size, sizeErr := strconv.Atoi(os.Getenv(crashSizeEnv))
	if err := errors.Join(err, sizeErr); err != nil {
		return err
	}
	return crashCommits(dir, from, size, os.Getenv(crashNoSyncEnv) != "")
}

func crashCommits(dir string, from uint64, size int, noSync bool) error {
	s, err := Open(crashOptions(dir, noSync))
	if err != nil {
		return err
	}
	failed := make(chan error)
	clients := uint64(crashClients)
	if size > 0 {
		clients = 1
	}
	for client := range clients {
		go func() {
			for ts := from + client; ; ts += clients {
				n := size
				if n == 0 {
					n = crashSize()
				}
				if err := s.Commit(ctxBg, testCommit(ts, n, 24)); err != nil {
					failed <- err
					return
				}
				fmt.Fprintf(os.Stdout, "%d %d\n", ts, n)
			}
		}()
	}
	return <-failed
}

// crashOptions are a small memory table, so that a large commit fills several,
// and small segments.
func crashOptions(dir string, noSync bool) Options {
	return Options{Dir: dir, MemTableSize: smallTable, Commit: CommitOptions{Reserve: -1, NoSync: noSync}}
}

// crashSize is 1 to 100,000, each order of magnitude less likely than the one
// below.
func crashSize() int {
	n := 1
	for n < 100_000 && rand.IntN(4) == 0 {
		n *= 10
	}
	return 1 + rand.IntN(n)
}

// Children are killed at any moment. What they acknowledged is there, in whole,
// and what they did not is there in whole or not at all.
func TestKilledWhileCommitting(t *testing.T) {
	crashes, err := strconv.Atoi(os.Getenv(crashesEnv))
	if err != nil {
		crashes = 6
	}
	dir, want := t.TempDir(), map[uint64]int{}
	for round := range crashes {
		if round%4 == 0 { // a store that is used on, a few times over
			dir, want = t.TempDir(), map[uint64]int{}
		}
		from := uint64(round+1) << 32
		acknowledged := killedChild(t, dir, from, 0, round%2 == 1)
		for ts, n := range acknowledged {
			want[ts] = n
		}
		s := openStore(t, crashOptions(dir, false))
		found := commitsIn(t, s.db)
		for ts, n := range want {
			require.Equal(t, n, found[ts], "round %d: the acknowledged commit at %d", round, ts)
		}
		t.Logf("round %d: %d acknowledged, %d found in all", round, len(acknowledged), len(found))
		want = found
		if round%3 == 0 {
			abandon(t, s) // the next child replays too
		} else {
			require.NoError(t, s.Close())
		}
	}
}

// Transactions of 300,000 entries, each many times the memory table, are there
// in whole or not at all wherever the end came.
func TestKilledInLargeCommit(t *testing.T) {
	for range 2 {
		dir := t.TempDir()
		acknowledged := killedChild(t, dir, 1, 300_000, false)
		s := openStore(t, crashOptions(dir, false))
		found := commitsIn(t, s.db)
		t.Logf("%d acknowledged, %d found", len(acknowledged), len(found))
		for ts := range acknowledged {
			require.Contains(t, found, ts)
		}
		require.NoError(t, s.Close())
	}
}

// killedChild runs a child and kills it; it returns what it acknowledged.
func killedChild(t *testing.T, dir string, from uint64, size int, noSync bool) map[uint64]int {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), crashDirEnv+"="+dir,
		fmt.Sprintf("%s=%d", crashFromEnv, from), fmt.Sprintf("%s=%d", crashSizeEnv, size))
	if noSync {
		cmd.Env = append(cmd.Env, crashNoSyncEnv+"=1")
	}
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	delay := rand.IntN(600)
	if size > 0 { // A large commit has to be made first.
		delay = 300 + rand.IntN(1500)
	}
	kill := time.AfterFunc(time.Duration(delay)*time.Millisecond, func() { _ = cmd.Process.Kill() })
	defer kill.Stop()
	acknowledged := map[uint64]int{}
	for lines := bufio.NewReader(out); ; {
		line, err := lines.ReadString('\n')
		if err != nil {
			break
		}
		var ts uint64
		var n int
		_, err = fmt.Sscan(line, &ts, &n)
		require.NoError(t, err, line)
		acknowledged[ts] = n
	}
	require.Error(t, cmd.Wait(), "it was killed")
	require.Equal(t, -1, cmd.ProcessState.ExitCode(), "by the signal, and not before")
	return acknowledged
}
