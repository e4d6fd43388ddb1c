package posting

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protowire"
	"pgregory.net/rapid"

	"github.com/edgemill/edgemill/schema/value"
)

func TestAppendPosting(t *testing.T) {
	facets, err := AppendFacets(nil, []Facet{{Key: "n", Type: FacetInt, Value: []byte{4, 0, 0, 0, 0, 0, 0, 0}}})
	require.NoError(t, err)
	for _, c := range []struct {
		name string
		p    Posting
		hex  string
	}{
		{"nothing but a uid, and that zero", Posting{}, "1209 090000000000000000"},
		{"a reverse uid", Posting{UID: 2, Op: OpSet, StartTS: 10}, "120d 090200000000000000 6001 680a"},
		{"a data uid", Posting{UID: 1 << 63, ValType: value.UID, Op: OpDelete, StartTS: 300}, "1210 090000000000000080 1807 6002 68ac02"},
		{
			"a value", Posting{UID: math.MaxUint64, Op: OpSet, Type: PostingValue, ValType: value.String, Value: []byte("c"), StartTS: 10, CommitTS: 11},
			"1216 09ffffffffffffffff 120163 1809 2001 6001 680a 700b",
		},
		{"the empty value", Posting{UID: math.MaxUint64, Op: OpSet, Type: PostingValue, ValType: value.String, StartTS: 1}, "1211 09ffffffffffffffff 1809 2001 6001 6801"},
		{
			"a value with a language", Posting{UID: 5, Op: OpOverwrite, Type: PostingValueLang, ValType: value.String, Value: []byte("a"), Lang: []byte("en"), StartTS: 1},
			"1218 090500000000000000 120161 1809 2002 2a02656e 6003 6801",
		},
		{
			"a uid with facets", Posting{UID: 1, Facets: facets, Op: OpSet, StartTS: 12, CommitTS: 13},
			"1220 090100000000000000 4a0f 0a016e 12080400000000000000 1801 6001 680c 700d",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			want := unhex(t, c.hex)
			require.Equal(t, want, AppendPosting(nil, &c.p))
			require.Equal(t, len(want), PostingSize(&c.p))
			if c.p.Op == 0 {
				return
			}
			got, rest, err := DecodePosting(want)
			require.NoError(t, err)
			require.Empty(t, rest)
			requirePostings(t, []Posting{c.p}, []Posting{got})
		})
	}
}

func TestAppendRefPosting(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		p := Posting{
			UID:     rapid.Uint64().Draw(rt, "uid"),
			ValType: rapid.SampledFrom([]value.Type{value.UID, value.Default}).Draw(rt, "type"),
			Op:      rapid.SampledFrom([]Op{OpSet, OpDelete, OpOverwrite}).Draw(rt, "op"),
			StartTS: rapid.Uint64().Draw(rt, "start"),
		}
		want := AppendPosting([]byte("x"), &p)
		require.Equal(rt, want, AppendRefPosting([]byte("x"), p.UID, p.ValType, p.Op, p.StartTS))
		require.Equal(rt, len(want)-1, RefPostingSize(p.ValType, p.Op, p.StartTS))
	})
}

// A buffer that has just the room that the sizes ask for is not left.
func TestAppendsStayInTheirRoom(t *testing.T) {
	p := randomPosting(t, rand.New(rand.NewPCG(1, 2)), 77)
	for name, c := range map[string]struct {
		size   int
		append func(dst []byte) []byte
	}{
		"posting": {PostingSize(&p), func(b []byte) []byte { return AppendPosting(b, &p) }},
		"ref": {RefPostingSize(value.UID, OpSet, 1000), func(b []byte) []byte {
			return AppendRefPosting(b, 5, value.UID, OpSet, 1000)
		}},
		"marker": {DeleteAllSize(1000), func(b []byte) []byte { return AppendDeleteAll(b, 1000) }},
	} {
		room := make([]byte, c.size+9)
		got := c.append(room[: 4 : c.size+4])
		require.Len(t, got, c.size+4, name)
		require.Same(t, &room[0], &got[0], name)
		require.Equal(t, make([]byte, 5), room[c.size+4:], name)
		require.Zero(t, testing.AllocsPerRun(10, func() { c.append(room[:4]) }), name)
	}
}

