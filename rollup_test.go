package edgemill

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/edgemill/edgemill/conflict"
	"github.com/edgemill/edgemill/mutation"
	"github.com/edgemill/edgemill/posting"
	"github.com/edgemill/edgemill/schema/value"
)

// agedOptions are those of a store that rolls up at once, keeps a cache, and
// drops what it can all the time.
func agedOptions(dir string) Options {
	opts := alterOptions(dir)
	opts.Commit.NoSync = true
	opts.Rollup = posting.RollupOptions{MinDeltas: 2, MinBytes: 1 << 10, Rate: -1}
	opts.CleanUp = posting.CleanUpOptions{Every: 5 * time.Millisecond}
	opts.CacheBytes = 4 << 20
	return opts
}

func openAged(t testing.TB, dir, text string) *DB {
	t.Helper()
	db, err := Open(context.Background(), agedOptions(dir))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	require.NoError(t, db.Alter(context.Background(), text))
	return db
}

// openRoomy opens a store that takes large commits.
func openRoomy(t testing.TB, text string) *DB {
	t.Helper()
	opts := alterOptions(t.TempDir())
	opts.MemTableSize = 0
	db, err := Open(context.Background(), opts)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	require.NoError(t, db.Alter(context.Background(), text))
	return db
}

// edge is one that sets a target.
func edge(subject uint64, pred string, target uint64) mutation.Edge {
	return mutation.Edge{Subject: subject, Predicate: pred, Object: mutation.ObjectUID, Target: target}
}

// star deletes all of a subject's values or targets.
func star(subject uint64, pred string) mutation.Edge {
	return mutation.Edge{Subject: subject, Predicate: pred, Op: mutation.Delete, Object: mutation.ObjectStar}
}

// TestManySmallCommits builds lists of 2,000 and of 20 uids by commits of 7
// edges, with rollups under way and the cache on.
func TestManySmallCommits(t *testing.T) {
	const targets, batch = 20, 7
	subjects := 2000
	if testing.Short() {
		subjects = 200
	}
	db := openAged(t, "", "genre: [uid] @reverse @count .")
	var edges []mutation.Edge
	for s := range uint64(subjects) {
		for g := range uint64(targets) {
			edges = append(edges, edge(1000+s, "genre", 1+g))
		}
	}
	for part := range slices.Chunk(edges, batch) {
		db.mutateForTest(t, part)
	}
	require.NotZero(t, db.Stats().Rollup.Lists)
	v := openView(t, db, 0)
	is := uids(t)
	for g := range uint64(targets) {
		require.Len(t, is(v.Sources(1+g, "genre")), subjects)
	}
	for s := range uint64(subjects) {
		require.Len(t, is(v.Targets(1000+s, "genre")), targets)
	}
	for _, n := range []uint32{1, 2, 7, targets - 1, targets, targets + 1} {
		require.Len(t, is(v.ByCount("genre", n)), map[bool]int{true: subjects}[n == targets], "count %d", n)
	}
	for _, n := range []uint32{1, 2, 7, 100, uint32(subjects) - 1, uint32(subjects), uint32(subjects) + 1} {
		require.Len(t, is(v.ByReverseCount("genre", n)), map[bool]int{true: targets}[n == uint32(subjects)], "reverse count %d", n)
	}
	verifyClean(t, db)
}

// TestOldReads reads below, at and above commits, with a warm cache and after
// rollups, which may at most tell that a timestamp is too old.
func TestOldReads(t *testing.T) {
	ctx := context.Background()
	opts := alterOptions("")
	opts.CacheBytes = 1 << 20
	opts.Rollup.Off, opts.CleanUp.Off = true, true
	db, err := Open(ctx, opts)
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close()) }()
	require.NoError(t, db.Alter(ctx, "pal: [uid] ."))
	commit := func(edges ...mutation.Edge) uint64 {
		txn, err := db.Begin(ctx)
		require.NoError(t, err)
		_, err = txn.Mutate(ctx, edges)
		require.NoError(t, err)
		ts, err := txn.Commit(ctx)
		require.NoError(t, err)
		return ts
	}
	first := commit(edge(1, "pal", 3), edge(1, "pal", 4), edge(1, "pal", 10))
	second := commit(mutation.Edge{Subject: 1, Predicate: "pal", Op: mutation.Delete, Object: mutation.ObjectUID, Target: 4}, edge(1, "pal", 13))
	read := func(ts uint64) ([]uint64, error) {
		v, err := db.View(ctx, ts)
		if err != nil {
			return nil, err
		}
		defer v.Close()
		return v.Targets(1, "pal")
	}
	is := uids(t)
	for range 3 {
		require.Equal(t, []uint64{3, 10, 13}, is(read(0)))
		require.Equal(t, []uint64{3, 4, 10}, is(read(first)))
		require.Equal(t, []uint64{3, 4, 10}, is(read(second-1)))
		require.Equal(t, []uint64{3, 10, 13}, is(read(second)))
		require.Empty(t, is(read(first-1)))
	}
	stats, err := db.RollUp(ctx)
	require.NoError(t, err)
	require.EqualValues(t, 1, stats.Lists)
	require.Equal(t, []uint64{3, 10, 13}, is(read(0)))
	require.Equal(t, []uint64{3, 4, 10}, is(read(first)))

	held := openView(t, db, first)
	_, err = db.CleanUp(ctx)
	require.NoError(t, err)
	require.Equal(t, first, db.Store().Horizon(), "as far as the open view")
	require.Equal(t, []uint64{3, 4, 10}, is(held.Targets(1, "pal")))
	held.Close()
	_, err = db.CleanUp(ctx)
	require.NoError(t, err)
	_, err = read(first)
	require.ErrorIs(t, err, conflict.ErrTooOld)
	require.Equal(t, []uint64{3, 10, 13}, is(read(0)))
}

