package edgemill

import (
	"context"
	"encoding/binary"
	"fmt"
	"regexp"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/edgemill/edgemill/conflict"
	"github.com/edgemill/edgemill/mutation"
	"github.com/edgemill/edgemill/posting"
	"github.com/edgemill/edgemill/schema"
	"github.com/edgemill/edgemill/schema/value"
)

// verifySchema and verifyData make the store that the tests damage.
const verifySchema = `
	name: string @index(exact, term) @lang .
	nick: string @index(exact) .
	tag: [string] @index(term) @count .
	boss: uid @reverse @count .
	pal: [uid] @reverse @count .
	kin: [uid] @reverse .
	any: default .
	cold: [uid] .
	type Person { name pal }
`

const verifyData = `{ set {
	<0x1> <name> "Red Fox"@en .
	<0x1> <name> "Haus" .
	<0x1> <nick> "ann" .
	<0x2> <nick> "bob" .
	<0x1> <tag> "red car" .
	<0x1> <tag> "red bike" .
	<0x1> <boss> <0x2> .
	<0x1> <pal> <0x2> (since=2006) .
	<0x1> <pal> <0x3> .
	<0x2> <pal> <0x3> .
	<0x1> <kin> <0x2> (note="old friend") .
	<0x1> <any> "x" .
	<0x1> <cold> <0x2> .
} }`

// damaged is a store and a hand that writes what the engine would not.
type damaged struct {
	testing.TB
	*DB
}

func newDamaged(t testing.TB) damaged {
	db := openAlter(t, verifySchema)
	db.mutateForTest(t, alterEdges(t, verifyData))
	return damaged{t, db}
}

// write stores values at a new timestamp.
func (d damaged) write(entries ...posting.Entry) uint64 {
	ctx := context.Background()
	ts, release, err := d.oracle.Timestamp(ctx)
	require.NoError(d, err)
	defer release()
	for i := range entries {
		entries[i].Version = ts
	}
	done := make(chan error, 1)
	require.NoError(d, d.store.Commit(ctx, posting.Commit{TS: ts, Entries: entries, Readable: func(err error) { done <- err }}))
	require.NoError(d, <-done)
	return ts
}

func (d damaged) delta(key []byte, posts ...posting.Posting) {
	var data []byte
	for i := range posts {
		if posts[i].StartTS == 0 {
			posts[i].StartTS = 1
		}
		data = posting.AppendPosting(data, &posts[i])
	}
	d.write(posting.Entry{Key: key, Value: data, Meta: posting.MetaDelta})
}

func (d damaged) complete(key []byte, l posting.Complete) {
	d.write(posting.Entry{Key: key, Value: posting.AppendList(nil, &l), Meta: posting.MetaComplete})
}

// violations verifies and gives what is wrong, without the versions.
func (d damaged) violations() []string {
	var told int
	report, err := d.Verify(context.Background(), VerifyOptions{Violation: func(Violation) { told++ }})
	require.NoError(d, err)
	require.Len(d, report.Violations, told)
	require.EqualValues(d, told, report.Found)
	require.Equal(d, told == 0, report.OK())
	var lines []string
	for _, v := range report.Violations {
		lines = append(lines, regexp.MustCompile(` \(version \d+\)`).ReplaceAllString(v.String(), ""))
	}
	return lines
}

func dataKeyOf(pred string, uid uint64) []byte    { return posting.AppendDataKey(nil, 0, pred, uid) }
func reverseKeyOf(pred string, uid uint64) []byte { return posting.AppendReverseKey(nil, 0, pred, uid) }
func indexKeyOf(pred, term string) []byte         { return posting.AppendIndexKey(nil, 0, pred, []byte(term)) }
func countKeyOf(pred string, n uint32) []byte {
	return posting.AppendCountKey(nil, 0, pred, posting.KindCount, n)
}
func countReverseKeyOf(pred string, n uint32) []byte {
	return posting.AppendCountKey(nil, 0, pred, posting.KindCountReverse, n)
}

func refTo(uid uint64, op posting.Op) posting.Posting { return posting.Posting{UID: uid, Op: op} }

