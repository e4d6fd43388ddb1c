package edgemill

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/edgemill/edgemill/conflict"
	"github.com/edgemill/edgemill/mutation"
	"github.com/edgemill/edgemill/posting"
	"github.com/edgemill/edgemill/schema"
)

// Txn is a transaction: a snapshot to read, and batches on top that nobody
// else sees until Commit. It ends with Commit or Discard, and every Txn has to
// be ended, since an open one keeps old versions alive.
type Txn struct {
	db   *DB
	snap *schema.Snapshot
	txn  *mutation.Txn
	// reading is the context under which a View waits before the first read.
	reading context.Context

	mu struct {
		sync.Mutex
		fresh []mutation.UIDRange
		// greatest is the greatest uid below 2^63 that an edge named.
		greatest uint64
		ended    bool
		gated    gated
		// running is the number of calls that use the snapshot.
		running sync.WaitGroup
	}
}

// Begin begins a transaction that sees every commit acknowledged before. It does
// not wait for those that cannot be read yet: the transaction's first read does, in
// Mutate under its context, in a View until the DB closes.
func (db *DB) Begin(ctx context.Context) (*Txn, error) {
	t, err := db.begin(ctx, nil, conflict.Set{})
	if err != nil {
		return nil, err
	}
	t.reading = db.calls.open
	return t, nil
}

// begin begins a transaction that has the pass, if it is not nil, and is expected
// to need the keys. It does not outlive the context.
func (db *DB) begin(ctx context.Context, pass *conflict.Pass, keys conflict.Set) (*Txn, error) {
	if err := db.calls.enter(); err != nil {
		return nil, err
	}
	defer db.calls.leave()
	db.schema.RLock()
	defer db.schema.RUnlock()
	ts, err := db.oracle.Begin(ctx, pass.Above(), keys)
	if err != nil {
		return nil, db.calls.closedError(ctx, err)
	}
	readable := func(ctx context.Context) error { return db.calls.closedError(ctx, db.oracle.WaitVisible(ctx, ts)) }
	t := &Txn{db: db, snap: db.schema.snap, txn: mutation.NewTxnAfter(db.store, ts, readable), reading: ctx}
	t.mu.gated.pass = pass
	return t, nil
}

// StartTS returns the start timestamp.
func (t *Txn) StartTS() uint64 { return t.txn.StartTS() }

// Schema returns the schema under which the transaction's edges are applied.
func (t *Txn) Schema() *schema.Snapshot { return t.snap }

// enter lets a call use the snapshot, until leave.
func (t *Txn) enter() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.mu.ended {
		return ErrClosed
	}
	if err := t.db.calls.enter(); err != nil {
		return err
	}
	t.mu.running.Add(1)
	return nil
}

// enterToRead is enter for a call that reads.
func (t *Txn) enterToRead() error {
	if err := t.enter(); err != nil {
		return err
	}
	if err := t.txn.Await(t.reading); err != nil {
		t.leave()
		return err
	}
	return nil
}

func (t *Txn) leave() {
	t.mu.running.Done()
	t.db.calls.leave()
}

// Fresh states that the uids were handed out for this transaction (NewUIDs)
// and nothing is stored of them, so that their old state need not be read. A
// wrong statement gives wrong indexes.
func (t *Txn) Fresh(uids mutation.UIDRange) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.mu.fresh = withRange(t.mu.fresh, uids)
}

// withRange adds a range to ranges that are in order and apart. One that is none
// is kept as it is, for the next batch to refuse.
func withRange(ranges []mutation.UIDRange, r mutation.UIDRange) []mutation.UIDRange {
	if r.First > r.Last {
		return append(ranges, r)
	}
	// The ranges from i to j touch it or overlap with it.
	i, _ := slices.BinarySearchFunc(ranges, r.First, func(has mutation.UIDRange, first uint64) int {
		return cmp.Compare(has.Last, first-min(first, 1))
	})
	j := i
	for ; j < len(ranges) && ranges[j].First-min(ranges[j].First, 1) <= r.Last; j++ {
		r.First, r.Last = min(r.First, ranges[j].First), max(r.Last, ranges[j].Last)
	}
	return slices.Replace(ranges, i, j, r)
}

// Mutate applies a batch of edges, in order. It all takes effect in the
// transaction, or on an error none of it; the transaction goes on either way,
// but for conflict.ErrConflict, which a transaction of RunTxn may get.
func (t *Txn) Mutate(ctx context.Context, edges []mutation.Edge) (mutation.Report, error) {
	if err := t.enter(); err != nil {
		return mutation.Report{}, err
	}
	defer t.leave()
	if err := t.admit(edges); err != nil {
		return mutation.Report{}, err
	}
	return t.applyEntered(ctx, edges)
}