// TestHorizonOfOpenTransactions: what a transaction can see stays, also after
// the store was opened again.
func TestHorizonOfOpenTransactions(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	opts := alterOptions(dir)
	db, err := Open(ctx, opts)
	require.NoError(t, err)
	require.NoError(t, db.Alter(ctx, "pal: [uid] ."))
	db.mutateForTest(t, []mutation.Edge{edge(1, "pal", 2)})
	txn, err := db.Begin(ctx)
	require.NoError(t, err)
	db.mutateForTest(t, []mutation.Edge{star(1, "pal")})
	_, err = db.CleanUp(ctx)
	require.NoError(t, err)
	require.Equal(t, txn.StartTS(), db.Store().Horizon())
	require.Equal(t, []uint64{2}, uids(t)(txn.View().Targets(1, "pal")))
	horizon := txn.StartTS()
	txn.Discard()
	require.NoError(t, db.Close())

	db, err = Open(ctx, opts)
	require.NoError(t, err)
	_, err = db.View(ctx, horizon-1)
	require.ErrorIs(t, err, conflict.ErrTooOld)
	v := openView(t, db, horizon)
	require.Equal(t, []uint64{2}, uids(t)(v.Targets(1, "pal")))
	v.Close()
	require.NoError(t, db.Close())
}

// TestLargeFacets rolls up lists whose postings no part is large enough for.
func TestLargeFacets(t *testing.T) {
	opts := alterOptions(t.TempDir())
	opts.MemTableSize, opts.Rollup.Off = 0, true
	db, err := Open(context.Background(), opts)
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close()) }()
	require.NoError(t, db.Alter(context.Background(), "pal: [uid] @reverse ."))
	withFacet := func(subject, target uint64, size int) mutation.Edge {
		e := edge(subject, "pal", target)
		e.Facets = []mutation.Facet{{Key: "note", Type: posting.FacetString, Value: []byte(strings.Repeat("x ", size/2))}}
		return e
	}
	sizes := map[uint64]int{2: 1 << 20, 3: 30 << 20, 4: 30 << 20}
	for target, size := range sizes {
		db.mutateForTest(t, []mutation.Edge{withFacet(1, target, size)})
	}
	check := func() {
		v := openView(t, db, 0)
		defer v.Close()
		require.Equal(t, []uint64{2, 3, 4}, uids(t)(v.Targets(1, "pal")))
		for target, size := range sizes {
			facets, err := v.Facets(1, "pal", target)
			require.NoError(t, err)
			require.Len(t, facets[0].Value, size)
		}
	}
	check()
	stats, err := db.RollUp(context.Background())
	require.NoError(t, err)
	require.EqualValues(t, 4, stats.Lists)
	check()
	verifyClean(t, db)
}

