package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/edgemill/edgemill"
)

// child starts the command as a process of its own.
func child(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	path, err := exec.LookPath("edgemill") // testscript puts it there
	require.NoError(t, err)
	return exec.Command(path, args...)
}

func writeFile(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	return path
}

// postings opens the store, checks it, and counts the postings of a predicate.
func postings(t *testing.T, dir, pred string) uint64 {
	t.Helper()
	ctx := context.Background()
	db, err := edgemill.Open(ctx, edgemill.Options{Dir: dir, MustExist: true})
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close()) }()
	report, err := db.Verify(ctx, edgemill.VerifyOptions{})
	require.NoError(t, err)
	require.Empty(t, report.Violations)
	for _, p := range report.Predicates {
		if p.Predicate == pred {
			return p.Postings
		}
	}
	return 0
}

// feed writes statements to w, each a new posting, until w is closed.
func feed(w io.WriteCloser) {
	for i := 0; ; i++ {
		line := "_:n" + strings.Repeat("x", i%7) + " <tag> \"" + time.Now().Format(time.RFC3339Nano) + "\" .\n"
		if _, err := io.WriteString(w, line); err != nil {
			return
		}
	}
}

// loadForever starts a load that never comes to the end of its input, and waits
// until some transactions must have been committed.
func loadForever(t *testing.T, dir string) (cmd *exec.Cmd, stdout *bytes.Buffer, stderr *lockedBuffer) {
	t.Helper()
	schema := writeFile(t, "schema", "tag: [string] @index(exact) @count .\n")
	cmd = child(t, "load", "--verbose", "--dir", dir, "--schema", schema, "--edges-per-txn", "100", "-")
	stdout, stderr = &bytes.Buffer{}, &lockedBuffer{}
	cmd.Stdout, cmd.Stderr = stdout, stderr
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	go feed(in)
	require.Eventually(t, func() bool { return strings.Count(stderr.String(), "batch applied") > 3 }, 30*time.Second, 5*time.Millisecond)
	return cmd, stdout, stderr
}

// lockedBuffer is read while a child writes to it.
type lockedBuffer struct {
	mu struct {
		sync.Mutex
		bytes.Buffer
	}
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.mu.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.mu.Buffer.String()
}

// TestInterrupt: Ctrl-C ends a load between two transactions, and says how far
// it came.
func TestInterrupt(t *testing.T) {
	for _, sig := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		t.Run(sig.String(), func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "d")
			cmd, stdout, stderr := loadForever(t, dir)
			require.NoError(t, cmd.Process.Signal(sig))
			var exit *exec.ExitError
			require.ErrorAs(t, cmd.Wait(), &exit)
			require.Equal(t, exitFailure, exit.ExitCode(), stderr)
			require.Contains(t, stderr.String(), "edgemill: "+sig.String()+": ending cleanly")
			require.Contains(t, stderr.String(), "edgemill: interrupted: load: ")
			var told uint64
			for line := range strings.Lines(stdout.String()) {
				if f := strings.Fields(line); f[0] == "statements" {
					told = mustUint(t, f[1])
				}
			}
			require.Positive(t, told)
			require.Zero(t, told%100)
			require.Equal(t, told, postings(t, dir, "tag"))
		})
	}
}

// TestInterruptOfWaiting: Ctrl-C also ends a command that waits for its input.
func TestInterruptOfWaiting(t *testing.T) {
	for _, args := range [][]string{{"load"}, {"mutate"}, {"alter"}} {
		dir := filepath.Join(t.TempDir(), "d")
		cmd := child(t, append(args, "--dir", dir, "-")...)
		_, err := cmd.StdinPipe()
		require.NoError(t, err)
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		require.NoError(t, cmd.Start())
		require.Eventually(t, func() bool { _, err := os.Stat(filepath.Join(dir, "p", "MANIFEST")); return err == nil }, 30*time.Second, 5*time.Millisecond)
		time.Sleep(50 * time.Millisecond)
		require.NoError(t, cmd.Process.Signal(os.Interrupt))
		var exit *exec.ExitError
		require.ErrorAs(t, cmd.Wait(), &exit)
		require.Equal(t, exitFailure, exit.ExitCode(), stderr.String())
		require.Contains(t, stderr.String(), "edgemill: interrupted: ", args[0])
	}
}

// TestKill: what a process that is killed had committed is there, and whole.
func TestKill(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "d")
	cmd, _, _ := loadForever(t, dir)
	require.NoError(t, cmd.Process.Kill())
	require.Error(t, cmd.Wait())
	n := postings(t, dir, "tag")
	require.Positive(t, n)
	require.Zero(t, n%100)
}

// TestBrokenPipe: a reader that has seen enough ends a dump without a message.
func TestBrokenPipe(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "d")
	schema := writeFile(t, "schema", "name: string .\n")
	data := writeFile(t, "data", `<0x1> <name> "`+strings.Repeat("long ", 1<<16)+"\" .\n")
	require.NoError(t, child(t, "load", "--dir", dir, "--schema", schema, data).Run())
	cmd := child(t, "dump", "--dir", dir)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	r, w, err := os.Pipe()
	require.NoError(t, err)
	cmd.Stdout = w
	require.NoError(t, r.Close())
	require.NoError(t, cmd.Start())
	require.NoError(t, w.Close())
	var exit *exec.ExitError
	require.ErrorAs(t, cmd.Wait(), &exit)
	require.Equal(t, exitFailure, exit.ExitCode())
	require.Empty(t, stderr.String())
}

// TestFullDevice: a result that can't be written is a failure.
func TestFullDevice(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("no /dev/full here")
	}
	defer full.Close()
	var stderr bytes.Buffer
	require.Equal(t, exitFailure, run([]string{"version"}, strings.NewReader(""), full, &stderr))
	require.Contains(t, stderr.String(), "edgemill: writing the result: ")
}
