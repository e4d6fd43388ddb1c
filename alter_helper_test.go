package edgemill

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/edgemill/edgemill/ingest"
	"github.com/edgemill/edgemill/mutation"
	"github.com/edgemill/edgemill/posting"
	"github.com/edgemill/edgemill/schema"
	"github.com/edgemill/edgemill/schema/value"
)

// alterOptions are those of a small store in a folder, or in memory for "".
func alterOptions(dir string) Options {
	return Options{
		Dir: dir, InMemory: dir == "", MemTableSize: 2 << 20,
		Commit: posting.CommitOptions{Reserve: -1},
	}
}

// openAlter opens a store in memory whose Alters go in small pieces.
func openAlter(t testing.TB, text string) *DB {
	t.Helper()
	db := openAlterIn(t, "")
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	require.NoError(t, db.Alter(context.Background(), text))
	return db
}

func openAlterIn(t testing.TB, dir string) *DB {
	t.Helper()
	db, err := Open(context.Background(), alterOptions(dir))
	require.NoError(t, err)
	db.alterLimits = alterLimits{postings: 1000, commit: 1000}
	return db
}

// alterEdges reads a mutation file's text.
func alterEdges(t testing.TB, text string) []mutation.Edge {
	t.Helper()
	src, err := ingest.NewSource("test", strings.NewReader(text))
	require.NoError(t, err)
	quads, err := ingest.ReadMutation(src)
	require.NoError(t, err)
	edges, err := ingest.NewResolver(ingest.NewNames(), nil, ingest.ResolverOptions{}).Edges(context.Background(), nil, quads, "test")
	require.NoError(t, err)
	return edges
}

// mutateForTest commits the edges as one transaction.
func (db *DB) mutateForTest(t testing.TB, edges []mutation.Edge) {
	t.Helper()
	require.NoError(t, db.tryMutate(edges))
}

func (db *DB) tryMutate(edges []mutation.Edge) error {
	ctx := context.Background()
	txn, err := db.Begin(ctx)
	if err != nil {
		return err
	}
	defer txn.Discard()
	if _, err := txn.Mutate(ctx, edges); err != nil {
		return err
	}
	_, err = txn.Commit(ctx)
	return err
}

// listsAt are the live lists at a timestamp, 0 for the newest, each as a line of
// key and postings.
func listsAt(t testing.TB, db *DB, ts uint64) []string {
	t.Helper()
	ctx := context.Background()
	if ts == 0 {
		var release func()
		var err error
		ts, release, err = db.oracle.Timestamp(ctx)
		require.NoError(t, err)
		defer release()
	}
	r := db.store.Reader(ts)
	defer r.Release()
	var lists []string
	err := r.WalkLists(ctx, []byte{byte(posting.SpaceList)}, nil, func(key []byte, l *posting.List) error {
		k, err := posting.ParseKey(key)
		if err != nil {
			return err
		}
		line := fmt.Sprintf("%s:", k)
		for p := range l.Postings(0) {
			valType := p.ValType
			if p.Type == posting.PostingRef {
				valType = 0
			}
			line += fmt.Sprintf(" %#x(%d %d %q %q %x)", p.UID, p.Type, valType, p.Value, p.Lang, p.Facets)
		}
		if !l.Empty() {
			lists = append(lists, line)
		}
		return nil
	})
	require.NoError(t, err)
	return lists
}

// keysOf are the keys of a predicate that the newest reader sees, of lists and
// of parts, but for the data.
func keysOf(t testing.TB, db *DB, name string) []string {
	t.Helper()
	r := db.store.Reader(^uint64(0))
	defer r.Release()
	var keys []string
	for _, prefix := range [][]byte{posting.PredicatePrefix(nil, 0, name), posting.PartPrefix(nil, 0, name)} {
		err := r.Walk(context.Background(), prefix, func(key []byte) error {
			k, err := posting.ParseKey(key)
			if err == nil && k.Kind != posting.KindData {
				keys = append(keys, k.String())
			}
			return err
		})
		require.NoError(t, err)
	}
	return keys
}

// requireVerified checks the whole store: the four statements and the format.
func requireVerified(t testing.TB, db *DB) {
	t.Helper()
	report, err := db.Verify(context.Background(), VerifyOptions{Limit: 10})
	require.NoError(t, err)
	require.Empty(t, report.Violations)
	opsAddUp(t, db)
}

