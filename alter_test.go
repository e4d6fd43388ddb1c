package edgemill

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/edgemill/edgemill/mutation"
	"github.com/edgemill/edgemill/posting"
	"github.com/edgemill/edgemill/schema"
)

func requireSameLists(t testing.TB, want, got []string, what string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("%s (-want +got):\n%s", what, diff)
	}
}

// TestAlterEqualsLoadingWith adds to each first schema what the second has, on
// data that is there, and takes it away again.
func TestAlterEqualsLoadingWith(t *testing.T) {
	tests := []struct {
		without, with string
		langs         []string
	}{
		{"p: string .", "p: string @index(exact) .", nil},
		{"p: string .", "p: string @index(term, fulltext, trigram, hash, sha256, ngram) .", nil},
		{"p: string @index(term) .", "p: string @index(exact, term) @count .", nil},
		{"p: string @index(term, exact) @count .", "p: string @index(exact, term) @upsert .", nil},
		{"p: string @lang .", "p: string @lang @index(exact, term, fulltext) .", []string{"", "en", "de", "fr"}},
		{"p: string @lang .", "p: string @lang @count .", []string{"", "en", "de"}},
		{"p: [string] .", "p: [string] @index(exact, term) @count .", nil},
		{"p: [string] .", "p: [string] @count .", nil},
		{"p: int .", "p: int @index(int) .", nil},
		{"p: [int] .", "p: [int] @index(int) @noconflict .", nil},
		{"p: [float] .", "p: [float] @index(float) .", nil},
		{"p: bool .", "p: bool @index(bool) .", nil},
		{"p: datetime .", "p: datetime @index(year) .", nil},
		{"p: [datetime] @index(year) .", "p: [datetime] @index(hour) .", nil},
		{"p: geo .", "p: geo @index(geo) .", nil},
		{"p: bigfloat .", "p: bigfloat @index(bigfloat) @count .", nil},
		{"p: uid .", "p: uid @reverse .", nil},
		{"p: uid .", "p: uid @reverse @count .", nil},
		{"p: uid .", "p: uid @count .", nil},
		{"p: [uid] .", "p: [uid] @reverse .", nil},
		{"p: [uid] .", "p: [uid] @reverse @count .", nil},
		{"p: [uid] @reverse .", "p: [uid] @reverse @count .", nil},
		{"p: uid @reverse .", "p: uid @reverse @count .", nil},
		{"p: [uid] @count .", "p: [uid] @reverse @count .", nil},
		{"p: [uid] @count .", "p: [uid] @reverse .", nil},
	}
	for i, tt := range tests {
		t.Run(tt.without+" "+tt.with, func(t *testing.T) {
			ctx := context.Background()
			altered, loaded, plain := openAlter(t, tt.without), openAlter(t, tt.with), openAlter(t, tt.without)
			edges := newRandomEdges(t, uint64(i), tt.without, tt.langs...)
			edges.load(t, altered, loaded, plain)

			for round := range 2 {
				require.NoError(t, altered.Alter(ctx, tt.with))
				requireSameLists(t, listsAt(t, loaded, 0), listsAt(t, altered, 0), "added")
				requireVerified(t, altered)
				edges.load(t, altered, loaded, plain)
				requireSameLists(t, listsAt(t, loaded, 0), listsAt(t, altered, 0), "added, and more edges")
				requireVerified(t, altered)

				require.NoError(t, altered.Alter(ctx, tt.without))
				requireSameLists(t, listsAt(t, plain, 0), listsAt(t, altered, 0), "dropped")
				requireVerified(t, altered)
				edges.load(t, altered, loaded, plain)
				requireSameLists(t, listsAt(t, plain, 0), listsAt(t, altered, 0), fmt.Sprintf("dropped, and more edges, round %d", round))
			}
			require.Empty(t, altered.store.State().Alter)
			require.Equal(t, tt.without+"\n", altered.SchemaText())
			if !strings.Contains(tt.without, "@index") && !strings.Contains(tt.without, "@count") && !strings.Contains(tt.without, "@reverse") {
				require.Empty(t, keysOf(t, altered, "p"), "nothing is left of what was dropped")
			}
		})
	}
}