func TestDeleteAll(t *testing.T) {
	for _, ts := range []uint64{0, 10, 300, math.MaxUint64} {
		got := AppendDeleteAll([]byte("x"), ts)
		want := Posting{UID: DeleteAllUID, Op: OpDelete, Value: []byte("_STAR_ALL"), StartTS: ts}
		require.Equal(t, AppendPosting([]byte("x"), &want), got)
		require.Equal(t, len(got)-1, DeleteAllSize(ts))
		require.True(t, want.IsDeleteAll())
	}
	require.Equal(t, unhex(t, "1218 09ffffffffffffffff 12095f535441525f414c4c 6002 680a"), AppendDeleteAll(nil, 10))
	for name, p := range map[string]Posting{
		"a set":        {UID: DeleteAllUID, Op: OpSet, Value: []byte("_STAR_ALL")},
		"a language's": {UID: DeleteAllUID, Op: OpDelete, Value: []byte("_STAR_ALL"), Lang: []byte("fr")},
		"a delete":     {UID: DeleteAllUID, Op: OpDelete},
		"another":      {UID: DeleteAllUID, Op: OpDelete, Value: []byte("*")},
	} {
		require.False(t, p.IsDeleteAll(), name)
	}
}

func TestDecodeDelta(t *testing.T) {
	types := newProtoTypes(t)
	rng := rand.New(rand.NewPCG(21, 22))
	for range 200 {
		ps := randomPostings(t, rng, 6)
		var data []byte
		for i := range ps {
			data = AppendPosting(data, &ps[i])
		}
		require.Equal(t, data, AppendList(nil, &Complete{Postings: ps}))
		msg := types.newList(t, nil, &Complete{Postings: ps})
		for _, size := range []int{1, 40} {
			got, err := DecodeDelta(make([]Posting, size), data)
			require.NoError(t, err)
			requirePostings(t, ps, got[size:])
		}
		require.Equal(t, len(ps), msg.Get(types.list.Fields().ByName("postings")).List().Len())

		rest := data
		for i := range ps {
			var p Posting
			var err error
			p, rest, err = DecodePosting(rest)
			require.NoError(t, err)
			requirePostings(t, ps[i:i+1], []Posting{p})
		}
		require.Empty(t, rest)
	}
}

// Fields that a later version may add are passed over, wherever they stand.
func TestDecodePastUnknownFields(t *testing.T) {
	unknown := "\x38\x01\x42\x02ab\xad\x02\x01\x02\x03\x04"
	one := AppendRefPosting(nil, 1, value.UID, OpSet, 5)
	two := AppendRefPosting(nil, 2, value.UID, OpSet, 5)
	data := slices.Concat([]byte(unknown+"\x18\x07"), one, []byte(unknown), two, []byte(unknown))
	ps, err := DecodeDelta(nil, data)
	require.NoError(t, err)
	require.Len(t, ps, 2)
	p, rest, err := DecodePosting(data)
	require.NoError(t, err)
	require.Equal(t, uint64(1), p.UID)
	p, rest, err = DecodePosting(rest)
	require.NoError(t, err)
	require.Equal(t, uint64(2), p.UID)
	require.Empty(t, rest)

	inner := append(slices.Clone(one[2:]), unknown...)
	p, _, err = DecodePosting(protowire.AppendBytes([]byte{tagListPosting}, inner))
	require.NoError(t, err)
	require.Equal(t, uint64(1), p.UID)
}

// Facet records that do not lie one behind the other are still one wire form.
func TestDecodeScatteredFacets(t *testing.T) {
	facets := func(key string) []byte {
		raw, err := AppendFacets(nil, []Facet{{Key: key}})
		require.NoError(t, err)
		return raw
	}
	uid := AppendRefPosting(nil, 9, 0, 0, 0)[2:]
	msg := slices.Concat(facets("a"), facets("b"), uid, facets("c"), []byte{tagOp, 1}, facets("d"), facets("e"))
	data := protowire.AppendBytes([]byte{tagListPosting}, msg)
	before := slices.Clone(data)
	p, _, err := DecodePosting(data)
	require.NoError(t, err)
	require.Equal(t, slices.Concat(facets("a"), facets("b"), facets("c"), facets("d"), facets("e")), p.Facets)
	require.Equal(t, before, data)
}

