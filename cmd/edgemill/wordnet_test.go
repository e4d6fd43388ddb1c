package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/edgemill/edgemill"
)

// wordNet gives the path of a file of ../shared/data, and skips the test where
// it is not there.
func wordNet(t *testing.T, name string) string {
	t.Helper()
	dir, err := os.Getwd()
	require.NoError(t, err)
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			break
		}
		require.NotEqual(t, dir, filepath.Dir(dir), "no go.mod above the test")
		dir = filepath.Dir(dir)
	}
	path := filepath.Join(dir, "..", "shared", "data", name)
	if _, err := os.Stat(path); err != nil {
		t.Skipf("../shared/data/%s is not there", name)
	}
	return path
}

// output runs the command within this process and returns what it printed.
func output(t *testing.T, args ...string) string {
	t.Helper()
	var stdout, stderr bytes.Buffer
	require.Equal(t, exitOK, run(args, strings.NewReader(""), &stdout, &stderr), "%v: %s", args, &stderr)
	return stdout.String()
}

// TestWordNetSmall: loaded, checked, dumped, loaded again: the same.
func TestWordNetSmall(t *testing.T) {
	data, schema := wordNet(t, "wordnet-small.nq.gz"), wordNet(t, "wordnet.schema")
	dir, again := filepath.Join(t.TempDir(), "d"), filepath.Join(t.TempDir(), "d")
	require.Contains(t, output(t, "load", "--dir", dir, "--schema", schema, "--json", "--no-sync", data), `"statements":59108,`)
	require.Contains(t, output(t, "verify", "--dir", dir), " 0 violations\n")

	dump := output(t, "dump", "--dir", dir)
	output(t, "load", "--dir", again, "--schema", schema, "--no-sync", "--edges-per-txn", "7777", writeFile(t, "dump.nq", dump))
	require.True(t, dump == output(t, "dump", "--dir", again), "the dumps differ")
	keys := output(t, "dump", "--keys", "--dir", dir)
	require.True(t, keys == output(t, "dump", "--keys", "--dir", again), "the lists differ")

	// Serially, the same lists come out.
	serial := filepath.Join(t.TempDir(), "d")
	output(t, "load", "--dir", serial, "--schema", schema, "--no-sync", "--intra-mutation-min-edges", "0", writeFile(t, "dump.nq", dump))
	require.True(t, keys == output(t, "dump", "--keys", "--dir", serial), "the serial applier's lists differ")
}

// maxLoadRSS is how much memory the load of the whole file may take.
const maxLoadRSS = 3 << 29 // 1.5 GiB

// TestWordNet loads the whole file, in a process whose memory is measured, and
// holds the counts against those of the data's README.
func TestWordNet(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some 20 seconds")
	}
	dir := filepath.Join(t.TempDir(), "d")
	cmd := child(t, "load", "--dir", dir, "--schema", wordNet(t, "wordnet.schema"), "--json", wordNet(t, "wordnet.nq.gz"))
	begun := time.Now()
	out, err := cmd.Output()
	require.NoError(t, err)
	usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	require.True(t, ok)
	rss := usage.Maxrss << 10
	t.Logf("loaded in %v with %d MiB: %s", time.Since(begun).Round(time.Millisecond), rss>>20, out)
	require.Contains(t, string(out), `"statements":1149641,`)
	require.Contains(t, string(out), `"nodes":264965,`)
	require.Less(t, rss, int64(maxLoadRSS))

	ctx := context.Background()
	db, err := edgemill.Open(ctx, edgemill.Options{Dir: dir, MustExist: true})
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close()) }()
	report, err := db.Verify(ctx, edgemill.VerifyOptions{Limit: 10})
	require.NoError(t, err)
	require.Empty(t, report.Violations)
	counts := make(map[string]uint64)
	for _, p := range report.Predicates {
		counts[p.Predicate] = p.Postings
	}
	for pred, want := range map[string]uint64{
		"sense": 206_941, "lemma": 206_978, "word": 147_306,
		"gloss": 117_659, "pos": 117_659, "lexfile": 117_659, "hypernym": 89_089,
	} {
		require.Equal(t, want, counts[pred], pred)
	}
}
