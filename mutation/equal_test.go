package mutation_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/edgemill/edgemill/mutation"
	"github.com/edgemill/edgemill/posting"
	"github.com/edgemill/edgemill/schema"
	"github.com/edgemill/edgemill/schema/value"
)

var (
	rounds    = flag.Int("rounds", 400, "how many random transactions TestParallelEqualsSerial applies")
	roundSeed = flag.Uint64("seed", 0, "seed of the random transactions; 0 for one from the clock")
)

// TestParallelEqualsSerial applies random transactions with the serial applier
// and with parallel ones of random grants, on the same store, and compares the
// deltas byte for byte and the conflict keys one by one (I4).
func TestParallelEqualsSerial(t *testing.T) {
	seed := *roundSeed
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("-seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 1))
	const perStore = 20
	for done := 0; done < *rounds; done += perStore {
		g := newGraphGen(rnd)
		store := openTestStore(t)
		for ts := uint64(10); ts < 10+2*perStore; ts += 2 {
			g.round(t, store, ts)
		}
	}
}

// graphGen makes up schemas and edges in a small world, so that edges meet.
type graphGen struct {
	rnd   *rand.Rand
	snap  *schema.Snapshot
	preds []*schema.Predicate
	bad   bool
}

func newGraphGen(rnd *rand.Rand) *graphGen {
	g := &graphGen{rnd: rnd, bad: rnd.IntN(4) == 0}
	var text strings.Builder
	for i := range 1 + rnd.IntN(6) {
		fmt.Fprintf(&text, "p%d: %s .\n", i, g.definition())
	}
	parsed, err := schema.Parse(text.String())
	if err != nil {
		panic(fmt.Sprintf("%v in %s", err, text.String()))
	}
	g.preds = parsed.Predicates
	g.snap = schema.NewSnapshot(parsed.Predicates, nil)
	return g
}

func (g *graphGen) one(of ...string) string { return of[g.rnd.IntN(len(of))] }

func (g *graphGen) definition() string {
	var def string
	switch g.rnd.IntN(8) {
	case 0, 1:
		def = g.one("uid", "[uid]") + g.one("", " @reverse", " @reverse")
	case 2:
		def = g.one("[uid] @reverse @count", "uid @reverse @count")
	case 3:
		def = "string @lang" + g.one("", " @index(exact)", " @index(term)", " @index(term, fulltext, exact)")
	case 4:
		def = "[string]" + g.one("", " @index(exact)", " @index(term)", " @index(trigram, hash)")
	case 5:
		def = g.one("string", "string @index(exact)", "string @index(term, hash)", "string @index(hash) @upsert @unique")
	case 6:
		def = g.one("int @index(int)", "[int] @index(int)", "float @index(float)", "[float] @index(float)", "bool @index(bool)", "int @index(int) @upsert @unique")
	default:
		def = g.one("default", "[default]", "datetime @index(year)", "[datetime] @index(month)", "int", "[int]")
	}
	if !strings.Contains(def, "@count") && g.rnd.IntN(3) == 0 {
		def += " @count"
	}
	if !strings.Contains(def, "@upsert") {
		def += g.one("", "", "", " @upsert", " @noconflict")
	}
	return def
}

func (g *graphGen) uid() uint64 {
	switch g.rnd.IntN(20) {
	case 0:
		return 1<<63 + g.rnd.Uint64N(3)
	case 1:
		return ^uint64(0) - 1
	case 2:
		return g.rnd.Uint64N(1<<40) + 1
	}
	return 1 + g.rnd.Uint64N(12)
}

func (g *graphGen) edge() mutation.Edge {
	p := g.preds[g.rnd.IntN(len(g.preds))]
	e := mutation.Edge{Subject: g.uid(), Predicate: p.Name}
	if g.bad && g.rnd.IntN(300) == 0 {
		e.Predicate = "unknown"
	}
	if g.rnd.IntN(3) == 0 {
		e.Op = mutation.Delete
		switch g.rnd.IntN(8) {
		case 0:
			e.Predicate, e.Object = mutation.StarPredicate, mutation.ObjectStar
			return e
		case 1, 2:
			e.Object = mutation.ObjectStar
			if p.Lang && g.rnd.IntN(2) == 0 {
				e.Lang = g.one("en", "fr", "de-AT")
			}
			return e
		}
	}
	if p.Type == value.UID {
		e.Object, e.Target = mutation.ObjectUID, g.uid()
	} else {
		e.Value = g.value(p)
		if p.Lang && g.rnd.IntN(3) > 0 {
			e.Lang = g.one("en", "fr", "de-AT", "zh")
		}
	}
	if e.Op == mutation.Set && g.rnd.IntN(4) == 0 {
		e.Facets = g.facets()
	}
	return e
}

func (g *graphGen) value(p *schema.Predicate) value.Value {
	var text string
	typ := value.Default
	switch p.Type {
	case value.Int, value.Float:
		text = g.one("1", "2", "3", "7", "-4", "0")
	case value.Bool:
		text = g.one("true", "false")
	case value.DateTime:
		text = g.one("2006", "2006-01", "1999-05-06", "2006-01-02T15:04:05Z")
	case value.Default:
		text, typ = g.one("1", "2"), []value.Type{value.Default, value.Int, value.String}[g.rnd.IntN(3)]
	default:
		text = g.one("red car", "red bike", "Red", "", "the running foxes", "été", "_STAR_ALL", "blue", "a b c d")
	}
	if g.bad && g.rnd.IntN(500) == 0 {
		text, typ = "x\xff", value.Default
		return value.Value{Type: typ, Data: []byte(text)}
	}
	v, err := value.Parse(typ, text)
	if err != nil {
		panic(err)
	}
	return v
}

func (g *graphGen) facets() []mutation.Facet {
	all := []mutation.Facet{
		{Key: "since", Type: posting.FacetInt, Value: value.AppendInt(nil, 7)},
		{Key: "close", Type: posting.FacetBool, Value: []byte{1}},
		{Key: "note", Type: posting.FacetString, Value: []byte("old Friend")},
	}
	return all[g.rnd.IntN(3):]
}

// round is one transaction: the same batches through the serial applier and
// through a parallel one. It is committed now and then.
func (g *graphGen) round(t *testing.T, store *posting.Store, ts uint64) {
	serial, parallel := mutation.NewTxn(store, ts), mutation.NewTxn(store, ts)
	defer serial.Release()
	defer parallel.Release()
	model, err := mutation.New(mutation.Options{})
	require.NoError(t, err)
	fast, err := mutation.New(g.options())
	require.NoError(t, err)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS([]int{1, 2, 8, 64}[g.rnd.IntN(4)]))
	for range 1 + g.rnd.IntN(3) {
		var b mutation.Batch
		for range 1 + g.rnd.IntN(60) {
			b.Edges = append(b.Edges, g.edge())
		}
		want, wantErr := model.Apply(context.Background(), serial, g.snap, b)
		got, gotErr := fast.Apply(context.Background(), parallel, g.snap, b)
		require.Equal(t, wantErr == nil, gotErr == nil, "serial: %v, %s: %v", wantErr, fast.Options(), gotErr)
		g.compare(t, serial, parallel, b, fast.Options())
		if wantErr == nil {
			require.Equal(t, want.Edges, got.Edges)
		}
	}
	if g.rnd.IntN(4) > 0 {
		commitTestTxn(t, store, serial, ts+1)
	}
}

