package edgemill

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/edgemill/edgemill/conflict"
	"github.com/edgemill/edgemill/mutation"
	"github.com/edgemill/edgemill/posting"
	"github.com/edgemill/edgemill/schema"
	"github.com/edgemill/edgemill/schema/value"
)

// storeForTest writes entries as another program would have, and reads the
// schema anew.
func storeForTest(t *testing.T, db *DB, entries ...posting.Entry) {
	t.Helper()
	ts, release, err := db.oracle.Timestamp(context.Background())
	require.NoError(t, err)
	defer release()
	for i := range entries {
		entries[i].Version = ts
	}
	_, err = db.write(context.Background(), ts, entries)
	require.NoError(t, err)
	require.NoError(t, db.loadSchema())
}

func valueEntry(uid, postingUID uint64, typ value.Type, stored string) posting.Entry {
	p := posting.Posting{UID: postingUID, Op: posting.OpSet, Type: posting.PostingValue, ValType: typ, Value: []byte(stored), StartTS: 1}
	return posting.Entry{Key: posting.AppendDataKey(nil, 0, "p", uid), Value: posting.AppendPosting(nil, &p), Meta: posting.MetaDelta}
}

// TestAlterOnDataWithoutSchema states predicates of which there is data already.
func TestAlterOnDataWithoutSchema(t *testing.T) {
	list := conflict.Fingerprint([]byte("ann"))
	tests := []struct {
		name  string
		entry posting.Entry
		alter string
		ok    bool
	}{
		{"string", valueEntry(5, posting.DeleteAllUID, value.String, "ann"), "p: string @index(exact) @count .", true},
		{"default", valueEntry(5, posting.DeleteAllUID, value.String, "ann"), "p: default .", true},
		{"list", valueEntry(5, list, value.String, "ann"), "p: [string] @index(exact) .", true},
		{"other type", valueEntry(5, posting.DeleteAllUID, value.Bool, "\x01"), "p: string .", false},
		{"list as single", valueEntry(5, list, value.String, "ann"), "p: string .", false},
		{"single as list", valueEntry(5, posting.DeleteAllUID, value.String, "ann"), "p: [string] .", false},
		{"two targets as one", posting.Entry{
			Key:   posting.AppendDataKey(nil, 0, "p", 5),
			Value: posting.AppendRefPosting(posting.AppendRefPosting(nil, 7, value.UID, posting.OpSet, 1), 8, value.UID, posting.OpSet, 1),
			Meta:  posting.MetaDelta,
		}, "p: uid .", false},
		{"value as uid", valueEntry(5, posting.DeleteAllUID, value.String, "ann"), "p: uid .", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			db := openAlter(t, "q: int .")
			storeForTest(t, db, tt.entry)
			err := db.Alter(context.Background(), tt.alter)
			if tt.ok {
				require.NoError(t, err)
				requireVerified(t, db)
				return
			}
			require.ErrorIs(t, err, ErrDataInTheWay)
			require.ErrorContains(t, err, "0x5")
			require.Equal(t, "q: int .\n", db.SchemaText())
		})
	}
}

// TestAlterOnMistypedData: an index is not built of values that are not of the
// predicate's type.
func TestAlterOnMistypedData(t *testing.T) {
	db := openAlter(t, "p: string .")
	db.mutateForTest(t, alterEdges(t, `{ set { <1> <p> "a" . } }`))
	storeForTest(t, db, valueEntry(5, posting.DeleteAllUID, value.Bool, "\x01"))
	err := db.Alter(context.Background(), "p: string @index(term) .")
	require.ErrorIs(t, err, ErrDataInTheWay)
	require.ErrorContains(t, err, `predicate "p", subject 0x5`)
	require.Empty(t, keysOf(t, db, "p"))
}

// TestAlterOnBadBytes: what cannot be read is an error that names the key.
func TestAlterOnBadBytes(t *testing.T) {
	db := openAlter(t, "p: string .")
	bad := valueEntry(5, posting.DeleteAllUID, value.String, "a")
	bad.Value = []byte("\x0a\x03abc")
	storeForTest(t, db, bad)
	for _, text := range []string{"p: string @index(term) .", "p: [string] .", "p: int ."} {
		err := db.Alter(context.Background(), text)
		require.ErrorIs(t, err, posting.ErrBadValue)
		require.ErrorContains(t, err, "data p 0x5")
		require.Equal(t, "p: string .\n", db.SchemaText())
	}
}

