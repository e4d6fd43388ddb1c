package edgemill

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/edgemill/edgemill/conflict"
	"github.com/edgemill/edgemill/mutation"
	"github.com/edgemill/edgemill/posting"
	"github.com/edgemill/edgemill/schema/value"
)

const viewSchema = `
	name: string @index(exact, term, fulltext) @lang .
	nick: string @index(hash) .
	tag: [string] @index(term) @count .
	age: int @index(int) .
	born: datetime @index(year) .
	loc: geo @index(geo) .
	boss: uid .
	pal: [uid] @reverse @count .
	kin: [uid] @reverse .
	any: default .
`

const viewData = `{ set {
	<0x1> <name> "Red Fox" .
	<0x1> <name> "Roter Fuchs"@de (source="book") .
	<0x2> <name> "red car"@en .
	<0x3> <name> "Red Fox"@en .
	<0x1> <nick> "ann" .
	<0x1> <tag> "red car" .
	<0x1> <tag> "bike" (since=1991) .
	<0x2> <tag> "a red bike" .
	<0x1> <age> "7" .
	<0x2> <age> "7" .
	<0x1> <born> "1999-05-06" .
	<0x1> <loc> "{'type':'Point','coordinates':[1.5,2.5]}" .
	<0x1> <boss> <0x2> .
	<0x1> <pal> <0x2> (since=2006, close=true) .
	<0x1> <pal> <0x8000000000000000> .
	<0x2> <pal> <0xfffffffffffffffe> .
	<0x3> <pal> <0x2> .
} }`

func newViewDB(t testing.TB) *DB {
	db := openAlter(t, viewSchema)
	db.mutateForTest(t, alterEdges(t, viewData))
	return db
}

func openView(t testing.TB, db *DB, ts uint64) *View {
	t.Helper()
	v, err := db.View(context.Background(), ts)
	require.NoError(t, err)
	t.Cleanup(v.Close)
	return v
}

// uids makes a require of what a view gives.
func uids(t testing.TB) func([]uint64, error) []uint64 {
	return func(uids []uint64, err error) []uint64 {
		t.Helper()
		require.NoError(t, err)
		return uids
	}
}

func TestViewValues(t *testing.T) {
	v := openView(t, newViewDB(t), 0)
	val, ok, err := v.Value(1, "name")
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, "Red Fox", string(val.Data))
	val, ok, err = v.ValueLang(1, "name", "de")
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, "Roter Fuchs", string(val.Data))
	_, ok, err = v.ValueLang(1, "name", "en")
	require.NoError(t, err)
	require.False(t, ok)
	_, ok, err = v.Value(2, "name")
	require.NoError(t, err)
	require.False(t, ok)

	facets, err := v.ValueFacets(1, "name", "de")
	require.NoError(t, err)
	require.Equal(t, []mutation.Facet{{Key: "source", Value: []byte("book")}}, facets)

	values, err := v.Values(1, "tag")
	require.NoError(t, err)
	var tags []string
	for _, val := range values {
		tags = append(tags, string(val.Value.Data))
		require.Equal(t, string(val.Value.Data) == "bike", len(val.Facets) == 1)
	}
	require.ElementsMatch(t, []string{"red car", "bike"}, tags)
	for val, err := range v.EachValue(1, "tag") {
		require.NoError(t, err)
		require.Equal(t, values[0], val)
		break
	}

	n, err := v.Count(1, "name")
	require.NoError(t, err)
	require.Equal(t, 2, n)
	names, err := v.Predicates(1)
	require.NoError(t, err)
	require.Equal(t, []string{"age", "born", "boss", "loc", "name", "nick", "pal", "tag"}, names)
	names, err = v.Predicates(99)
	require.NoError(t, err)
	require.Empty(t, names)
}