func TestDecodeDeltaRefuses(t *testing.T) {
	posting := func(msg string) string { return string(protowire.AppendBytes([]byte{tagListPosting}, []byte(msg))) }
	const uid = "\x09\x01\x00\x00\x00\x00\x00\x00\x00"
	for _, c := range []struct{ name, data, want string }{
		{"no uid", posting("\x60\x01"), "byte 1: posting without a uid"},
		{"no op", posting(uid), "byte 1: posting of a delta without an op"},
		{"an unknown op", posting(uid + "\x60\x04"), "byte 12: op 4"},
		{"an unknown posting type", posting(uid + "\x20\x03"), "posting type 3"},
		{"a value type out of range", posting(uid + "\x18\x80\x01"), "value type 128"},
		{"a short uid", posting("\x09\x01"), "byte 3: 8-byte number in the 1 bytes left"},
		{"a long posting", "\x12\x05" + "\x60\x01", "byte 1: length 5 in the 2 bytes left"},
		{"a long value", posting(uid + "\x12\x05a"), "length 5 in the 1 bytes left"},
		{"a value past its posting", posting(uid+"\x12\x05a") + posting(uid+"\x60\x01"), "length 5 in the 1 bytes left"},
		{"a giant length", "\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", "length 18446744073709551615"},
		{"a length cut short", "\x12\x80", "number cut short"},
		{"a wrong wire type", posting(uid + "\x10\x01"), "field 2 with wire type 0"},
		{"a pack", "\x0a\x00" + posting(uid+"\x60\x01"), "a delta with field 1 of a complete list"},
		{"splits behind", posting(uid+"\x60\x01") + "\x22\x01\x01", "a delta with field 4 of a complete list"},
		{"a short fixed32", posting(uid+"\x60\x01") + "\x3d\x01", "4-byte number in the 1 bytes left"},
		{"field number 0", "\x00\x01", "field number 0"},
		{"field number too large", "\x80\x80\x80\x80\x80\x80\x01\x00", "field number"},
	} {
		t.Run(c.name, func(t *testing.T) {
			ps, err := DecodeDelta(make([]Posting, 1), []byte(c.data))
			require.ErrorIs(t, err, ErrBadValue)
			require.ErrorContains(t, err, c.want)
			require.Len(t, ps, 1)
			_, rest, err := DecodePosting([]byte(c.data))
			require.ErrorIs(t, err, ErrBadValue)
			require.Nil(t, rest)
		})
	}
	_, _, err := DecodePosting(nil)
	require.ErrorContains(t, err, "a delta without a posting")
}

func TestDecodeListRefuses(t *testing.T) {
	one, two := AppendRefPosting(nil, 1, 0, OpSet, 5), AppendRefPosting(nil, 2, 0, OpSet, 5)
	pack := AppendPack(nil, []uint64{1})
	for _, c := range []struct {
		name string
		data []byte
		want string
	}{
		{"two packs", slices.Concat(pack, pack), "a second pack"},
		{"postings out of order", slices.Concat(two, one), "posting with uid 0x1 after 0x2"},
		{"a posting twice", slices.Concat(two, two), "posting with uid 0x2 after 0x2"},
		{"splits out of order", []byte("\x22\x02\x05\x04"), "byte 3: split at 0x4 after 0x5"},
		{"splits out of order, unpacked", []byte("\x20\x05\x20\x05"), "split at 0x5 after 0x5"},
		{"a split cut short", []byte("\x22\x01\x80"), "number cut short"},
		{"a bad block", []byte("\x0a\x04\x12\x02\x18\x00"), "byte 3: block without uids"},
		{"a pack cut short", pack[:len(pack)-1], "length 16 in the 15 bytes left"},
		{"a wrong wire type", []byte("\x08\x01"), "field 1 with wire type 0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			l, err := DecodeList(c.data)
			require.ErrorIs(t, err, ErrBadValue)
			require.ErrorContains(t, err, c.want)
			require.Zero(t, l)
		})
	}
}

