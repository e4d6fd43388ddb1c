package mutation

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/edgemill/edgemill/schema"
)

// Applier applies batches to transactions. It is immutable but for counters:
// any number of goroutines may call Apply, on different transactions at once.
type Applier struct {
	opts Options
	// runs keeps the scratch of batches that are over.
	runs    sync.Pool
	helpers helpers
	// inject, set by tests, fails a stage.
	inject func(stage string) error
}

// New returns an applier with the options, or says what is wrong with them.
func New(opts Options) (*Applier, error) {
	opts, err := opts.validate()
	if err != nil {
		return nil, err
	}
	if opts.Metrics == nil {
		opts.Metrics = noMetrics{}
	}
	return &Applier{opts: opts}, nil
}

// Options returns the options in force, defaults filled in.
func (a *Applier) Options() Options { return a.opts }

// Apply applies the batch to the transaction under the schema. On an error,
// which for a wrong edge is an *EdgeError, the transaction is as it was
// before; a panic below Apply is an error too. A cancelled context is seen
// within a few milliseconds. Batches of one transaction wait for each other.
func (a *Applier) Apply(ctx context.Context, txn *Txn, snap *schema.Snapshot, b Batch) (Report, error) {
	if err := checkFresh(b.Fresh); err != nil {
		return Report{}, err
	}
	if err := txn.begin(ctx); err != nil {
		return Report{}, err
	}
	defer txn.end()
	start := time.Now()
	report, err := a.apply(ctx, txn, snap, &b)
	report.Edges, report.Took = len(b.Edges), time.Since(start)
	report.Asked = a.opts.asked(procs())
	a.opts.Metrics.Applied(&report, err)
	a.log(ctx, &report, err)
	return report, err
}

func (a *Applier) apply(ctx context.Context, txn *Txn, snap *schema.Snapshot, b *Batch) (report Report, err error) {
	if len(b.Edges) == 0 {
		return Report{}, ctx.Err()
	}
	if a.opts.MinEdges == 0 || len(b.Edges) < a.opts.MinEdges {
		return applySerial(ctx, txn, snap, b)
	}
	workers, bound := workersFor(a.opts, len(b.Edges), procs())
	run := a.takeRun(ctx, txn, snap, b)
	defer a.putRun(run)
	if err := run.guard(func() error { return run.plan.split(snap, b) }); err != nil {
		return Report{}, err
	}
	if run.plan.uniqueLang {
		return applySerial(ctx, txn, snap, b)
	}
	if run.plan.reads(b) {
		if err := txn.Await(ctx); err != nil {
			return Report{}, err
		}
	}
	err = run.guard(func() (err error) {
		report, err = run.apply(workers)
		return err
	})
	report.Bound = bound
	return report, err
}

func applySerial(ctx context.Context, txn *Txn, snap *schema.Snapshot, b *Batch) (report Report, err error) {
	defer recovered(&err)
	if err := txn.Await(ctx); err != nil {
		return Report{}, err
	}
	s := newSerial(txn, snap, b)
	run, err := s.run(ctx)
	if err != nil {
		return Report{}, err
	}
	return Report{Workers: 1, Keys: run.Len(), Bytes: run.Bytes(), Reads: s.reads}, nil
}

func (a *Applier) log(ctx context.Context, r *Report, err error) {
	if a.opts.Logger == nil || !a.opts.Logger.Enabled(ctx, slog.LevelDebug) {
		return
	}
	a.opts.Logger.LogAttrs(ctx, slog.LevelDebug, "batch applied", slog.Any("report", r), slog.Any("error", err))
}
