package mutation_test

import (
	"context"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/edgemill/edgemill/ingest"
	"github.com/edgemill/edgemill/mutation"
	"github.com/edgemill/edgemill/posting"
	"github.com/edgemill/edgemill/schema"
	"github.com/edgemill/edgemill/schema/value"
)

var wholeWordNet = flag.Bool("wordnet", false, "compare the appliers on all of WordNet, not on a part of it")

// sharedPath finds shared data, or skips the test.
func sharedPath(t testing.TB, parts ...string) string {
	t.Helper()
	path := filepath.Join(append([]string{"..", "..", "shared"}, parts...)...)
	if _, err := os.Stat(path); err != nil {
		t.Skipf("the shared data is not here: %v", err)
	}
	return path
}

// uidsFrom hands out ascending uids.
type uidsFrom struct{ last atomic.Uint64 }

func (u *uidsFrom) NewUIDs(_ context.Context, n uint64) (start, end uint64, err error) {
	end = u.last.Add(n)
	return end - n + 1, end, nil
}

// readFile reads a file of N-Quads.
func readFile(path string) ([]mutation.Edge, error) {
	src, err := ingest.Open(path)
	if err != nil {
		return nil, err
	}
	defer src.Close()
	chunks, err := ingest.NewChunkReader(src)
	if err != nil {
		return nil, err
	}
	var parser ingest.Parser
	var edges []mutation.Edge
	resolver := ingest.NewResolver(ingest.NewNames(), &uidsFrom{}, ingest.ResolverOptions{})
	for {
		chunk, err := chunks.Next()
		if errors.Is(err, io.EOF) {
			return edges, nil
		}
		if err != nil {
			return nil, err
		}
		quads, err := parser.Parse(nil, chunk)
		if err != nil {
			return nil, err
		}
		if edges, err = resolver.Edges(context.Background(), edges, quads, path); err != nil {
			return nil, err
		}
	}
}

// newUIDs enters the uids of the edges in known, and returns those that were
// not there, as ranges.
func newUIDs(edges []mutation.Edge, known map[uint64]bool) (ranges []mutation.UIDRange) {
	var uids []uint64
	for _, e := range edges {
		for _, uid := range []uint64{e.Subject, e.Target} {
			if uid > 0 && !known[uid] {
				known[uid] = true
				uids = append(uids, uid)
			}
		}
	}
	slices.Sort(uids)
	for _, uid := range uids {
		if n := len(ranges); n > 0 && ranges[n-1].Last == uid-1 {
			ranges[n-1].Last = uid
			continue
		}
		ranges = append(ranges, mutation.UIDRange{First: uid, Last: uid})
	}
	return ranges
}

// TestEqualOnWordNet loads WordNet, a transaction for each batch, and compares
// each with what parallel appliers make of it (I4).
func TestEqualOnWordNet(t *testing.T) {
	name, size := "wordnet-small.nq.gz", 3000
	if *wholeWordNet {
		name, size = "wordnet.nq.gz", 20_000
	}
	path := sharedPath(t, "data", name)
	text, err := os.ReadFile(sharedPath(t, "data", "wordnet.schema"))
	require.NoError(t, err)
	snap := parseSnapshot(t, string(text))
	store := openTestStore(t)
	edges, err := readFile(path)
	require.NoError(t, err)
	require.Greater(t, len(edges), 50_000)
	parallelisms := []mutation.Parallelism{mutation.Off, mutation.Workers(3), mutation.Workers(32), mutation.Auto}
	if testing.Short() {
		parallelisms, edges = parallelisms[1:2], edges[:20_000]
	}
	ts, known := uint64(10), make(map[uint64]bool)
	for batch := range slices.Chunk(edges, size) {
		equalAndCommitted(t, store, ts, snap, parallelisms, mutation.Batch{Edges: batch, Fresh: newUIDs(batch, known)})
		ts += 2
	}
	t.Logf("%d edges in %d transactions", len(edges), (ts-10)/2)
}

// equalAndCommitted applies a batch with the serial applier and with parallel
// ones, compares, and commits. The model is not told which uids are fresh.
func equalAndCommitted(t *testing.T, store *posting.Store, ts uint64, snap *schema.Snapshot, ps []mutation.Parallelism, b mutation.Batch) {
	want := mutation.NewTxn(store, ts)
	defer want.Release()
	applyWith(t, mutation.Options{}, want, snap, mutation.Batch{Edges: b.Edges, Namespace: b.Namespace})
	for _, p := range ps {
		requireEqualTo(t, store, ts, snap, want, p, b)
	}
	commitTestTxn(t, store, want, ts+1)
}

// TestEqualOnW3C takes the graphs of the W3C's cases for N-Quads and N-Triples,
// under schemas that index, count and reverse their predicates, sets them,
// sets them again, and deletes every second edge (I4).
func TestEqualOnW3C(t *testing.T) {
	graphs := 0
	for _, suite := range []string{"rdf-n-quads", "rdf-n-triples"} {
		files, err := filepath.Glob(filepath.Join(sharedPath(t, "w3c", suite), "*.n[qt]"))
		require.NoError(t, err)
		require.NotEmpty(t, files)
		for _, file := range files {
			edges, err := readFile(file)
			if err != nil || len(edges) == 0 {
				continue // A case of what is no N-Quads, or says nothing.
			}
			graphs++
			t.Run(suite+"/"+filepath.Base(file), func(t *testing.T) { equalOnGraph(t, edges) })
		}
	}
	require.Greater(t, graphs, 80)
}

func equalOnGraph(t *testing.T, edges []mutation.Edge) {
	snap, edges := snapshotOf(edges)
	store := openTestStore(t)
	deletes := slices.Clone(edges)
	for i := range deletes {
		deletes[i].Op, deletes[i].Facets = mutation.Delete, nil
	}
	grants := []mutation.Parallelism{mutation.Off, mutation.Workers(3), mutation.Workers(32)}
	ts := uint64(10)
	for _, batch := range [][]mutation.Edge{edges, edges, deletes[:(len(deletes)+1)/2], append(deletes, edges...), deletes} {
		equalAndCommitted(t, store, ts, snap, grants, mutation.Batch{Edges: batch})
		ts += 2
	}
}

// snapshotOf makes a schema under which the edges are possible, and leaves out
// those on a predicate that has both targets and values, or whose name cannot
// be stored.
func snapshotOf(edges []mutation.Edge) (*schema.Snapshot, []mutation.Edge) {
	preds := make(map[string]*schema.Predicate)
	var kept []mutation.Edge
	for _, e := range edges {
		p := preds[e.Predicate]
		if p == nil {
			p = predicateFor(&e)
			preds[e.Predicate] = p
		}
		if (e.Object == mutation.ObjectUID) == (p.Type == value.UID) && len(e.Predicate) < posting.MaxPredicateLen {
			kept = append(kept, e)
		}
	}
	var all []*schema.Predicate
	for _, p := range preds {
		all = append(all, p)
	}
	return schema.NewSnapshot(all, nil), kept
}

func predicateFor(e *mutation.Edge) *schema.Predicate {
	definition := "string @index(term, exact) @lang @count"
	if e.Object == mutation.ObjectUID {
		definition = "[uid] @reverse @count"
	}
	parsed, err := schema.Parse("p: " + definition + " .")
	if err != nil {
		panic(err)
	}
	p := parsed.Predicates[0]
	p.Name = strings.Clone(e.Predicate)
	return p
}