func targetTo(uid uint64, op posting.Op) posting.Posting {
	return posting.Posting{UID: uid, Op: op, ValType: value.UID}
}

func valueOf(typ value.Type, s string) posting.Posting {
	return posting.Posting{UID: posting.DeleteAllUID, Op: posting.OpSet, Type: posting.PostingValue, ValType: typ, Value: []byte(s)}
}

func listValueOf(s string) posting.Posting {
	p := valueOf(value.String, s)
	p.UID = conflict.Fingerprint([]byte(s))
	return p
}

func starPosting() posting.Posting {
	return posting.Posting{UID: posting.DeleteAllUID, Op: posting.OpDelete, Value: []byte("_STAR_ALL")}
}

const (
	opSet       = posting.OpSet
	opDelete    = posting.OpDelete
	opOverwrite = posting.OpOverwrite
)

func TestVerifyCleanStore(t *testing.T) {
	d := newDamaged(t)
	require.Empty(t, d.violations())
	report, err := d.Verify(context.Background(), VerifyOptions{})
	require.NoError(t, err)
	i := slices.IndexFunc(report.Predicates, func(p PredicateReport) bool { return p.Predicate == "pal" })
	require.Equal(t, PredicateReport{
		Predicate: "pal", Subjects: 2, Postings: 3, Targets: 2, ReverseEntries: 3, CountEntries: 2, ReverseCountEntries: 2,
	}, report.Predicates[i])
	i = slices.IndexFunc(report.Predicates, func(p PredicateReport) bool { return p.Predicate == "tag" })
	require.Equal(t, PredicateReport{
		Predicate: "tag", Subjects: 1, Postings: 2, Tokens: 3, IndexEntries: 3, CountEntries: 1,
	}, report.Predicates[i])
}

