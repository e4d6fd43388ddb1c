package edgemill

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/edgemill/edgemill/conflict"
	"github.com/edgemill/edgemill/mutation"
	"github.com/edgemill/edgemill/schema/value"
)

// nick sets a subject's nick.
func nick(subject uint64, text string) []mutation.Edge {
	return []mutation.Edge{{
		Subject: subject, Predicate: "nick", Value: value.Value{Type: value.String, Data: []byte(text)},
	}}
}

// nickOf is a subject's nick as a view sees it, "" for none.
func nickOf(t testing.TB, v *View, subject uint64) string {
	t.Helper()
	found, ok, err := v.Value(subject, "nick")
	require.NoError(t, err)
	if !ok {
		return ""
	}
	return string(found.Data)
}

func committedNick(t testing.TB, db *DB, subject uint64) string {
	t.Helper()
	v, err := db.View(context.Background(), 0)
	require.NoError(t, err)
	defer v.Close()
	return nickOf(t, v, subject)
}

const nickSchema = "nick: string @index(exact) @upsert .\nother: int ."

func TestRunTxn(t *testing.T) {
	ctx := context.Background()
	db := openAlter(t, nickSchema)
	var start uint64
	ts, err := db.RunTxn(ctx, nick(1, "ann"), func(ctx context.Context, txn *Txn) error {
		start = txn.StartTS()
		require.Equal(t, "ann", nickOf(t, txn.View(), 1))
		_, err := txn.Mutate(ctx, nick(2, "bob"))
		return err
	})
	require.NoError(t, err)
	require.Greater(t, ts, start)
	require.Equal(t, "ann", committedNick(t, db, 1))
	require.Equal(t, "bob", committedNick(t, db, 2))

	_, err = db.RunTxn(ctx, nick(3, "cy"), nil)
	require.NoError(t, err)
	require.Equal(t, "cy", committedNick(t, db, 3))
	require.Zero(t, db.gate.Stats().InFlight)
}

func TestRunTxnErrorStoresNothing(t *testing.T) {
	ctx := context.Background()
	db := openAlter(t, nickSchema)
	cause := errors.New("cause")
	_, err := db.RunTxn(ctx, nick(1, "ann"), func(context.Context, *Txn) error { return cause })
	require.Equal(t, cause, err)

	var edge *mutation.EdgeError
	_, err = db.RunTxn(ctx, []mutation.Edge{{Subject: 1, Predicate: "unknown"}}, nil)
	require.ErrorAs(t, err, &edge)

	require.Panics(t, func() {
		_, _ = db.RunTxn(ctx, nick(1, "ann"), func(context.Context, *Txn) error { panic("a bug of the caller's") })
	})
	require.Empty(t, committedNick(t, db, 1))
	require.Zero(t, db.gate.Stats().InFlight)
	require.Zero(t, db.oracle.Stats().Open)
}

