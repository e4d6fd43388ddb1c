package edgemill

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/edgemill/edgemill/conflict"
	"github.com/edgemill/edgemill/mutation"
)

// RunOption says how RunTxn runs a transaction.
type RunOption func(*txnRun)

// Expect names edges like those that the function will apply: as far as they
// tell, RunTxn waits for the transactions in flight that it would conflict with.
// It is for transactions that read before they write. The edges are not applied,
// and what the function applies need not be the same.
func Expect(edges []mutation.Edge) RunOption {
	return func(r *txnRun) { r.expect = append(r.expect, edges...) }
}

// FreshUIDs states for each try what Txn.Fresh does, before the first batch is
// applied.
func FreshUIDs(uids ...mutation.UIDRange) RunOption {
	return func(r *txnRun) { r.fresh = append(r.fresh, uids...) }
}

// MaxTries bounds how often the transaction is tried; without it only the
// context does.
func MaxTries(n int) RunOption {
	return func(r *txnRun) { r.maxTries = n }
}

// RunTxn runs a transaction until it commits, and returns its commit timestamp:
// it applies the first batch, calls fn, and commits. Where the transaction meets
// another one (conflict.ErrConflict) or an Alter (ErrSchemaChanged) all of it is
// done again, at a later start timestamp, so fn must be able to run several
// times; any other error ends it, and nothing of it is stored. fn may be nil, and
// first may be empty. fn does not end the transaction, and does not use it after
// it has returned.
//
// Before the transaction begins it waits at a gate (conflict.Gate) for the ones
// in flight that its first batch would conflict with, first come, first served,
// so that work is not done to be thrown away. It holds no start timestamp while
// it waits, else it would conflict all the same. Once it has begun it never waits
// for another one's keys: a later batch that needs what another one holds is
// ErrConflict at once, and so is then the commit, whatever fn makes of it. Its first
// read waits, under ctx, until the commits below its start can be read. A transaction that is tried
// again waits also for what the last try turned out to need.
//
// Transactions of Begin do not stand at the gate: nobody waits for them, and
// they may make one of RunTxn conflict, as one of RunTxn may them.
//
// More than Options.MaxWaiting waiters are conflict.ErrGateFull.
func (db *DB) RunTxn(
	ctx context.Context, first []mutation.Edge, fn func(context.Context, *Txn) error, opts ...RunOption,
) (commitTS uint64, err error) {
	r := &txnRun{db: db, first: first, fn: fn}
	for _, o := range opts {
		o(r)
	}
	for tries := 1; ; tries++ {
		commitTS, err := r.try(ctx)
		if !errors.Is(err, conflict.ErrConflict) && !errors.Is(err, ErrSchemaChanged) {
			return commitTS, err
		}
		if tries == r.maxTries {
			return 0, fmt.Errorf("given up after %d tries: %w", tries, err)
		}
		if stopped := db.pause(ctx, tries); stopped != nil {
			return 0, fmt.Errorf("stopped after %d tries, the last: %w: %w", tries, err, stopped)
		}
	}
}

// txnRun is one RunTxn at work. It belongs to the goroutine that called it.
type txnRun struct {
	db       *DB
	first    []mutation.Edge
	expect   []mutation.Edge
	fresh    []mutation.UIDRange
	fn       func(context.Context, *Txn) error
	maxTries int
	// needed is the keys of the last try.
	needed conflict.Set
}

// try runs the transaction once.
func (r *txnRun) try(ctx context.Context) (uint64, error) {
	keys, err := r.expectedKeys()
	if err != nil {
		return 0, err
	}
	pass, err := r.enterGate(ctx, keys)
	if err != nil {
		return 0, err
	}
	defer pass.Release()
	t, err := r.db.begin(ctx, pass, keys)
	if err != nil {
		return 0, err
	}
	defer t.Discard()
	commitTS, err := r.do(ctx, t)
	if errors.Is(err, conflict.ErrConflict) {
		r.needed = union(t.txn.ConflictKeys(), t.refusedKeys())
	}
	return commitTS, err
}

// expectedKeys are those of the first batch, as far as they can be told without
// reading, of the expected edges, and of the last try.
func (r *txnRun) expectedKeys() (conflict.Set, error) {
	b := mutation.Batch{Edges: r.first, Namespace: r.db.opts.Namespace}
	if len(r.expect) > 0 {
		b.Edges = slices.Concat(r.first, r.expect)
	}
	keys, err := mutation.ExpectedKeys(r.db.Schema(), b)
	return union(keys, r.needed), err
}

// enterGate waits for the transactions that hold one of the keys.
func (r *txnRun) enterGate(ctx context.Context, keys conflict.Set) (*conflict.Pass, error) {
	ctx, leave, err := r.db.calls.enterLong(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	pass, err := r.db.gate.Enter(ctx, keys)
	return pass, r.db.calls.closedError(ctx, err)
}

// do applies, calls and commits. A refusal counts as the error whatever came
// after it.
func (r *txnRun) do(ctx context.Context, t *Txn) (uint64, error) {
	for _, uids := range r.fresh {
		t.Fresh(uids)
	}
	if len(r.first) > 0 {
		if _, err := t.apply(ctx, r.first); err != nil {
			return 0, err
		}
	}
	if r.fn != nil {
		err := r.fn(ctx, t)
		if refused := t.refusal(); refused != nil {
			return 0, refused
		}
		if err != nil {
			return 0, err
		}
	}
	return t.Commit(ctx)
}

// union is all keys of both.
func union(a, b conflict.Set) conflict.Set {
	if len(b.Exclusive)+len(b.Shared) == 0 {
		return a
	}
	return conflict.NewSet(slices.Concat(a.Exclusive, b.Exclusive), slices.Concat(a.Shared, b.Shared))
}

const (
	// firstPause and longestPause bound the pause before another try, of which a
	// random part is taken. It is for what the gate does not see: transactions of
	// Begin, and Alters.
	firstPause   = time.Millisecond
	longestPause = 100 * time.Millisecond
)

// pause waits before another try, longer after each, and at random, so that
// transactions that met do not meet again.
func (db *DB) pause(ctx context.Context, tries int) error {
	longest := min(firstPause<<min(tries-1, 10), longestPause)
	timer := time.NewTimer(rand.N(longest))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-db.calls.open.Done():
		return ErrClosed
	}
}

// gated is a transaction's part at the gate; the zero value has none.
type gated struct {
	pass *conflict.Pass
	// refused is the error of a batch that met another transaction, and wanted
	// the keys that it asked for.
	refused error
	wanted  conflict.Set
}

// admit asks the gate for what a batch after the first is expected to need, and
// for what the ones before turned out to need. It never waits.
func (t *Txn) admit(edges []mutation.Edge) error {
	t.mu.Lock()
	pass := t.mu.gated.pass
	t.mu.Unlock()
	if pass == nil {
		return nil
	}
	keys, err := mutation.ExpectedKeys(t.snap, mutation.Batch{Edges: edges, Namespace: t.db.opts.Namespace})
	if err != nil {
		return err
	}
	keys = union(keys, t.txn.ConflictKeys())
	err = t.db.gate.TryAdd(pass, keys)
	if errors.Is(err, conflict.ErrConflict) {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.mu.gated.refused, t.mu.gated.wanted = err, keys
	}
	return err
}

// refusal is the error of the batch that was refused, if one was: the
// transaction can't commit without it.
func (t *Txn) refusal() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.mu.gated.refused
}

func (t *Txn) refusedKeys() conflict.Set {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.mu.gated.wanted
}
