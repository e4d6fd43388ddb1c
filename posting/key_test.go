package posting

import (
	"bytes"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	require.NoError(t, err)
	return b
}

func TestKeys(t *testing.T) {
	const ns0 = "0000000000000000"
	for _, c := range []struct {
		name string
		got  []byte
		hex  string
		key  Key
		text string
	}{
		{
			"data", AppendDataKey(nil, 0, "name", 1), "00" + ns0 + "0004 6e616d65 00 0000000000000001",
			Key{Predicate: "name", UID: 1}, "data name 0x1",
		},
		{
			"data, top bit, namespace", AppendDataKey(nil, 2, "p", 1<<63), "00 0000000000000002 0001 70 00 8000000000000000",
			Key{Namespace: 2, Predicate: "p", UID: 1 << 63}, "data p 0x8000000000000000 in namespace 0x2",
		},
		{
			"index", AppendIndexKey(nil, 0, "name", []byte("\x02ann")), "00" + ns0 + "0004 6e616d65 02 02616e6e",
			Key{Predicate: "name", Kind: KindIndex, Term: []byte("\x02ann")}, `index name exact "ann"`,
		},
		{
			"index, empty term", AppendIndexKey(nil, 0, "name", []byte{2}), "00" + ns0 + "0004 6e616d65 02 02",
			Key{Predicate: "name", Kind: KindIndex, Term: []byte{2}}, `index name exact ""`,
		},
		{
			"reverse", AppendReverseKey(nil, 0, "pal", 258), "00" + ns0 + "0003 70616c 04 0000000000000102",
			Key{Predicate: "pal", Kind: KindReverse, UID: 258}, "reverse pal 0x102",
		},
		{
			"count", AppendCountKey(nil, 0, "pal", KindCount, 3), "00" + ns0 + "0003 70616c 08 00000003",
			Key{Predicate: "pal", Kind: KindCount, Count: 3}, "count pal 3",
		},
		{
			"reverse count", AppendCountKey(nil, 0, "pal", KindCountReverse, 1<<31), "00" + ns0 + "0003 70616c 0c 80000000",
			Key{Predicate: "pal", Kind: KindCountReverse, Count: 1 << 31}, "count_reverse pal 2147483648",
		},
		{
			"schema", AppendSchemaKey(nil, 0, "a b"), "01" + ns0 + "0003 612062",
			Key{Space: SpaceSchema, Predicate: "a b"}, `schema "a b"`,
		},
		{
			"type", AppendTypeKey(nil, 7, "Person"), "02 0000000000000007 0006 506572736f6e",
			Key{Space: SpaceType, Namespace: 7, Predicate: "Person"}, "type Person in namespace 0x7",
		},
		{
			"part of a data list", AppendPartKey(nil, AppendDataKey(nil, 0, "pal", 1), 0x401),
			"04" + ns0 + "0003 70616c 00 0000000000000001 0000000000000401",
			Key{Space: SpacePart, Predicate: "pal", UID: 1, Start: 0x401}, "data pal 0x1 part 0x401",
		},
		{
			"part of a count list", AppendPartKey(nil, AppendCountKey(nil, 0, "pal", KindCount, 9), 1),
			"04" + ns0 + "0003 70616c 08 00000009 0000000000000001",
			Key{Space: SpacePart, Predicate: "pal", Kind: KindCount, Count: 9, Start: 1}, "count pal 9 part 0x1",
		},
		{
			"part of an index list", AppendPartKey(nil, AppendIndexKey(nil, 0, "p", []byte("\x02k")), 1),
			"04" + ns0 + "0001 70 02 026b 0000000000000001",
			Key{Space: SpacePart, Predicate: "p", Kind: KindIndex, Term: []byte("\x02k"), Start: 1}, `index p exact "k" part 0x1`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			require.Equal(t, unhex(t, c.hex), c.got)
			k, err := ParseKey(c.got)
			require.NoError(t, err)
			require.Equal(t, c.key, k)
			require.Equal(t, c.text, k.String())
			require.Equal(t, append([]byte("before"), c.got...), k.Append([]byte("before")))
		})
	}
}