func TestViewEdges(t *testing.T) {
	v, is := openView(t, newViewDB(t), 0), uids(t)
	require.Equal(t, []uint64{2, 1 << 63}, is(v.Targets(1, "pal")))
	require.Equal(t, []uint64{2}, is(v.Targets(1, "boss")))
	require.Equal(t, []uint64{1 << 63}, is(collect(v.TargetsFrom(1, "pal", 3))))
	require.Equal(t, []uint64{1, 3}, is(v.Sources(2, "pal")))
	require.Equal(t, []uint64{3}, is(collect(v.SourcesFrom(2, "pal", 2))))
	require.Equal(t, []uint64{2}, is(v.Sources(0xfffffffffffffffe, "pal")))
	require.Empty(t, is(v.Sources(7, "pal")))
	require.Equal(t, []uint64{2, 3}, is(v.ByCount("pal", 1)))
	require.Equal(t, []uint64{3}, is(collect(v.ByCountFrom("pal", 1, 3))))
	require.Equal(t, []uint64{2}, is(v.ByReverseCount("pal", 2)))
	require.Equal(t, []uint64{1 << 63, 0xfffffffffffffffe}, is(v.ByReverseCount("pal", 1)))
	require.Equal(t, []uint64{0xfffffffffffffffe}, is(collect(v.ByReverseCountFrom("pal", 1, 1<<63+1))))
	require.Equal(t, []uint64{1, 2, 3}, is(collect(v.Has("pal", 0))))
	require.Equal(t, []uint64{2, 3}, is(collect(v.Has("pal", 2))))

	facets, err := v.Facets(1, "pal", 2)
	require.NoError(t, err)
	year, err := value.Parse(value.Int, "2006")
	require.NoError(t, err)
	require.Equal(t, []mutation.Facet{
		{Key: "close", Type: posting.FacetBool, Value: []byte{1}},
		{Key: "since", Type: posting.FacetInt, Value: year.Data},
	}, facets)
	facets, err = v.Facets(1, "pal", 7)
	require.NoError(t, err)
	require.Empty(t, facets)
}

func TestViewLookup(t *testing.T) {
	v := openView(t, newViewDB(t), 0)
	tests := []struct {
		pred, tokenizer, text, lang string
		want                        []uint64
	}{
		{"name", "exact", "Red Fox", "", []uint64{1}},
		{"name", "exact", "Red Fox", "en", []uint64{3}},
		{"name", "exact", "Red Fox", "de", nil},
		{"name", "exact", "red fox", "", nil},
		{"name", "term", "FOX red", "", []uint64{1, 3}},
		{"name", "term", "red", "", []uint64{1, 2, 3}},
		{"name", "term", "red blue", "", nil},
		{"name", "fulltext", "the foxes", "en", []uint64{1, 3}},
		{"name", "fulltext", "the", "", nil}, // a stop word has no token
		{"nick", "hash", "ann", "", []uint64{1}},
		{"tag", "term", "bike", "", []uint64{1, 2}},
		{"age", "int", "7", "", []uint64{1, 2}},
		{"age", "int", "8", "", nil},
		{"born", "year", "1999", "", []uint64{1}},
		{"loc", "geo", "{'type':'Point','coordinates':[1.5,2.5]}", "", []uint64{1}},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprintf("%s %s %s@%s", tt.pred, tt.tokenizer, tt.text, tt.lang), func(t *testing.T) {
			got, err := v.Lookup(tt.pred, tt.tokenizer, tt.text, tt.lang)
			require.NoError(t, err)
			require.Equal(t, tt.want, got)
		})
	}
	require.Equal(t, []uint64{2}, uids(t)(collect(v.LookupFrom("tag", "term", "bike", "", 2))))
}

func TestViewRefuses(t *testing.T) {
	v := openView(t, newViewDB(t), 0)
	third := func(_ any, _ bool, err error) error { return err }
	tests := []struct {
		err  error
		is   error
		text string
	}{
		{third(v.Value(1, "nobody")), mutation.ErrUnknownPredicate, `predicate "nobody": predicate is not in the schema`},
		{second(v.Predicates(0)), nil, ""},
		{third(v.Value(1, "pal")), ErrWrongKind, `predicate "pal": the predicate is of another kind: it holds uids`},
		{third(v.Value(1, "tag")), ErrWrongKind, `predicate "tag": the predicate is of another kind: it is a list, whose values come from Values`},
		{third(v.ValueLang(1, "nick", "en")), nil, `predicate "nick": language "en": the predicate is not @lang`},
		{second(v.Values(1, "pal")), ErrWrongKind, `predicate "pal": the predicate is of another kind: it holds uids`},
		{second(v.Targets(1, "name")), ErrWrongKind, `predicate "name": the predicate is of another kind: it holds values of type string`},
		{second(v.Facets(1, "name", 2)), ErrWrongKind, `predicate "name": the predicate is of another kind: it holds values of type string`},
		{second(v.Sources(1, "boss")), ErrNotKept, `predicate "boss": @reverse: not kept by the schema`},
		{second(v.ByCount("boss", 1)), ErrNotKept, `predicate "boss": @count: not kept by the schema`},
		{second(v.ByCount("pal", 0)), ErrNotKept, `predicate "pal": count 0: not kept by the schema: counts begin at 1`},
		{second(v.ByReverseCount("kin", 1)), ErrNotKept, `predicate "kin": @count: not kept by the schema`},
		{second(v.ByReverseCount("tag", 1)), ErrWrongKind, `predicate "tag": the predicate is of another kind: it holds values of type string`},
		{second(v.Lookup("name", "trigram", "x", "")), ErrNotKept, `predicate "name": index trigram: not kept by the schema: it has exact, term, fulltext`},
		{second(v.Lookup("any", "exact", "x", "")), ErrNotKept, `predicate "any": index exact: not kept by the schema: it has no index`},
		{second(v.Lookup("nick", "hash", "x", "en")), nil, `predicate "nick": language "en": the predicate is not @lang`},
		{second(v.Lookup("age", "int", "seven", "")), nil, `predicate "age": "seven" is not valid as int`},
		{second(collect(v.Has("nobody", 0))), mutation.ErrUnknownPredicate, `predicate "nobody": predicate is not in the schema`},
	}
	for _, tt := range tests {
		if tt.text == "" {
			require.NoError(t, tt.err)
			continue
		}
		require.ErrorContains(t, tt.err, tt.text)
		if tt.is != nil {
			require.ErrorIs(t, tt.err, tt.is)
		}
	}
}

