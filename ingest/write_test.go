package ingest

import (
	"context"
	"math"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/edgemill/edgemill/mutation"
	"github.com/edgemill/edgemill/posting"
	"github.com/edgemill/edgemill/schema/value"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestAppendNQuad(t *testing.T) {
	text := func(s string) value.Value { return value.Value{Type: value.Default, Data: []byte(s)} }
	for _, c := range []struct {
		edge      mutation.Edge
		namespace uint64
		want      string
	}{
		{mutation.Edge{Subject: 31, Predicate: "p", Object: mutation.ObjectUID, Target: maxUID}, 0, `<0x1f> <p> <0xfffffffffffffffe> .`},
		{mutation.Edge{Subject: 1, Predicate: "a b\\>é", Value: text("x\"\\\n\r\t\x00\x7fé")}, 0,
			`<0x1> <a\u0020b\u005C\u003Eé> "x\"\\\n\r\t\u0000\u007Fé" .`},
		{mutation.Edge{Subject: 1, Predicate: "p", Lang: "en-GB", Value: value.Value{Type: value.String, Data: []byte("x")}}, 2, `<0x1> <p> "x"@en-GB <0x2> .`},
		{mutation.Edge{Subject: 1, Predicate: "p", Value: value.Value{Type: value.Int, Data: value.AppendInt(nil, -3)}}, 0, `<0x1> <p> "-3"^^<xs:int> .`},
		{mutation.Edge{Subject: 1, Predicate: "p", Value: text("x"), Facets: []mutation.Facet{
			{Key: "a", Type: posting.FacetFloat, Value: value.AppendFloat(nil, 1)},
			{Key: "b c", Type: posting.FacetString, Value: []byte("1991")},
			{Key: "d", Type: posting.FacetBool, Value: []byte{1}},
		}}, 0, `<0x1> <p> "x" (a=1.0, "b c"="1991", d=true) .`},
		{mutation.Edge{Subject: 1, Predicate: "p", Op: mutation.Delete, Object: mutation.ObjectStar}, 0, `<0x1> <p> * .`},
		{mutation.Edge{Subject: 1, Predicate: "p", Op: mutation.Delete, Object: mutation.ObjectStar, Lang: "fr"}, 0, `<0x1> <p@fr> * .`},
		{mutation.Edge{Subject: 1, Predicate: "*", Op: mutation.Delete, Object: mutation.ObjectStar}, 0, `<0x1> * * .`},
	} {
		got, err := AppendNQuad([]byte("before "), &c.edge, c.namespace)
		require.NoError(t, err)
		require.Equal(t, "before "+c.want+"\n", string(got))
	}
}

func TestAppendNQuadErrors(t *testing.T) {
	bad := value.Value{Type: value.Default, Data: []byte("\xff")}
	for _, c := range []struct {
		edge mutation.Edge
		want string
	}{
		{mutation.Edge{Predicate: "p"}, "uid 0x0"},
		{mutation.Edge{Subject: 1, Predicate: "p", Object: mutation.ObjectUID, Target: maxUID + 1}, "uid 0xffffffffffffffff"},
		{mutation.Edge{Subject: 1}, "no predicate"},
		{mutation.Edge{Subject: 1, Predicate: "*"}, "no predicate"},
		{mutation.Edge{Subject: 1, Predicate: "\xff"}, "not valid UTF-8"},
		{mutation.Edge{Subject: 1, Predicate: "a@b", Object: mutation.ObjectStar}, "would be a language's"},
		{mutation.Edge{Subject: 1, Predicate: "a", Lang: "_", Object: mutation.ObjectStar}, `language tag "_"`},
		{mutation.Edge{Subject: 1, Predicate: "p", Value: bad}, `subject 0x1, predicate "p": a text that is not valid UTF-8`},
		{mutation.Edge{Subject: 1, Predicate: "p", Value: value.Value{Type: value.Int, Data: []byte{1}}}, "int"},
		{mutation.Edge{Subject: 1, Predicate: "p", Value: value.Value{Type: value.Binary}}, "binary"},
		{mutation.Edge{Subject: 1, Predicate: "p", Lang: "en", Value: value.Value{Type: value.Int, Data: value.AppendInt(nil, 1)}}, "a language tag on a value of type int"},
		{mutation.Edge{Subject: 1, Predicate: "p", Lang: "1"}, `language tag "1"`},
		{mutation.Edge{Subject: 1, Predicate: "p", Facets: []mutation.Facet{{Key: ""}}}, "the key is empty"},
		{mutation.Edge{Subject: 1, Predicate: "p", Facets: []mutation.Facet{{Key: "\xff"}}}, "not valid UTF-8"},
		{mutation.Edge{Subject: 1, Predicate: "p", Facets: []mutation.Facet{{Key: "k", Type: 9}}}, "unknown type 9"},
		{mutation.Edge{Subject: 1, Predicate: "p", Facets: []mutation.Facet{{Key: "k", Type: posting.FacetFloat}}}, `facet "k"`},
	} {
		got, err := AppendNQuad([]byte("before "), &c.edge, 0)
		require.ErrorContains(t, err, c.want)
		require.Equal(t, "before ", string(got))
	}
}

// What is written is read back to the same edge.
func TestWrittenEdgesReadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		edges := rapid.SliceOfN(rapid.Custom(drawEdge), 1, 5).Draw(t, "edges")
		for _, op := range []mutation.Op{mutation.Set, mutation.Delete} {
			some := slices.DeleteFunc(slices.Clone(edges), func(e mutation.Edge) bool { return e.Op != op })
			requireReadBack(t, op, some)
		}
	})
}

