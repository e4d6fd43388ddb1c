package posting

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/dgryski/go-farm"
	"github.com/stretchr/testify/require"

	"github.com/edgemill/edgemill/schema/value"
)

// faultsOf are the faults of one version of a list.
func faultsOf(t *testing.T, k Key, v Version) []string {
	t.Helper()
	var faults []string
	c := Checker{Report: func(uid uint64, what string) {
		require.True(t, strings.HasSuffix(what, fmt.Sprintf(" (version %d)", v.TS)), what)
		what = strings.TrimSuffix(what, fmt.Sprintf(" (version %d)", v.TS))
		if uid != 0 {
			what = fmt.Sprintf("%#x: %s", uid, what)
		}
		faults = append(faults, what)
	}}
	c.Version(&k, &v)
	require.Len(t, faults, c.Faults())
	return faults
}

func deltaOf(posts ...Posting) []byte {
	var data []byte
	for i := range posts {
		data = AppendPosting(data, &posts[i])
	}
	return data
}

func facetsOf(t *testing.T, fs ...Facet) []byte {
	t.Helper()
	raw, err := AppendFacets(nil, fs)
	require.NoError(t, err)
	return raw
}

var (
	dataKey  = Key{Kind: KindData, Predicate: "p", UID: 1}
	indexKey = Key{Kind: KindIndex, Predicate: "p", Term: []byte("\x02a")}
	revKey   = Key{Kind: KindReverse, Predicate: "p", UID: 1}
	partKey  = Key{Space: SpacePart, Kind: KindReverse, Predicate: "p", UID: 1, Start: 1}

	marker = Posting{UID: DeleteAllUID, Op: OpDelete, Value: []byte("_STAR_ALL"), StartTS: 3}
)

// node is the posting of a target in a data list.
func node(uid uint64) Posting {
	return Posting{UID: uid, Op: OpSet, ValType: value.UID, StartTS: 3}
}

// text is the posting of a value.
func text(s string) Posting {
	return Posting{UID: DeleteAllUID, Op: OpSet, Type: PostingValue, ValType: value.String, Value: []byte(s), StartTS: 3}
}

func tagged(lang, s string) Posting {
	p := text(s)
	p.UID, p.Type, p.Lang = farm.Fingerprint64([]byte(lang)), PostingValueLang, []byte(lang)
	return p
}

// with gives a changed copy.
func with(p Posting, change func(*Posting)) Posting {
	change(&p)
	return p
}

