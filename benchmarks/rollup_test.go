package benchmarks

import (
	"context"
	"testing"
	"time"

	"github.com/edgemill/edgemill"
	"github.com/edgemill/edgemill/mutation"
	"github.com/edgemill/edgemill/posting"
)

// BenchmarkRollup reads the lists of a store that was filled in one of several
// ways, of which one is a commit for each edge, without a cache and with one. An
// operation is one list.
func BenchmarkRollup(b *testing.B) {
	for _, fill := range []struct {
		name      string
		edgesEach int
		off       bool
	}{{"fresh", agedCommits, true}, {"commits", 1, true}, {"background", 1, false}} {
		for _, cache := range []struct {
			name string
			size int64
		}{{"uncached", 0}, {"cached", edgemill.DefaultCacheBytes}} {
			b.Run(fill.name+"/"+cache.name, func(b *testing.B) {
				benchmarkRollup(b, edgemill.Options{CacheBytes: cache.size, Rollup: posting.RollupOptions{Off: fill.off}}, fill.edgesEach)
			})
		}
	}
}

func benchmarkRollup(b *testing.B, opts edgemill.Options, edgesEach int) {
	ctx := context.Background()
	opts.Dir, opts.Commit.NoSync = b.TempDir(), true
	db, err := edgemill.Open(ctx, opts)
	fatal(b, err)
	defer func() { fatal(b, db.Close()) }()
	fatal(b, db.Alter(ctx, "link: [uid] @reverse ."))
	commitEach(b, db, agedEdges(), edgesEach)
	if edgesEach == 1 && !opts.Rollup.Off {
		quiesce(b, db)
	}
	view, err := db.View(ctx, 0)
	fatal(b, err)
	defer view.Close()
	readAll(b, view, 2*agedKeys)
	b.ResetTimer()
	readAll(b, view, b.N)
}

func fatal(b *testing.B, err error) {
	if err != nil {
		b.Helper()
		b.Fatal(err)
	}
}

// commitEach commits so many edges at a time.
func commitEach(b *testing.B, db *edgemill.DB, edges []mutation.Edge, n int) {
	ctx := context.Background()
	for ; len(edges) > 0; edges = edges[n:] {
		txn, err := db.Begin(ctx)
		fatal(b, err)
		_, err = txn.Mutate(ctx, edges[:n])
		fatal(b, err)
		_, err = txn.Commit(ctx)
		fatal(b, err)
	}
}

// quiesce waits until nothing more is rolled up, whatever is read.
func quiesce(b *testing.B, db *edgemill.DB) {
	for before, lists := uint64(0), uint64(1); lists != before; lists = db.Stats().Rollup.Lists {
		before = lists
		view, err := db.View(context.Background(), 0)
		fatal(b, err)
		readAll(b, view, 2*agedKeys)
		view.Close()
		time.Sleep(200 * time.Millisecond)
	}
}

// readAll reads n lists, in turn of one direction and of the other.
func readAll(b *testing.B, view *edgemill.View, n int) {
	for i := range n {
		read, uid := view.Targets, uint64(firstSubject+i/2%agedKeys)
		if i%2 == 1 {
			read, uid = view.Sources, uint64(1+i/2%agedKeys)
		}
		uids, err := read(uid, "link")
		fatal(b, err)
		if len(uids) != agedCommits/agedKeys {
			b.Fatalf("%d uids of %#x", len(uids), uid)
		}
	}
}
