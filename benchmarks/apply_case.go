package benchmarks

import (
	"context"
	"errors"
	"fmt"

	"github.com/edgemill/edgemill/mutation"
	"github.com/edgemill/edgemill/posting"
	"github.com/edgemill/edgemill/schema"
)

// applyCases are the Apply workloads: one batch in one transaction, to encoded
// deltas and conflict keys; nothing is committed. In the Existing variant the
// subjects hold other values already.
func applyCases() []Case {
	var cases []Case
	for _, w := range ApplyWorkloads() {
		cases = append(cases, workloadCases("Apply/"+w.Name, w, nil)...)
		cases = append(cases, workloadCases("Apply/"+w.Name+"/Existing", w, w.Before)...)
	}
	return cases
}

// workloadCases apply the workload to a store that holds what before makes, or
// nothing.
func workloadCases(name string, w Workload, before func() mutation.Batch) []Case {
	return inModes(name, func(mode Mode) func(context.Context, Meter, int) error {
		return func(ctx context.Context, m Meter, n int) error {
			return runApply(ctx, m, n, &w, mode.Options, before)
		}
	})
}

// applying is an applier over a store in memory.
type applying struct {
	store   *posting.Store
	snap    *schema.Snapshot
	applier *mutation.Applier
}

func newApplying(snap *schema.Snapshot, opts mutation.Options) (*applying, error) {
	applier, err := mutation.New(opts)
	if err != nil {
		return nil, err
	}
	store, err := posting.Open(posting.Options{InMemory: true})
	if err != nil {
		return nil, err
	}
	return &applying{store, snap, applier}, nil
}

// openWorkload makes a store for the workload that holds what before makes, or
// nothing.
func openWorkload(
	ctx context.Context, w *Workload, opts mutation.Options, before func() mutation.Batch,
) (*applying, error) {
	snap, err := w.Snapshot()
	if err != nil {
		return nil, err
	}
	a, err := newApplying(snap, opts)
	if err != nil {
		return nil, err
	}
	if before == nil {
		return a, nil
	}
	if err := a.commit(ctx, before()); err != nil {
		return nil, errors.Join(err, a.store.Close())
	}
	return a, nil
}

// startTS is the start timestamp of batches that are applied and not
// committed, and beforeTS the version of what is there already.
const (
	beforeTS = 2
	startTS  = 3
)

func (a *applying) commit(ctx context.Context, b mutation.Batch) error {
	txn := mutation.NewTxn(a.store, beforeTS-1)
	defer txn.Release()
	if _, err := a.applier.Apply(ctx, txn, a.snap, b); err != nil {
		return fmt.Errorf("what is there before: %w", err)
	}
	return a.store.Commit(ctx, posting.Commit{TS: beforeTS, Deltas: txn.Deltas()})
}

// apply applies the batch in a transaction that is thrown away.
func (a *applying) apply(ctx context.Context, b mutation.Batch) (mutation.Report, error) {
	txn := mutation.NewTxn(a.store, startTS)
	defer txn.Release()
	report, err := a.applier.Apply(ctx, txn, a.snap, b)
	txn.ConflictKeys()
	return report, err
}

func runApply(ctx context.Context, m Meter, n int, w *Workload, opts mutation.Options, before func() mutation.Batch) error {
	a, err := openWorkload(ctx, w, opts, before)
	if err != nil {
		return err
	}
	defer a.store.Close()
	batch := w.Batch()
	m.ResetTimer()
	busy := processorTime()
	var report mutation.Report
	for range n {
		if report, err = a.apply(ctx, batch); err != nil {
			return err
		}
	}
	m.StopTimer()
	edges := float64(len(batch.Edges))
	reportEdges(m, n, len(batch.Edges))
	m.ReportMetric(float64(processorTime()-busy)/edges/float64(n), "cpu-ns/edge")
	m.ReportMetric(float64(report.Reads)/edges, "reads/edge")
	return nil
}
