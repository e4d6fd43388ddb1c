package benchmarks

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/edgemill/edgemill/mutation"
	"github.com/edgemill/edgemill/posting"
	"github.com/edgemill/edgemill/schema"
)

// mutateShape is a workload that is applied and committed: so many subjects
// that nobody had, with a value of their own under each of so many predicates.
type mutateShape struct {
	predicates, subjects int
	// index says whether the predicates have @index(exact).
	index bool
}

// mutateShapes are the Mutate workloads.
func mutateShapes() []mutateShape {
	return []mutateShape{
		{1, 1, true}, {1, 1000, true}, {10, 1, true}, {10, 1000, true}, {10, 1000, false}, {50, 1000, true},
	}
}

// mutateCases apply and commit to Badger on disk, not synced; an operation is a
// transaction. The next one begins when the commit was answered, as it does for
// a client of the DB, and the clock stops when Badger has them all; in readable
// the next one begins when the commit can be read. Beside each stands what
// Badger takes to write the same entries: as they are in the transaction
// (badger), and put in the order of their keys beforehand (badger-sorted).
func mutateCases() []Case {
	var cases []Case
	for _, s := range mutateShapes() {
		cases = append(cases, inModes("Mutate/"+s.name(), func(mode Mode) func(context.Context, Meter, int) error {
			return func(ctx context.Context, m Meter, n int) error {
				return runMutate(ctx, m, n, s, mode.Options, answered)
			}
		})...)
		cases = append(cases, Case{
			Name: "Mutate/" + s.name() + "/readable",
			Run: func(ctx context.Context, m Meter, n int) error {
				return runMutate(ctx, m, n, s, mutation.DefaultOptions(), readable)
			},
		})
		for _, order := range []entryOrder{asGiven, byKey} {
			cases = append(cases, Case{
				Name: "Mutate/" + s.name() + "/" + order.String(),
				Run:  func(ctx context.Context, m Meter, n int) error { return runMutateRaw(ctx, m, n, s, order) },
			})
		}
	}
	return cases
}

func (s mutateShape) name() string {
	index := "noindex"
	if s.index {
		index = "exact"
	}
	return fmt.Sprintf("%dx%d/%s", s.predicates, s.subjects, index)
}

func (s mutateShape) edges() int { return s.predicates * s.subjects }

func (s mutateShape) snapshot() (*schema.Snapshot, error) {
	text := indexedPredicates(s.predicates)
	if !s.index {
		text = strings.ReplaceAll(text, " @index(exact)", "")
	}
	w := Workload{Name: s.name(), Schema: text}
	return w.Snapshot()
}

// batch is the n-th batch, its subjects stated fresh.
func (s mutateShape) batch(n int) mutation.Batch {
	first := uint64(firstSubject + n*s.subjects)
	b := mutation.Batch{
		Edges: make([]mutation.Edge, 0, s.edges()),
		Fresh: []mutation.UIDRange{{First: first, Last: first + uint64(s.subjects) - 1}},
	}
	for p := range s.predicates {
		predicate := predicateName(p)
		for i := range uint64(s.subjects) {
			b.Edges = append(b.Edges, mutation.Edge{
				Subject: first + i, Predicate: predicate, Value: text("value-%d-%d", p, first+i),
			})
		}
	}
	return b
}

// batches are made outside the clock, so many at a time that stopping it, and
// waiting for the last one's commit, costs little.
func (s mutateShape) batches(from, n int) []mutation.Batch {
	batches := make([]mutation.Batch, min(n-from, max(8, 10_000/s.edges())))
	for i := range batches {
		batches[i] = s.batch(from + i)
	}
	return batches
}

// until is how far a commit has come when its client goes on.
type until int

const (
	answered until = iota
	readable
)

// mutating is an applier over a store on disk, with timestamps.
type mutating struct {
	applying
	ts uint64
	// readable has the outcome of the commit that is on its way.
	readable chan error
}

func newMutating(dir string, snap *schema.Snapshot, opts mutation.Options) (*mutating, error) {
	applier, err := mutation.New(opts)
	if err != nil {
		return nil, err
	}
	store, err := posting.Open(posting.Options{Dir: dir, Commit: posting.CommitOptions{NoSync: true}})
	if err != nil {
		return nil, err
	}
	return &mutating{applying: applying{store, snap, applier}, readable: make(chan error, 1)}, nil
}

// mutate applies the batch, hands over its keys and commits; it returns when
// the commit was answered, or can be read.
func (w *mutating) mutate(ctx context.Context, b mutation.Batch, wait until) (mutation.Report, error) {
	txn := mutation.NewTxn(w.store, w.ts+1)
	defer txn.Release()
	report, err := w.applier.Apply(ctx, txn, w.snap, b)
	if err != nil {
		return report, err
	}
	txn.ConflictKeys()
	w.ts += 2
	return report, w.write(ctx, txn.Deltas(), wait)
}

// write commits at the writer's timestamp.
func (w *mutating) write(ctx context.Context, deltas *posting.Deltas, wait until) error {
	c := posting.Commit{TS: w.ts, Deltas: deltas}
	if wait == answered {
		return w.store.Commit(ctx, c)
	}
	c.Readable = func(err error) { w.readable <- err }
	if err := w.store.Commit(ctx, c); err != nil {
		return err
	}
	return <-w.readable
}

func runMutate(ctx context.Context, m Meter, n int, s mutateShape, opts mutation.Options, wait until) (err error) {
	snap, err := s.snapshot()
	if err != nil {
		return err
	}
	w, err := newMutating(m.Dir(), snap, opts)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.store.Close()) }()
	var report mutation.Report
	last := 0
	prepare := func(from int) ([]mutation.Batch, error) {
		batches := s.batches(from, n)
		last = from + len(batches) - 1
		return batches, nil
	}
	err = prepared(m, n, prepare, func(i int, b mutation.Batch) (err error) {
		wait := wait
		if i == last {
			wait = readable // The clock is about to stop.
		}
		report, err = w.mutate(ctx, b, wait)
		return err
	})
	reportEdges(m, n, s.edges())
	m.ReportMetric(float64(report.Keys), "entries/op")
	return err
}

// runMutateRaw writes what runMutate writes straight into Badger.
func runMutateRaw(ctx context.Context, m Meter, n int, s mutateShape, order entryOrder) (err error) {
	snap, err := s.snapshot()
	if err != nil {
		return err
	}
	a, err := newApplying(snap, mutation.DefaultOptions())
	if err != nil {
		return err
	}
	defer a.store.Close()
	raw, err := openRaw(m.Dir())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, raw.Close()) }()
	entries := 0
	prepare := func(from int) (txns [][]posting.KeyValue, err error) {
		for _, b := range s.batches(from, n) {
			kvs, err := a.entries(ctx, b, order)
			if err != nil {
				return nil, err
			}
			txns = append(txns, kvs)
		}
		return txns, nil
	}
	err = prepared(m, n, prepare, func(i int, kvs []posting.KeyValue) error {
		entries = len(kvs)
		return writeRaw(raw, uint64(i+1), kvs)
	})
	reportEdges(m, n, s.edges())
	m.ReportMetric(float64(entries), "entries/op")
	return err
}