// damages are, for each of the four statements and each rule that the lists as
// a whole follow, a store in which it is broken, and what Verify says.
var damages = []struct {
	name   string
	damage func(d damaged)
	want   []string
}{
	{"index entry missing", func(d damaged) { d.delta(indexKeyOf("nick", "\x02ann"), refTo(1, opDelete)) },
		[]string{`index nick exact "ann", uid 0x1: missing from the index, and a value of this subject has the token`}},
	{"index entry too many", func(d damaged) { d.delta(indexKeyOf("nick", "\x02ann"), refTo(2, opSet)) },
		[]string{`index nick exact "ann", uid 0x2: in the index, and no value of this subject has the token`}},
	{"index of a token that nobody has", func(d damaged) { d.delta(indexKeyOf("nick", "\x02zed"), refTo(9, opSet)) },
		[]string{`index nick exact "zed", uid 0x9: in the index, and no value of this subject has the token`}},
	{"token of a tokenizer that is not there", func(d damaged) { d.delta(indexKeyOf("nick", "\x01ann"), refTo(1, opSet)) },
		[]string{`index nick term "ann", uid 0x1: in the index, and no value of this subject has the token`}},
	{"shared token gone", func(d damaged) { d.delta(indexKeyOf("tag", "\x01red"), refTo(1, opDelete)) },
		[]string{`index tag term "red", uid 0x1: missing from the index, and a value of this subject has the token`}},
	{"token of one language gone", func(d damaged) { d.delta(indexKeyOf("name", "\x01fox"), refTo(1, opDelete)) },
		[]string{`index name term "fox", uid 0x1: missing from the index, and a value of this subject has the token`}},
	{"value changed below the index", func(d damaged) { d.delta(dataKeyOf("nick", 2), valueOf(value.String, "cy")) },
		[]string{
			`index nick exact "bob", uid 0x2: in the index, and no value of this subject has the token`,
			`index nick exact "cy", uid 0x2: missing from the index, and a value of this subject has the token`,
		}},
	{"index without a directive", func(d damaged) { d.delta(indexKeyOf("any", "\x02x"), refTo(1, opSet)) },
		[]string{`index any exact "x", uid 0x1: in the index, and no value of this subject has the token`}},

	{"reverse posting missing", func(d damaged) { d.delta(reverseKeyOf("kin", 2), refTo(1, opDelete)) },
		[]string{`reverse kin 0x2, uid 0x1: missing from the reverse list, and this subject has the edge`}},
	{"reverse posting too many", func(d damaged) { d.delta(reverseKeyOf("kin", 2), refTo(7, opSet)) },
		[]string{`reverse kin 0x2, uid 0x7: in the reverse list, and this subject has no such edge`}},
	{"facets of the reverse posting gone", func(d damaged) { d.delta(reverseKeyOf("kin", 2), refTo(1, opSet)) },
		[]string{`reverse kin 0x2, uid 0x1: the reverse posting has the facets (), the edge (note=6f6c6420667269656e64)`}},
	{"reverse list without a directive", func(d damaged) { d.delta(reverseKeyOf("cold", 2), refTo(1, opSet)) },
		[]string{`reverse cold 0x2, uid 0x1: in the reverse list, and this subject has no such edge`}},

	{"count missing", func(d damaged) { d.delta(countKeyOf("tag", 2), refTo(1, opDelete)) },
		[]string{`count tag 2, uid 0x1: missing from the bucket, and this subject has so many values or targets`}},
	{"two counts", func(d damaged) { d.delta(countKeyOf("tag", 3), refTo(1, opSet)) },
		[]string{`count tag 3, uid 0x1: in the bucket, and this subject has another number of values or targets`}},
	{"count of nothing", func(d damaged) { d.delta(countKeyOf("tag", 0), refTo(5, opSet)) },
		[]string{`count tag 0, uid 0x5: in the bucket, and this subject has another number of values or targets`}},
	{"reverse count missing", func(d damaged) { d.delta(countReverseKeyOf("pal", 2), refTo(3, opDelete)) },
		[]string{`count_reverse pal 2, uid 0x3: missing from the bucket, and so many subjects point to this target`}},
	{"reverse count too many", func(d damaged) { d.delta(countReverseKeyOf("pal", 2), refTo(2, opSet)) },
		[]string{`count_reverse pal 2, uid 0x2: in the bucket, and another number of subjects point to this target`}},

	{"two targets of a single one", func(d damaged) {
		d.delta(dataKeyOf("boss", 1), targetTo(3, opSet))
		d.delta(reverseKeyOf("boss", 3), refTo(1, opSet))
		d.delta(countReverseKeyOf("boss", 1), refTo(3, opSet))
		d.delta(countKeyOf("boss", 1), refTo(1, opDelete))
		d.delta(countKeyOf("boss", 2), refTo(1, opSet))
	}, []string{
		`data boss 0x1: a single-valued predicate with 2 values`,
		`data boss 0x1, uid 0x3: a single target that was set without the delete-all marker before it`,
	}},
	{"two values of a single one", func(d damaged) {
		p := valueOf(value.Default, "y")
		p.UID = 7
		d.delta(dataKeyOf("any", 1), p)
	}, []string{
		`data any 0x1: a single-valued predicate with 2 values`,
		`data any 0x1, uid 0x7: the uid of a single value is not 2^64-1`,
	}},
	{"single target without the marker", func(d damaged) {
		d.delta(dataKeyOf("boss", 4), targetTo(2, opSet))
		d.delta(reverseKeyOf("boss", 2), refTo(4, opSet))
		d.delta(countReverseKeyOf("boss", 1), refTo(2, opDelete))
		d.delta(countReverseKeyOf("boss", 2), refTo(2, opSet))
		d.delta(countKeyOf("boss", 1), refTo(4, opSet))
	}, []string{`data boss 0x4, uid 0x2: a single target that was set without the delete-all marker before it`}},

	{"reserved subject", func(d damaged) { d.delta(dataKeyOf("any", 0), valueOf(value.Default, "y")) },
		[]string{`data any 0x0: the subject's uid is reserved`}},
	{"value among targets", func(d damaged) { d.delta(dataKeyOf("cold", 1), valueOf(value.String, "y")) },
		[]string{`data cold 0x1, uid 0xffffffffffffffff: a value where the predicate has the type uid`}},
	{"target among values", func(d damaged) { d.delta(dataKeyOf("any", 2), targetTo(1, opSet)) },
		[]string{`data any 0x2, uid 0x1: a uid where the predicate has the type default`}},
	{"value of another type", func(d damaged) {
		d.delta(dataKeyOf("nick", 1), posting.Posting{UID: posting.DeleteAllUID, Op: opSet, Type: posting.PostingValue, Value: []byte("ann")})
	}, []string{`data nick 0x1, uid 0xffffffffffffffff: val_type 0 where the predicate has the type string (9)`}},
	{"language without @lang", func(d damaged) {
		p := valueOf(value.Default, "y")
		p.UID, p.Type, p.Lang = conflict.Fingerprint([]byte("en")), posting.PostingValueLang, []byte("en")
		d.delta(dataKeyOf("any", 2), p)
	}, []string{`data any 0x2, uid 0x19cc2053c02c617e: the language tag "en", and the predicate is not @lang`}},
	{"uid of another list value", func(d damaged) {
		p := listValueOf("red van")
		p.UID = 5
		d.delta(dataKeyOf("tag", 1), p)
		d.delta(indexKeyOf("tag", "\x01van"), refTo(1, opSet))
		d.delta(countKeyOf("tag", 2), refTo(1, opDelete))
		d.delta(countKeyOf("tag", 3), refTo(1, opSet))
	}, []string{`data tag 0x1, uid 0x5: the uid is not the fingerprint of the value, 0x2ba9a8713c65987b`}},
	{"value that is none", func(d damaged) { d.delta(dataKeyOf("any", 1), valueOf(value.Bool, "x")) },
		[]string{`data any 0x1, uid 0xffffffffffffffff: val_type 4: stored bool of 1 bytes: a bool is one byte, 0 or 1`}},

	{"set of what is there in a counted list", func(d damaged) { d.delta(dataKeyOf("tag", 1), listValueOf("red car")) },
		[]string{`data tag 0x1, uid 0x86985f4c6d252082: a set of what stood there already in a counted list, not an overwrite`}},
	{"delete of what is not there in a counted list", func(d damaged) { d.delta(reverseKeyOf("pal", 3), refTo(9, opDelete)) },
		[]string{`reverse pal 0x3, uid 0x9: a delete of what did not stand there in a counted list`}},
	{"overwrite of what is not there in a counted list", func(d damaged) {
		d.delta(reverseKeyOf("pal", 5), refTo(1, opOverwrite))
		d.delta(dataKeyOf("pal", 1), targetTo(5, opSet))
		d.delta(countKeyOf("pal", 2), refTo(1, opDelete))
		d.delta(countKeyOf("pal", 3), refTo(1, opSet))
		d.delta(countReverseKeyOf("pal", 1), refTo(5, opSet))
	}, []string{`reverse pal 0x5, uid 0x1: an overwrite of what did not stand there in a counted list, not a set`}},

	{"value beside the marker", func(d damaged) { d.delta(dataKeyOf("any", 1), starPosting(), valueOf(value.Default, "x")) },
		[]string{`data any 0x1, uid 0xffffffffffffffff: a value under the uid of the delete-all marker in one delta with it`}},
	{"overwrite behind the marker in a counted list", func(d damaged) {
		d.delta(dataKeyOf("boss", 1), starPosting(), targetTo(2, opOverwrite))
	}, []string{`data boss 0x1, uid 0x2: op 3 behind a delete-all marker in a counted list, not set`}},

	{"bytes that are no delta", func(d damaged) {
		d.write(posting.Entry{Key: dataKeyOf("cold", 1), Value: []byte("\x12\xffjunk"), Meta: posting.MetaDelta})
	}, []string{`data cold 0x1: malformed value: byte 1: length 13695 in the 3 bytes left`}},
	{"meta of nothing", func(d damaged) {
		d.write(posting.Entry{Key: dataKeyOf("cold", 1), Value: []byte("x"), Meta: 0x20})
	}, []string{`data cold 0x1: user meta 0x20 is not that of a list`}},
	{"bad bytes below good ones", func(d damaged) {
		d.write(posting.Entry{Key: dataKeyOf("cold", 1), Value: []byte("\x12\xffjunk"), Meta: posting.MetaDelta})
		d.complete(dataKeyOf("cold", 1), posting.Complete{Pack: posting.MakePack([]uint64{2})})
	}, []string{`data cold 0x1: malformed value: byte 1: length 13695 in the 3 bytes left`}},

	{"part missing", func(d damaged) {
		d.complete(dataKeyOf("cold", 7), posting.Complete{Splits: []uint64{1, 100}})
	}, []string{
		`data cold 0x7: the part from 0x1 is missing`,
		`data cold 0x7: the part from 0x64 is missing`,
	}},
	{"part of no list", func(d damaged) {
		d.complete(posting.AppendPartKey(nil, dataKeyOf("cold", 1), 1), posting.Complete{Pack: posting.MakePack([]uint64{2})})
	}, []string{`data cold 0x1 part 0x1: no list names this part`}},
	{"parts not of the list's version, out of their range, empty", func(d damaged) {
		key := dataKeyOf("cold", 7)
		d.complete(posting.AppendPartKey(nil, key, 1), posting.Complete{Pack: posting.MakePack([]uint64{2})})
		d.write(
			posting.Entry{Key: key, Value: posting.AppendList(nil, &posting.Complete{Splits: []uint64{1, 100, 200}}), Meta: posting.MetaComplete},
			posting.Entry{Key: posting.AppendPartKey(nil, key, 100), Value: posting.AppendList(nil, &posting.Complete{Pack: posting.MakePack([]uint64{150, 201})}), Meta: posting.MetaComplete},
			posting.Entry{Key: posting.AppendPartKey(nil, key, 200), Meta: posting.MetaEmpty},
		)
	}, []string{
		`data cold 0x7: the part from 0x1 has the version N`,
		`data cold 0x7: the part from 0x64 to 0xc7 holds uids from 0x96 to 0xc9`,
		`data cold 0x7: the part from 0xc8 is empty`,
	}},

	{"unknown predicate", func(d damaged) {
		d.delta(dataKeyOf("ghost", 3), valueOf(value.String, "boo"))
		d.delta(dataKeyOf("ghost", 4), valueOf(value.String, "boo"))
		d.delta(indexKeyOf("ghost", "\x02boo"), refTo(3, opSet))
	}, []string{
		`data ghost 0x3: the predicate is not in the schema; it has 2 lists of kind data that are not empty, of which this is the first`,
		`index ghost exact "boo": the predicate is not in the schema; it has 1 lists of kind index that are not empty, of which this is the first`,
	}},
	{"another namespace", func(d damaged) {
		d.delta(posting.AppendDataKey(nil, 7, "nick", 3), valueOf(value.String, "boo"))
	}, []string{
		`data nick 0x3 in namespace 0x7: the predicate is not in the schema; it has 1 lists of kind data that are not empty, of which this is the first`,
	}},
	{"key of no kind", func(d damaged) {
		d.delta(append(posting.PredicatePrefix(nil, 0, "nick"), 0x03, 1), refTo(3, opSet))
	}, []string{`key 00000000000000000000046e69636b0301: malformed key 00000000000000000000046e69636b0301: unknown kind byte 0x03`}},
	{"key of no space", func(d damaged) { d.delta([]byte("\x03nonsense"), refTo(3, opSet)) },
		[]string{`key 036e6f6e73656e7365: malformed key 036e6f6e73656e7365: 9 bytes, fewer than 11`}},

	{"schema of another name", func(d damaged) {
		p := schema.Predicate{Name: "other", Type: value.String}
		d.write(posting.Entry{Key: posting.AppendSchemaKey(nil, 0, "nick"), Value: p.AppendUpdate(nil), Meta: posting.MetaSchema})
	}, []string{`schema nick: the value is that of "other" in namespace 0x0`}},
	{"schema that is none", func(d damaged) {
		d.write(posting.Entry{Key: posting.AppendSchemaKey(nil, 0, "nick"), Value: []byte("\x0a\xff"), Meta: posting.MetaSchema})
	}, []string{`schema nick: stored schema: field 1: unexpected EOF`}},
	{"schema with the meta of a list", func(d damaged) {
		p := schema.Predicate{Name: "nick", Type: value.String}
		d.write(posting.Entry{Key: posting.AppendSchemaKey(nil, 0, "nick"), Value: p.AppendUpdate(nil), Meta: posting.MetaComplete})
	}, []string{`schema nick: user meta 0x08, not 0x01`}},
	{"type of another name", func(d damaged) {
		p := schema.TypeDef{Name: "Dog"}
		d.write(posting.Entry{Key: posting.AppendTypeKey(nil, 0, "Person"), Value: p.AppendUpdate(nil), Meta: posting.MetaSchema})
	}, []string{`type Person: the value is that of "Dog" in namespace 0x0`}},
}

