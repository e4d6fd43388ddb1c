package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/dgraph-io/badger/v4"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/edgemill/edgemill"
	"github.com/edgemill/edgemill/conflict"
	"github.com/edgemill/edgemill/mutation"
	"github.com/edgemill/edgemill/posting"
	"github.com/edgemill/edgemill/schema/value"
)

const crashEnv = "EDGEMILL_TEST_SERVER_DIR"

// TestMain is also the process that TestKilled kills.
func TestMain(m *testing.M) {
	if dir := os.Getenv(crashEnv); dir != "" {
		feedSlowly(dir)
	}
	goleak.VerifyTestMain(m)
}

const testSchema = `name: string @index(term) @lang .
	tag: [string] @index(exact) .
	boss: uid @reverse .
	likes: [uid] @reverse @count .`

func randomEdge(rnd *rand.Rand) mutation.Edge {
	e := mutation.Edge{Subject: 1 + rnd.Uint64N(30), Op: mutation.Op(rnd.IntN(3) / 2)}
	e.Predicate = []string{"name", "tag", "boss", "likes"}[rnd.IntN(4)]
	switch {
	case e.Op == mutation.Delete && rnd.IntN(2) == 0:
		e.Object = mutation.ObjectStar
	case e.Predicate == "boss" || e.Predicate == "likes":
		e.Object, e.Target = mutation.ObjectUID, 1+rnd.Uint64N(8)
	default:
		e.Value = value.Value{Type: value.String, Data: fmt.Appendf(nil, "red %d", rnd.IntN(5))}
	}
	if rnd.IntN(100) == 0 {
		e.Predicate = "unknown"
	}
	return e
}

// writeLog has clients work on a server of its own and returns the log that came
// of it: transactions that overlap, conflict, fail in part, and are left open.
func writeLog(t *testing.T) []entry {
	t.Helper()
	dir := t.TempDir()
	s, err := openServer(dir, testSchema)
	require.NoError(t, err)
	var clients sync.WaitGroup
	for client := range uint64(8) {
		clients.Go(func() {
			rnd := rand.New(rand.NewPCG(client, 1))
			for range 25 {
				start := s.begin()
				for range 1 + rnd.IntN(3) {
					var edges []mutation.Edge
					for range 1 + rnd.IntN(20) {
						edges = append(edges, randomEdge(rnd))
					}
					_ = s.mutate(start, edges)
				}
				if rnd.IntN(10) > 0 {
					_, _ = s.commit(context.Background(), start)
				}
			}
		})
	}
	clients.Wait()
	require.NoError(t, s.close())
	return readLog(t, dir)
}

func readLog(t testing.TB, dir string) (entries []entry) {
	t.Helper()
	l, err := openLog(filepath.Join(dir, "log"), func(e entry) error {
		entries = append(entries, e)
		return nil
	})
	require.NoError(t, err)
	require.NoError(t, l.close())
	return entries
}

func testOptions(dir string) posting.Options {
	return posting.Options{
		Dir: dir, MemTableSize: 1 << 20, Commit: posting.CommitOptions{Reserve: -1, SegmentSize: 16 << 10},
	}
}

// feedAll opens the replica, feeds it with the entries and closes it.
func feedAll(t testing.TB, dir string, entries []entry) {
	t.Helper()
	r, err := openReplica(testOptions(dir), testSchema)
	require.NoError(t, err)
	for _, e := range entries {
		_, err := r.feed(e)
		require.NoError(t, err)
	}
	require.NoError(t, r.close())
}

// version is one version of a key as Badger holds it.
type version struct {
	Key, Value string
	Version    uint64
	Meta       byte
}

// versions are all versions that a closed store holds.
func versions(t testing.TB, dir string) (all []version) {
	t.Helper()
	db, err := badger.OpenManaged(badger.DefaultOptions(filepath.Join(dir, "p")).
		WithNumVersionsToKeep(math.MaxInt32).WithMemTableSize(1 << 20).WithValueThreshold(1 << 16).WithLogger(nil))
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close()) }()
	txn := db.NewTransactionAt(math.MaxUint64, false)
	defer txn.Discard()
	opts := badger.DefaultIteratorOptions
	opts.AllVersions = true
	it := txn.NewIterator(opts)
	defer it.Close()
	for it.Rewind(); it.Valid(); it.Next() {
		v, err := it.Item().ValueCopy(nil)
		require.NoError(t, err)
		all = append(all, version{
			Key: string(it.Item().Key()), Value: string(v), Version: it.Item().Version(), Meta: it.Item().UserMeta(),
		})
	}
	return all
}