// TestSplitStarredAdded splits a list, stars it and adds one to it, each with a
// rollup behind; older reads see what was there.
func TestSplitStarredAdded(t *testing.T) {
	const n = 10_000
	ctx := context.Background()
	db := openRoomy(t, "pal: [uid] @reverse .")
	var edges []mutation.Edge
	for i := range uint64(n) {
		e := edge(1, "pal", 10+i)
		e.Facets = []mutation.Facet{{Key: "note", Type: posting.FacetString, Value: []byte(strings.Repeat("long ", 20))}}
		edges = append(edges, e)
	}
	db.mutateForTest(t, edges)
	rollUp := func() {
		_, err := db.RollUp(ctx)
		require.NoError(t, err)
	}
	rollUp()
	r := db.store.Reader(^uint64(0))
	splits, err := r.Splits(posting.AppendDataKey(nil, 0, "pal", 1))
	r.Release()
	require.NoError(t, err)
	require.NotEmpty(t, splits)
	old := openView(t, db, 0)
	db.mutateForTest(t, []mutation.Edge{star(1, "pal")})
	rollUp()
	starred := openView(t, db, 0)
	db.mutateForTest(t, []mutation.Edge{edge(1, "pal", 5)})
	rollUp()
	is := uids(t)
	require.Equal(t, []uint64{5}, is(openView(t, db, 0).Targets(1, "pal")))
	require.Empty(t, is(starred.Targets(1, "pal")))
	require.Len(t, is(old.Targets(1, "pal")), n)
	require.Equal(t, []uint64{1}, is(old.Sources(10, "pal")))
	verifyClean(t, db)
}

// TestSplitTokens splits the lists of two tokens of which the one is the other
// followed by eight bytes, which is how the keys of parts are made.
func TestSplitTokens(t *testing.T) {
	const n = 130_000
	db := openRoomy(t, "nick: string @index(exact) .")
	texts := []string{"k", "k12345678"}
	for which, text := range texts {
		var edges []mutation.Edge
		for i := range uint64(n) {
			edges = append(edges, mutation.Edge{
				Subject: (2*i+uint64(which))<<24 + 1, Predicate: "nick",
				Object: mutation.ObjectValue, Value: value.Value{Type: value.String, Data: []byte(text)},
			})
		}
		db.mutateForTest(t, edges)
	}
	_, err := db.RollUp(context.Background())
	require.NoError(t, err)
	v := openView(t, db, 0)
	for which, text := range texts {
		r := db.store.Reader(v.TS())
		splits, err := r.Splits(posting.AppendIndexKey(nil, 0, "nick", []byte("\x02"+text)))
		r.Release()
		require.NoError(t, err)
		require.NotEmpty(t, splits)
		got := uids(t)(v.Lookup("nick", "exact", text, ""))
		require.Len(t, got, n)
		for i, uid := range got {
			require.Equal(t, (2*uint64(i)+uint64(which))<<24+1, uid)
		}
	}
	verifyClean(t, db)
}

const agedSchema = `
	pal: [uid] @reverse @count .
	tag: [string] @index(exact, term) @count .
	boss: uid @reverse .
	nick: string @index(exact) .
`

// randomBatch is some edges on few subjects, targets and values.
func randomBatch(rnd *rand.Rand) []mutation.Edge {
	edges := make([]mutation.Edge, 1+rnd.IntN(4))
	for i := range edges {
		pred := []string{"pal", "tag", "boss", "nick"}[rnd.IntN(4)]
		e := mutation.Edge{Subject: 1 + rnd.Uint64N(6), Predicate: pred}
		if rnd.IntN(3) == 0 {
			e.Op = mutation.Delete
		}
		switch {
		case e.Op == mutation.Delete && rnd.IntN(3) == 0:
			e.Object = mutation.ObjectStar
		case pred == "pal" || pred == "boss":
			e.Object, e.Target = mutation.ObjectUID, 100+rnd.Uint64N(8)
		default:
			e.Object = mutation.ObjectValue
			e.Value = value.Value{Type: value.String, Data: []byte(fmt.Sprintf("v%d red", rnd.IntN(8)))}
		}
		edges[i] = e
	}
	return edges
}

