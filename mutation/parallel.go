package mutation

import (
	"context"
	"encoding/binary"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/edgemill/edgemill/conflict"
	"github.com/edgemill/edgemill/posting"
	"github.com/edgemill/edgemill/schema"
	"github.com/edgemill/edgemill/schema/token"
)

// batchRun is one batch on its way through the passes. Its plan and workers
// are scratch that the next batch uses again; only the workers' runs and keys
// leave it, and they alias none of the scratch (I7).
//
// The way is three passes, each joined before the next begins: fold (parts of
// subjects), own (owners of reverse, index and count keys), and recount
// (owners of reverse-count keys). Nothing is locked while a pass runs, since a
// key belongs to one worker (I1): a part has its subjects' data keys to
// itself, and what it derives goes into buffers of its own, which are read
// only after the join.
type batchRun struct {
	ctx     context.Context
	txn     *Txn
	snap    *schema.Snapshot
	batch   *Batch
	plan    plan
	workers []*worker
	// earlier says that batches of the transaction came before.
	earlier bool
	// failed is set with the first error, and ends the rest (I5).
	failed atomic.Bool
	inject func(stage string) error
	passes []PassTime

	// The pass that runs: its name, its tasks, the next one to be taken, the
	// first error, and the join.
	stage string
	tasks []task
	next  atomic.Int64
	err   error
	join  sync.WaitGroup

	written written
	// helpers are the Applier's, of whom no more than sizing less one work at a
	// time, for all batches together.
	helpers *helpers
	sizing  int
}

// worker is the scratch of one goroutine of a pass, and what it has written:
// its run and its conflict keys.
type worker struct {
	b    *batchRun
	run  *posting.Run
	keys conflict.Buffer
	// reads is the number of lists read from the store.
	reads int

	// The predicate, part, subject and edge in hand.
	pp         *predicatePlan
	pt         *part
	partNo     uint16
	subject    uint64
	edge       uint32
	base       *posting.List
	own        []byte
	fp         uint64
	n          int
	mayNeedOld bool
	earlier    bool

	sorter               sorter
	delta, holders       posting.Delta
	counts               bucketPrints
	tokens               token.Buffer
	kept                 idSet
	held                 idCounts
	olds                 []oldState
	sweep                posting.Sweep
	family               family
	ids, newIDs, oldIDs  []uint32
	uids                 []uint64
	post                 posting.Posting
	key, value, valueKey []byte
	stored, lang, facets []byte
	// arena holds what the delta in hand refers to.
	arena         []byte
	facetEncoder  facetEncoder
	merge         keyTable
	owned         []ownedKey
	segments      []segment
	recs, ordered []record
}

// begin takes a part in hand.
func (w *worker) begin(pp *predicatePlan, pt *part, n int) {
	w.pp, w.pt, w.partNo = pp, pt, uint16(n)
	w.counts.reset()
	w.earlier = w.b.earlier
	w.mayNeedOld = w.b.plan.stars || pp.mayNeedOld()
}

// apply runs the passes with so many workers, and publishes the batch. @unique
// predicates that are @lang are not for it: their values are held apart by the
// data of the subjects with an equal token, which a pass over tokens does not
// see.
func (r *batchRun) apply(workers int) (Report, error) {
	report := Report{Workers: workers, Grants: r.plan.grants(workers)}
	err := r.through(workers)
	report.Passes = r.passes
	if err != nil {
		return report, err
	}
	return report, r.publish(&report)
}

// takeRun readies a batch's scratch.
func (a *Applier) takeRun(ctx context.Context, txn *Txn, snap *schema.Snapshot, b *Batch) *batchRun {
	r, ok := a.runs.Get().(*batchRun)
	if !ok {
		r = &batchRun{}
	}
	n, _ := txn.deltas.Size()
	r.ctx, r.txn, r.snap, r.batch, r.earlier = ctx, txn, snap, b, n > 0
	r.inject, r.helpers, r.sizing = a.inject, &a.helpers, a.opts.Parallelism.sizing(procs())
	r.failed.Store(false)
	return r
}

// putRun gives the scratch back, without a reference to the batch.
func (a *Applier) putRun(r *batchRun) {
	for _, w := range r.workers {
		w.reset()
	}
	r.plan.reset()
	r.ctx, r.txn, r.snap, r.batch, r.passes, r.err = nil, nil, nil, nil, nil, nil
	clear(r.tasks)
	clear(r.written.runs)
	clear(r.written.touched)
	a.runs.Put(r)
}

func (w *worker) reset() {
	w.run, w.reads, w.pp, w.pt, w.base, w.own = nil, 0, nil, nil, nil, nil
	w.sweep, w.family = posting.Sweep{}, family{from: w.family.from[:0]}
	w.keys.Reset()
	w.delta.Reset(nil, false)
	w.holders.Reset(nil, false)
	clear(w.olds)
	w.post = posting.Posting{}
}

// maxPasses is how many passes a batch has at the most.
const maxPasses = 3

// through runs the passes.
func (r *batchRun) through(workers int) error {
	for len(r.workers) < workers {
		r.workers = append(r.workers, &worker{})
	}
	for _, w := range r.workers[:workers] {
		w.b, w.run = r, &posting.Run{}
	}
	r.passes = make([]PassTime, 0, maxPasses)
	if err := r.pass("fold", workers, r.foldTasks()); err != nil {
		return err
	}
	if err := r.pass("own", workers, r.ownTasks()); err != nil {
		return err
	}
	return r.pass("recount", workers, r.recountTasks())
}