// apply is Mutate without a look at the gate.
func (t *Txn) apply(ctx context.Context, edges []mutation.Edge) (mutation.Report, error) {
	if err := t.enter(); err != nil {
		return mutation.Report{}, err
	}
	defer t.leave()
	return t.applyEntered(ctx, edges)
}

// applyEntered is apply for who has entered.
func (t *Txn) applyEntered(ctx context.Context, edges []mutation.Edge) (mutation.Report, error) {
	t.mu.Lock()
	b := mutation.Batch{Edges: edges, Namespace: t.db.opts.Namespace, Fresh: slices.Clone(t.mu.fresh)}
	t.mu.Unlock()
	report, err := t.db.applier.Apply(t.db.calls.stoppable(ctx), t.txn, t.snap, b)
	if err == nil {
		t.named(edges)
	}
	return report, err
}

// named remembers the greatest uid that the edges name, and keeps it from being
// handed out. Where that fails Commit tries again, and fails with it.
func (t *Txn) named(edges []mutation.Edge) {
	var greatest uint64
	for i := range edges {
		if uid := edges[i].Subject; uid < maxLeased {
			greatest = max(greatest, uid)
		}
		if uid := edges[i].Target; edges[i].Object == mutation.ObjectUID && uid < maxLeased {
			greatest = max(greatest, uid)
		}
	}
	_ = t.db.uids.observe(greatest)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.mu.greatest = max(t.mu.greatest, greatest)
}

// Commit ends the transaction and makes it durable and visible, all of it or
// nothing, and returns its commit timestamp. conflict.ErrConflict and
// ErrSchemaChanged ask for another try from Begin on.
func (t *Txn) Commit(ctx context.Context) (commitTS uint64, err error) {
	if !t.end() {
		return 0, ErrClosed
	}
	defer t.release()
	if err := t.refusal(); err != nil {
		return 0, err
	}
	if err := t.db.calls.enter(); err != nil {
		return 0, err
	}
	defer t.db.calls.leave()
	begun := time.Now()
	commitTS, err = t.commit(ctx)
	if commitTS != t.StartTS() {
		t.db.opts.Metrics.Committed(time.Since(begun), err)
	}
	return commitTS, err
}

// commit commits the transaction that has ended.
func (t *Txn) commit(ctx context.Context) (uint64, error) {
	if err := t.db.uids.observe(t.mu.greatest); err != nil {
		return 0, err
	}
	t.db.schema.RLock()
	defer t.db.schema.RUnlock()
	if err := t.db.schema.check(t.txn); err != nil {
		return 0, err
	}
	return t.db.commit(ctx, t.txn, t.mu.gated.pass)
}

// commit asks the oracle and writes. A transaction that wrote nothing has no
// commit timestamp: it gives its start.
//
// The pass is released as soon as the commit is decided: those who waited for it
// begin above it, and what they write may go to the disk in the same sync, or, where
// they read nothing, even before it.
func (db *DB) commit(ctx context.Context, txn *mutation.Txn, pass *conflict.Pass) (uint64, error) {
	keys := txn.ConflictKeys()
	if n, _ := txn.Deltas().Size(); n == 0 && len(keys.Exclusive)+len(keys.Shared) == 0 {
		return txn.StartTS(), nil
	}
	ts, err := db.oracle.Commit(ctx, txn.StartTS(), keys)
	pass.ReleaseAt(ts)
	if err != nil {
		return 0, db.calls.closedError(ctx, err)
	}
	err = db.store.Commit(ctx, posting.Commit{TS: ts, Deltas: txn.Deltas(), Readable: db.settle(ts)})
	if err == nil {
		db.oracle.Acknowledged(ts)
	}
	return ts, db.calls.closedError(ctx, err)
}

// settle tells the oracle how a commit ended.
func (db *DB) settle(ts uint64) func(error) {
	return func(err error) {
		if err != nil {
			db.oracle.Abandoned(ts)
			return
		}
		db.oracle.Visible(ts)
	}
}

// Discard ends the transaction without a trace. After Commit it does nothing,
// so it can be deferred.
func (t *Txn) Discard() {
	if t.end() {
		t.release()
	}
}

// end reports whether this call is the one that ends the transaction, and
// waits for calls that still use it.
func (t *Txn) end() bool {
	t.mu.Lock()
	first := !t.mu.ended
	t.mu.ended = true
	t.mu.Unlock()
	if first {
		t.mu.running.Wait()
	}
	return first
}

func (t *Txn) release() {
	t.txn.Release()
	t.db.oracle.Done(t.txn.StartTS())
}