// TestAlterToList makes single values lists, which load as lists of one.
func TestAlterToList(t *testing.T) {
	tests := []struct{ scalar, list string }{
		{"p: string .", "p: [string] ."},
		{"p: string @lang .", "p: [string] @index(exact) ."},
		{"p: string @index(term) @count .", "p: [string] @index(exact, term) @count ."},
		{"p: string @index(exact) .", "p: [string] @count ."},
		{"p: int @index(int) .", "p: [int] @index(int) ."},
		{"p: default .", "p: [default] @count ."},
		{"p: uid @reverse .", "p: [uid] @reverse @count ."},
		{"p: uid @reverse @count .", "p: [uid] @reverse @count ."},
		{"p: uid .", "p: [uid] @count ."},
		{"p: [uid] @reverse .", "p: [uid] @reverse ."},
	}
	for i, tt := range tests {
		t.Run(tt.scalar+" "+tt.list, func(t *testing.T) {
			altered, loaded := openAlter(t, tt.scalar), openAlter(t, tt.list)
			edges := newRandomEdges(t, uint64(i), tt.scalar)
			edges.load(t, altered)
			before := listsAt(t, altered, 0)
			at := altered.store.MaxVersion()
			// The list is loaded with what the scalar holds in the end.
			loaded.mutateForTest(t, heldNow(t, altered))

			require.NoError(t, altered.Alter(context.Background(), tt.list))
			requireSameLists(t, listsAt(t, loaded, 0), listsAt(t, altered, 0), "altered")
			requireVerified(t, altered)
			edges.load(t, altered, loaded)
			requireSameLists(t, listsAt(t, loaded, 0), listsAt(t, altered, 0), "altered, and more edges")
			requireVerified(t, altered)
			requireSameLists(t, before, listsAt(t, altered, at), "an older read")
		})
	}
}

// heldNow are edges that set what a store holds.
func heldNow(t *testing.T, db *DB) []mutation.Edge {
	r := db.store.Reader(^uint64(0))
	defer r.Release()
	var edges []mutation.Edge
	prefix := posting.AppendPrefix(nil, 0, "p", posting.KindData)
	err := r.WalkLists(context.Background(), prefix, nil, func(key []byte, l *posting.List) error {
		k, err := posting.ParseKey(key)
		require.NoError(t, err)
		for p := range l.Postings(0) {
			e := mutation.Edge{Subject: k.UID, Predicate: "p", Lang: string(p.Lang)}
			facets, err := posting.DecodeFacets(p.Facets)
			require.NoError(t, err)
			for _, f := range facets {
				e.Facets = append(e.Facets, mutation.Facet{Key: f.Key, Type: f.Type, Value: f.Value})
			}
			if p.Type == posting.PostingRef {
				e.Object, e.Target = mutation.ObjectUID, p.UID
			} else {
				e.Value = p.Val()
			}
			edges = append(edges, e)
		}
		return nil
	})
	require.NoError(t, err)
	return edges
}

