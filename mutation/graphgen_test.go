package mutation_test

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/edgemill/edgemill/mutation"
	"github.com/edgemill/edgemill/posting"
	"github.com/edgemill/edgemill/schema"
	"github.com/edgemill/edgemill/schema/value"
)

// graphGen makes up schemas and edges in a small world, so that edges meet. It
// makes the same of the same seed.
type graphGen struct {
	rnd       *rand.Rand
	snap      *schema.Snapshot
	preds     []*schema.Predicate
	namespace uint64
	// bad says that some edges are wrong.
	bad bool
	// values are those made so far: edges share their memory.
	values map[string]value.Value
	// fresh are the uids that nothing in the store knows, for the transaction in
	// hand, and used those that were fresh for one before.
	fresh mutation.UIDRange
	used  []uint64
	// hot bends the choice of uids in a large batch.
	hot struct{ subject, target uint64 }
}

func newGraphGen(seed uint64) *graphGen {
	rnd := rand.New(rand.NewPCG(seed, 1))
	g := &graphGen{rnd: rnd, bad: rnd.IntN(4) == 0, values: make(map[string]value.Value)}
	g.namespace = []uint64{0, 0, 7, 1 << 63}[rnd.IntN(4)]
	n := 1 + rnd.IntN(6)
	if rnd.IntN(20) == 0 {
		n = 100
	}
	var text strings.Builder
	for i := range n {
		fmt.Fprintf(&text, "p%d: %s .\n", i, g.definition())
	}
	g.preds = parsePredicates(text.String(), g.namespace)
	// Another namespace has predicates of the same names, which no edge is on.
	others := parsePredicates("p0: [uid] @reverse @count .\np1: string @index(term) .", g.namespace+1)
	g.snap = schema.NewSnapshot(append(others, g.preds...), nil)
	g.fresh = mutation.UIDRange{First: 1 << 41, Last: 1<<41 + 5}
	return g
}

func parsePredicates(text string, namespace uint64) []*schema.Predicate {
	parsed, err := schema.ParseIn(text, namespace)
	if err != nil {
		panic(fmt.Sprintf("%v in %s", err, text))
	}
	return parsed.Predicates
}

func (g *graphGen) one(of ...string) string { return of[g.rnd.IntN(len(of))] }

func (g *graphGen) definition() string {
	var def string
	switch g.rnd.IntN(9) {
	case 0, 1:
		def = g.one("uid", "[uid]") + g.one("", " @reverse", " @reverse")
	case 2:
		def = g.one("[uid] @reverse @count", "uid @reverse @count")
	case 3:
		def = "string @lang" + g.one("", " @index(exact)", " @index(term)", " @index(term, fulltext, exact)", " @index(ngram)", " @index(exact) @upsert @unique")
	case 4:
		def = "[string]" + g.one("", " @index(exact)", " @index(term)", " @index(trigram, hash)", " @index(sha256)")
	case 5:
		def = g.one("string", "string @index(exact)", "string @index(term, hash)", "string @index(hash) @upsert @unique")
	case 6:
		def = g.one("int @index(int)", "[int] @index(int)", "float @index(float)", "[float] @index(float)", "bool @index(bool)", "int @index(int) @upsert @unique", "bigfloat @index(bigfloat)")
	case 7:
		def = g.one("password", "geo @index(geo)", "[geo] @index(geo)", "float32vector", "[bigfloat]")
	default:
		def = g.one("default", "[default]", "datetime @index(year)", "[datetime] @index(month)", "datetime @index(hour)", "int", "[int]")
	}
	if g.rnd.IntN(3) == 0 && !strings.Contains(def, "@count") {
		def += " @count"
	}
	if !strings.Contains(def, "@upsert") {
		def += g.one("", "", "", " @upsert", " @noconflict")
	}
	return def
}

// nextTransaction begins with other fresh uids.
func (g *graphGen) nextTransaction() {
	for uid := g.fresh.First; uid <= g.fresh.Last; uid++ {
		g.used = append(g.used, uid)
	}
	n := 1 + g.rnd.Uint64N(20)
	g.fresh = mutation.UIDRange{First: g.fresh.Last + 2, Last: g.fresh.Last + 1 + n}
}

func (g *graphGen) uid() uint64 {
	switch g.rnd.IntN(20) {
	case 0:
		return 1<<63 + g.rnd.Uint64N(3)
	case 1:
		return ^uint64(0) - 1
	case 2:
		return g.rnd.Uint64N(1<<40) + 1
	case 3, 4:
		return g.fresh.First + g.rnd.Uint64N(g.fresh.Last-g.fresh.First+1)
	case 5:
		if len(g.used) > 0 {
			return g.used[g.rnd.IntN(len(g.used))]
		}
	}
	return 1 + g.rnd.Uint64N(12)
}