func TestVerifyFindsDamage(t *testing.T) {
	for _, tt := range damages {
		t.Run(tt.name, func(t *testing.T) {
			d := newDamaged(t)
			tt.damage(d)
			got := d.violations()
			for i := range got {
				got[i] = regexp.MustCompile(`has the version \d+`).ReplaceAllString(got[i], "has the version N")
			}
			require.Equal(t, tt.want, got)
		})
	}
}

// TestVerifyNamesEveryViolation breaks an index whole, so that it is looked at
// in several pieces and in several tables.
func TestVerifyNamesEveryViolation(t *testing.T) {
	const subjects = 3000
	d := damaged{t, openAlter(t, "nick: string @index(exact) .")}
	var edges []mutation.Edge
	for uid := range uint64(subjects) {
		edges = append(edges, mutation.Edge{Subject: uid + 1, Predicate: "nick", Value: value.Value{Type: value.String, Data: fmt.Append(nil, "n", uid%100)}})
	}
	d.mutateForTest(t, edges)
	var gone []posting.Entry
	for i := range 100 {
		gone = append(gone, posting.Entry{Key: indexKeyOf("nick", fmt.Sprintf("\x02n%d", i)), Meta: posting.MetaEmpty})
	}
	d.write(gone...)
	require.Len(t, d.violations(), subjects)

	view, err := d.View(context.Background(), 0)
	require.NoError(t, err)
	defer view.Close()
	v := &verifier{opts: VerifyOptions{Workers: 2, Limit: 10}, store: d.store, reader: view.reader, snap: view.snap, pairBytes: 20_000}
	require.NoError(t, v.run(context.Background()))
	r := v.finish()
	require.EqualValues(t, subjects, r.Found)
	require.Len(t, r.Violations, 10)
}