// TestReplicasEqual feeds the same log in several ways: all replicas hold the
// same versions, which are in order, and feeding all of it again changes nothing.
func TestReplicasEqual(t *testing.T) {
	entries := writeLog(t)
	whole := filepath.Join(t.TempDir(), "store")
	feedAll(t, whole, entries)
	want := versions(t, whole)
	require.NotEmpty(t, want)

	t.Run("again", func(t *testing.T) {
		r, err := openReplica(testOptions(whole), testSchema)
		require.NoError(t, err)
		require.Positive(t, r.applied())
		r.skip = 0 // as if the mark were lost
		for _, e := range entries {
			_, err := r.feed(e)
			require.NoError(t, err)
		}
		require.NoError(t, r.close())
		require.Equal(t, want, versions(t, whole))
	})
	t.Run("in pieces", func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "store")
		for n := 0; n < len(entries); n += 37 {
			feedAll(t, dir, entries[:n])
		}
		feedAll(t, dir, entries)
		require.Equal(t, want, versions(t, dir))
	})
	db, err := edgemill.Open(context.Background(), edgemill.Options{Dir: whole, Commit: posting.CommitOptions{Reserve: -1}})
	require.NoError(t, err)
	report, err := db.Verify(context.Background(), edgemill.VerifyOptions{})
	require.NoError(t, err)
	require.Empty(t, report.Violations)
	require.NoError(t, db.Close())
}

// feedSlowly is the process that is killed: it feeds a replica with the log.
func feedSlowly(dir string) {
	r, err := openReplica(testOptions(filepath.Join(dir, "store")), testSchema)
	if err != nil {
		panic(err)
	}
	fmt.Println("ready")
	_, err = openLog(filepath.Join(dir, "log"), func(e entry) error {
		time.Sleep(time.Duration(rand.IntN(300)) * time.Microsecond)
		_, err := r.feed(e)
		return err
	})
	fmt.Println("done", err)
	select {}
}

// TestKilled kills a replica's process again and again while it is fed. In the
// end it holds what a replica holds that nothing happened to.
func TestKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("runs processes")
	}
	entries := writeLog(t)
	whole := filepath.Join(t.TempDir(), "store")
	feedAll(t, whole, entries)

	dir := t.TempDir()
	l, err := openLog(filepath.Join(dir, "log"), nil)
	require.NoError(t, err)
	for _, e := range entries {
		_, err := l.append(e)
		require.NoError(t, err)
	}
	require.NoError(t, l.close())
	for n := range 8 {
		child := exec.Command(os.Args[0])
		child.Env = append(os.Environ(), crashEnv+"="+dir)
		out, err := child.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, child.Start())
		_, err = out.Read(make([]byte, 16))
		require.NoError(t, err)
		time.Sleep(time.Duration(rand.IntN(10*(n+1))) * time.Millisecond)
		require.NoError(t, child.Process.Kill())
		require.Error(t, child.Wait())
	}
	store := filepath.Join(dir, "store")
	feedAll(t, store, entries)
	require.Equal(t, versions(t, whole), versions(t, store))
}

// TestServer is the way of a client.
func TestServer(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	s, err := openServer(dir, testSchema)
	require.NoError(t, err)
	tag := func(text string) []mutation.Edge {
		return []mutation.Edge{{Subject: 1, Predicate: "tag", Value: value.Value{Type: value.String, Data: []byte(text)}}}
	}
	first, second, third := s.begin(), s.begin(), s.begin()
	require.NoError(t, s.mutate(first, tag("a")))
	require.NoError(t, s.mutate(second, tag("b")))
	require.NoError(t, s.mutate(third, tag("c")))
	var bad *mutation.EdgeError
	require.ErrorAs(t, s.mutate(first, []mutation.Edge{{Subject: 1, Predicate: "unknown"}}), &bad)
	ts, err := s.commit(ctx, first)
	require.NoError(t, err)
	require.Greater(t, ts, third)
	_, err = s.commit(ctx, second)
	require.ErrorIs(t, err, conflict.ErrConflict)
	require.NoError(t, s.close())

	// The third one's client is gone, so it is over; the next one sees the first.
	s, err = openServer(dir, testSchema)
	require.NoError(t, err)
	require.Positive(t, s.mu.replica.applied())
	require.Empty(t, s.mu.replica.open)
	again := s.begin()
	require.Greater(t, again, ts)
	require.NoError(t, s.mutate(again, tag("d")))
	_, err = s.commit(ctx, again)
	require.NoError(t, err)
	require.NoError(t, s.close())

	db, err := edgemill.Open(ctx, edgemill.Options{Dir: filepath.Join(dir, "store"), Commit: posting.CommitOptions{Reserve: -1}})
	require.NoError(t, err)
	defer db.Close()
	view, err := db.View(ctx, 0)
	require.NoError(t, err)
	defer view.Close()
	tags, err := view.Values(1, "tag")
	require.NoError(t, err)
	require.Len(t, tags, 2)
}

// TestRun is the demonstration.
func TestRun(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "demo")
	require.NoError(t, run(dir, 4, 10))
	require.NoError(t, run(dir, 4, 10))
}
