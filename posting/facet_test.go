package posting

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFacets(t *testing.T) {
	fs := []Facet{
		{Key: "origin", Value: []byte("French"), Tokens: []string{"\x01french"}},
		{Key: "n", Type: FacetInt, Value: []byte{4, 0, 0, 0, 0, 0, 0, 0}},
		{Key: "empty", Tokens: []string{"\x01"}},
	}
	before := slices.Clone(fs)
	raw, err := AppendFacets([]byte("x"), fs)
	require.NoError(t, err)
	require.Equal(t, before, fs, "the caller's order stays")
	require.Equal(t, "x"+
		"\x4a\x0a\x0a\x05empty\x22\x01\x01"+
		"\x4a\x0f\x0a\x01n\x12\x08\x04\x00\x00\x00\x00\x00\x00\x00\x18\x01"+
		"\x4a\x19\x0a\x06origin\x12\x06French\x22\x07\x01french", string(raw))

	got, err := DecodeFacets(raw[1:])
	require.NoError(t, err)
	require.Equal(t, []Facet{fs[2], fs[1], fs[0]}, got)

	raw, err = AppendFacets(nil, nil)
	require.NoError(t, err)
	require.Empty(t, raw)
	got, err = DecodeFacets(nil)
	require.NoError(t, err)
	require.Empty(t, got)
}

func TestFacetsOfManyKeys(t *testing.T) {
	var fs []Facet
	for i := range 40 {
		fs = append(fs, Facet{Key: string(rune('a' + (i*17)%40)), Type: FacetBool, Value: []byte{1}})
	}
	raw, err := AppendFacets(nil, fs)
	require.NoError(t, err)
	got, err := DecodeFacets(raw)
	require.NoError(t, err)
	require.Len(t, got, 40)
}

func TestAppendFacetsRefuses(t *testing.T) {
	for _, c := range []struct {
		name string
		fs   []Facet
		want string
	}{
		{"an empty key", []Facet{{Key: "a"}, {}}, "empty key"},
		{"a repeated key", []Facet{{Key: "b"}, {Key: "a"}, {Key: "b"}}, `"b": the key is there twice`},
		{"a key of no UTF-8", []Facet{{Key: "\xff"}}, "not valid UTF-8"},
		{"a token of no UTF-8", []Facet{{Key: "a", Tokens: []string{"\x01\xff"}}}, "not valid UTF-8"},
		{"an unknown type", []Facet{{Key: "a", Type: 5}}, `"a": unknown type 5`},
	} {
		t.Run(c.name, func(t *testing.T) {
			dst, err := AppendFacets([]byte("x"), c.fs)
			require.ErrorIs(t, err, ErrBadFacet)
			require.ErrorContains(t, err, c.want)
			require.Equal(t, "x", string(dst))
		})
	}
}

func TestDecodeFacetsRefuses(t *testing.T) {
	for _, c := range []struct{ name, raw, want string }{
		{"another field", "\x12\x00", "byte 0: tag 18 is no facet's"},
		{"a length beyond the end", "\x4a\x05\x0a\x01a", "byte 1: length 5 in the 3 bytes left"},
		{"no key", "\x4a\x00", "empty key"},
		{"keys out of order", "\x4a\x03\x0a\x01b\x4a\x03\x0a\x01a", `byte 5: facet "a" after "b"`},
		{"a repeated key", "\x4a\x03\x0a\x01b\x4a\x03\x0a\x01b", `facet "b" after "b"`},
		{"an unknown type", "\x4a\x05\x0a\x01b\x18\x05", "facet type 5"},
		{"a wrong wire type", "\x4a\x02\x08\x01", "field 1 with wire type 0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			fs, err := DecodeFacets([]byte(c.raw))
			require.ErrorIs(t, err, ErrBadValue)
			require.ErrorContains(t, err, c.want)
			require.Nil(t, fs)
		})
	}
}

func FuzzDecodeFacets(f *testing.F) {
	f.Add([]byte("\x4a\x0a\x0a\x05empty\x22\x01\x01\x4a\x03\x0a\x01n"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		fs, err := DecodeFacets(raw)
		if err != nil {
			require.ErrorIs(t, err, ErrBadValue)
			return
		}
		again, err := AppendFacets(nil, fs)
		require.NoError(t, err)
		back, err := DecodeFacets(again)
		require.NoError(t, err)
		require.Len(t, back, len(fs))
		for i := range fs {
			require.Equal(t, fs[i].Key, back[i].Key)
			require.Equal(t, fs[i].Type, back[i].Type)
			require.Equal(t, fs[i].Tokens, back[i].Tokens)
			require.Equal(t, string(fs[i].Value), string(back[i].Value))
		}
	})
}

func BenchmarkAppendFacets(b *testing.B) {
	b.ReportAllocs()
	fs := []Facet{
		{Key: "since", Type: FacetDateTime, Value: make([]byte, 15)},
		{Key: "close", Type: FacetBool, Value: []byte{1}},
	}
	buf := make([]byte, 0, 256)
	for b.Loop() {
		buf, _ = AppendFacets(buf[:0], fs)
	}
}
