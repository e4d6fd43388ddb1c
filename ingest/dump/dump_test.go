package dump

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/edgemill/edgemill"
	"github.com/edgemill/edgemill/ingest"
	"github.com/edgemill/edgemill/mutation"
	"github.com/edgemill/edgemill/schema/value"
)

func open(t *testing.T, o edgemill.Options) *edgemill.DB {
	t.Helper()
	o.InMemory, o.MemTableSize = o.Dir == "", 4<<20
	db, err := edgemill.Open(context.Background(), o)
	require.NoError(t, err)
	return db
}

func openIn(t *testing.T, schema string) *edgemill.DB {
	t.Helper()
	db := open(t, edgemill.Options{})
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	require.NoError(t, db.Alter(context.Background(), schema))
	return db
}

// load commits the statements of an N-Quads text.
func load(t *testing.T, db *edgemill.DB, text string) {
	t.Helper()
	ctx := context.Background()
	src, err := ingest.NewSource("in", strings.NewReader(text))
	require.NoError(t, err)
	r, err := ingest.NewChunkReader(src)
	require.NoError(t, err)
	c, err := r.Next()
	require.NoError(t, err)
	quads, err := new(ingest.Parser).Parse(nil, c)
	require.NoError(t, err)
	edges, err := ingest.NewResolver(ingest.NewNames(), nil, ingest.ResolverOptions{}).Edges(ctx, nil, quads, "in")
	require.NoError(t, err)
	commit(t, db, edges)
}

func commit(t *testing.T, db *edgemill.DB, batches ...[]mutation.Edge) {
	t.Helper()
	ctx := context.Background()
	txn, err := db.Begin(ctx)
	require.NoError(t, err)
	defer txn.Discard()
	for _, edges := range batches {
		_, err = txn.Mutate(ctx, edges)
		require.NoError(t, err)
	}
	_, err = txn.Commit(ctx)
	require.NoError(t, err)
}

func text(t *testing.T, db *edgemill.DB, o Options) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, NQuads(context.Background(), db, &b, o))
	return b.String()
}

func lists(t *testing.T, db *edgemill.DB) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, Lists(context.Background(), db, &b, Options{}))
	return b.String()
}

const allTypes = `
any: default .
bigs: bigfloat .
born: datetime @index(hour) .
friend: [uid] @reverse @count .
<http://example.org/é>: string .
name: string @index(exact, term, fulltext) @lang .
ok: bool @index(bool) .
place: geo @index(geo) .
score: [float] @index(float) .
secret: password .
size: [int] @index(int) @count .
vec: float32vector .
`

// allStatements is a dump of allTypes: what N-Quads has to say, in its order.
const allStatements = `<0x1> <any> "plain" .
<0x2> <any> "text"^^<xs:string> .
<0x3> <any> "7"^^<xs:int> .
<0x4> <any> "2026-01-02T03:04:05+00:00"^^<xs:dateTime> .
<0x1> <bigs> "0.1000000000000000000000000000000000000000000000000000000000005"^^<xs:bigfloat> .
<0x1> <born> "1991-08-25T20:57:08.25Z"^^<xs:dateTime> .
<0x2> <born> "1991-08-25T20:57:08+02:00"^^<xs:dateTime> .
<0x1> <friend> <0x2> (close=true, n=3, note="été, \"so\"", since=2006-01-02T15:04:05Z, w=1.0) .
<0x1> <friend> <0xfffffffffffffffe> .
<0x1> <http://example.org/é> "a\\b\t\"c\"\n" .
<0x1> <name> "Anne"@fr (k="v") .
<0x1> <name> "Änne"@de-AT .
<0x1> <name> "Ann" .
<0x2> <name> "" .
<0xfffffffffffffffe> <name> "_STAR_ALL" .
<0x1> <ok> "true"^^<xs:boolean> .
<0x1> <place> "{'type':'Point','coordinates':[1.5,-2]}"^^<geo:geojson> .
<0x1> <score> "1.5"^^<xs:float> .
<0x1> <score> "-0"^^<xs:float> .
<0x1> <score> "+Inf"^^<xs:float> .
<0x1> <secret> "$2a$10$aaaaaaaaaaaaaaaaaaaaaeuj7h3vqGr9n.XxwPL3bkw3rGZ2Bk1Pm"^^<xs:password> .
<0x2> <size> "-9223372036854775808"^^<xs:int> .
<0x1> <vec> "[1,2.5]"^^<xs:float32vector> .
`

// TestNQuads: loading a dump gives the same dump, and the same lists.
func TestNQuads(t *testing.T) {
	db := openIn(t, allTypes)
	load(t, db, allStatements)
	first := text(t, db, Options{})
	require.Equal(t, allStatements, first)
	again := openIn(t, db.SchemaText())
	load(t, again, first)
	require.Equal(t, first, text(t, again, Options{}))
	require.Equal(t, lists(t, db), lists(t, again))
	report, err := again.Verify(context.Background(), edgemill.VerifyOptions{})
	require.NoError(t, err)
	require.Empty(t, report.Violations)
}