// TestVerifyReadsTables verifies a store large enough for Badger to have
// written tables, by which its keys are cut up.
func TestVerifyReadsTables(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	opts := alterOptions(dir)
	db, err := Open(ctx, opts)
	require.NoError(t, err)
	require.NoError(t, db.Alter(ctx, "likes: [uid] @reverse @count . name: string @index(exact) ."))
	for n := range uint64(20) {
		var edges []mutation.Edge
		for i := range uint64(1000) {
			uid := binary.BigEndian.Uint64([]byte{0, 0, 0, 0, byte(n * 10), 0, byte(i >> 8), byte(i)}) + 1
			edges = append(edges,
				mutation.Edge{Subject: uid, Predicate: "likes", Object: mutation.ObjectUID, Target: 1 + i%50},
				mutation.Edge{Subject: uid, Predicate: "name", Value: value.Value{Type: value.String, Data: fmt.Append(nil, "a name of some length ", uid)}})
		}
		db.mutateForTest(t, edges)
	}
	require.NoError(t, db.Close())
	db, err = Open(ctx, opts)
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close()) }()
	require.NotEmpty(t, db.store.Cuts())
	var last VerifyProgress
	r, err := db.Verify(ctx, VerifyOptions{Workers: 2, Progress: func(p VerifyProgress) { last = p }})
	require.NoError(t, err)
	require.Empty(t, r.Violations)
	require.LessOrEqual(t, last.Keys, r.Keys)
	require.EqualValues(t, 20_000+20_000+20_000+50+1+20+2, r.Keys)
	require.EqualValues(t, 20_000, r.Predicates[1].Tokens)
	require.EqualValues(t, 20_000, r.Predicates[0].ReverseEntries)
}