func (g *graphGen) options() mutation.Options {
	p := []mutation.Parallelism{
		mutation.Off, mutation.Workers(1), mutation.Workers(2), mutation.Workers(3), mutation.Workers(8),
		mutation.Workers(32), mutation.Auto, mutation.Factor(2),
	}[g.rnd.IntN(8)]
	return mutation.Options{Parallelism: p, EdgesPerWorker: 1 + g.rnd.IntN(3), MinEdges: 1}
}

func (g *graphGen) compare(t *testing.T, serial, parallel *mutation.Txn, b mutation.Batch, opts mutation.Options) {
	want, got := serial.Deltas().Sorted(), parallel.Deltas().Sorted()
	if wantText, gotText := deltasText(t, want), deltasText(t, got); wantText != gotText {
		for p := range g.snap.All() {
			t.Log(p)
		}
		for _, e := range b.Edges {
			t.Logf("%+v", e)
		}
		require.Equal(t, wantText, gotText, "%s", opts)
	}
	require.Equal(t, want, got, "%s", opts)
	require.Equal(t, serial.ConflictKeys(), parallel.ConflictKeys(), "%s", opts)
	require.Equal(t, touchedNames(serial), touchedNames(parallel))
}

func touchedNames(txn *mutation.Txn) map[mutation.Name]bool {
	names := map[mutation.Name]bool{}
	txn.Touched(func(n mutation.Name) bool { names[n] = true; return true })
	return names
}

func deltasText(t *testing.T, kvs []posting.KeyValue) string {
	var b strings.Builder
	for _, kv := range kvs {
		k, err := posting.ParseKey(kv.Key)
		require.NoError(t, err)
		fmt.Fprintf(&b, "%s:", k)
		ps, err := posting.DecodeDelta(nil, kv.Value)
		require.NoError(t, err)
		for _, p := range ps {
			fmt.Fprintf(&b, " %d op%d %q%s", p.UID, p.Op, p.Value, p.Lang)
		}
		b.WriteByte('\n')
	}
	return b.String()
}