func TestViewTimestamps(t *testing.T) {
	ctx := context.Background()
	db := newViewDB(t)
	is := uids(t)
	before := openView(t, db, 0)
	db.mutateForTest(t, alterEdges(t, `{ set { <0x9> <nick> "ann" . } delete { <0x1> <nick> * . } }`))
	require.Equal(t, []uint64{1}, is(before.Lookup("nick", "hash", "ann", "")))
	require.Equal(t, []uint64{9}, is(openView(t, db, 0).Lookup("nick", "hash", "ann", "")))
	again := openView(t, db, before.TS())
	require.Equal(t, before.TS(), again.TS())
	require.Equal(t, []uint64{1}, is(again.Lookup("nick", "hash", "ann", "")))

	_, err := db.View(ctx, 1<<40)
	require.ErrorIs(t, err, conflict.ErrUnknownTimestamp)
	require.NoError(t, db.store.UpdateState(func(s *posting.State) { s.Horizon = before.TS() + 1 }))
	_, err = db.View(ctx, before.TS())
	require.ErrorIs(t, err, conflict.ErrTooOld)

	again.Close()
	again.Close()
	_, err = again.Targets(1, "pal")
	require.ErrorIs(t, err, ErrClosed)
	_, err = collect(again.Has("pal", 0))
	require.ErrorIs(t, err, ErrClosed)
}

// TestViewOfForgottenLists reads below a rollup of which the versions before
// are gone.
func TestViewOfForgottenLists(t *testing.T) {
	db := openAlter(t, viewSchema)
	d := damaged{t, db}
	early := d.write(posting.Entry{Key: dataKeyOf("any", 1), Value: posting.AppendPosting(nil, ptr(valueOf(value.Default, "x"))), Meta: posting.MetaDelta})
	d.complete(dataKeyOf("pal", 5), posting.Complete{Pack: posting.MakePack([]uint64{2, 3})})
	old := openView(t, db, early)
	_, err := old.Targets(5, "pal")
	require.ErrorIs(t, err, conflict.ErrTooOld)
	require.ErrorContains(t, err, "data pal 0x5")
	_, err = collect(old.Has("pal", 0))
	require.ErrorIs(t, err, conflict.ErrTooOld)
	require.Equal(t, []uint64{1}, uids(t)(collect(old.Has("any", 0))))
	require.Empty(t, uids(t)(old.Targets(6, "pal")))
	require.Equal(t, []uint64{2, 3}, uids(t)(openView(t, db, 0).Targets(5, "pal")))
}

func ptr[T any](x T) *T { return &x }

