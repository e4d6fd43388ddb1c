package edgemill

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"golang.org/x/crypto/bcrypt"

	"github.com/edgemill/edgemill/mutation"
	"github.com/edgemill/edgemill/posting"
	"github.com/edgemill/edgemill/schema"
	"github.com/edgemill/edgemill/schema/value"
)

// generator makes random schemas and edges, from small pools so that edges
// meet.
type generator struct {
	*rand.Rand
	preds []*schema.Predicate
	// uids are subjects and targets, to which fresh ones are added.
	uids []uint64
	// bad is how many of a thousand edges are wrong.
	bad int
}

func newGenerator(r *rand.Rand) *generator {
	return &generator{Rand: r, bad: 4, uids: []uint64{1, 2, 3, 5, 0x1_0000_0001, 1 << 63, 0xfffffffffffffffe}}
}

func pick[T any](g *generator, from []T) T { return from[g.IntN(len(from))] }

func (g *generator) chance(percent int) bool { return g.IntN(100) < percent }

// modelTypes are the types of predicates with the tokenizers for each.
var modelTypes = []struct {
	name       string
	tokenizers []string
}{
	{"default", nil}, {"password", nil}, {"float32vector", nil},
	{"int", []string{"int"}}, {"float", []string{"float"}}, {"bool", []string{"bool"}},
	{"bigfloat", []string{"bigfloat"}}, {"geo", []string{"geo"}},
	{"datetime", []string{"year", "month", "day", "hour"}},
	{"string", []string{"term", "exact", "hash", "fulltext", "trigram", "sha256", "ngram"}},
	{"string", []string{"term", "exact", "hash"}},
	{"uid", nil}, {"uid", nil}, {"uid", nil},
}

// schema makes a schema of a few predicates. Where transactions run beside
// each other, @noconflict would let them break each other's work.
func (g *generator) schema(noConflict bool) string {
	var b strings.Builder
	for i := range 2 + g.IntN(4) {
		fmt.Fprintf(&b, "p%d: %s .\n", i, g.statement(noConflict))
	}
	return b.String()
}

func (g *generator) statement(noConflict bool) string {
	typ := pick(g, modelTypes)
	list := g.chance(50) && typ.name != "bool" && typ.name != "password"
	text := typ.name
	if list {
		text = "[" + text + "]"
	}
	unique := false
	if len(typ.tokenizers) > 0 && g.chance(75) {
		names := g.tokenizers(typ.tokenizers)
		text += " @index(" + strings.Join(names, ", ") + ")"
		findable := func(name string) bool { return name == "exact" || name == "hash" || name == "int" }
		unique = slices.ContainsFunc(names, findable) && (typ.name == "string" || typ.name == "int") && g.chance(20)
	}
	if typ.name == "uid" && g.chance(70) {
		text += " @reverse"
	}
	if g.chance(50) {
		text += " @count"
	}
	if typ.name == "string" && !list && g.chance(50) {
		text += " @lang"
	}
	switch {
	case unique:
		text += " @upsert @unique"
	case g.chance(15):
		text += " @upsert"
	case noConflict && g.chance(15):
		text += " @noconflict"
	}
	return text
}

// tokenizers picks some, of which one at most may be sortable.
func (g *generator) tokenizers(from []string) []string {
	sortable := func(name string) bool {
		return slices.Contains([]string{"exact", "int", "float", "bigfloat", "year", "month", "day", "hour"}, name)
	}
	var names []string
	for _, i := range g.Perm(len(from))[:1+g.IntN(min(len(from), 3))] {
		if !sortable(from[i]) || !slices.ContainsFunc(names, sortable) {
			names = append(names, from[i])
		}
	}
	return names
}

func (g *generator) batch() []mutation.Edge {
	n := 1 + g.IntN(8)
	if g.chance(10) {
		n = 1 + g.IntN(60)
	}
	edges := make([]mutation.Edge, n)
	for i := range edges {
		edges[i] = g.edge()
	}
	return edges
}

func (g *generator) edge() mutation.Edge {
	e := g.goodEdge()
	if g.IntN(1000) < g.bad {
		g.spoil(&e)
	}
	return e
}

func (g *generator) goodEdge() mutation.Edge {
	p := pick(g, g.preds)
	e := mutation.Edge{Subject: pick(g, g.uids), Predicate: p.Name}
	if g.chance(35) {
		e.Op = mutation.Delete
	}
	if p.Lang && g.chance(60) {
		e.Lang = pick(g, []string{"en", "fr", "de", "zh"})
	}
	switch {
	case e.Op == mutation.Delete && g.chance(8):
		return mutation.Edge{Op: mutation.Delete, Subject: e.Subject, Predicate: mutation.StarPredicate, Object: mutation.ObjectStar}
	case e.Op == mutation.Delete && g.chance(30):
		e.Object = mutation.ObjectStar
	case p.Type == value.UID:
		e.Object, e.Target = mutation.ObjectUID, pick(g, g.uids)
	default:
		e.Value = g.value(p, e.Op)
	}
	if e.Op == mutation.Set && g.chance(25) {
		e.Facets = g.facets()
	}
	return e
}