// batch is a batch of a few edges, or now and then of thousands, of which half
// may be on one subject or one target, or all in the order of their subjects.
func (g *graphGen) batch() mutation.Batch {
	n := 1 + g.rnd.IntN(60)
	g.hot.subject, g.hot.target = 0, 0
	if g.rnd.IntN(60) == 0 {
		n = 500 + g.rnd.IntN(3000)
		switch g.rnd.IntN(3) {
		case 0:
			g.hot.subject = g.uid()
		case 1:
			g.hot.target = g.uid()
		}
	}
	b := mutation.Batch{Edges: make([]mutation.Edge, n), Namespace: g.namespace, Fresh: []mutation.UIDRange{g.fresh}}
	for i := range b.Edges {
		b.Edges[i] = g.edge()
		if n > 60 && g.rnd.IntN(2) == 0 {
			b.Edges[i].Subject = 1 + g.rnd.Uint64N(uint64(n))
		}
		if g.hot.subject > 0 && g.rnd.IntN(2) == 0 {
			b.Edges[i].Subject = g.hot.subject
		}
		if g.hot.target > 0 && b.Edges[i].Object == mutation.ObjectUID && g.rnd.IntN(2) == 0 {
			b.Edges[i].Target = g.hot.target
		}
	}
	if g.rnd.IntN(4) == 0 {
		sortBySubject(b.Edges)
	}
	return b
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

// Bcrypt hashes of "one" and "two", at the least cost.
var hashes = []string{
	"$2a$04$N2s0ctCJ29wQTh.mD6S0FuOzMBWWU0kSSIUOZu5cdDSC/XLzSeIcW",
	"$2a$04$WkHE0Ef4gQvR4AQ2SoV4S.Q3mJ9QCBuSNIrRoZ1TQxZLcMQPCvE0S",
}

// longTexts are longer than what the cache of tokens keeps, and than the first
// chunk of memory that deltas are written to.
var longTexts = []string{strings.Repeat("long red ", 60), strings.Repeat("longer ", 1500)}

func (g *graphGen) value(p *schema.Predicate) value.Value {
	var text string
	typ := value.Default
	switch p.Type {
	case value.Int, value.Float:
		text = g.one("1", "2", "3", "7", "-4", "0")
	case value.BigFloat:
		text = g.one("1.5", "1.7", "-3", "123456789012345678901234567890")
	case value.Bool:
		text = g.one("true", "false")
	case value.DateTime:
		text = g.one("2006", "2006-01", "1999-05-06", "2006-01-02T15:04:05Z", "2006-01-02T17:04:05+02:00")
	case value.Geo:
		text = g.one("{'type':'Point','coordinates':[1.5,2.5]}", "{'type':'Polygon','coordinates':[[[0,0],[0,1],[1,1],[1,0],[0,0]]]}")
	case value.Vector:
		text = g.one("[1.0, 2.0]", "[1.0 3.5]")
	case value.Password:
		text, typ = g.one(hashes...), value.Password
	case value.Default:
		text, typ = g.one("1", "2"), []value.Type{value.Default, value.Int, value.String}[g.rnd.IntN(3)]
	default:
		text = g.one("red car", "red bike", "Red", "", "the running foxes", "été", "_STAR_ALL", "blue", "a b c d")
		if g.rnd.IntN(40) == 0 {
			text = g.one(longTexts...)
		}
	}
	if g.bad && g.rnd.IntN(500) == 0 {
		return value.Value{Type: value.Default, Data: []byte("x\xff")}
	}
	return g.parsed(typ, text)
}

func (g *graphGen) parsed(typ value.Type, text string) value.Value {
	key := typ.String() + text
	v, ok := g.values[key]
	if !ok {
		v = value.Value{Type: typ, Data: []byte(text)}
		if typ != value.Password {
			var err error
			if v, err = value.Parse(typ, text); err != nil {
				panic(err)
			}
		}
		g.values[key] = v
	}
	return v
}

// allFacets are shared by all edges, in a slice with others behind it.
var allFacets = []mutation.Facet{
	{Key: "since", Type: posting.FacetInt, Value: value.AppendInt(nil, 7)},
	{Key: "close", Type: posting.FacetBool, Value: []byte{1}},
	{Key: "note", Type: posting.FacetString, Value: []byte("old Friend")},
	{Key: "long", Type: posting.FacetString, Value: []byte(strings.Repeat("x", 9000))},
}

func (g *graphGen) facets() []mutation.Facet {
	if g.rnd.IntN(30) == 0 {
		return allFacets
	}
	from := g.rnd.IntN(3)
	return allFacets[from : from+1+g.rnd.IntN(3-from)]
}