// TestAlterCase13 is the row of the list of faults about schema changes.
func TestAlterCase13(t *testing.T) {
	ctx := context.Background()
	t.Run("set again", func(t *testing.T) {
		db := openAlter(t, "nick: string .")
		db.mutateForTest(t, alterEdges(t, `{ set { <1> <nick> "ann" . } }`))
		require.NoError(t, db.Alter(ctx, "nick: string @index(exact) ."))
		db.mutateForTest(t, alterEdges(t, `{ set { <1> <nick> "ann" . } }`))
		require.Contains(t, listsAt(t, db, 0), `index nick exact "ann": 0x1(0 0 "" "" )`)
	})
	t.Run("star during the build", func(t *testing.T) {
		db := openAlter(t, "nick: string .")
		db.mutateForTest(t, alterEdges(t, `{ set { <1> <nick> "ann" . <2> <nick> "bob" . } }`))
		star := alterEdges(t, `{ delete { <1> <nick> * . } }`)
		db.alterLimits.at = func(p alterPoint) error {
			if p == atWrite {
				require.ErrorIs(t, db.tryMutateUnlocked(star), ErrSchemaChanged)
			}
			return nil
		}
		require.NoError(t, db.Alter(ctx, "nick: string @index(exact) ."))
		db.alterLimits.at = nil
		db.mutateForTest(t, star)
		require.Equal(t, []string{
			`data nick 0x2: 0xffffffffffffffff(1 9 "bob" "" )`,
			`index nick exact "bob": 0x2(0 0 "" "" )`,
		}, listsAt(t, db, 0))
	})
	t.Run("to a list", func(t *testing.T) {
		db := openAlter(t, "nick: string @index(exact) .")
		db.mutateForTest(t, alterEdges(t, `{ set { <1> <nick> "ann" . } }`))
		require.NoError(t, db.Alter(ctx, "nick: [string] @index(exact) ."))
		db.mutateForTest(t, alterEdges(t, `{ set { <1> <nick> "bob" . } }`))
		lists := listsAt(t, db, 0)
		require.Contains(t, lists, `index nick exact "ann": 0x1(0 0 "" "" )`)
		require.Contains(t, lists, `index nick exact "bob": 0x1(0 0 "" "" )`)
		require.Len(t, lists, 3)
		db.mutateForTest(t, alterEdges(t, `{ delete { <1> <nick> "ann" . } }`))
		lists = listsAt(t, db, 0)
		require.Contains(t, lists, `index nick exact "bob": 0x1(0 0 "" "" )`)
		require.Len(t, lists, 2)
		require.NotContains(t, strings.Join(lists, "\n"), "ann")
	})
}

// tryMutateUnlocked is tryMutate, or no more than ErrSchemaChanged while the
// schema state is held, when a transaction would wait.
func (db *DB) tryMutateUnlocked(edges []mutation.Edge) error {
	if !db.schema.TryRLock() {
		return ErrSchemaChanged
	}
	db.schema.RUnlock()
	return db.tryMutate(edges)
}

func TestAlterRefuses(t *testing.T) {
	long := strings.Repeat("x", 70_000)
	tests := []struct {
		name, schema, data, alter string
		is                        error
		says                      []string
	}{
		{"type", "p: string .", `<1> <p> "5" .`, "p: int .", ErrDataInTheWay, []string{`"p"`, "0x1", "string", "int"}},
		{"to uid", "p: string .", `<1> <p> "5" .`, "p: uid .", ErrDataInTheWay, []string{`"p"`, "string", "uid"}},
		{"list and type", "p: int .", `<1> <p> "5" .`, "p: [string] .", ErrDataInTheWay, []string{"int", "[string]"}},
		{"to single", "p: [string] .", `<1> <p> "5" .`, "p: string .", ErrDataInTheWay, []string{"[string]", "string"}},
		{"uids to single", "p: [uid] .", `<1> <p> <2> .`, "p: uid .", ErrDataInTheWay, []string{"[uid]"}},
		{"lang", "p: string @lang .", `<3> <p> "a"@fr .`, "p: string .", ErrDataInTheWay, []string{`"p"`, "0x3", `"fr"`}},
		{"lang to list", "p: string @lang .", `<3> <p> "a"@fr .`, "p: [string] .", ErrDataInTheWay, []string{"0x3"}},
		{"vector index", "p: float32vector .", `<1> <p> "[1, 2]" .`, `p: float32vector @index(hnsw) .`, ErrDataInTheWay, []string{`"p"`}},
		{
			"unique", "p: string .", `<1> <p> "a" . <7> <p> "b" . <9> <p> "b" .`,
			"p: string @index(exact) @upsert @unique .", mutation.ErrNotUnique, []string{`"p"`, "0x7", "0x9"},
		},
		{
			"unique by hash", "p: string @index(hash) @upsert .", `<1> <p> "a" . <7> <p> "b" . <9> <p> "b" .`,
			"p: string @index(hash) @upsert @unique .", mutation.ErrNotUnique, []string{`"p"`, "0x7", "0x9"},
		},
		{
			"unique int", "p: int .", `<7> <p> "4" . <9> <p> "4" .`,
			"p: int @index(int) @upsert @unique .", mutation.ErrNotUnique, []string{"0x7", "0x9"},
		},
		{
			"unique tagged", "p: string @lang .", `<7> <p> "b"@de . <9> <p> "b"@de .`,
			"p: string @lang @index(exact) @upsert @unique .", mutation.ErrNotUnique, []string{"0x7", "0x9"},
		},
		{
			"long key", "p: string .", `<1> <p> "a" . <7> <p> "` + long + `" .`, "p: string @index(exact) .",
			posting.ErrKeyTooLong, []string{`"p"`, "0x7", "70"},
		},
		{
			"later predicate", "p: string . q: [uid] . ", `<1> <p> "a" . <1> <q> <2> . <7> <p> "` + long + `" .`,
			"q: [uid] @reverse @count . p: [string] @index(exact) . new: int . type T { p }",
			posting.ErrKeyTooLong, []string{`"p"`, "0x7"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			db := openAlter(t, tt.schema)
			db.mutateForTest(t, alterEdges(t, "{ set {"+tt.data+"} }"))
			text, before := db.SchemaText(), listsAt(t, db, 0)
			err := db.Alter(context.Background(), tt.alter)
			require.ErrorIs(t, err, tt.is)
			var of *AlterError
			require.ErrorAs(t, err, &of)
			require.Equal(t, "p", of.Predicate)
			for _, s := range tt.says {
				require.ErrorContains(t, err, s)
			}
			require.Less(t, len(err.Error()), 500)
			requireUntouched(t, db, text, before)
			require.Equal(t, strings.Contains(tt.schema, "@index"), len(keysOf(t, db, "p")) > 0)
			// What was there goes on working.
			db.mutateForTest(t, alterEdges(t, "{ set {"+tt.data+"} }"))
			requireUntouched(t, db, text, before)
		})
	}
}

