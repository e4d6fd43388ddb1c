package main

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/edgemill/edgemill/conflict"
	"github.com/edgemill/edgemill/mutation"
	"github.com/edgemill/edgemill/posting"
	"github.com/edgemill/edgemill/schema"
)

const (
	// schemaTS is the version of the stored schema, below every transaction's.
	schemaTS = 1
	// maxApplying is how many batches are taken in hand at once.
	maxApplying = 64
	// maxDecided is how many decisions may wait for their commit.
	maxDecided = 256
)

// replica is a store that is fed with the log.
//
// A transaction's batches are applied while those of others are, and while
// commits wait for the disk: all that the order asks for is that a transaction
// reads every commit below its start, that its own batches follow each other, and
// that commits are made in the order of the log, so that a mark vouches for all
// below it.
type replica struct {
	store   *posting.Store
	applier *mutation.Applier
	snap    *schema.Snapshot
	// skip is the mark with which the store was opened, and committed the greatest
	// version that it had. Commit timestamps ascend in the log, so a decision up to
	// committed has been carried out. It must not be again: where the mark lies
	// across the transaction, only the proposals above the mark are there to be fed.
	skip, committed uint64

	// These belong to the feeder.
	open map[uint64]*transaction
	// commits are those that may not be readable yet, in order.
	commits []commit

	applying  chan struct{}
	decided   chan decision
	committer sync.WaitGroup
	failure   struct {
		sync.Mutex
		err error
	}
}

// transaction is one that has not been decided.
type transaction struct {
	txn *mutation.Txn
	// first is the index of its first proposal.
	first uint64
	// last is closed when its batches so far have been applied.
	last chan struct{}
}

// commit is one that has been decided. readable is closed when it can be read, or
// the replica has failed.
type commit struct {
	ts       uint64
	readable chan struct{}
}

// decision is on its way to the goroutine that commits. txn is nil where nothing
// was proposed.
type decision struct {
	txn *transaction
	commit
	// mark is what the commit makes durable beside it.
	mark uint64
	// done takes the outcome.
	done chan error
}

// openReplica opens the store in a folder. It is to be fed from the entry on
// whose index follows applied().
func openReplica(opts posting.Options, schemaText string) (*replica, error) {
	parsed, err := schema.Parse(schemaText)
	if err != nil {
		return nil, err
	}
	applier, err := mutation.New(mutation.DefaultOptions())
	if err != nil {
		return nil, err
	}
	store, err := posting.Open(opts)
	if err != nil {
		return nil, err
	}
	r := &replica{
		store: store, applier: applier, snap: schema.NewSnapshot(parsed.Predicates, parsed.Types),
		skip: store.Applied(), committed: store.MaxVersion(), open: make(map[uint64]*transaction),
		applying: make(chan struct{}, maxApplying), decided: make(chan decision, maxDecided),
	}
	if err := r.storeSchema(); err != nil {
		return nil, errors.Join(err, store.Close())
	}
	r.committer.Go(r.commitAll)
	return r, nil
}

// storeSchema writes the schema beside the data, for other programs to read. It
// is the same each time, so that writing it again changes nothing.
func (r *replica) storeSchema() error {
	c := posting.Commit{TS: schemaTS}
	for p := range r.snap.All() {
		c.Entries = append(c.Entries, posting.Entry{
			Key: posting.AppendSchemaKey(nil, p.Namespace, p.Name), Value: p.AppendUpdate(nil),
			Meta: posting.MetaSchema, Version: schemaTS,
		})
	}
	return r.store.Commit(context.Background(), c)
}

// applied is the index of the last entry that need not be fed.
func (r *replica) applied() uint64 { return r.skip }

// feed takes the next entry of the log. It returns where the outcome will be:
// that of applying a proposal, or that of a commit. An outcome is not lost on who
// does not wait for it, and no outcome comes of an entry that is skipped.
func (r *replica) feed(e entry) (<-chan error, error) {
	if err := r.failed(); err != nil {
		return nil, err
	}
	done := make(chan error, 1)
	switch {
	case e.Index <= r.skip:
		done <- nil
	case e.isProposal():
		r.propose(e, done)
	default:
		r.decide(e, done)
	}
	return done, nil
}

