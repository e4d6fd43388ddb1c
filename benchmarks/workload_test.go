package benchmarks

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/edgemill/edgemill/mutation"
	"github.com/edgemill/edgemill/posting"
)

// TestCases runs every case that is not long, in one of its modes.
func TestCases(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	seen := make(map[string]bool)
	for _, c := range Cases(Config{Data: t.TempDir()}) {
		require.False(t, seen[c.Name], "%s is there twice", c.Name)
		seen[c.Name] = true
		if c.Mode != "" && c.Mode != "auto" || strings.HasPrefix(c.Name, "Mutate/50x") {
			continue
		}
		t.Run(c.Name, func(t *testing.T) {
			runs, err := Run(context.Background(), []Case{c}, RunOptions{
				Dir: t.TempDir(), Operations: 2,
				Skipped: func(_ *Case, why error) { t.Skip(why) },
			})
			require.NoError(t, err)
			require.Positive(t, runs[0].Values["ns/op"])
		})
	}
}

func TestWorkloadsAreAsTheyAreCalled(t *testing.T) {
	for name, want := range map[string]struct{ edges, predicates int }{
		"SkewedBatch": {20_000, 3}, "ReverseDominant": {19_980, 1}, "ReverseHighCardinality": {19_980, 1},
		"ReverseMultiPredicate/25": {19_975, 25}, "ReverseHighCardConcurrent/4": {64_000, 4},
		"FiftyFifty": {20_000, 2}, "ScalarDominant": {19_980, 1},
		"Predicate99": {20_000, 21}, "HotSubject": {20_000, 1}, "HotTarget": {20_000, 1},
		"10000x1": {10_000, 10_000}, "1x1": {1, 1}, "10x1": {10, 10},
	} {
		found := false
		for _, w := range append(ApplyWorkloads(), SkewWorkloads()...) {
			if w.Name != name {
				continue
			}
			found = true
			predicates := make(map[string]bool)
			edges := w.Batch().Edges
			for _, e := range edges {
				predicates[e.Predicate] = true
			}
			require.Len(t, edges, want.edges, name)
			require.Len(t, predicates, want.predicates, name)
		}
		require.True(t, found, name)
	}
}

func TestHalfIsHalf(t *testing.T) {
	share := func(edges []mutation.Edge, is func(e *mutation.Edge) bool) float64 {
		n := 0
		for i := range edges {
			if is(&edges[i]) {
				n++
			}
		}
		return float64(n) / float64(len(edges))
	}
	subject := hotSubject().Batch().Edges
	require.Equal(t, 0.5, share(subject, func(e *mutation.Edge) bool { return e.Subject == firstSubject-1 }))
	target := hotTarget().Batch().Edges
	require.Equal(t, 0.5, share(target, func(e *mutation.Edge) bool { return e.Target == firstSubject-1 }))
	predicate := dominantPredicate().Batch().Edges
	require.Equal(t, 0.99, share(predicate, func(e *mutation.Edge) bool { return e.Predicate == "sname" }))
}

// The subjects of Mutate batches are fresh as stated, and the values distinct.
func TestMutateBatches(t *testing.T) {
	s := mutateShape{3, 20, true}
	subjects, values := make(map[uint64]int), make(map[string]bool)
	for n := range 3 {
		b := s.batch(n)
		require.Len(t, b.Edges, s.edges())
		require.Len(t, b.Fresh, 1)
		for _, e := range b.Edges {
			require.True(t, b.Fresh[0].First <= e.Subject && e.Subject <= b.Fresh[0].Last)
			subjects[e.Subject] = n
			require.False(t, values[string(e.Value.Data)])
			values[string(e.Value.Data)] = true
		}
	}
	require.Len(t, subjects, 60)
	require.Len(t, s.batches(5, 7), 2)
	require.Len(t, mutateShape{1, 30_000, true}.batches(0, 9), 8)
}

// What Badger is given beside a Mutate workload is what the workload writes.
func TestEntries(t *testing.T) {
	s := mutateShape{2, 5, true}
	snap, err := s.snapshot()
	require.NoError(t, err)
	a, err := newApplying(snap, mutation.DefaultOptions())
	require.NoError(t, err)
	defer a.store.Close()
	given, err := a.entries(context.Background(), s.batch(0), asGiven)
	require.NoError(t, err)
	sorted, err := a.entries(context.Background(), s.batch(0), byKey)
	require.NoError(t, err)
	require.Len(t, given, 20, "a data list and an index list for each edge")
	require.ElementsMatch(t, given, sorted)
	raw, err := openRaw(t.TempDir())
	require.NoError(t, err)
	defer raw.Close()
	require.NoError(t, writeRaw(raw, 1, given))
	require.NoError(t, writeRawBatch(raw, []rawTxn{{2, given}}))
	txn := raw.NewTransactionAt(2, false)
	defer txn.Discard()
	for _, kv := range given {
		item, err := txn.Get(kv.Key)
		require.NoError(t, err)
		require.Equal(t, uint64(2), item.Version())
		require.Equal(t, posting.MetaDelta, item.UserMeta())
	}
}

// Contended batches are the same each time, and their values skewed.
func TestContendedBatches(t *testing.T) {
	require.Equal(t, contendedBatch(7), contendedBatch(7))
	seen, all := make(map[string]int), 0
	for n := range 50 {
		b := contendedBatch(n)
		require.Len(t, b.Edges, txnEdges)
		for _, e := range b.Edges {
			seen[string(e.Value.Data)]++
			all++
		}
	}
	require.LessOrEqual(t, len(seen), upsertValues)
	require.Greater(t, seen["value-0"], all/20)
	require.Less(t, seen["value-0"], all/2)
}

func TestAgedEdges(t *testing.T) {
	pairs := make(map[[2]uint64]bool)
	for _, e := range agedEdges() {
		pairs[[2]uint64{e.Subject, e.Target}] = true
	}
	require.Len(t, pairs, agedCommits)
	require.Len(t, agedListKeys(), 2*agedKeys)
}

func TestWordNetSmall(t *testing.T) {
	dir := dataDir(t)
	files := wordNetFiles{dir + "/wordnet-small.nq.gz", dir + "/wordnet.schema"}
	g, err := files.parse(context.Background())
	if err != nil {
		t.Skip("the data is not there:", err)
	}
	require.Equal(t, 59_108, g.edges)
	require.Len(t, g.batches, 3)
	m := newMeter(t.TempDir())
	require.NoError(t, g.apply(context.Background(), m, mutation.DefaultOptions()))
	require.NoError(t, g.load(context.Background(), m, mutation.DefaultOptions()))
	require.NoError(t, g.raw(context.Background(), m))
	require.Positive(t, m.values["entry-bytes/op"])
	require.Positive(t, m.Elapsed())
}
