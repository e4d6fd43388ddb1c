package edgemill

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/edgemill/edgemill/conflict"
	"github.com/edgemill/edgemill/mutation"
)

// commitOnItsWay decides a commit of which nothing reaches the store until the
// test settles it.
func commitOnItsWay(t *testing.T, db *DB, keys conflict.Set) (ts uint64) {
	t.Helper()
	start, err := db.oracle.Begin(context.Background(), 0, keys)
	require.NoError(t, err)
	defer db.oracle.Done(start)
	ts, err = db.oracle.Commit(context.Background(), start, keys)
	require.NoError(t, err)
	return ts
}

// TestFirstReadWaits: with an acknowledged commit that can't be read yet, who
// writes without looking goes on, and who looks waits.
func TestFirstReadWaits(t *testing.T) {
	db := openAlter(t, "nick: string @index(exact) .\npal: [uid] @reverse @count .\nnote: string .")
	db.mutateForTest(t, nick(1, "ann"))
	ctx := context.Background()
	pending := commitOnItsWay(t, db, conflict.Set{})
	db.oracle.Acknowledged(pending)

	blind, err := db.Begin(ctx)
	require.NoError(t, err)
	require.Greater(t, blind.StartTS(), pending)
	fresh, err := db.NewUIDs(1)
	require.NoError(t, err)
	blind.Fresh(fresh)
	_, err = blind.Mutate(ctx, nick(fresh.First, "new"))
	require.NoError(t, err)
	_, err = blind.Mutate(ctx, []mutation.Edge{{Subject: 1, Predicate: "note", Value: nick(1, "x")[0].Value}})
	require.NoError(t, err, "of a value without an index nothing old is needed")
	_, err = blind.Commit(ctx)
	require.NoError(t, err)

	reads := map[string]func(context.Context, *Txn) error{
		"an indexed value is set": func(ctx context.Context, txn *Txn) error {
			_, err := txn.Mutate(ctx, nick(1, "bob"))
			return err
		},
		"sources are counted": func(ctx context.Context, txn *Txn) error {
			_, err := txn.Mutate(ctx, []mutation.Edge{edge(fresh.First, "pal", 9)})
			return err
		},
	}
	for name, read := range reads {
		txn, err := db.Begin(ctx)
		require.NoError(t, err)
		within, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
		require.ErrorIs(t, read(within, txn), context.DeadlineExceeded, name)
		cancel()
		done := make(chan error, 1)
		go func() { done <- read(ctx, txn) }()
		select {
		case err := <-done:
			t.Fatalf("%s: read before the commit could be: %v", name, err)
		case <-time.After(5 * time.Millisecond):
		}
		db.oracle.Visible(pending)
		require.NoError(t, <-done, name)
		txn.Discard()
		pending = commitOnItsWay(t, db, conflict.Set{})
		db.oracle.Acknowledged(pending)
	}

	txn, err := db.Begin(ctx)
	require.NoError(t, err)
	value := make(chan string, 1)
	go func() {
		v, _, err := txn.View().Value(1, "nick")
		if err != nil {
			t.Error(err)
		}
		value <- string(v.Data)
	}()
	select {
	case <-value:
		t.Fatal("the view read before the commit could be")
	case <-time.After(5 * time.Millisecond):
	}
	db.oracle.Abandoned(pending)
	require.Equal(t, "ann", <-value)
	txn.Discard()
	verifyClean(t, db)
}

// TestViewWaitsUnderTheContext: the function of a RunTxn that ends reads no longer
// than that.
func TestViewWaitsUnderTheContext(t *testing.T) {
	db := openAlter(t, nickSchema)
	pending := commitOnItsWay(t, db, conflict.Set{})
	db.oracle.Acknowledged(pending)
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	_, err := db.RunTxn(ctx, nil, func(_ context.Context, txn *Txn) error {
		_, _, err := txn.View().Value(1, "nick")
		return err
	})
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.Zero(t, db.oracle.Stats().Open)
	db.oracle.Visible(pending)
}

// TestClosedWhileFirstReadWaits: Close ends the wait.
func TestClosedWhileFirstReadWaits(t *testing.T) {
	db := openAlterIn(t, t.TempDir())
	require.NoError(t, db.Alter(context.Background(), nickSchema))
	db.oracle.Acknowledged(commitOnItsWay(t, db, conflict.Set{}))
	txn, err := db.Begin(context.Background())
	require.NoError(t, err)
	done := make(chan error, 2)
	go func() {
		_, err := txn.Mutate(context.Background(), nick(1, "ann"))
		done <- err
		_, _, err = txn.View().Value(1, "nick")
		done <- err
	}()
	time.Sleep(5 * time.Millisecond)
	require.NoError(t, db.Close())
	require.ErrorIs(t, <-done, ErrClosed)
	require.ErrorIs(t, <-done, ErrClosed)
}

// TestGatedOnesBeginAboveTheDecided: who waited at the gate goes on once the
// other is decided, above it and before it is on the disk; also after one that
// failed.
func TestGatedOnesBeginAboveTheDecided(t *testing.T) {
	db := openAlter(t, "nick: string @index(exact) @upsert .")
	ctx := context.Background()
	keys, err := mutation.ExpectedKeys(db.Schema(), mutation.Batch{Edges: nick(1, "ann")})
	require.NoError(t, err)
	pass, err := db.gate.Enter(ctx, keys)
	require.NoError(t, err)
	first := commitOnItsWay(t, db, keys)

	fresh, err := db.NewUIDs(1)
	require.NoError(t, err)
	committed := make(chan uint64, 1)
	go func() {
		ts, err := db.RunTxn(ctx, nick(fresh.First, "ann"), nil, FreshUIDs(fresh), MaxTries(1))
		if err != nil {
			t.Error(err)
		}
		committed <- ts
	}()
	waitFor(t, db, 1)
	pass.ReleaseAt(first)
	require.Greater(t, <-committed, first)
	require.Zero(t, db.oracle.Stats().Conflicts)
	db.oracle.Abandoned(first)
	require.Equal(t, "ann", committedNick(t, db, fresh.First))
	verifyClean(t, db)
}