// TestRunTxnRetries lets transactions of Begin commit in between.
func TestRunTxnRetries(t *testing.T) {
	ctx := context.Background()
	db := openAlter(t, nickSchema)
	tries := 0
	_, err := db.RunTxn(ctx, nick(1, "ann"), func(context.Context, *Txn) error {
		if tries++; tries < 3 {
			db.mutateForTest(t, nick(1, "bob"))
		}
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, 3, tries)
	require.Equal(t, "ann", committedNick(t, db, 1))

	_, err = db.RunTxn(ctx, nick(1, "ann"), func(context.Context, *Txn) error {
		tries++
		db.mutateForTest(t, nick(1, "bob"))
		return nil
	}, MaxTries(4))
	require.ErrorIs(t, err, conflict.ErrConflict)
	require.ErrorContains(t, err, "4 tries")
	require.Equal(t, 7, tries)

	within, cancel := context.WithTimeout(ctx, 30*time.Millisecond)
	defer cancel()
	_, err = db.RunTxn(within, nick(1, "ann"), func(context.Context, *Txn) error {
		db.mutateForTest(t, nick(1, "bob"))
		return nil
	})
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.Equal(t, "bob", committedNick(t, db, 1))
}

func TestRunTxnSchemaChange(t *testing.T) {
	ctx := context.Background()
	db := openAlter(t, nickSchema)
	tries := 0
	_, err := db.RunTxn(ctx, nick(1, "ann"), func(context.Context, *Txn) error {
		if tries++; tries == 1 {
			require.NoError(t, db.Alter(ctx, "nick: string @index(hash) @upsert ."))
		}
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, 2, tries)
	verifyClean(t, db)
}

func verifyClean(t testing.TB, db *DB) {
	t.Helper()
	report, err := db.Verify(context.Background(), VerifyOptions{})
	require.NoError(t, err)
	require.Empty(t, report.Violations)
}

// held is a transaction of RunTxn that stands still in its function.
type held struct {
	letGo chan struct{}
	done  chan error
}

func hold(t *testing.T, db *DB, first []mutation.Edge) held {
	t.Helper()
	h := held{make(chan struct{}), make(chan error, 1)}
	inside := make(chan struct{})
	go func() {
		_, err := db.RunTxn(context.Background(), first, func(context.Context, *Txn) error {
			close(inside)
			<-h.letGo
			return nil
		})
		h.done <- err
	}()
	<-inside
	return h
}

func (h held) end(t *testing.T) {
	t.Helper()
	close(h.letGo)
	require.NoError(t, <-h.done)
}

// waitFor waits until so many wait at the gate.
func waitFor(t *testing.T, db *DB, waiting int) {
	t.Helper()
	require.Eventually(t, func() bool { return db.gate.Stats().Waiting == waiting }, 10*time.Second, time.Millisecond)
}

// TestRunTxnWaits: who would conflict waits, does its work once, and sees what
// it waited for.
// A refusal that another try cannot change is the error of the first one.
func TestRunTxnOfAPastView(t *testing.T) {
	ctx := context.Background()
	db := openAlter(t, "nick: string .")
	ts, err := db.RunTxn(ctx, nick(1, "ann"), nil)
	require.NoError(t, err)
	require.NoError(t, db.Alter(ctx, nickSchema))
	tries := 0
	_, err = db.RunTxn(ctx, nil, func(ctx context.Context, _ *Txn) error {
		tries++
		past, err := db.View(ctx, ts)
		if err != nil {
			return err
		}
		defer past.Close()
		_, err = past.Lookup("nick", "exact", "ann", "")
		return err
	})
	require.ErrorIs(t, err, ErrAltered)
	require.Equal(t, 1, tries)
}

// An error that comes of a context that Close ended is ErrClosed, also before the
// contexts that end with that one have.
func TestClosedError(t *testing.T) {
	ctx := context.Background()
	c := newCalls()
	for _, err := range []error{nil, context.Canceled, context.DeadlineExceeded} {
		require.Equal(t, err, c.closedError(ctx, err))
	}
	require.True(t, c.close())
	require.NoError(t, c.closedError(ctx, nil))
	err := c.closedError(ctx, fmt.Errorf("begin a read: %w", context.Canceled))
	require.ErrorIs(t, err, ErrClosed)
	require.ErrorIs(t, err, context.Canceled)
	require.NotErrorIs(t, c.closedError(ctx, context.DeadlineExceeded), ErrClosed)
}

func TestRunTxnWaits(t *testing.T) {
	ctx := context.Background()
	db := openAlter(t, nickSchema)
	first := hold(t, db, nick(1, "ann"))
	var tries atomic.Int64
	done := make(chan error, 1)
	go func() {
		_, err := db.RunTxn(ctx, nick(2, "ann"), func(_ context.Context, txn *Txn) error {
			tries.Add(1)
			require.Equal(t, "ann", nickOf(t, txn.View(), 1))
			return nil
		})
		done <- err
	}()
	waitFor(t, db, 1)
	_, err := db.RunTxn(ctx, nick(3, "bob"), nil)
	require.NoError(t, err, "one that has nothing in common passes")
	require.Zero(t, tries.Load())
	first.end(t)
	require.NoError(t, <-done)
	require.Equal(t, int64(1), tries.Load())
}

// TestRunTxnExpect: a transaction that reads first waits for what it expects to
// write.
func TestRunTxnExpect(t *testing.T) {
	db := openAlter(t, nickSchema)
	first := hold(t, db, nick(1, "ann"))
	done := make(chan error, 1)
	tries := 0
	go func() {
		_, err := db.RunTxn(context.Background(), nil, func(ctx context.Context, txn *Txn) error {
			tries++
			_, err := txn.Mutate(ctx, nick(1, nickOf(t, txn.View(), 1)+"a"))
			return err
		}, Expect(nick(1, "")))
		done <- err
	}()
	waitFor(t, db, 1)
	first.end(t)
	require.NoError(t, <-done)
	require.Equal(t, 1, tries)
	require.Equal(t, "anna", committedNick(t, db, 1))
}

// TestRunTxnNeverWaitsInside: a later batch that needs what is held is a
// conflict at once, also where the function says nothing of it, and the next try
// waits.
func TestRunTxnNeverWaitsInside(t *testing.T) {
	db := openAlter(t, nickSchema)
	first := hold(t, db, nick(1, "ann"))
	done := make(chan error, 1)
	var refused error
	tries := 0
	go func() {
		_, err := db.RunTxn(context.Background(), nick(2, "bob"), func(ctx context.Context, txn *Txn) error {
			tries++
			if _, err := txn.Mutate(ctx, nick(3, "ann")); err != nil {
				refused = err
			}
			return nil
		})
		done <- err
	}()
	waitFor(t, db, 1)
	require.ErrorIs(t, refused, conflict.ErrConflict)
	first.end(t)
	require.NoError(t, <-done)
	require.Equal(t, 2, tries)
	require.Equal(t, "ann", committedNick(t, db, 3))
}

// TestRunTxnFoundKeys: what a batch turned out to need, the token of the value
// that goes here, is held from the next batch on.
func TestRunTxnFoundKeys(t *testing.T) {
	ctx := context.Background()
	db := openAlter(t, nickSchema)
	db.mutateForTest(t, nick(1, "ann"))
	_, err := db.RunTxn(ctx, nick(1, "bob"), func(ctx context.Context, txn *Txn) error {
		within, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
		defer cancel()
		_, err := db.RunTxn(within, nick(2, "bob"), nil)
		require.ErrorIs(t, err, context.DeadlineExceeded, "the new value's token is held from the beginning")
		_, err = txn.Mutate(ctx, []mutation.Edge{{Subject: 9, Predicate: "other", Value: value.Value{Type: value.String, Data: []byte("7")}}})
		require.NoError(t, err)
		within, cancel = context.WithTimeout(ctx, 20*time.Millisecond)
		defer cancel()
		_, err = db.RunTxn(within, nick(2, "ann"), nil)
		require.ErrorIs(t, err, context.DeadlineExceeded, "and the old one's by now")
		return nil
	}, MaxTries(1))
	require.NoError(t, err)
}

func TestRunTxnGivesUpWaiting(t *testing.T) {
	db, err := Open(context.Background(), Options{InMemory: true, MaxWaiting: 1})
	require.NoError(t, err)
	defer db.Close()
	require.NoError(t, db.Alter(context.Background(), nickSchema))
	first := hold(t, db, nick(1, "ann"))

	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		_, err := db.RunTxn(ctx, nick(1, "bob"), nil)
		done <- err
	}()
	waitFor(t, db, 1)
	_, err = db.RunTxn(ctx, nick(1, "cy"), nil)
	require.ErrorIs(t, err, conflict.ErrGateFull)
	cancel()
	require.ErrorIs(t, <-done, context.Canceled)
	first.end(t)
	require.Equal(t, "ann", committedNick(t, db, 1))
}

// TestCloseEndsWaits closes the DB while a transaction waits at the gate, one
// runs, and one begins.
func TestCloseEndsWaits(t *testing.T) {
	db := openAlterIn(t, "")
	require.NoError(t, db.Alter(context.Background(), nickSchema))
	first := hold(t, db, nick(1, "ann"))
	done := make(chan error, 1)
	go func() {
		_, err := db.RunTxn(context.Background(), nick(1, "bob"), nil)
		done <- err
	}()
	waitFor(t, db, 1)
	open, err := db.Begin(context.Background())
	require.NoError(t, err)
	view, err := db.View(context.Background(), 0)
	require.NoError(t, err)

	require.NoError(t, db.Close())
	require.ErrorIs(t, <-done, ErrClosed)
	close(first.letGo)
	require.ErrorIs(t, <-first.done, ErrClosed)

	_, err = open.Mutate(context.Background(), nick(2, "ann"))
	require.ErrorIs(t, err, ErrClosed)
	_, _, err = open.View().Value(1, "nick")
	require.ErrorIs(t, err, ErrClosed)
	_, err = open.Commit(context.Background())
	require.ErrorIs(t, err, ErrClosed)
	_, _, err = view.Value(1, "nick")
	require.ErrorIs(t, err, ErrClosed)
	view.Close()
	_, err = db.Begin(context.Background())
	require.ErrorIs(t, err, ErrClosed)
	_, err = db.View(context.Background(), 0)
	require.ErrorIs(t, err, ErrClosed)
	_, err = db.RunTxn(context.Background(), nil, nil)
	require.ErrorIs(t, err, ErrClosed)
	_, err = db.NewUIDs(1)
	require.ErrorIs(t, err, ErrClosed)
	require.ErrorIs(t, db.Alter(context.Background(), nickSchema), ErrClosed)
	_, err = db.Verify(context.Background(), VerifyOptions{})
	require.ErrorIs(t, err, ErrClosed)
	require.ErrorIs(t, db.Close(), ErrClosed)
}

// TestRunTxnCountsWait is TestRunTxnWaits over numbers of postings: the bucket
// that two transactions meet in is not known beforehand.
func TestRunTxnCountsWait(t *testing.T) {
	db := openAlter(t, "likes: [uid] @reverse @count .")
	like := func(subject uint64) []mutation.Edge {
		return []mutation.Edge{{Subject: subject, Predicate: "likes", Object: mutation.ObjectUID, Target: 9}}
	}
	first := hold(t, db, like(1))
	done := make(chan error, 1)
	tries := 0
	go func() {
		_, err := db.RunTxn(context.Background(), like(2), func(context.Context, *Txn) error { tries++; return nil })
		done <- err
	}()
	waitFor(t, db, 1)
	first.end(t)
	require.NoError(t, <-done)
	require.Equal(t, 1, tries)
	verifyClean(t, db)
}