type failer interface {
	Fatalf(format string, args ...any)
}

func requireReadBack(t failer, op mutation.Op, edges []mutation.Edge) {
	var text []byte
	for i := range edges {
		var err error
		if text, err = AppendNQuad(text, &edges[i], uint64(i)); err != nil {
			t.Fatalf("%v", err)
		}
	}
	block := map[mutation.Op]string{mutation.Set: "set {", mutation.Delete: "delete {"}[op]
	quads, err := readMutationText(block + string(text) + "}")
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	got, err := NewResolver(NewNames(), &counter{}, ResolverOptions{}).Edges(context.Background(), nil, quads, "")
	if err != nil {
		t.Fatalf("%v", err)
	}
	if diff := cmp.Diff(edges, got, cmpopts.EquateEmpty()); diff != "" {
		t.Fatalf("%s: %s", text, diff)
	}
}

var (
	drawUID  = rapid.Uint64Range(1, maxUID)
	drawLang = rapid.SampledFrom([]string{"en", "fr", "zh-Hans", "en-GB-x-1"})
	drawTime = rapid.Custom(func(t *rapid.T) time.Time {
		at := time.Unix(rapid.Int64Range(-62_000_000_000, 253_000_000_000).Draw(t, "s"), rapid.Int64Range(0, 999_999_999).Draw(t, "ns"))
		minutes := rapid.IntRange(-23*60-59, 23*60+59).Draw(t, "zone")
		if minutes == 0 || minutes == -1 {
			return at.UTC() // -00:01 has no stored form
		}
		return at.In(time.FixedZone("", 60*minutes))
	})
	drawFloat = rapid.Float64().Filter(func(f float64) bool { return !math.IsNaN(f) })
)

func drawEdge(t *rapid.T) mutation.Edge {
	e := mutation.Edge{
		Subject:   drawUID.Draw(t, "subject"),
		Predicate: rapid.StringN(1, 8, -1).Filter(func(s string) bool { return s != "*" && !strings.Contains(s, "@") }).Draw(t, "predicate"),
		Op:        mutation.Op(rapid.IntRange(0, 1).Draw(t, "op")),
	}
	switch rapid.IntRange(0, 2).Draw(t, "object") {
	case 0:
		e.Object, e.Target = mutation.ObjectUID, drawUID.Draw(t, "target")
	case 1:
		e.Value = drawValue(t, e.Op)
		if e.Value.Type == value.String && rapid.Bool().Draw(t, "tagged") {
			e.Lang = drawLang.Draw(t, "lang")
		}
	case 2:
		e.Op, e.Object = mutation.Delete, mutation.ObjectStar
		switch rapid.IntRange(0, 2).Draw(t, "star") {
		case 0:
			e.Predicate = mutation.StarPredicate
		case 1:
			e.Lang = drawLang.Draw(t, "lang")
		}
	}
	if e.Op == mutation.Set {
		e.Facets = drawFacets(t)
	}
	return e
}

func drawValue(t *rapid.T, op mutation.Op) value.Value {
	types := []value.Type{value.Default, value.String, value.Int, value.Float, value.Bool, value.DateTime, value.Geo,
		value.BigFloat, value.Vector, value.Password}
	v := value.Value{Type: rapid.SampledFrom(types).Draw(t, "type")}
	switch v.Type {
	case value.Default, value.String:
		v.Data = []byte(rapid.String().Draw(t, "text"))
	case value.Int:
		v.Data = value.AppendInt(nil, rapid.Int64().Draw(t, "int"))
	case value.Float:
		v.Data = value.AppendFloat(nil, drawFloat.Draw(t, "float"))
	case value.Bool:
		v.Data = value.AppendBool(nil, rapid.Bool().Draw(t, "bool"))
	case value.DateTime:
		v.Data, _ = value.AppendTime(nil, drawTime.Draw(t, "time"))
	case value.Geo:
		v, _ = value.Parse(value.Geo, "{'type':'LineString','coordinates':[[1.25,2],[3,-4]]}")
	case value.BigFloat:
		v, _ = value.Parse(value.BigFloat, new(big.Float).SetFloat64(drawFloat.Draw(t, "big")).Text('g', 30))
	case value.Vector:
		v, _ = value.Parse(value.Vector, "[1.5, -2e10, 0.1]")
	case value.Password:
		v.Data = []byte("$2a$10$abcdefghijklmnopqrstuuABCDEFGHIJKLMNOPQRSTUVWXYZ01234")
		if op == mutation.Delete {
			v.Data = []byte(rapid.String().Draw(t, "plain"))
		}
	}
	return v
}

func drawFacets(t *rapid.T) (fs []mutation.Facet) {
	for _, key := range rapid.SliceOfNDistinct(rapid.StringN(1, 6, -1), 0, 4, rapid.ID).Draw(t, "keys") {
		f := mutation.Facet{Key: key, Type: posting.FacetType(rapid.IntRange(0, 4).Draw(t, "type"))}
		switch f.Type {
		case posting.FacetString:
			f.Value = []byte(rapid.String().Draw(t, "string"))
		case posting.FacetInt:
			f.Value = value.AppendInt(nil, rapid.Int64().Draw(t, "int"))
		case posting.FacetFloat:
			f.Value = value.AppendFloat(nil, drawFloat.Draw(t, "float"))
		case posting.FacetBool:
			f.Value = value.AppendBool(nil, rapid.Bool().Draw(t, "bool"))
		case posting.FacetDateTime:
			f.Value, _ = value.AppendTime(nil, drawTime.Draw(t, "time"))
		}
		fs = append(fs, f)
	}
	return fs
}