// TestVerifySplitLists follows a list that is split, starred and filled again.
func TestVerifySplitLists(t *testing.T) {
	d := damaged{t, openAlterIn(t, t.TempDir())}
	t.Cleanup(func() { require.NoError(t, d.Close()) })
	require.NoError(t, d.Alter(context.Background(), "pal: [uid] @count ."))
	key := dataKeyOf("pal", 1)
	var edges []mutation.Edge
	for i := range uint64(10_000) {
		edges = append(edges, mutation.Edge{
			Subject: 1, Predicate: "pal", Object: mutation.ObjectUID, Target: i + 2,
			Facets: []mutation.Facet{{Key: "note", Value: fmt.Appendf(nil, "%060d", i)}},
		})
	}
	d.mutateForTest(t, edges)
	d.rollUp(key)
	r := d.store.Reader(^uint64(0))
	splits, err := r.Splits(key)
	r.Release()
	require.NoError(t, err)
	require.Greater(t, len(splits), 1)
	require.Empty(t, d.violations())
	before := openView(t, d.DB, 0)

	d.mutateForTest(t, alterEdges(t, `{ delete { <0x1> <pal> * . } set { <0x1> <pal> <0x2> . } }`))
	require.Empty(t, d.violations())
	d.rollUp(key)
	require.Empty(t, d.violations())
	n, err := before.Count(1, "pal")
	require.NoError(t, err)
	require.Equal(t, 10_000, n)
	d.mutateForTest(t, alterEdges(t, `{ delete { <0x1> <pal> * . } }`))
	d.rollUp(key)
	require.Empty(t, d.violations())
	n, err = openView(t, d.DB, 0).Count(1, "pal")
	require.NoError(t, err)
	require.Zero(t, n)
}