// spoil makes something about the edge wrong.
func (g *generator) spoil(e *mutation.Edge) {
	switch g.IntN(8) {
	case 0:
		e.Predicate = "nobody"
	case 1:
		e.Subject = 0
	case 2:
		e.Subject = ^uint64(0)
	case 3:
		*e = mutation.Edge{Subject: e.Subject, Predicate: e.Predicate, Object: mutation.ObjectStar}
	case 4:
		e.Object, e.Target = mutation.ObjectUID, ^uint64(0)
	case 5:
		e.Object, e.Value, e.Lang = mutation.ObjectValue, text("\xff no text"), ""
	case 6:
		e.Lang = "tlh"
	case 7:
		*e = mutation.Edge{Subject: e.Subject, Predicate: e.Predicate, Object: mutation.ObjectValue, Value: text(strings.Repeat("long ", 13000))}
	}
}

func text(s string) value.Value { return value.Value{Type: value.Default, Data: []byte(s)} }

// modelTexts are input texts by type.
var modelTexts = map[value.Type][]string{
	value.Default:  {"", "red", "42", "_STAR_ALL", "*"},
	value.String:   {"", "red car", "red bike", "Red", "_STAR_ALL", "*", "Haus am See", "the runs", "running to the sea", "été"},
	value.Int:      {"0", "7", "8", "-5", "9007199254740993", "9223372036854775807"},
	value.Float:    {"0", "1.2", "1.7", "-0.5", "1e300", "Inf", "-Inf"},
	value.Bool:     {"true", "false", "1"},
	value.BigFloat: {"0", "1.2", "1.7", "-123456789012345678901234567890.5"},
	value.DateTime: {"2006", "2006-01-02", "2006-01-02T15:04:05Z", "2006-01-02T17:04:05+02:00", "1999-12-31T23:59:59.5Z"},
	value.Geo: {
		"{'type':'Point','coordinates':[1.5,2.5]}", "{'type':'Point','coordinates':[1.6,2.5]}",
		"{'type':'Polygon','coordinates':[[[0,0],[0,1],[1,1],[1,0],[0,0]]]}",
	},
	value.Vector: {"[1.0, 2.0]", "[1.0 3.5]"},
}

// modelPasswords have hashes, made once at the least cost.
var modelPasswords = map[string][]byte{"secret": hashed("secret"), "sesame": hashed("sesame")}

func hashed(plain string) []byte {
	hash, err := bcrypt.GenerateFromPassword([]byte(plain), bcrypt.MinCost)
	if err != nil {
		panic(err)
	}
	return hash
}

// value makes a value that the predicate takes, given as text, in the
// predicate's type, or in another one that converts.
func (g *generator) value(p *schema.Predicate, op mutation.Op) value.Value {
	if p.Type == value.Password {
		plain := pick(g, []string{"secret", "sesame"})
		if op == mutation.Delete && g.chance(50) {
			return text(plain)
		}
		return value.Value{Type: value.Password, Data: modelPasswords[plain]}
	}
	s := pick(g, modelTexts[p.Type])
	switch {
	case p.Type == value.Default && g.chance(25):
		return typed(value.Int, pick(g, modelTexts[value.Int]))
	case p.Type == value.Default && g.chance(50):
		return typed(value.String, s) // the same bytes as text, and another value
	case p.Type == value.Default:
		return text(s)
	case p.Type == value.Float && g.chance(20):
		return typed(value.Int, "7")
	case p.Type == value.Int && g.chance(20):
		return typed(value.Float, "7.9")
	case g.chance(50):
		return typed(p.Type, s)
	}
	return text(s)
}

func typed(t value.Type, s string) value.Value {
	v, err := value.Parse(t, s)
	if err != nil {
		panic(err)
	}
	return v
}

func (g *generator) facets() []mutation.Facet {
	var fs []mutation.Facet
	for _, key := range []string{"since", "note", "é"} {
		if g.chance(50) {
			fs = append(fs, g.facet(key))
		}
	}
	if g.chance(1) && len(fs) > 0 {
		fs = append(fs, fs[0])
	}
	g.Shuffle(len(fs), func(i, j int) { fs[i], fs[j] = fs[j], fs[i] })
	return fs
}

func (g *generator) facet(key string) mutation.Facet {
	switch g.IntN(5) {
	case 0:
		return mutation.Facet{Key: key, Type: posting.FacetInt, Value: typed(value.Int, "1991").Data}
	case 1:
		return mutation.Facet{Key: key, Type: posting.FacetFloat, Value: typed(value.Float, "0.5").Data}
	case 2:
		return mutation.Facet{Key: key, Type: posting.FacetBool, Value: typed(value.Bool, "true").Data}
	case 3:
		return mutation.Facet{Key: key, Type: posting.FacetDateTime, Value: typed(value.DateTime, "2006-01-02").Data}
	}
	return mutation.Facet{Key: key, Type: posting.FacetString, Value: []byte(pick(g, []string{"", "old friend", "1991"}))}
}