// TestAgedStress has clients that commit, views that read, Alters, rollups,
// clean-ups and a cache at work on the same keys.
func TestAgedStress(t *testing.T) {
	db := openAged(t, t.TempDir(), agedSchema)
	deadline := time.Now().Add(3 * time.Second)
	var committed atomic.Int64
	var wg sync.WaitGroup
	work := func(n int, f func(rnd *rand.Rand) error) {
		for i := range n {
			wg.Go(func() {
				rnd := rand.New(rand.NewPCG(uint64(i), 7))
				for time.Now().Before(deadline) {
					if err := f(rnd); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
	}
	work(3, func(rnd *rand.Rand) error {
		err := db.tryMutate(randomBatch(rnd))
		if errors.Is(err, conflict.ErrConflict) || errors.Is(err, ErrSchemaChanged) {
			return nil
		}
		committed.Add(1)
		return err
	})
	work(2, func(rnd *rand.Rand) error { return compareCached(db, rnd) })
	work(1, func(rnd *rand.Rand) error {
		time.Sleep(50 * time.Millisecond)
		return db.Alter(context.Background(), []string{
			"tag: [string] @index(term) @count .", "tag: [string] @index(exact, term) .", "tag: [string] @index(exact, term) @count .",
		}[rnd.IntN(3)])
	})
	work(1, func(*rand.Rand) error {
		time.Sleep(20 * time.Millisecond)
		_, err := db.RollUp(context.Background())
		return err
	})
	work(1, func(*rand.Rand) error {
		time.Sleep(100 * time.Millisecond)
		report, err := db.Verify(context.Background(), VerifyOptions{Workers: 1})
		if err == nil && !report.OK() {
			err = fmt.Errorf("%v", report.Violations)
		}
		return err
	})
	wg.Wait()
	t.Logf("%d commits, %+v", committed.Load(), db.Stats())
	require.NotZero(t, db.Stats().Rollup.Lists)
	verifyClean(t, db)
	require.NoError(t, db.Alter(context.Background(), "tag: [string] ."))
	for _, key := range keysOf(t, db, "tag") {
		require.Contains(t, key, "data")
	}
}

// compareCached reads every list of a moment with the cache and without.
func compareCached(db *DB, rnd *rand.Rand) error {
	v, err := db.View(context.Background(), 0)
	if err != nil {
		return err
	}
	defer v.Close()
	plain := db.store.Reader(v.TS())
	defer plain.Release()
	for range 1 + rnd.IntN(3) {
		for subject := range uint64(6) {
			for _, pred := range []string{"pal", "tag", "boss", "nick"} {
				if err := sameList(v, plain, posting.AppendDataKey(nil, 0, pred, 1+subject)); err != nil {
					return err
				}
			}
		}
		for target := range uint64(8) {
			if err := sameList(v, plain, posting.AppendReverseKey(nil, 0, "pal", 100+target)); err != nil {
				return err
			}
		}
	}
	return nil
}

func sameList(v *View, plain *posting.Reader, key []byte) error {
	cached, err := v.read(key)
	if err != nil {
		return err
	}
	stored, err := plain.List(key)
	if err != nil {
		return err
	}
	a, b := slices.Collect(cached.UIDs(0)), slices.Collect(stored.UIDs(0))
	if !slices.Equal(a, b) {
		return fmt.Errorf("%x at %d: %v in the cache, %v in the store", key, v.TS(), a, b)
	}
	return nil
}

// TestAlterBarsRollups: no rollup of a predicate runs beside its Alter, and
// afterwards nothing is barred.
func TestAlterBarsRollups(t *testing.T) {
	ctx := context.Background()
	db := openAged(t, "", agedSchema)
	db.mutateForTest(t, []mutation.Edge{edge(1, "pal", 2), edge(1, "boss", 2)})
	release := db.upkeep.bars.bar(mutation.Name{Predicate: "pal"})
	stats, err := db.RollUp(ctx)
	require.NoError(t, err)
	require.Positive(t, stats.Skipped)
	require.Positive(t, stats.Lists)
	release()
	stats, err = db.RollUp(ctx)
	require.NoError(t, err)
	require.Zero(t, stats.Skipped)
	require.Positive(t, stats.Lists)

	points := 0
	db.alterLimits.at = func(alterPoint) error {
		b := &db.upkeep.bars
		b.RLock()
		defer b.RUnlock()
		points++
		require.Len(t, b.preds, 1)
		require.Positive(t, b.preds[mutation.Name{Predicate: "pal"}])
		return nil
	}
	require.NoError(t, db.Alter(ctx, "pal: [uid] ."))
	require.Positive(t, points)
	barred, release := db.guardRollups()
	defer release()
	require.False(t, barred(&posting.Key{Predicate: "pal"}))
}

// TestCloseDuringRollup ends rollups that are under way, soon.
func TestCloseDuringRollup(t *testing.T) {
	db, err := Open(context.Background(), agedOptions(t.TempDir()))
	require.NoError(t, err)
	require.NoError(t, db.Alter(context.Background(), agedSchema))
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		db.mutateForTest(t, randomBatch(rnd))
	}
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			for err := error(nil); err == nil; {
				_, err = db.RollUp(context.Background())
				if err != nil && !errors.Is(err, ErrClosed) {
					t.Error(err)
				}
			}
		})
	}
	time.Sleep(20 * time.Millisecond)
	begun := time.Now()
	require.NoError(t, db.Close())
	require.Less(t, time.Since(begun), 5*time.Second)
	wg.Wait()
	_, err = db.RollUp(context.Background())
	require.ErrorIs(t, err, ErrClosed)
	_, err = db.CleanUp(context.Background())
	require.ErrorIs(t, err, ErrClosed)
}