// requireUntouched checks that a failed Alter left nothing.
func requireUntouched(t *testing.T, db *DB, text string, lists []string) {
	t.Helper()
	require.Equal(t, text, db.SchemaText())
	requireSameLists(t, lists, listsAt(t, db, 0), "after a failed alter")
	require.Empty(t, db.store.State().Alter)
	require.Empty(t, db.schema.altering)
}

func TestAlterAllows(t *testing.T) {
	tests := []struct{ name, schema, data, alter string }{
		{"type without data", "p: string @index(exact) @count .", `set { <1> <p> "5" . } delete { <1> <p> * . }`, "p: [uid] @reverse @count ."},
		{"single without data", "p: [string] @index(exact) .", `set { <1> <p> "5" . } delete { <1> <p> "5" . }`, "p: string @index(exact) @count ."},
		{"lang without tagged values", "p: string @lang @index(exact) .", `set { <1> <p> "5" . <1> <p> "6"@de . } delete { <1> <p> "6"@de . }`, "p: [string] @index(exact) ."},
		{"vector index without data", "p: float32vector .", `set { <1> <p> "[1]" . } delete { <1> <p> * . }`, `p: float32vector @index(hnsw) .`},
		{"unique", "p: string @lang .", `set { <1> <p> "a" . <2> <p> "b" . <3> <p> "a"@de . <4> <p> "a"@fr . }`, "p: string @index(exact) @upsert @lang @unique ."},
		{"unique collation", "p: string @lang .", `set { <1> <p> "a\u0301"@de . <2> <p> "á"@de . }`, "p: string @index(exact) @upsert @lang @unique ."},
		{"nothing", "p: string .", `set { <1> <p> "a" . }`, "p: string ."},
		{"order of indexes", "p: string @index(term, exact) .", `set { <1> <p> "a" . }`, "p: string @index(exact, term) ."},
		{"noconflict", "p: string .", `set { <1> <p> "a" . }`, "p: string @noconflict ."},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			db := openAlter(t, tt.schema)
			for part := range strings.SplitSeq(tt.data, "}") {
				if part = strings.TrimSpace(part); part != "" {
					db.mutateForTest(t, alterEdges(t, "{ "+part+" } }"))
				}
			}
			require.NoError(t, db.Alter(context.Background(), tt.alter))
			require.Equal(t, tt.alter+"\n", db.SchemaText())
			requireVerified(t, db)
		})
	}
}