// propose has the batch applied. A batch that fails leaves its transaction as it
// was, here as on every replica, so a failure concerns only who proposed it.
func (r *replica) propose(e entry, done chan<- error) {
	t := r.open[e.Start]
	if t == nil {
		r.awaitReadable(e.Start)
		t = &transaction{txn: mutation.NewTxn(r.store, e.Start), first: e.Index, last: make(chan struct{})}
		close(t.last)
		r.open[e.Start] = t
	}
	before, after := t.last, make(chan struct{})
	t.last = after
	r.applying <- struct{}{}
	go func() {
		<-before
		_, err := r.applier.Apply(context.Background(), t.txn, r.snap, mutation.Batch{Edges: e.Edges})
		<-r.applying
		close(after)
		done <- err
	}()
}

// awaitReadable waits for the commits that a transaction has to see.
func (r *replica) awaitReadable(startTS uint64) {
	for len(r.commits) > 0 && r.commits[0].ts <= startTS {
		<-r.commits[0].readable
		r.commits = r.commits[1:]
	}
}

// decide hands the decision to the goroutine that commits.
func (r *replica) decide(e entry, done chan error) {
	d := decision{txn: r.open[e.Start], commit: commit{e.Commit, make(chan struct{})}, done: done}
	delete(r.open, e.Start)
	d.mark = r.mark(e.Index)
	if e.Commit <= r.committed {
		d.ts = 0
	} else {
		r.commits = append(r.commits, d.commit)
	}
	r.decided <- d
}

// mark is the greatest index, up to a decision's, below which everything is done
// once the decision is: of a transaction that is open no proposal may be skipped.
func (r *replica) mark(index uint64) uint64 {
	for _, t := range r.open {
		index = min(index, t.first-1)
	}
	return index
}

// keys returns the conflict keys of a transaction of which every batch so far has
// been applied. It belongs to the feeder.
func (r *replica) keys(startTS uint64) conflict.Set {
	t := r.open[startTS]
	if t == nil {
		return conflict.Set{}
	}
	<-t.last
	return t.txn.ConflictKeys()
}

// commitAll makes the commits, one after the other.
func (r *replica) commitAll() {
	for d := range r.decided {
		if d.txn != nil {
			<-d.txn.last
		}
		err := r.failed()
		if err == nil && d.ts > 0 {
			err = r.commit(d)
		}
		if d.txn != nil {
			d.txn.txn.Release()
		}
		close(d.readable)
		d.done <- err
	}
}

func (r *replica) commit(d decision) error {
	readable := make(chan error, 1)
	c := posting.Commit{TS: d.ts, Applied: d.mark, Readable: func(err error) { readable <- err }}
	if d.txn != nil {
		c.Deltas = d.txn.txn.Deltas()
	}
	err := r.store.Commit(context.Background(), c)
	if err == nil {
		err = <-readable
	}
	if err != nil {
		err = fmt.Errorf("commit at %d: %w", d.ts, err)
		r.fail(err)
	}
	return err
}

// fail ends the replica: a commit that the log has must be made before any other.
// It is made when the replica is opened and fed again.
func (r *replica) fail(err error) {
	r.failure.Lock()
	defer r.failure.Unlock()
	if r.failure.err == nil {
		r.failure.err = err
	}
}

func (r *replica) failed() error {
	r.failure.Lock()
	defer r.failure.Unlock()
	return r.failure.err
}

// close makes the commits that were fed and closes the store. Transactions that
// have not been decided are fed again another time.
func (r *replica) close() error {
	close(r.decided)
	r.committer.Wait()
	for _, t := range r.open {
		<-t.last
		t.txn.Release()
	}
	return errors.Join(r.failed(), r.store.Close())
}
