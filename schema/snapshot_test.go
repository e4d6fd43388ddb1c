package schema_test

import (
	"iter"
	"testing"

	"github.com/edgemill/edgemill/schema"
	"github.com/edgemill/edgemill/schema/value"
	"github.com/stretchr/testify/require"
)

func predicates(seq iter.Seq[*schema.Predicate]) []string {
	var all []string
	for p := range seq {
		all = append(all, p.String())
	}
	return all
}

func parse(t *testing.T, src string) *schema.Schema {
	s, err := schema.Parse(src)
	require.NoError(t, err)
	return s
}

func TestSnapshot(t *testing.T) {
	first := parse(t, "b: int . a: int . [0x1] a: string . [0x2] c: uid . type T { a } type S { b }")
	s := schema.NewSnapshot(first.Predicates, first.Types)
	require.Equal(t, []string{"a: int .", "b: int .", "[0x1] a: string .", "[0x2] c: uid ."}, predicates(s.All()))
	require.Equal(t, []string{"[0x1] a: string ."}, predicates(s.Namespace(1)))
	require.Equal(t, []string{"a: int .", "b: int ."}, predicates(s.Namespace(0)))
	require.Empty(t, predicates(s.Namespace(3)))
	require.Equal(t, 4, s.Len())
	p, ok := s.Predicate(1, "a")
	require.True(t, ok)
	require.Equal(t, value.String, p.Type)
	_, ok = s.Predicate(1, "b")
	require.False(t, ok)

	change := parse(t, "a: float . d: int . type T { a b }")
	later := s.With(change.Predicates, change.Types)
	require.Equal(t, []string{"a: float .", "b: int .", "d: int ."}, predicates(later.Namespace(0)))
	require.Equal(t, []string{"a: int .", "b: int ."}, predicates(s.Namespace(0)), "the old one stays")
	tt, ok := later.Type(0, "T")
	require.True(t, ok)
	require.Equal(t, []string{"a", "b"}, tt.Fields)
	var types []string
	for d := range later.Types() {
		types = append(types, d.Name)
	}
	require.Equal(t, []string{"S", "T"}, types)

	fewer := later.Without(change.Predicates, change.Types)
	require.Equal(t, []string{"b: int ."}, predicates(fewer.Namespace(0)))
	_, ok = fewer.Type(0, "T")
	require.False(t, ok)

	var none schema.Snapshot
	require.Zero(t, none.Len())
	_, ok = none.Predicate(0, "a")
	require.False(t, ok)
	for range later.Namespace(0) {
		break // a loop may end early
	}
}

func TestDiff(t *testing.T) {
	for _, c := range []struct {
		old, new string // "" for none
		want     schema.Change
	}{
		{"a: string .", "a: string .", schema.Change{}},
		{"a: string .", "a: string @upsert @lang .", schema.Change{}},
		{"", "a: [string] @index(exact) .", schema.Change{AddIndexes: pick("exact")}},
		{"", "a: [uid] @reverse @count .", schema.Change{AddReverse: true, AddCount: true}},
		{"a: string @index(exact, term) .", "", schema.Change{DropIndexes: pick("exact", "term")}},
		{"a: [uid] @reverse @count .", "", schema.Change{DropReverse: true, DropCount: true}},
		{"a: string @index(exact, term) .", "a: string @index(hash, term) @count .",
			schema.Change{AddIndexes: pick("hash"), DropIndexes: pick("exact"), AddCount: true}},
		{"a: string @index(exact) .", "a: [string] @index(exact) .", schema.Change{ToList: true}},
		{"a: [string] .", "a: string .", schema.Change{ToSingle: true}},
		{"a: int @index(int) .", "a: float @index(float) .",
			schema.Change{Retyped: true, AddIndexes: pick("float"), DropIndexes: pick("int")}},
		{"a: string @lang .", "a: string .", schema.Change{DropLang: true}},
		{"a: string @lang .", "", schema.Change{}},
		{"a: string @index(exact, term) .", "a: string @index(term, exact) .", schema.Change{}},
	} {
		t.Run(c.old+" to "+c.new, func(t *testing.T) {
			got := schema.Diff(only(t, c.old), only(t, c.new))
			require.Equal(t, c.want, got)
			require.Equal(t, c.want.AddIndexes == nil && c.want.DropIndexes == nil && !c.want.AddReverse && !c.want.DropReverse &&
				!c.want.AddCount && !c.want.DropCount && !c.want.ToList && !c.want.ToSingle && !c.want.Retyped && !c.want.DropLang, got.Empty())
		})
	}
	require.True(t, schema.Diff(nil, nil).Empty())
}

// only parses the one predicate of a text, nil for none.
func only(t *testing.T, src string) *schema.Predicate {
	if src == "" {
		return nil
	}
	return parse(t, src).Predicates[0]
}

func TestUnsupported(t *testing.T) {
	require.NoError(t, only(t, "a: string @index(exact) .").Unsupported())
	require.NoError(t, only(t, "a: float32vector .").Unsupported())
	require.ErrorContains(t, only(t, "a: float32vector @index(hnsw) .").Unsupported(), "hnsw")
	custom := &schema.Predicate{Name: "a", Type: value.String, CustomTokenizers: []string{"cidr"}}
	require.ErrorContains(t, custom.Unsupported(), "cidr")
	require.ErrorContains(t, (&schema.Predicate{Name: "a", Type: value.Binary}).Unsupported(), "binary")
}

func TestStoredType(t *testing.T) {
	require.Equal(t, value.Int, only(t, "a: default .").StoredType(value.Int))
	require.Equal(t, value.String, only(t, "a: string .").StoredType(value.Int))
}