func TestAlterText(t *testing.T) {
	ctx := context.Background()
	db := openAlter(t, "a: int . type T { a b } b: string @lang .")
	before := db.SchemaText()
	for _, text := range []string{
		"c: string . a: [bool] .", "c: string . c: string .", "c: string", "c: [uid] @index(exact) .", "type T { a a } c: string .",
	} {
		var wrong *schema.Error
		require.ErrorAs(t, db.Alter(ctx, text), &wrong, text)
		require.Equal(t, before, db.SchemaText())
	}
	require.NoError(t, db.Alter(ctx, "[0x7] a: float . type T { a } [0x7] type T { a } <http://x/y>: [uid] @reverse ."))
	require.Equal(t, "a: int .\nb: string @lang .\n<http://x/y>: [uid] @reverse .\n[0x7] a: float .\n"+
		"type T {\n\ta\n}\n[0x7] type T {\n\ta\n}\n", db.SchemaText())

	again := openAlter(t, db.SchemaText())
	require.Equal(t, db.SchemaText(), again.SchemaText())
}

func TestAlterInNamespace(t *testing.T) {
	ctx := context.Background()
	opts := alterOptions("")
	opts.Namespace = 5
	db, err := Open(ctx, opts)
	require.NoError(t, err)
	require.NoError(t, db.Alter(ctx, "a: int . [0x0] b: int . type T { a }"))
	require.Equal(t, "[0x0] b: int .\n[0x5] a: int .\n[0x5] type T {\n\ta\n}\n", db.SchemaText())
	text := db.SchemaText()
	require.NoError(t, db.Alter(ctx, text))
	require.Equal(t, text, db.SchemaText())
	db.mutateForTest(t, alterEdges(t, `{ set { <1> <a> "5" . } }`))
	require.NoError(t, db.Alter(ctx, "a: int @index(int) ."))
	require.Len(t, listsAt(t, db, 0), 2)
	require.NoError(t, db.Close())
}

// TestAlterCancelled cancels at every write of an Alter.
func TestAlterCancelled(t *testing.T) {
	db := openAlter(t, "p: string . q: [uid] .")
	newRandomEdges(t, 1, "p: string .").load(t, db)
	newRandomEdges(t, 2, "q: [uid] .").load(t, db)
	text, before := db.SchemaText(), listsAt(t, db, 0)
	with := "p: [string] @index(exact, term) @count . q: [uid] @reverse @count ."
	for n := 0; ; n++ {
		ctx, cancel := context.WithCancel(context.Background())
		points := 0
		db.alterLimits.at = func(alterPoint) error {
			if points++; points > n {
				cancel()
			}
			return nil
		}
		err := db.Alter(ctx, with)
		cancel()
		db.alterLimits.at = nil
		if err == nil {
			require.Greater(t, n, 10, "the alter went in pieces")
			break
		}
		require.ErrorIs(t, err, context.Canceled)
		requireUntouched(t, db, text, before)
		require.Empty(t, append(keysOf(t, db, "p"), keysOf(t, db, "q")...))
	}
	require.Equal(t, "p: [string] @index(exact, term) @count .\nq: [uid] @reverse @count .\n", db.SchemaText())
	requireVerified(t, db)
}