func (d damaged) rollUp(key []byte) {
	ctx := context.Background()
	ts, release, err := d.oracle.Timestamp(ctx)
	require.NoError(d, err)
	defer release()
	r := d.store.Reader(ts)
	defer r.Release()
	entries, err := r.RollUp(key)
	require.NoError(d, err)
	require.NotEmpty(d, entries)
	done := make(chan error, 1)
	require.NoError(d, d.store.Commit(ctx, posting.Commit{TS: ts, Entries: entries, Readable: func(err error) { done <- err }}))
	require.NoError(d, <-done)
}

func TestVerifyUnchecked(t *testing.T) {
	d := newDamaged(t)
	emb := schema.Predicate{Name: "emb", Type: value.Vector, IndexSpecs: []schema.IndexSpec{{Name: "hnsw"}}}
	odd := schema.Predicate{Name: "odd", Type: value.String, CustomTokenizers: []string{"anagram"}}
	for _, p := range []*schema.Predicate{&emb, &odd} {
		d.write(posting.Entry{Key: posting.AppendSchemaKey(nil, 0, p.Name), Value: p.AppendUpdate(nil), Meta: posting.MetaSchema})
	}
	d.schema.Lock()
	d.schema.snap = d.schema.snap.With([]*schema.Predicate{&emb, &odd}, nil)
	d.schema.Unlock()
	d.delta(dataKeyOf("odd", 1), valueOf(value.String, "x"))
	d.delta(indexKeyOf("odd", "\x80x"), refTo(1, opSet))
	d.delta(dataKeyOf("emb__vector_", 1), valueOf(value.String, "x"))
	report, err := d.Verify(context.Background(), VerifyOptions{})
	require.NoError(t, err)
	require.Empty(t, report.Violations)
	unchecked := make(map[string]string)
	for _, p := range report.Predicates {
		if p.Unchecked != "" {
			unchecked[p.Predicate] = p.Unchecked
		}
	}
	require.Equal(t, map[string]string{
		"emb":          `predicate "emb" has an index of kind "hnsw", which is not supported`,
		"emb__vector_": `it belongs to the vector index of predicate "emb"`,
		"odd":          `predicate "odd" has the custom tokenizer "anagram", which is not supported`,
	}, unchecked)
	d.delta(dataKeyOf("odd", 2), valueOf(value.Int, "x"))
	require.Equal(t, []string{`data odd 0x2, uid 0xffffffffffffffff: val_type 2: stored int of 1 bytes: an int has 8 bytes, not 1`}, d.violations())
}

func TestVerifyEndsWithItsContext(t *testing.T) {
	d := newDamaged(t)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := d.Verify(ctx, VerifyOptions{})
	require.ErrorIs(t, err, context.Canceled)
}