// TestNamespaces: all are dumped, or those that are asked for; one by itself is
// loaded into its own.
func TestNamespaces(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	for _, ns := range []uint64{0, 2} {
		db := open(t, edgemill.Options{Dir: dir, Namespace: ns})
		require.NoError(t, db.Alter(ctx, "name: string @index(exact) .\nage: int ."))
		load(t, db, `<0x1> <name> "in `+strconv.FormatUint(ns, 10)+`" .
			<0x1> <age> "5" .`)
		require.NoError(t, db.Close())
	}
	db := open(t, edgemill.Options{Dir: dir})
	defer func() { require.NoError(t, db.Close()) }()
	require.Equal(t, `<0x1> <age> "5"^^<xs:int> .
<0x1> <name> "in 0" .
<0x1> <age> "5"^^<xs:int> <0x2> .
<0x1> <name> "in 2" <0x2> .
`, text(t, db, Options{}))
	two := Options{Namespaces: []uint64{2}}
	only := text(t, db, two)
	require.Equal(t, 2, strings.Count(only, "<0x2> ."))
	require.Empty(t, text(t, db, Options{Namespaces: []uint64{1}}))
	require.Equal(t, 6, strings.Count(lists(t, db), "\n"), "two data lists and one of the index in each")
	require.Contains(t, lists(t, db), `"namespace":2`)

	dir = t.TempDir()
	other := open(t, edgemill.Options{Dir: dir, Namespace: 2})
	require.NoError(t, other.Alter(ctx, "name: string @index(exact) .\nage: int ."))
	load(t, other, only)
	require.Equal(t, only, text(t, other, two))
	require.NoError(t, other.Close())
}

type fullWriter struct{}

var errFull = errors.New("it is full")

func (fullWriter) Write([]byte) (int, error) { return 0, errFull }

func TestFailures(t *testing.T) {
	db := openIn(t, "name: string .")
	load(t, db, `<0x1> <name> "`+strings.Repeat("long ", writeBuffer)+`" .`)
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	for _, write := range []func(context.Context, *edgemill.DB, io.Writer, Options) error{NQuads, Lists} {
		require.ErrorIs(t, write(context.Background(), db, fullWriter{}, Options{}), errFull)
		require.ErrorIs(t, write(cancelled, db, io.Discard, Options{}), context.Canceled)
	}
}

// TestUnsayable: what N-Quads has no words for is an error that says where.
func TestUnsayable(t *testing.T) {
	db := openIn(t, "any: default .")
	commit(t, db, []mutation.Edge{{Subject: 5, Predicate: "any", Value: value.Value{Type: value.Binary, Data: []byte{0xff}}}})
	err := NQuads(context.Background(), db, io.Discard, Options{})
	require.ErrorContains(t, err, `dump: subject 0x5, predicate "any": `)
}

// goldenCase is what the test needs of a golden case.
type goldenCase struct {
	Schema string
	Txns   []struct {
		CommitTS  uint64         `json:"commit_ts"`
		Batches   [][]goldenEdge `json:"batches"`
		WantError bool           `json:"want_error"`
	}
	WantLists []map[string]any `json:"want_lists"`
}

type goldenEdge struct {
	Op, Subject, Predicate, Object, Value, Type, Lang string
	Star                                              bool
	Facets                                            []struct{ Key, Value string }
}

// TestGoldenLists: the golden cases' lists, word for word.
func TestGoldenLists(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("..", "..", "..", "shared", "golden", "*.json"))
	require.NoError(t, err)
	if len(files) == 0 {
		t.Skip("no golden cases beside the repository")
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			data, err := os.ReadFile(file)
			require.NoError(t, err)
			var c goldenCase
			require.NoError(t, json.Unmarshal(data, &c))
			c.run(t)
		})
	}
}

func (c *goldenCase) run(t *testing.T) {
	db := openIn(t, c.Schema)
	for _, txn := range c.Txns {
		if txn.CommitTS == 0 || txn.WantError {
			continue
		}
		var batches [][]mutation.Edge
		for _, edges := range txn.Batches {
			var batch []mutation.Edge
			for i := range edges {
				batch = append(batch, edges[i].edge(t))
			}
			batches = append(batches, batch)
		}
		commit(t, db, batches...)
	}
	got := []map[string]any{}
	for line := range strings.Lines(lists(t, db)) {
		var l map[string]any
		require.NoError(t, json.Unmarshal([]byte(line), &l))
		got = append(got, l)
	}
	for _, l := range c.WantLists {
		delete(l, "rolled_up_meta")
		delete(l, "rolled_up_hex")
	}
	if diff := cmp.Diff(inOneForm(c.WantLists), inOneForm(got)); diff != "" {
		t.Fatalf("lists (-want +got):\n%s", diff)
	}
}

// comparable drops what may be written or left out.
func inOneForm(ls []map[string]any) []map[string]any {
	for _, l := range ls {
		for _, p := range l["postings"].([]any) {
			p := p.(map[string]any)
			if p["posting_type"] == 0.0 || p["value_type"] == 0.0 {
				delete(p, "value_type")
			}
			if p["value_hex"] == "" {
				delete(p, "value_hex")
			}
		}
	}
	return append([]map[string]any{}, ls...)
}

func (g *goldenEdge) edge(t *testing.T) mutation.Edge {
	e := mutation.Edge{Predicate: g.Predicate, Lang: g.Lang}
	var err error
	e.Subject, err = strconv.ParseUint(g.Subject, 10, 64)
	require.NoError(t, err)
	if g.Op == "del" {
		e.Op = mutation.Delete
	}
	switch {
	case g.Star:
		e.Object = mutation.ObjectStar
	case g.Object != "":
		e.Object = mutation.ObjectUID
		e.Target, err = strconv.ParseUint(g.Object, 10, 64)
	default:
		e.Value, err = g.value()
	}
	require.NoError(t, err)
	for _, f := range g.Facets {
		facet, err := ingest.ParseFacet(f.Key, f.Value)
		require.NoError(t, err)
		e.Facets = append(e.Facets, facet)
	}
	return e
}

func (g *goldenEdge) value() (value.Value, error) {
	typ, ok := value.ParseType(g.Type)
	if !ok {
		typ = value.Default
	}
	if typ == value.Password {
		return value.Value{Type: typ, Data: []byte(g.Value)}, nil
	}
	return value.Parse(typ, g.Value)
}