// TestViewOfAlteredPredicates asks indexes that did not exist at the view's
// timestamp.
func TestViewOfAlteredPredicates(t *testing.T) {
	ctx := context.Background()
	db := newViewDB(t)
	before := openView(t, db, 0)
	txn, err := db.Begin(ctx)
	require.NoError(t, err)
	defer txn.Discard()
	require.NoError(t, db.Alter(ctx, "nick: string @index(hash, exact) . boss: uid @reverse @count ."))

	past := openView(t, db, before.TS())
	for _, err := range []error{
		second(past.Lookup("nick", "exact", "ann", "")), second(past.Lookup("nick", "hash", "ann", "")),
		second(past.Sources(2, "boss")), second(past.ByCount("boss", 1)), second(past.ByReverseCount("boss", 1)),
	} {
		require.ErrorIs(t, err, ErrAltered)
	}
	require.Equal(t, []uint64{2}, uids(t)(past.Targets(1, "boss")))
	require.Equal(t, []uint64{1}, uids(t)(past.Lookup("tag", "term", "car", "")))

	for _, v := range []*View{before, txn.View()} {
		require.Equal(t, []uint64{1}, uids(t)(v.Lookup("nick", "hash", "ann", "")))
		require.ErrorIs(t, second(v.Sources(2, "boss")), ErrNotKept)
	}
	now := openView(t, db, 0)
	require.Equal(t, []uint64{1}, uids(t)(now.Lookup("nick", "exact", "ann", "")))
	require.Equal(t, []uint64{1}, uids(t)(now.Sources(2, "boss")))
}

// TestOldViewBesideAlters: what a view of before an Alter reads after it is kept by
// the cache for such views only. Otherwise a later transaction would take it for
// what is there, and write wrong counts.
func TestOldViewBesideAlters(t *testing.T) {
	ctx := context.Background()
	opts := alterOptions("")
	opts.CacheBytes = 1 << 20
	db, err := Open(ctx, opts)
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close()) }()
	const with, without = "nick: string @index(exact) . pal: [uid] @reverse @count .", "nick: string . pal: [uid] ."
	require.NoError(t, db.Alter(ctx, with))
	db.mutateForTest(t, alterEdges(t, `set {
		<0x1> <nick> "ann" .
		<0x1> <pal> <0x9> .
		<0x2> <pal> <0x9> .
		<0x3> <pal> <0x9> .
	}`))
	before := openView(t, db, 0)
	readBefore := func() {
		for range 3 {
			require.Equal(t, []uint64{1}, uids(t)(before.Lookup("nick", "exact", "ann", "")))
			require.Equal(t, []uint64{1, 2, 3}, uids(t)(before.Sources(9, "pal")))
			require.Equal(t, []uint64{9}, uids(t)(before.ByReverseCount("pal", 3)))
		}
	}
	require.NoError(t, db.Alter(ctx, without))
	readBefore()
	db.mutateForTest(t, alterEdges(t, `set {
		<0x1> <nick> "bob" .
	}
	delete {
		<0x1> <pal> <0x9> .
		<0x2> <pal> <0x9> .
	}`))
	require.NoError(t, db.Alter(ctx, with))
	readBefore()

	now := openView(t, db, 0)
	require.Empty(t, uids(t)(now.Lookup("nick", "exact", "ann", "")))
	require.Equal(t, []uint64{3}, uids(t)(now.Sources(9, "pal")))
	db.mutateForTest(t, alterEdges(t, `set { <0x7> <pal> <0x9> . }`))
	require.Equal(t, []uint64{9}, uids(t)(openView(t, db, 0).ByReverseCount("pal", 2)))
	readBefore()
	verifyClean(t, db)
}

func second[T any](_ T, err error) error { return err }

func TestViewOfTransaction(t *testing.T) {
	ctx := context.Background()
	db := newViewDB(t)
	is := uids(t)
	txn, err := db.Begin(ctx)
	require.NoError(t, err)
	defer txn.Discard()
	v := txn.View()
	require.Equal(t, txn.StartTS(), v.TS())
	require.Equal(t, txn.Schema(), v.Schema())
	_, err = txn.Mutate(ctx, alterEdges(t, `{
		set { <0x4> <pal> <0x2> . <0x1> <nick> "zed" . }
		delete { <0x2> <pal> * . <0x3> <name> * . }
	}`))
	require.NoError(t, err)
	db.mutateForTest(t, alterEdges(t, `{ set { <0x6> <tag> "red" . } }`))
	require.Equal(t, []uint64{1, 3, 4}, is(v.Sources(2, "pal")))
	require.Equal(t, []uint64{1, 3, 4}, is(collect(v.Has("pal", 0))))
	require.Equal(t, []uint64{3, 4}, is(v.ByCount("pal", 1)))
	require.Equal(t, []uint64{1}, is(v.Lookup("nick", "hash", "zed", "")))
	require.Empty(t, is(v.Lookup("nick", "hash", "ann", "")))
	require.Equal(t, []uint64{1, 2}, is(v.Lookup("name", "term", "red", "")))
	require.Equal(t, []uint64{1, 2}, is(collect(v.Has("tag", 0))), "what others commit meanwhile is not seen")

	// The loops over a view may end it.
	for _, err := range v.Has("pal", 0) {
		require.NoError(t, err)
		_, err = txn.Commit(ctx)
		require.NoError(t, err)
		break
	}
	_, err = v.Targets(1, "pal")
	require.ErrorIs(t, err, ErrClosed)
	v.Close()
	require.Equal(t, []uint64{1, 3, 4}, is(collect(openView(t, db, 0).Has("pal", 0))))
}