func TestParseKeyRefuses(t *testing.T) {
	const head = "00 0000000000000000 0001 70"
	part := "04" + head[2:]
	for _, c := range []struct{ name, hex, want string }{
		{"nothing", "", "0 bytes, fewer than 11"},
		{"short head", "00 0000000000000000 00", "10 bytes, fewer than 11"},
		{"unknown space", "03" + head[2:] + "00 0000000000000001", "first byte 0x03"},
		{"no name", "00 0000000000000000 0000 00 0000000000000001", "empty name"},
		{"long name", "00 0000000000000000 0003 7070", "name of 3 bytes in the 2 bytes left"},
		{"no kind", head, "no kind byte"},
		{"unknown kind", head + "06 0000000000000001", "unknown kind byte 0x06"},
		{"short uid", head + "00 00000000000001", "data uid of 7 bytes, not 8"},
		{"long uid", head + "04 000000000000000001", "reverse uid of 9 bytes, not 8"},
		{"short count", head + "08 000001", "count of 3 bytes, not 4"},
		{"long count", head + "0c 0000000001", "count_reverse of 5 bytes, not 4"},
		{"no term", head + "02", "without its identifier byte"},
		{"schema with a tail", "01" + head[2:] + "00", "1 bytes after the name"},
		{"part without a start", part + "00 00000000000001", "8 bytes after the name, too few for a part"},
		{"part of no term", part + "02 0000000000000001", "without its identifier byte"},
		{"part without a uid", part + "00 0000000000000001", "data uid of 0 bytes, not 8"},
		{"too long", head + "02" + strings.Repeat("61", 65000), "more than 65000"},
	} {
		t.Run(c.name, func(t *testing.T) {
			k, err := ParseKey(unhex(t, c.hex))
			require.ErrorIs(t, err, ErrBadKey)
			require.ErrorContains(t, err, c.want)
			require.Less(t, len(err.Error()), 300)
			require.Zero(t, k)
		})
	}
}

// A part of the list of "k" has the length that a list of "k" and 8 more bytes
// would have, and the other way round; each stays its own.
func TestPartsOfTermsThatBeginEachOther(t *testing.T) {
	short := AppendIndexKey(nil, 0, "p", []byte("\x02k"))
	long := AppendIndexKey(nil, 0, "p", []byte("\x02k\x00\x00\x00\x00\x00\x00\x00\x01"))
	partOfShort, partOfLong := AppendPartKey(nil, short, 1), AppendPartKey(nil, long, 1)

	require.True(t, IsPartOf(partOfShort, short))
	require.True(t, IsPartOf(partOfLong, long))
	require.False(t, IsPartOf(partOfShort, long))
	require.False(t, IsPartOf(partOfLong, short))
	require.False(t, IsPartOf(long, short))
	require.False(t, IsPartOf(nil, nil))

	k, err := ParseKey(partOfLong)
	require.NoError(t, err)
	require.Equal(t, long[len(long)-10:], k.Term)
	k, err = ParseKey(partOfShort)
	require.NoError(t, err)
	require.Equal(t, []byte("\x02k"), k.Term)
}

func TestPrefixes(t *testing.T) {
	data, part := AppendDataKey(nil, 3, "pal", 9), AppendPartKey(nil, AppendDataKey(nil, 3, "pal", 9), 1)
	require.True(t, bytes.HasPrefix(data, AppendPrefix(nil, 3, "pal", KindData)))
	require.True(t, bytes.HasPrefix(data, PredicatePrefix(nil, 3, "pal")))
	require.True(t, bytes.HasPrefix(part, PartPrefix(nil, 3, "pal")))
	require.False(t, bytes.HasPrefix(AppendDataKey(nil, 3, "pals", 9), PredicatePrefix(nil, 3, "pal")))
	require.Len(t, AppendPrefix(nil, 3, "pal", KindData), PrefixLen("pal"))
}

func TestKeyLengths(t *testing.T) {
	longest := strings.Repeat("p", MaxPredicateLen)
	data := AppendDataKey(nil, 0, longest, 1)
	require.Len(t, data, MaxKeyLen)
	require.Equal(t, 64992, MaxKeyLen)
	require.Equal(t, 64972, MaxPredicateLen)
	require.NoError(t, CheckKeyLen("p", MaxKeyLen))

	part := AppendPartKey(nil, data, 1)
	require.Len(t, part, 65000)
	k, err := ParseKey(part)
	require.NoError(t, err)
	require.Equal(t, longest, k.Predicate)
	require.Less(t, len(k.String()), 200)

	err = CheckKeyLen(longest+"p", MaxKeyLen+1)
	require.ErrorIs(t, err, ErrKeyTooLong)
	require.ErrorContains(t, err, "64993 bytes, more than 64992")
	require.Less(t, len(err.Error()), 200)
}