func TestFaultsOfDeltas(t *testing.T) {
	note := Facet{Key: "note", Value: []byte("old friend"), Tokens: []string{"\x01friend", "\x01old"}}
	tests := []struct {
		name string
		key  Key
		data []byte
		want []string
	}{
		{"targets", dataKey, deltaOf(node(2), node(3)), nil},
		{"target behind the marker", dataKey, deltaOf(marker, node(3)), nil},
		{"marker alone", dataKey, deltaOf(marker), nil},
		{"value", dataKey, deltaOf(text("")), nil},
		{"languages behind the marker", dataKey, deltaOf(marker, tagged("en", "red")), nil},
		{"value with facets", dataKey, deltaOf(with(text("a"), func(p *Posting) { p.Facets = facetsOf(t, note) })), nil},
		{"subjects", indexKey, deltaOf(Posting{UID: 2, Op: OpSet, StartTS: 3}, Posting{UID: 4, Op: OpDelete, StartTS: 3}), nil},
		{"source with facets", revKey, deltaOf(Posting{UID: 2, Op: OpSet, StartTS: 3, Facets: facetsOf(t, note)}), nil},

		{"nothing", dataKey, nil, []string{"a delta without postings"}},
		{"torn", dataKey, deltaOf(node(2))[:9], []string{"malformed value: byte 1: length 15 in the 7 bytes left"}},
		{"no op", dataKey, deltaOf(with(node(2), func(p *Posting) { p.Op = 0 })), []string{"malformed value: byte 1: posting of a delta without an op"}},
		{"a commit_ts of the list", dataKey, append(deltaOf(node(2)), 3<<3, 9),
			[]string{"the bytes of the delta are not those of its postings alone, each field once, in order and not empty"}},
		{"descending", dataKey, deltaOf(node(3), node(2)), []string{"0x2: uid 0x2 stands behind 0x3 in a delta"}},
		{"twice", dataKey, deltaOf(node(3), node(3)), []string{"0x3: uid 0x3 stands behind 0x3 in a delta"}},
		{"marker not first", dataKey, deltaOf(node(3), marker),
			[]string{"0xffffffffffffffff: a delete-all marker that is not the first posting of its delta"}},
		{"marker beside a value", dataKey, deltaOf(marker, text("a")),
			[]string{"0xffffffffffffffff: a value under the uid of the delete-all marker in one delta with it"}},
		{"marker with another uid", dataKey, deltaOf(with(marker, func(p *Posting) { p.UID = 7 })),
			[]string{"0x7: the delete-all marker has the uid 0x7, not 2^64-1"}},
		{"delete with a value", dataKey, deltaOf(with(text("a"), func(p *Posting) { p.Op = OpDelete })),
			[]string{"0xffffffffffffffff: a delete that carries a value"}},
		{"no start_ts", dataKey, deltaOf(with(node(2), func(p *Posting) { p.StartTS = 0 })),
			[]string{"0x2: a delta's posting without start_ts"}},
		{"commit_ts", dataKey, deltaOf(with(node(2), func(p *Posting) { p.CommitTS = 5 })),
			[]string{"0x2: a delta's posting with the commit_ts 5"}},
		{"uid 0", dataKey, deltaOf(node(0)), []string{"a posting with the uid 0"}},
		{"val_type of a target", dataKey, deltaOf(with(node(2), func(p *Posting) { p.ValType = 0 })),
			[]string{"0x2: val_type 0 in a uid posting, not 7"}},
		{"val_type of a source", revKey, deltaOf(node(2)), []string{"0x2: val_type 7 in a uid posting, not 0"}},
		{"reserved target", dataKey, deltaOf(node(DeleteAllUID)), []string{"0xffffffffffffffff: the uid 2^64-1 as that of a node"}},
		{"target with a value", dataKey, deltaOf(with(node(2), func(p *Posting) { p.Value = []byte("abc") })),
			[]string{"0x2: a value of 3 bytes in a uid posting"}},
		{"target with a language", dataKey, deltaOf(with(node(2), func(p *Posting) { p.Lang = []byte("en") })),
			[]string{`0x2: the language tag "en" in a uid posting`}},
		{"value in an index", indexKey, deltaOf(text("a")), []string{"0xffffffffffffffff: posting type 1 in a list of uids"}},
		{"facets in an index", indexKey, deltaOf(Posting{UID: 2, Op: OpSet, StartTS: 3, Facets: facetsOf(t, note)}),
			[]string{"0x2: facets in a list of kind index"}},
		{"language without its type", dataKey, deltaOf(with(tagged("en", "a"), func(p *Posting) { p.Type = PostingValue })),
			[]string{`0x19cc2053c02c617e: posting type 1 with the language tag "en"`}},
		{"type without a language", dataKey, deltaOf(with(text("a"), func(p *Posting) { p.Type = PostingValueLang })),
			[]string{`0xffffffffffffffff: posting type 2 with the language tag ""`}},
		{"uid of another language", dataKey, deltaOf(with(tagged("en", "a"), func(p *Posting) { p.UID = 9 })),
			[]string{`0x9: the posting of language "en" has not the uid that is the tag's fingerprint, 0x19cc2053c02c617e`}},
		{"value that is none", dataKey, deltaOf(with(text("a"), func(p *Posting) { p.ValType = value.Int })),
			[]string{"0xffffffffffffffff: val_type 2: stored int of 1 bytes: "}},
		{"value of type uid", dataKey, deltaOf(with(text("a"), func(p *Posting) { p.ValType = value.UID })),
			[]string{"0xffffffffffffffff: val_type 7: stored uid of 1 bytes: values of this type are not stored"}},
		{"plain password", dataKey, deltaOf(with(text("a"), func(p *Posting) { p.ValType = value.Password })),
			[]string{"0xffffffffffffffff: val_type 8: a stored password is not a bcrypt hash"}},
		{"facet tokens", dataKey, deltaOf(with(node(2), func(p *Posting) { p.Facets = facetsOf(t, Facet{Key: "k", Value: []byte("old")}) })),
			[]string{`0x2: facet "k" has the tokens [], not ["\x01old"]`}},
		{"facet that is none", dataKey, deltaOf(with(node(2), func(p *Posting) {
			p.Facets = facetsOf(t, Facet{Key: "k", Type: FacetBool, Value: []byte{7}})
		})), []string{`0x2: facet "k": stored bool of 1 bytes: `}},
		{"facets out of order", dataKey, deltaOf(with(node(2), func(p *Posting) {
			p.Facets = append(facetsOf(t, Facet{Key: "b", Type: FacetBool, Value: []byte{1}}), facetsOf(t, Facet{Key: "a", Type: FacetBool, Value: []byte{1}})...)
		})), []string{`0x2: facets: malformed value: byte 10: facet "a" after "b"`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			requireFaults(t, tt.want, faultsOf(t, tt.key, Version{TS: 5, Meta: MetaDelta, Value: tt.data}))
		})
	}
}