// opsAddUp checks what readers of the format rely on in the lists of @count
// predicates: +1 for each set and -1 for each delete give the length.
func opsAddUp(t testing.TB, db *DB) {
	t.Helper()
	r := db.store.Reader(^uint64(0))
	defer r.Release()
	for p := range db.Schema().All() {
		if !p.Count {
			continue
		}
		for _, kind := range []posting.Kind{posting.KindData, posting.KindReverse} {
			prefix := posting.AppendPrefix(nil, p.Namespace, p.Name, kind)
			err := r.WalkVersions(context.Background(), prefix, nil, func(key []byte, versions []posting.Version) error {
				l, err := r.List(key)
				require.NoError(t, err)
				require.Equal(t, l.Len(), sumOfOps(t, r, key, versions), "%x", key)
				return nil
			})
			require.NoError(t, err)
		}
	}
}

// sumOfOps adds up the ops of the deltas above the newest complete list.
func sumOfOps(t testing.TB, r *posting.Reader, key []byte, versions []posting.Version) int {
	n := 0
	for i, v := range versions {
		if v.Deleted || v.Meta != posting.MetaDelta {
			complete, err := r.Assemble(key, versions[i:])
			require.NoError(t, err)
			return n + complete.Len()
		}
		ps, err := posting.DecodeDelta(nil, v.Value)
		require.NoError(t, err)
		hidden := false
		for _, p := range ps {
			switch {
			case p.IsDeleteAll():
				hidden = true
			case p.Op == posting.OpSet:
				n++
			case p.Op == posting.OpDelete:
				n--
			}
		}
		if hidden {
			return n
		}
	}
	return n
}

// randomEdges are batches on one predicate: sets, also of what is there, deletes
// and stars.
type randomEdges struct {
	*rand.Rand
	p     *schema.Predicate
	langs []string
}

func newRandomEdges(t testing.TB, seed uint64, statement string, langs ...string) *randomEdges {
	t.Helper()
	parsed, err := schema.Parse(statement)
	require.NoError(t, err)
	return &randomEdges{Rand: rand.New(rand.NewPCG(seed, 1)), p: parsed.Predicates[0], langs: langs}
}

func (r *randomEdges) batch(t testing.TB, n int) []mutation.Edge {
	edges := make([]mutation.Edge, n)
	for i := range edges {
		edges[i] = r.edge(t)
	}
	return edges
}

func (r *randomEdges) edge(t testing.TB) mutation.Edge {
	e := mutation.Edge{Subject: uint64(1 + r.IntN(40)), Predicate: r.p.Name}
	if r.IntN(40) == 0 {
		e.Subject = ^uint64(0) - 1
	}
	if r.IntN(4) == 0 {
		e.Op = mutation.Delete
	}
	if e.Op == mutation.Delete && r.IntN(3) == 0 {
		e.Object = mutation.ObjectStar
		return e
	}
	if e.Op == mutation.Set && r.IntN(3) == 0 {
		e.Facets = []mutation.Facet{{Key: "note", Type: posting.FacetString, Value: []byte("n" + strconv.Itoa(r.IntN(3)))}}
	}
	if r.p.Type == value.UID {
		e.Object, e.Target = mutation.ObjectUID, uint64(1+r.IntN(12))
		return e
	}
	if len(r.langs) > 0 {
		e.Lang = r.langs[r.IntN(len(r.langs))]
	}
	e.Value = r.value(t)
	return e
}

var alterWords = []string{"red", "fox", "car", "Haus", "bike", "running", "Renard", "the", "été", "x"}

func (r *randomEdges) value(t testing.TB) value.Value {
	typ, text := r.p.Type, ""
	switch typ {
	case value.Int:
		text = strconv.Itoa(r.IntN(20) - 10)
	case value.Float, value.BigFloat:
		text = strconv.FormatFloat(float64(r.IntN(100)-50)/10, 'g', -1, 64)
	case value.Bool:
		text = strconv.FormatBool(r.IntN(2) == 0)
	case value.DateTime:
		text = fmt.Sprintf("%d-%02d-%02dT%02d:00:00Z", 2000+r.IntN(3), 1+r.IntN(3), 1+r.IntN(3), r.IntN(3))
	case value.Geo:
		text = fmt.Sprintf("{'type':'Point','coordinates':[%d,%d]}", r.IntN(5), r.IntN(5))
	default:
		var words []string
		for range 1 + r.IntN(3) {
			words = append(words, alterWords[r.IntN(len(alterWords))])
		}
		text = strings.Join(words, " ")
	}
	v, err := value.Parse(typ, text)
	require.NoError(t, err)
	return v
}

// load commits some batches, as several transactions, and gives what was loaded.
func (r *randomEdges) load(t testing.TB, dbs ...*DB) {
	t.Helper()
	for range 12 {
		edges := r.batch(t, 25)
		for _, db := range dbs {
			db.mutateForTest(t, slices.Clone(edges))
		}
	}
}