// task is one part's work in the first pass, or one owner's in the others.
type task struct {
	pp *predicatePlan
	// kind is that of the owner's keys; data for a part.
	kind posting.Kind
	// n is the part's or owner's number.
	n int
}

func (w *worker) do(t task) error {
	if t.kind == posting.KindData {
		return w.foldPart(t.pp, t.n)
	}
	t.pp.family(&w.family, t.kind)
	return w.ownPart(&w.family, t.n)
}

// foldTasks are the parts, those of the largest predicates first.
func (r *batchRun) foldTasks() []task {
	r.tasks = r.tasks[:0]
	for _, pp := range r.plan.predicates {
		pp.cut()
		r.addTasks(pp, posting.KindData)
	}
	return r.tasks
}

// ownTasks are the owners of what the parts derived.
func (r *batchRun) ownTasks() []task {
	r.tasks = r.tasks[:0]
	for _, pp := range r.plan.predicates {
		if pp.p.Reverse {
			pp.prepareMoves()
			r.addTasks(pp, posting.KindReverse)
		}
		if pp.p.Indexed() {
			r.addTasks(pp, posting.KindIndex)
		}
		if pp.p.Count {
			r.addTasks(pp, posting.KindCount)
		}
	}
	return r.tasks
}

// recountTasks are the owners of the buckets that the targets move between.
func (r *batchRun) recountTasks() []task {
	r.tasks = r.tasks[:0]
	for _, pp := range r.plan.predicates {
		if pp.p.Reverse && pp.p.Count {
			r.addTasks(pp, posting.KindCountReverse)
		}
	}
	return r.tasks
}

func (r *batchRun) addTasks(pp *predicatePlan, kind posting.Kind) {
	for n := range pp.parts {
		r.tasks = append(r.tasks, task{pp, kind, n})
	}
}

// pass runs the tasks, in order, on so many workers at most, and joins them
// (I5). The caller is one of the workers; the others are those of the Applier's
// helpers that are free.
func (r *batchRun) pass(stage string, workers int, tasks []task) error {
	if len(tasks) == 0 {
		return nil
	}
	start := time.Now()
	r.stage, r.tasks = stage, tasks
	r.next.Store(0)
	helping := r.helpers.take(min(workers, len(tasks))-1, r.sizing-1)
	for _, w := range r.workers[1 : 1+helping] {
		r.join.Go(w.work)
	}
	r.workers[0].work()
	r.join.Wait()
	r.helpers.give(helping)
	r.passes = append(r.passes, PassTime{stage, time.Since(start)})
	return r.err
}

// work does tasks until none is left or one has failed. The first error is the
// pass's; it is read when the pass is joined.
func (w *worker) work() {
	r := w.b
	for !r.failed.Load() {
		n := int(r.next.Add(1)) - 1
		if n >= len(r.tasks) {
			return
		}
		schedulePoint()
		if err := r.runTask(w, r.tasks[n]); err != nil && r.failed.CompareAndSwap(false, true) {
			r.err = err
		}
	}
}

// runTask does one task; a panic below it is an error.
func (r *batchRun) runTask(w *worker, t task) (err error) {
	defer recovered(&err)
	if r.inject != nil {
		if err := r.inject(r.stage); err != nil {
			return err
		}
	}
	return w.do(t)
}

// recovered, deferred, makes a panic an error.
func recovered(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("apply: panic: %v", p)
	}
}

// guard makes a panic below the applier an error.
func (r *batchRun) guard(f func() error) (err error) {
	defer recovered(&err)
	return f()
}

// errStopped ends a worker after another one failed; it is never the error
// that is reported.
var errStopped = fmt.Errorf("apply: stopped")

// stopped is asked every few hundred edges.
func (r *batchRun) stopped() error {
	if r.ctx.Err() != nil {
		return context.Cause(r.ctx)
	}
	if r.failed.Load() {
		return errStopped
	}
	return nil
}

func (r *batchRun) edgeError(n uint32, err error) error {
	if err == nil {
		return nil
	}
	e := &r.batch.Edges[n]
	return &EdgeError{Index: int(n), Predicate: e.Predicate, Subject: e.Subject, Err: err}
}

// publish hands the workers' runs and keys to the transaction (I3).
func (r *batchRun) publish(report *Report) error {
	if r.inject != nil {
		if err := r.inject("publish"); err != nil {
			return err
		}
	}
	if r.ctx.Err() != nil {
		return context.Cause(r.ctx)
	}
	out := &r.written
	out.runs, out.keys, out.touched = out.runs[:0], out.keys[:0], out.touched[:0]
	for _, w := range r.workers[:report.Workers] {
		out.runs, out.keys = append(out.runs, w.run), append(out.keys, &w.keys)
		report.Keys += w.run.Len()
		report.Bytes += w.run.Bytes()
		report.Reads += w.reads
	}
	for _, pp := range r.plan.predicates {
		if pp.touched() {
			out.touched = append(out.touched, Name{pp.p.Namespace, pp.p.Name})
		}
	}
	r.txn.publish(out)
	return nil
}

func uidOf(term []byte) uint64 { return binary.BigEndian.Uint64(term) }