func TestDecodeListOfOthers(t *testing.T) {
	for name, data := range map[string]string{
		"packed splits":          "\x22\x03\x01\x81\x08",
		"splits one by one":      "\x20\x01\x20\x81\x08",
		"splits in two records":  "\x22\x01\x01\x22\x02\x81\x08",
		"splits in longer forms": "\x22\x06\x81\x80\x00\x81\x88\x00",
	} {
		l, err := DecodeList([]byte(data))
		require.NoError(t, err, name)
		require.Equal(t, []uint64{1, 1025}, l.Splits, name)
		require.Equal(t, "\x22\x03\x01\x81\x08", string(AppendList(nil, &l)), name)
	}
	l, err := DecodeList(nil)
	require.NoError(t, err)
	require.Empty(t, AppendList(nil, &l))
}

// Cut off anywhere, the bytes give an error or a shorter list, never a panic.
func TestDecodeCutShort(t *testing.T) {
	rng := rand.New(rand.NewPCG(31, 32))
	l := Complete{Pack: MakePack(randomUIDs(rng, 300, 20)), Postings: randomPostings(t, rng, 6), Splits: []uint64{1, 1000}}
	data := AppendList(nil, &l)
	delta := AppendList(nil, &Complete{Postings: l.Postings})
	for n := range data {
		_, _ = DecodeList(data[:n:n])
	}
	for n := range delta {
		_, _ = DecodeDelta(nil, delta[:n:n])
		_, _, _ = DecodePosting(delta[:n:n])
	}
}

func TestAppendParts(t *testing.T) {
	small := Complete{Pack: MakePack(randomUIDs(rand.New(rand.NewPCG(1, 1)), 1000, 10))}
	require.Equal(t, []Part{{Start: 1, List: small}}, AppendParts(nil, 1, small))

	big := Complete{Pack: MakePack([]uint64{1, 2}), Postings: []Posting{{UID: 2, Op: OpSet, Value: make([]byte, 2*SplitSize)}}}
	require.Len(t, AppendParts(nil, 1, big), 1, "one block is not split")

	rng := rand.New(rand.NewPCG(41, 42))
	uids := randomUIDs(rng, 700_000, 25)
	l := Complete{Pack: MakePack(uids)}
	for i := 0; i < len(uids); i += 50 {
		l.Postings = append(l.Postings, Posting{UID: uids[i], Op: OpSet, Facets: []byte("\x4a\x03\x0a\x01k"), StartTS: 1})
	}
	require.Greater(t, ListSize(&l), SplitSize)
	parts := AppendParts(nil, 1, l)
	require.Greater(t, len(parts), 2)
	requireParts(t, uids, l.Postings, parts)
}

// requireParts looks that the parts, put together, are the list, and that each
// is as small as it has to be and no smaller.
func requireParts(t *testing.T, uids []uint64, ps []Posting, parts []Part) {
	t.Helper()
	require.Equal(t, uint64(1), parts[0].Start)
	var gotUIDs []uint64
	var gotPostings []Posting
	for i, part := range parts {
		if i > 0 {
			require.Equal(t, part.Start, part.List.Pack.Base(0))
			require.Greater(t, part.Start, gotUIDs[len(gotUIDs)-1])
			require.GreaterOrEqual(t, ListSize(&part.List)+ListSize(&parts[i-1].List), SplitSize/2)
		}
		require.Less(t, ListSize(&part.List), SplitSize)
		data := AppendList(nil, &part.List)
		require.Len(t, data, ListSize(&part.List))
		back, err := DecodeList(data)
		require.NoError(t, err)
		gotUIDs, err = back.Pack.AppendUIDs(gotUIDs)
		require.NoError(t, err)
		gotPostings = append(gotPostings, back.Postings...)
	}
	require.Equal(t, uids, gotUIDs)
	requirePostings(t, ps, gotPostings)
}