// requireFaults takes a wanted text that ends in ": " for the beginning of one.
func requireFaults(t *testing.T, want, got []string) {
	t.Helper()
	require.Len(t, got, len(want), "%q", got)
	for i := range want {
		if strings.HasSuffix(want[i], ": ") {
			require.Regexp(t, "^"+regexp.QuoteMeta(want[i]), got[i])
			continue
		}
		require.Equal(t, want[i], got[i])
	}
}

func TestFaultsOfCompleteLists(t *testing.T) {
	kept := func(p Posting) Posting { return with(p, func(p *Posting) { p.CommitTS = 4 }) }
	uids := func(uids ...uint64) Pack { return MakePack(uids) }
	long := make([]uint64, 300)
	for i := range long {
		long[i] = uint64(i + 1)
	}
	var wide Pack
	wide.encode([]uint64{1<<32 - 1, 1<<32 + 5})
	var full Pack
	full.encode(long)
	tests := []struct {
		name string
		key  Key
		list Complete
		want []string
	}{
		{"uids", revKey, Complete{Pack: uids(2, 3, 1<<32+1)}, nil},
		{"many", revKey, Complete{Pack: MakePack(long)}, nil},
		{"value", dataKey, Complete{Pack: uids(DeleteAllUID), Postings: []Posting{kept(text("a"))}}, nil},
		{"split", revKey, Complete{Splits: []uint64{1, 9}}, nil},
		{"part", partKey, Complete{Pack: uids(2, 3)}, nil},

		{"nothing", revKey, Complete{}, []string{"a complete list without uids, which is not marked as empty"}},
		{"commit_ts", revKey, Complete{Pack: uids(2), CommitTS: 4}, []string{"a complete list with the commit_ts 4 of its own"}},
		{"posting beside the pack", dataKey, Complete{Pack: uids(2), Postings: []Posting{kept(text("a"))}},
			[]string{"0xffffffffffffffff: a posting whose uid is not in the pack"}},
		{"delete", dataKey, Complete{Pack: uids(DeleteAllUID), Postings: []Posting{
			kept(with(text(""), func(p *Posting) { p.Op = OpDelete }))}},
			[]string{"0xffffffffffffffff: a complete list's posting with the op 2"}},
		{"no commit_ts", dataKey, Complete{Pack: uids(DeleteAllUID), Postings: []Posting{text("a")}},
			[]string{"0xffffffffffffffff: a complete list's posting with start_ts 3 and commit_ts 0"}},
		{"bare uid as a posting", dataKey, Complete{Pack: uids(2), Postings: []Posting{kept(node(2))}},
			[]string{"0x2: a complete list's posting that carries no more than its uid"}},
		{"uid 0", revKey, Complete{Pack: uids(0, 2)}, []string{"a posting with the uid 0"}},
		{"reserved source", revKey, Complete{Pack: uids(2, DeleteAllUID)},
			[]string{"0xffffffffffffffff: the uid 2^64-1 as that of a node"}},
		{"block too long", revKey, Complete{Pack: full}, []string{"block 0 has 300 uids, more than 256"}},
		{"block too wide", revKey, Complete{Pack: wide}, []string{"block 0 goes from 0xffffffff to 0x100000005, which differ in the upper 32 bits"}},
		{"split with uids", revKey, Complete{Pack: uids(2), Splits: []uint64{1, 9}},
			[]string{"a split list with 1 uids and 0 postings of its own"}},
		{"split from 2", revKey, Complete{Splits: []uint64{2, 9}}, []string{"the first part begins at 0x2, not at 1"}},
		{"part with parts", partKey, Complete{Splits: []uint64{1, 9}}, []string{"a part that has parts"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			v := Version{TS: 5, Meta: MetaComplete, DiscardEarlier: true, Value: AppendList(nil, &tt.list)}
			requireFaults(t, tt.want, faultsOf(t, tt.key, v))
		})
	}
}