// TestAlterFails lets each write of an Alter fail, and then every write from
// there on, so that not even undoing works; the next Alter makes good for it.
func TestAlterFails(t *testing.T) {
	errDisk := errors.New("disk")
	ctx := context.Background()
	with := "p: [string] @index(term) @count ."
	for _, lasting := range []bool{false, true} {
		t.Run(fmt.Sprintf("lasting %t", lasting), func(t *testing.T) {
			db := openAlter(t, "p: string @index(exact) @count .")
			newRandomEdges(t, 1, "p: string .").load(t, db)
			text, before := db.SchemaText(), listsAt(t, db, 0)
			for n := 0; ; n++ {
				points := 0
				db.alterLimits.at = func(alterPoint) error {
					if points++; points-1 == n || lasting && points > n {
						return errDisk
					}
					return nil
				}
				err := db.Alter(ctx, with)
				db.alterLimits.at = nil
				if db.SchemaText() != text {
					// The schema was published: what failed is the removal.
					require.Greater(t, n, 5)
					require.ErrorIs(t, err, errDisk)
					break
				}
				require.ErrorIs(t, err, errDisk)
				require.NoError(t, db.Alter(ctx, "other: int ."), "the next alter removes what the failed one could not")
				require.NoError(t, db.Alter(ctx, text))
				db.schema.snap = db.schema.snap.Without([]*schema.Predicate{{Name: "other"}}, nil)
				requireUntouched(t, db, text, before)
				requireVerified(t, db)
			}
			require.NoError(t, db.Alter(ctx, "other: int ."))
			require.Empty(t, db.store.State().Alter)
			require.Empty(t, db.schema.altering)
			for _, key := range keysOf(t, db, "p") {
				require.NotContains(t, key, "exact")
			}
			requireVerified(t, db)
		})
	}
}

// TestAlterAmongTransactions alters while clients mutate the predicate and
// another one; in the end the store is as if loaded with the last schema.
func TestAlterAmongTransactions(t *testing.T) {
	ctx := context.Background()
	db := openAlter(t, "p: [uid] . q: string @index(exact) .")
	stop := make(chan struct{})
	var clients sync.WaitGroup
	var changed, others atomic.Int64
	for i, statement := range []string{"p: [uid] .", "q: string ."} {
		clients.Go(func() {
			edges := newRandomEdges(t, uint64(i), statement)
			for {
				select {
				case <-stop:
					return
				default:
				}
				err := db.tryMutate(edges.batch(t, 3))
				switch {
				case i == 0 && errors.Is(err, ErrSchemaChanged):
					changed.Add(1)
				case err != nil:
					t.Errorf("%s: %v", statement, err)
					return
				case i == 1:
					others.Add(1)
				}
			}
		})
	}
	for n := 0; n < 15 || n < 5000 && (changed.Load() == 0 || others.Load() == 0); n++ {
		require.NoError(t, db.Alter(ctx, "p: [uid] @reverse @count ."))
		require.NoError(t, db.Alter(ctx, "p: [uid] ."))
	}
	require.NoError(t, db.Alter(ctx, "p: [uid] @reverse @count ."))
	close(stop)
	clients.Wait()
	require.Positive(t, changed.Load())
	require.Positive(t, others.Load())

	want := openAlter(t, db.SchemaText())
	want.mutateForTest(t, heldNow(t, db))
	requireSameLists(t, ofPredicate("p", listsAt(t, want, 0)), ofPredicate("p", listsAt(t, db, 0)), "p")
	requireVerified(t, db)
}

func ofPredicate(name string, lists []string) []string {
	var of []string
	for _, l := range lists {
		if strings.Fields(l)[1] == name {
			of = append(of, l)
		}
	}
	return of
}

// TestAlterAndOpenTransactions holds transactions open over an Alter.
func TestAlterAndOpenTransactions(t *testing.T) {
	ctx := context.Background()
	db := openAlter(t, "p: string . q: string .")
	db.mutateForTest(t, alterEdges(t, `{ set { <1> <p> "a" . <1> <q> "a" . } }`))
	onP, onQ := beginWith(t, db, `<1> <p> "b" .`), beginWith(t, db, `<1> <q> "b" .`)
	reads, err := db.Begin(ctx)
	require.NoError(t, err)
	defer reads.Discard()

	require.NoError(t, db.Alter(ctx, "p: [string] @index(exact) ."))
	_, err = onP.Commit(ctx)
	require.ErrorIs(t, err, ErrSchemaChanged)
	_, err = onQ.Commit(ctx)
	require.NoError(t, err)
	l, err := reads.txn.List(posting.AppendDataKey(nil, 0, "p", 1))
	require.NoError(t, err)
	require.True(t, l.Has(posting.DeleteAllUID), "a transaction that began before reads the single value")
	late := beginWith(t, db, `<1> <p> "b" .`)
	_, err = late.Commit(ctx)
	require.NoError(t, err)
	require.Contains(t, listsAt(t, db, 0), `index p exact "b": 0x1(0 0 "" "" )`)
}