// TestAlterDropsCustomIndex: a text cannot state a custom tokenizer, so that what
// it built goes when the predicate is stated anew.
func TestAlterDropsCustomIndex(t *testing.T) {
	db := openAlter(t, "p: string @index(exact) .")
	db.mutateForTest(t, alterEdges(t, `{ set { <1> <p> "a" . } }`))
	old, _ := db.Schema().Predicate(0, "p")
	custom := *old
	custom.CustomTokenizers, custom.ObjectTypeName = []string{"anagram"}, "Thing"
	ref := posting.AppendRefPosting(nil, 1, 0, posting.OpSet, 1)
	storeForTest(t, db,
		posting.Entry{Key: posting.AppendSchemaKey(nil, 0, "p"), Value: custom.AppendUpdate(nil), Meta: posting.MetaSchema},
		posting.Entry{Key: posting.AppendIndexKey(nil, 0, "p", []byte("\x80a")), Value: ref, Meta: posting.MetaDelta},
		posting.Entry{Key: posting.AppendIndexKey(nil, 0, "p", []byte("\xfea")), Value: ref, Meta: posting.MetaDelta},
	)
	require.Len(t, keysOf(t, db, "p"), 3)
	require.NoError(t, db.Alter(context.Background(), "p: string @index(exact) ."))
	require.Equal(t, []string{`index p exact "a"`}, keysOf(t, db, "p"))
	now, _ := db.Schema().Predicate(0, "p")
	require.Equal(t, "Thing", now.ObjectTypeName, "what a text cannot say stays")
}

// TestAlterSplitLists builds and removes reverse lists that are split.
func TestAlterSplitLists(t *testing.T) {
	ctx := context.Background()
	db, err := Open(ctx, Options{InMemory: true})
	require.NoError(t, err)
	require.NoError(t, db.Alter(ctx, "p: [uid] ."))
	// Sources far apart take some four bytes each.
	const sources = 300_000
	for from := 0; from < sources; from += 50_000 {
		edges := make([]mutation.Edge, 50_000)
		for i := range edges {
			subject := uint64(from+i+1) * 1_000_003
			edges[i] = mutation.Edge{Subject: subject, Predicate: "p", Object: mutation.ObjectUID, Target: 9}
		}
		db.mutateForTest(t, edges)
	}
	db.alterLimits = alterLimits{postings: 1 << 20, commit: 1 << 20}
	require.NoError(t, db.Alter(ctx, "p: [uid] @reverse @count ."))
	require.Greater(t, len(keysOf(t, db, "p")), 5, "lists in parts")
	requireVerified(t, db)
	require.NoError(t, db.Alter(ctx, "p: [uid] ."))
	require.Empty(t, keysOf(t, db, "p"))
	require.NoError(t, db.Close())
}

// TestAlterNote: a note that cannot be read is an error when the store is
// opened, and one that there is no space to go by waits for better times.
func TestAlterNote(t *testing.T) {
	ctx, dir := context.Background(), t.TempDir()
	db := openAlterIn(t, dir)
	require.NoError(t, db.Alter(ctx, "p: string ."))
	db.mutateForTest(t, alterEdges(t, `{ set { <1> <p> "a" . <2> <p> "b" . } }`))
	disk := errors.New("disk")
	writes := 0
	db.alterLimits.at = func(p alterPoint) error {
		if p == atWrite {
			writes++
		}
		if writes > 1 {
			return disk
		}
		return nil
	}
	require.ErrorIs(t, db.Alter(ctx, "p: string @index(exact) ."), disk)
	require.Len(t, keysOf(t, db, "p"), 2, "what was built is still there")
	note := db.store.State().Alter
	require.NotEmpty(t, note)
	require.NoError(t, db.Close())

	free := int64(1 << 20)
	opts := alterOptions(dir)
	opts.Commit.Reserve = 1 << 30
	opts.Commit.SpaceCheck = func(string) (int64, error) { return free, nil }
	db, err := Open(ctx, opts)
	require.NoError(t, err)
	require.Equal(t, note, db.store.State().Alter)
	require.ErrorIs(t, db.Alter(ctx, "q: int ."), posting.ErrNoSpace)
	free = 2 << 30
	require.NoError(t, db.Alter(ctx, "q: int ."))
	require.Empty(t, keysOf(t, db, "p"))
	require.Empty(t, db.store.State().Alter)

	require.NoError(t, db.store.UpdateState(func(s *posting.State) { s.Alter = "{" }))
	require.ErrorIs(t, db.Close(), posting.ErrNoSpace, "the commits that failed are told once more")
	_, err = Open(ctx, alterOptions(dir))
	require.ErrorIs(t, err, posting.ErrBadState)
}

// TestAlterNodeType: the one reserved predicate that a text may state.
func TestAlterNodeType(t *testing.T) {
	ctx := context.Background()
	db := openAlter(t, "dgraph.type: [string] @index(exact) .")
	require.NoError(t, db.Alter(ctx, "dgraph.type: [string] @index(exact) ."))
	var wrong *schema.Error
	require.ErrorAs(t, db.Alter(ctx, "dgraph.type: [string] @index(term) ."), &wrong)
	require.ErrorAs(t, db.Alter(ctx, "dgraph.other: string ."), &wrong)
}