// TestViewOwnsItsResults changes what a view gave.
func TestViewOwnsItsResults(t *testing.T) {
	v := openView(t, newViewDB(t), 0)
	for range 2 {
		val, _, err := v.Value(1, "nick")
		require.NoError(t, err)
		require.Equal(t, "ann", string(val.Data))
		val.Data[0] = 'x'
		facets, err := v.Facets(1, "pal", 2)
		require.NoError(t, err)
		require.Equal(t, byte(1), facets[0].Value[0])
		facets[0].Value[0] = 0
	}
}

func TestViewOfNamespace(t *testing.T) {
	ctx := context.Background()
	opts := alterOptions("")
	opts.Namespace = 7
	db, err := Open(ctx, opts)
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close()) }()
	require.NoError(t, db.Alter(ctx, "nick: string @index(exact) ."))
	db.mutateForTest(t, alterEdges(t, `{ set { <0x1> <nick> "ann" . } }`))
	v := openView(t, db, 0)
	require.Equal(t, []uint64{1}, uids(t)(v.Lookup("nick", "exact", "ann", "")))
	require.Equal(t, []uint64{1}, uids(t)(collect(v.Has("nick", 0))))
	names, err := v.Predicates(1)
	require.NoError(t, err)
	require.Equal(t, []string{"nick"}, names)
	report, err := db.Verify(ctx, VerifyOptions{})
	require.NoError(t, err)
	require.Empty(t, report.Violations)
	require.EqualValues(t, 7, report.Predicates[0].Namespace)
	require.EqualValues(t, 1, report.Predicates[0].IndexEntries)
}

// TestViewHasManySubjects goes over more subjects than one page, of which some
// have lost what they had.
func TestViewHasManySubjects(t *testing.T) {
	db := openAlter(t, "any: default .")
	var set, del []mutation.Edge
	var want []uint64
	for uid := range uint64(3*walkedAtOnce + 17) {
		e := mutation.Edge{Subject: uid*3 + 1, Predicate: "any", Value: text("x")}
		set = append(set, e)
		if uid%7 == 0 {
			e.Op = mutation.Delete
			del = append(del, e)
			continue
		}
		want = append(want, e.Subject)
	}
	db.mutateForTest(t, set)
	db.mutateForTest(t, del)
	require.Equal(t, want, uids(t)(collect(openView(t, db, 0).Has("any", 0))))
	n := 0
	v := openView(t, db, 0)
	for uid, err := range v.Has("any", 0) {
		if n == 10 {
			v.Close()
		}
		if err != nil {
			require.ErrorIs(t, err, ErrClosed)
			require.Less(t, n, len(want))
			return
		}
		require.Equal(t, want[n], uid)
		n++
	}
	t.Fatal("the view was closed, and its loop went on to the end")
}

func TestViewsBesideBatches(t *testing.T) {
	ctx := context.Background()
	db := openAlter(t, "pal: [uid] @reverse .")
	txn, err := db.Begin(ctx)
	require.NoError(t, err)
	defer txn.Discard()
	stop := make(chan struct{})
	failed := make(chan error, 1)
	go func() {
		defer close(failed)
		for v := txn.View(); ; {
			n, err := v.Count(1, "pal")
			if err != nil || n%2 != 0 {
				failed <- fmt.Errorf("%d targets, %w", n, err)
				return
			}
			select {
			case <-stop:
				return
			default:
			}
		}
	}()
	for i := range uint64(100) {
		_, err := txn.Mutate(ctx, []mutation.Edge{
			{Subject: 1, Predicate: "pal", Object: mutation.ObjectUID, Target: 2*i + 2},
			{Subject: 1, Predicate: "pal", Object: mutation.ObjectUID, Target: 2*i + 3},
		})
		require.NoError(t, err)
	}
	close(stop)
	require.NoError(t, <-failed)
	got := uids(t)(txn.View().Targets(1, "pal"))
	require.Len(t, got, 200)
	require.True(t, slices.IsSorted(got))
}
