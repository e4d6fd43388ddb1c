package benchmarks

import (
	"context"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/edgemill/edgemill/mutation"
	"github.com/edgemill/edgemill/posting"
)

// modes are the appliers that each Apply workload is run with.
var modes = []struct {
	name string
	opts mutation.Options
}{
	{"serial", mutation.Options{}},
	{"off", mutation.Options{Parallelism: mutation.Off, MinEdges: 1}},
	{"2", mutation.Options{Parallelism: mutation.Workers(2), MinEdges: 1}},
	{"8", mutation.Options{Parallelism: mutation.Workers(8), MinEdges: 1}},
	{"32", mutation.Options{Parallelism: mutation.Workers(32), MinEdges: 1}},
	{"auto", mutation.DefaultOptions()},
}

// BenchmarkApply is one batch in one transaction, to encoded deltas and
// conflict keys; nothing is committed. The Existing variant has the subjects
// hold other values already.
func BenchmarkApply(b *testing.B) {
	for _, w := range ApplyWorkloads() {
		b.Run(w.Name, func(b *testing.B) {
			for _, m := range modes {
				b.Run(m.name, func(b *testing.B) { benchApply(b, &w, m.opts, false) })
			}
			b.Run("Existing", func(b *testing.B) {
				for _, m := range modes {
					b.Run(m.name, func(b *testing.B) { benchApply(b, &w, m.opts, true) })
				}
			})
		})
	}
}

func benchApply(b *testing.B, w *Workload, opts mutation.Options, existing bool) {
	store, err := posting.Open(posting.Options{InMemory: true})
	check(b, err)
	defer store.Close()
	snap, err := w.Snapshot()
	check(b, err)
	applier, err := mutation.New(opts)
	check(b, err)
	ctx := context.Background()
	if existing {
		txn := mutation.NewTxn(store, 1)
		_, err := applier.Apply(ctx, txn, snap, w.Before)
		check(b, err)
		done := make(chan error, 1)
		check(b, store.Commit(ctx, posting.Commit{TS: 2, Deltas: txn.Deltas(), Readable: func(err error) { done <- err }}))
		check(b, <-done)
		txn.Release()
	}
	b.ReportAllocs()
	b.ResetTimer()
	cpu := cpuTime()
	var report mutation.Report
	for range b.N {
		txn := mutation.NewTxn(store, 3)
		report, err = applier.Apply(ctx, txn, snap, w.Batch)
		if err != nil {
			b.Fatal(err)
		}
		txn.ConflictKeys()
		txn.Release()
	}
	edges := float64(len(w.Batch.Edges))
	b.ReportMetric(edges*float64(b.N)/b.Elapsed().Seconds(), "edges/s")
	b.ReportMetric(float64((cpuTime()-cpu).Nanoseconds())/edges/float64(b.N), "cpu-ns/edge")
	b.ReportMetric(float64(report.Reads)/edges, "reads/edge")
}

// cpuTime is the processor time that the process has used.
func cpuTime() time.Duration {
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func check(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}