func beginWith(t *testing.T, db *DB, nquads string) *Txn {
	txn, err := db.Begin(context.Background())
	require.NoError(t, err)
	_, err = txn.Mutate(context.Background(), alterEdges(t, "{ set {"+nquads+"} }"))
	require.NoError(t, err)
	return txn
}

func TestAlterLockGivesUp(t *testing.T) {
	db := openAlter(t, "p: int .")
	require.NoError(t, db.altering.lock(context.Background()))
	ctx, cancel := context.WithCancel(context.Background())
	go cancel()
	require.ErrorIs(t, db.Alter(ctx, "q: int ."), context.Canceled)
	db.altering.unlock()
	require.NoError(t, db.Alter(context.Background(), "q: int ."))
}

// TestAlterSeenByViews reads while indexes come and go and values become lists:
// a view sees what its schema says, whole.
func TestAlterSeenByViews(t *testing.T) {
	ctx := context.Background()
	const lists = 8
	var text, data strings.Builder
	for i := range lists {
		fmt.Fprintf(&text, "v%d: string .\n", i)
		for subject := 1; subject <= 30; subject++ {
			fmt.Fprintf(&data, "<%d> <v%d> \"a%d\" .\n", subject, i, subject%3)
		}
	}
	db := openAlter(t, text.String())
	db.mutateForTest(t, alterEdges(t, "{ set {"+data.String()+"} }"))
	stop := make(chan struct{})
	var readers sync.WaitGroup
	var kept, notKept atomic.Int64
	for i := range 2 {
		readers.Go(func() {
			for n := i; ; n++ {
				select {
				case <-stop:
					return
				default:
					seeWhole(t, db, fmt.Sprintf("v%d", n%lists), &kept, &notKept)
				}
			}
		})
	}
	for i := range lists {
		for _, form := range []string{"string @index(exact)", "string", "[string] @index(exact) @count", "[string]"} {
			require.NoError(t, db.Alter(ctx, fmt.Sprintf("v%d: %s .", i, form)))
		}
	}
	for n := 0; n < 2000 && (kept.Load() == 0 || notKept.Load() == 0); n++ {
		require.NoError(t, db.Alter(ctx, fmt.Sprintf("v%d: [string] @index(exact) .", n%lists)))
		require.NoError(t, db.Alter(ctx, fmt.Sprintf("v%d: [string] .", n%lists)))
	}
	close(stop)
	readers.Wait()
	require.Positive(t, kept.Load())
	require.Positive(t, notKept.Load())
	requireVerified(t, db)
}

// seeWhole checks that a view finds all ten subjects of a value by the index, if
// its schema keeps one, and the one value of a subject.
func seeWhole(t *testing.T, db *DB, pred string, kept, notKept *atomic.Int64) {
	v, err := db.View(context.Background(), 0)
	if !assert.NoError(t, err) {
		return
	}
	defer v.Close()
	p, _ := v.Schema().Predicate(0, pred)
	subjects, err := v.Lookup(pred, "exact", "a1", "")
	if p.Indexed() {
		kept.Add(1)
		assert.NoError(t, err)
		assert.Len(t, subjects, 10, "%s", p)
	} else {
		notKept.Add(1)
		assert.ErrorIs(t, err, ErrNotKept)
	}
	values, err := v.Values(4, pred)
	assert.NoError(t, err)
	if assert.Len(t, values, 1, "%s", p) {
		assert.Equal(t, "a1", string(values[0].Value.Data))
	}
	if !p.List {
		_, found, err := v.Value(4, pred)
		assert.NoError(t, err)
		assert.True(t, found, "%s", p)
	}
}