func TestFaultsOfVersions(t *testing.T) {
	list := Complete{Pack: MakePack([]uint64{2})}
	complete := AppendList(nil, &list)
	tests := []struct {
		name string
		key  Key
		v    Version
		want []string
	}{
		{"empty", revKey, Version{Meta: MetaEmpty, DiscardEarlier: true}, nil},
		{"deleted", revKey, Version{Meta: 0x99, Deleted: true}, nil},
		{"empty with a value", revKey, Version{Meta: MetaEmpty, DiscardEarlier: true, Value: complete},
			[]string{"an empty list with a value of 18 bytes"}},
		{"meta of a schema", revKey, Version{Meta: MetaSchema, DiscardEarlier: true}, []string{"user meta 0x01 is not that of a list"}},
		{"delta in a part", partKey, Version{Meta: MetaDelta, Value: deltaOf(Posting{UID: 2, Op: OpSet, StartTS: 3})},
			[]string{"a delta in a part of a list"}},
		{"delta that discards", dataKey, Version{Meta: MetaDelta, DiscardEarlier: true, Value: deltaOf(node(2))},
			[]string{"user meta 0x04 and discard-earlier-versions true do not go together"}},
		{"rollup that does not", revKey, Version{Meta: MetaComplete, Value: complete},
			[]string{"user meta 0x08 and discard-earlier-versions false do not go together"}},
		{"no message", revKey, Version{Meta: MetaComplete, DiscardEarlier: true, Value: []byte("\x0a\xff")},
			[]string{"malformed value: byte 1: "}},
		{"fields out of order", revKey, Version{Meta: MetaComplete, DiscardEarlier: true, Value: append([]byte{3 << 3, 0}, complete...)},
			[]string{"the bytes of the complete list are not those of its fields, each once, in order and not empty"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.v.TS = 5
			requireFaults(t, tt.want, faultsOf(t, tt.key, tt.v))
		})
	}
}

// TestFollow takes deltas of a counted list, the oldest first, and says what is
// wrong with the last.
func TestFollow(t *testing.T) {
	op := func(uid uint64, op Op) Posting { return Posting{UID: uid, Op: op, StartTS: 3} }
	tests := []struct {
		name   string
		deltas [][]Posting
		want   []string
	}{
		{"first set", [][]Posting{{op(2, OpSet)}}, nil},
		{"overwrite", [][]Posting{{op(2, OpSet)}, {op(2, OpOverwrite)}}, nil},
		{"set behind the marker", [][]Posting{{op(2, OpSet)}, {marker, op(2, OpSet)}}, nil},
		{"set after a delete", [][]Posting{{op(2, OpSet)}, {op(2, OpDelete)}, {op(2, OpSet)}}, nil},
		{"set again", [][]Posting{{op(2, OpSet)}, {op(2, OpSet)}},
			[]string{"a set of what stood there already in a counted list, not an overwrite"}},
		{"overwrite of nothing", [][]Posting{{op(2, OpOverwrite)}},
			[]string{"an overwrite of what did not stand there in a counted list, not a set"}},
		{"delete of nothing", [][]Posting{{op(2, OpSet)}, {marker}, {op(2, OpDelete)}},
			[]string{"a delete of what did not stand there in a counted list"}},
		{"overwrite behind the marker", [][]Posting{{op(2, OpSet)}, {marker, op(2, OpOverwrite)}},
			[]string{"op 3 behind a delete-all marker in a counted list, not set"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var h history
			var got []string
			for _, d := range tt.deltas {
				got = nil
				h.follow(d, func(uid uint64, format string, args ...any) { got = append(got, fmt.Sprintf(format, args...)) })
			}
			require.Equal(t, tt.want, got)
		})
	}
}

// FuzzChecker lets the checks loose on any bytes.
func FuzzChecker(f *testing.F) {
	list := Complete{Pack: MakePack([]uint64{2, 3}), Postings: []Posting{with(node(2), func(p *Posting) { p.CommitTS = 4 })}}
	f.Add(MetaDelta, deltaOf(marker, node(2)))
	f.Add(MetaDelta, deltaOf(tagged("en", "red")))
	f.Add(MetaComplete, AppendList(nil, &list))
	f.Add(MetaComplete, AppendList(nil, &Complete{Splits: []uint64{1, 9}}))
	f.Fuzz(func(t *testing.T, meta byte, data []byte) {
		c := Checker{Report: func(uint64, string) {}}
		for _, k := range []Key{dataKey, indexKey, revKey, partKey} {
			c.Version(&k, &Version{TS: 5, Meta: meta, DiscardEarlier: meta != MetaDelta, Value: data})
		}
		posts, err := DecodeDelta(nil, data)
		if err != nil {
			return
		}
		var h history
		h.follow(posts, func(uint64, string, ...any) {})
		if meta == MetaDelta && c.Faults() == 0 {
			require.NotEmpty(t, posts)
		}
	})
}