func TestKeyStringOfTerms(t *testing.T) {
	for term, want := range map[string]string{
		"":                           "index p (no term)",
		"\x01red":                    `index p term "red"`,
		"\x03de\x1f\x15\xef":         `index p exact with language "de\x1f\x15\xef"`,
		"\x04\x07\xd6":               "index p year 07d6",
		"\x05p/89":                   `index p geo "p/89"`,
		"\x06\x01\x00":               "index p int 0100",
		"\x07\x01":                   "index p float 01",
		"\x08ran":                    `index p fulltext "ran"`,
		"\x09\x01":                   "index p bool 01",
		"\x0aabc":                    `index p trigram "abc"`,
		"\x0b\x00\xff":               "index p hash 00ff",
		"\x0cx":                      `index p sha256 "x"`,
		"\x0d\x01":                   "index p bigfloat 01",
		"\x0fa b":                    `index p ngram "a b"`,
		"\x41\x01":                   "index p month 01",
		"\x42\x01":                   "index p day 01",
		"\x43\x01":                   "index p hour 01",
		"\x80\x01":                   "index p tokenizer 0x80 01",
		"\x02" + long(70):            `index p exact "` + long(60) + `"… (70 bytes)`,
		"\x0b" + long(70):            "index p hash " + strings.Repeat("61", 60) + "… (70 bytes)",
		"\x02" + "a\"b\n":            `index p exact "a\"b\n"`,
		"\x02" + "\xc3\xa9t\xc3\xa9": `index p exact "été"`,
	} {
		require.Equal(t, want, Key{Predicate: "p", Kind: KindIndex, Term: []byte(term)}.String())
	}
	require.Equal(t, "kind 0x07 p", Key{Predicate: "p", Kind: 7}.String())
	require.Equal(t, "space 0x09 p", Key{Space: 9, Predicate: "p"}.String())
}

func long(n int) string { return strings.Repeat("a", n) }

func TestGoldenKeys(t *testing.T) {
	for _, l := range goldenLists(t) {
		key := unhex(t, l.KeyHex)
		k, err := ParseKey(key)
		require.NoError(t, err, l.KeyHex)
		require.Equal(t, key, k.Append(nil))
		require.Equal(t, l.Kind, k.Kind.String())
		require.Equal(t, l.Predicate, k.Predicate)
		require.Equal(t, SpaceList, k.Space)
		require.Equal(t, l.TermHex, hex.EncodeToString(k.Term))
		require.Equal(t, l.Count, k.Count)
		require.Equal(t, uint64(l.UID), k.UID)
	}
}

func FuzzParseKey(f *testing.F) {
	f.Add(AppendDataKey(nil, 0, "name", 1))
	f.Add(AppendIndexKey(nil, 1, "name", []byte("\x02ann")))
	f.Add(AppendCountKey(nil, 0, "pal", KindCountReverse, 7))
	f.Add(AppendPartKey(nil, AppendReverseKey(nil, 0, "pal", 1), 1))
	f.Add(AppendSchemaKey(nil, 0, "name"))
	f.Add(AppendTypeKey(nil, 0, "Person"))
	f.Fuzz(func(t *testing.T, b []byte) {
		k, err := ParseKey(b)
		if err != nil {
			require.ErrorIs(t, err, ErrBadKey)
			return
		}
		require.Equal(t, b, k.Append(nil))
		_ = k.String()
	})
}

func BenchmarkAppendDataKey(b *testing.B) {
	b.ReportAllocs()
	buf := make([]byte, 0, 64)
	for i := range b.N {
		buf = AppendDataKey(buf[:0], 0, "friend", uint64(i))
	}
}

func BenchmarkParseKey(b *testing.B) {
	b.ReportAllocs()
	key := AppendDataKey(nil, 0, "friend", 1)
	for b.Loop() {
		if _, err := ParseKey(key); err != nil {
			b.Fatal(err)
		}
	}
}
