package mutation

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/edgemill/edgemill/conflict"
	"github.com/edgemill/edgemill/posting"
)

// Name is a predicate with its namespace.
type Name struct {
	Namespace uint64
	Predicate string
}

// Txn is a transaction as the appliers see it: a snapshot to read from, and
// what its batches have written. Its methods may be called from any goroutine;
// batches of one transaction are applied one at a time.
type Txn struct {
	startTS uint64
	reader  *posting.Reader
	deltas  posting.Deltas

	mu struct {
		sync.Mutex
		// applying says that a batch runs; ended, if somebody waits for that, is
		// closed when it does not any more.
		applying bool
		ended    chan struct{}

		keys conflict.Buffer
		// touched are distinct.
		touched []Name
	}
}

// NewTxn begins a transaction at a start timestamp, at which the store is
// read as a posting.Store's Snapshot. Release ends it.
func NewTxn(store *posting.Store, startTS uint64) *Txn {
	return newTxn(startTS, store.Snapshot(startTS))
}

// NewTxnAfter is NewTxn at a timestamp through which not every commit can be
// read yet; readable returns when they can. It is called before the first read, so
// a transaction that writes without looking at what is there never waits.
func NewTxnAfter(store *posting.Store, startTS uint64, readable func(context.Context) error) *Txn {
	return newTxn(startTS, store.SnapshotAfter(startTS, readable))
}

func newTxn(startTS uint64, reader *posting.Reader) *Txn {
	return &Txn{startTS: startTS, reader: reader}
}

// begin waits until no other batch of the transaction runs.
func (t *Txn) begin(ctx context.Context) error {
	for {
		t.mu.Lock()
		if !t.mu.applying {
			t.mu.applying = true
			t.mu.Unlock()
			return nil
		}
		if t.mu.ended == nil {
			t.mu.ended = make(chan struct{})
		}
		ended := t.mu.ended
		t.mu.Unlock()
		select {
		case <-ended:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// end lets the next batch begin.
func (t *Txn) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.mu.applying = false
	if t.mu.ended != nil {
		close(t.mu.ended)
		t.mu.ended = nil
	}
}

// Await returns when the transaction's snapshot can be read without a wait.
func (t *Txn) Await(ctx context.Context) error { return t.reader.Await(ctx) }

// StartTS returns the start timestamp.
func (t *Txn) StartTS() uint64 { return t.startTS }

// Deltas returns what the transaction writes. It may be read until and after
// Release.
func (t *Txn) Deltas() *posting.Deltas { return &t.deltas }

// List reads a list as the transaction sees it: the snapshot with its own
// batches on top.
func (t *Txn) List(key []byte) (*posting.List, error) {
	own, _ := t.deltas.Get(key)
	return t.reader.ListUnder(key, own)
}

// ConflictKeys returns the distinct conflict keys of all batches.
func (t *Txn) ConflictKeys() conflict.Set {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.mu.keys.Set()
}

// Touched calls f with each predicate that an edge of the transaction was on,
// until f returns false. f does not use the transaction.
func (t *Txn) Touched(f func(Name) bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, name := range t.mu.touched {
		if !f(name) {
			return
		}
	}
}

// Release frees the snapshot. No batch is applied and nothing is read through
// the transaction afterwards.
func (t *Txn) Release() { t.reader.Release() }

// written is what a batch leaves to its transaction. The transaction keeps the
// runs, and copies the rest.
type written struct {
	runs    []*posting.Run
	keys    []*conflict.Buffer
	touched []Name
}

// touch adds a batch's distinct predicates to those of the ones before. It runs
// under mu.
func (t *Txn) touch(names []Name) {
	first := len(t.mu.touched) == 0
	t.mu.touched = append(t.mu.touched, names...)
	if first {
		return
	}
	slices.SortFunc(t.mu.touched, func(a, b Name) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Predicate, b.Predicate))
	})
	t.mu.touched = slices.Compact(t.mu.touched)
}

// publish makes a batch's result part of the transaction (I3).
func (t *Txn) publish(w *written) {
	t.mu.Lock()
	defer t.mu.Unlock()
	exclusive, shared := 0, 0
	for _, k := range w.keys {
		e, s := k.Len()
		exclusive, shared = exclusive+e, shared+s
	}
	t.mu.keys.Grow(exclusive, shared)
	for _, k := range w.keys {
		t.mu.keys.Append(k)
	}
	t.touch(w.touched)
	t.deltas.Publish(w.runs...)
}