func FuzzDecodeList(f *testing.F) {
	rng := rand.New(rand.NewPCG(51, 52))
	for range 8 {
		f.Add(AppendList(nil, &Complete{Pack: MakePack(randomUIDs(rng, rng.IntN(300), 20)), Postings: randomPostings(f, rng, 4)}))
	}
	f.Add([]byte("\x22\x03\x01\x81\x08"))
	f.Fuzz(func(t *testing.T, data []byte) {
		l, err := DecodeList(data)
		if err != nil {
			require.ErrorIs(t, err, ErrBadValue)
			return
		}
		again := AppendList(nil, &l)
		require.Len(t, again, ListSize(&l))
		back, err := DecodeList(again)
		require.NoError(t, err)
		requirePostings(t, l.Postings, back.Postings)
		require.Equal(t, l.Splits, back.Splits)
		require.Equal(t, l.CommitTS, back.CommitTS)
		uids, err := l.Pack.AppendUIDs(nil)
		backUIDs, backErr := back.Pack.AppendUIDs(nil)
		require.Equal(t, err == nil, backErr == nil)
		require.Equal(t, uids, backUIDs)
		require.Equal(t, again, AppendList(nil, &back), "what we wrote is in its one form")
	})
}

func FuzzDecodeDelta(f *testing.F) {
	f.Add(AppendDeleteAll(nil, 5))
	rng := rand.New(rand.NewPCG(61, 62))
	for range 8 {
		f.Add(AppendList(nil, &Complete{Postings: randomPostings(f, rng, 4)}))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		ps, err := DecodeDelta(nil, data)
		if err != nil {
			require.ErrorIs(t, err, ErrBadValue)
			return
		}
		var again []byte
		rest := data
		for i := range ps {
			again = AppendPosting(again, &ps[i])
			var p Posting
			p, rest, err = DecodePosting(rest)
			require.NoError(t, err)
			requirePostings(t, ps[i:i+1], []Posting{p})
		}
		require.True(t, len(rest) == 0 || len(ps) == 0)
		back, err := DecodeDelta(nil, again)
		require.NoError(t, err)
		requirePostings(t, ps, back)
	})
}

func benchValue() Posting {
	return Posting{
		UID: DeleteAllUID, Op: OpSet, Type: PostingValue, ValType: value.String,
		Value: []byte("a value of some thirty bytes ..."), StartTS: 1_000_000,
	}
}

func BenchmarkAppendRefPosting(b *testing.B) {
	b.ReportAllocs()
	buf := make([]byte, 0, 64)
	for i := range b.N {
		buf = AppendRefPosting(buf[:0], uint64(i), value.UID, OpSet, 1_000_000)
	}
}

func BenchmarkAppendPosting(b *testing.B) {
	b.ReportAllocs()
	buf, p := make([]byte, 0, 128), benchValue()
	for b.Loop() {
		buf = AppendPosting(buf[:0], &p)
	}
}

func BenchmarkDecodePosting(b *testing.B) {
	p := benchValue()
	for name, data := range map[string][]byte{
		"value": AppendPosting(nil, &p),
		"ref":   AppendRefPosting(nil, 5, value.UID, OpSet, 1_000_000),
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, _, err := DecodePosting(data); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkDecodeDelta(b *testing.B) {
	var data []byte
	for i := range 1000 {
		data = AppendRefPosting(data, uint64(i), value.UID, OpSet, 1_000_000)
	}
	var ps []Posting
	b.ReportAllocs()
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		ps, _ = DecodeDelta(ps[:0], data)
	}
}

func BenchmarkDecodeList(b *testing.B) {
	p := benchValue()
	data := AppendList(nil, &Complete{Pack: MakePack([]uint64{DeleteAllUID}), Postings: []Posting{p}})
	b.ReportAllocs()
	for b.Loop() {
		if _, err := DecodeList(data); err != nil {
			b.Fatal(err)
		}
	}
}
