package edgemill

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/edgemill/edgemill/posting"
	"github.com/edgemill/edgemill/schema"
)

// VerifyOptions say how Verify works. The zero value is a sane default.
type VerifyOptions struct {
	// Progress, if not nil, is told now and then how far it is.
	Progress func(VerifyProgress)
	// Violation, if not nil, is told of each violation as it is found. Neither
	// function is called by two goroutines at once, and neither may call the DB.
	Violation func(Violation)
	// Limit is how many violations the report keeps; 0 for all.
	Limit int
	// Workers is how many goroutines read; 0 for as many as processors.
	Workers int
}

// VerifyProgress is how far a Verify is.
type VerifyProgress struct {
	// Keys is the number of keys read. A predicate with violations is read more
	// than once, but counted once.
	Keys uint64
	// Violations is how many have been found.
	Violations uint64
}

// VerifyReport is what Verify found.
type VerifyReport struct {
	// TS is the timestamp at which the store was read.
	TS uint64
	// Predicates has a count for each predicate that is in the schema or has
	// lists, by namespace and name.
	Predicates []PredicateReport
	// Violations are in the order of their keys; there are Found of them, of
	// which a limit may have kept some out.
	Violations []Violation
	Found      uint64
	// Keys and Versions were read and decoded.
	Keys, Versions uint64
}

// OK reports whether nothing is wrong.
func (r *VerifyReport) OK() bool { return r.Found == 0 }

// PredicateReport counts what one predicate has.
type PredicateReport struct {
	Namespace uint64
	Predicate string
	// Subjects have Postings values and targets in all.
	Subjects, Postings uint64
	// Tokens of the index have IndexEntries in all.
	Tokens, IndexEntries uint64
	// Targets of the reverse lists have ReverseEntries in all.
	Targets, ReverseEntries uint64
	// CountEntries and ReverseCountEntries are over all buckets.
	CountEntries, ReverseCountEntries uint64
	// Unchecked says why the statements were not checked for the predicate; ""
	// where they were.
	Unchecked string
}

// Violation is one thing in the store that is not as it should be.
type Violation struct {
	// RawKey is the key that it is about, in the store's bytes.
	RawKey []byte
	// Key is RawKey taken apart; the zero Key where that is not possible.
	Key posting.Key
	// UID is the posting that it is about, 0 where it is about the whole list.
	UID uint64
	// What is wrong, in words.
	What string
}

// Kind names what the key holds: data, index, reverse, count, count_reverse,
// schema, type, or key for one that can't be taken apart.
func (v Violation) Kind() string {
	switch {
	case v.Key.Predicate == "":
		return "key"
	case v.Key.Space == posting.SpaceSchema:
		return "schema"
	case v.Key.Space == posting.SpaceType:
		return "type"
	}
	return v.Key.Kind.String()
}

// String is a line for people: the key with its predicate, the posting, and
// what is wrong.
func (v Violation) String() string {
	var b strings.Builder
	if v.Kind() == "key" {
		fmt.Fprintf(&b, "key %x", v.RawKey)
	} else {
		b.WriteString(v.Key.String())
	}
	if v.UID != 0 {
		fmt.Fprintf(&b, ", uid %#x", v.UID)
	}
	return b.String() + ": " + v.What
}

func (v Violation) compare(o Violation) int {
	return cmp.Or(bytes.Compare(v.RawKey, o.RawKey), cmp.Compare(v.UID, o.UID), cmp.Compare(v.What, o.What))
}

// Verify reads the whole store, all namespaces, as it stands when it is
// called, and checks the four statements of what a mutation means (index,
// reverse, count, data) and the format of every version of every key that a
// reader may still see. Other work goes on meanwhile, but an Alter waits for the
// end, and the other way round: an Alter that has not ended leaves lists which no
// schema keeps. What is wrong in the store is in the report; an
// error is about the reading, or the context's.
//
// The two sides of a derived list (what the data asks for, what stands there)
// lie far apart in the store, and neither fits into memory. Looking each
// posting up on the other side takes a search for each, and reads a long list
// once for each of its postings. So both sides are read once, in order, and
// each posting is hashed into a sum that does not depend on the order; equal
// sums are equal sets, but for a chance of about 2^-128. The sums are cut into
// buckets by hash: where two differ, the predicate is read again for the
// postings of those buckets alone, which are then compared one by one.
func (db *DB) Verify(ctx context.Context, opts VerifyOptions) (VerifyReport, error) {
	ctx, leave, err := db.calls.enterLong(ctx)
	if err != nil {
		return VerifyReport{}, fmt.Errorf("verify: %w", err)
	}
	defer leave()
	report, err := db.verify(ctx, opts)
	if err != nil {
		return VerifyReport{}, fmt.Errorf("verify: %w", db.calls.closedError(ctx, err))
	}
	return report, nil
}

func (db *DB) verify(ctx context.Context, opts VerifyOptions) (VerifyReport, error) {
	if err := db.altering.lock(ctx); err != nil {
		return VerifyReport{}, err
	}
	defer db.altering.unlock()
	view, err := db.View(ctx, 0)
	if err != nil {
		return VerifyReport{}, err
	}
	defer view.Close()
	// A rollup is written at a version that is read at already. It changes no
	// list, but what a list's versions and parts are, which is looked at here.
	defer db.upkeep.bars.barAll()()
	if opts.Workers <= 0 {
		opts.Workers = runtime.GOMAXPROCS(0)
	}
	v := &verifier{opts: opts, store: db.store, reader: view.reader, snap: view.snap, pairBytes: pairBytes}
	v.mu.report.TS = view.ts
	if err := v.run(ctx); err != nil {
		return VerifyReport{}, err
	}
	return v.finish(), nil
}

// verifier is one Verify at work. Its jobs run in several goroutines, each of
// which gathers for itself and merges when it is done.
type verifier struct {
	opts   VerifyOptions
	store  *posting.Store
	reader *posting.Reader
	snap   *schema.Snapshot
	// cuts divide the store among the jobs.
	cuts [][]byte
	// pairBytes bounds the memory of a closer look.
	pairBytes uint64

	mu struct {
		sync.Mutex
		report VerifyReport
		told   time.Time
	}
}

// run goes over the store: first what stands alone, then predicate after
// predicate.
func (v *verifier) run(ctx context.Context) error {
	if err := v.messages(ctx); err != nil {
		return err
	}
	names, err := v.names(ctx)
	if err != nil {
		return err
	}
	v.cuts = v.store.Cuts()
	jobs := newPool(ctx, v.opts.Workers)
	for _, n := range names {
		v.predicate(jobs, n)
	}
	return jobs.wait()
}

// finish sorts what the jobs gathered.
func (v *verifier) finish() VerifyReport {
	v.mu.Lock()
	defer v.mu.Unlock()
	r := &v.mu.report
	slices.SortFunc(r.Violations, Violation.compare)
	slices.SortFunc(r.Predicates, func(a, b PredicateReport) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Predicate, b.Predicate))
	})
	return *r
}

// violation takes what a job found. The key is copied.
func (v *verifier) violation(key []byte, uid uint64, what string) {
	found := Violation{RawKey: bytes.Clone(key), UID: uid, What: what}
	if k, err := posting.ParseKey(found.RawKey); err == nil {
		found.Key = k
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	r := &v.mu.report
	r.Found++
	if v.opts.Limit == 0 || len(r.Violations) < v.opts.Limit {
		r.Violations = append(r.Violations, found)
	}
	if v.opts.Violation != nil {
		v.opts.Violation(found)
	}
}

// progressEvery is the time between two tellings of the progress.
const progressEvery = 100 * time.Millisecond

// passed counts keys and versions that were read.
func (v *verifier) passed(keys, versions uint64) {
	v.mu.Lock()
	defer v.mu.Unlock()
	r := &v.mu.report
	r.Keys += keys
	r.Versions += versions
	if v.opts.Progress == nil || time.Since(v.mu.told) < progressEvery {
		return
	}
	v.mu.told = time.Now()
	v.opts.Progress(VerifyProgress{Keys: r.Keys, Violations: r.Found})
}

// messages checks the schema and type values.
func (v *verifier) messages(ctx context.Context) error {
	for _, space := range []posting.Space{posting.SpaceSchema, posting.SpaceType} {
		err := v.reader.WalkVersions(ctx, []byte{byte(space)}, nil, func(key []byte, versions []posting.Version) error {
			v.passed(1, uint64(len(versions)))
			for i := range versions {
				v.message(key, &versions[i])
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (v *verifier) message(key []byte, version *posting.Version) {
	if version.Deleted {
		return
	}
	k, err := posting.ParseKey(key)
	switch {
	case err != nil:
	case version.Meta != posting.MetaSchema:
		err = fmt.Errorf("user meta %#02x, not %#02x", version.Meta, posting.MetaSchema)
	case !version.DiscardEarlier:
		err = errors.New("not written with discard-earlier-versions")
	default:
		err = checkMessage(&k, version.Value)
	}
	if err != nil {
		v.violation(key, 0, fmt.Sprintf("%v (version %d)", err, version.TS))
	}
}

// checkMessage decodes a schema or type value and compares its name with the
// key's.
func checkMessage(k *posting.Key, data []byte) error {
	var ns uint64
	var name string
	if k.Space == posting.SpaceSchema {
		p, err := schema.DecodeUpdate(data)
		if err != nil {
			return err
		}
		ns, name = p.Namespace, p.Name
	} else {
		t, err := schema.DecodeTypeUpdate(data)
		if err != nil {
			return err
		}
		ns, name = t.Namespace, t.Name
	}
	if ns != k.Namespace || name != k.Predicate {
		return fmt.Errorf("the value is that of %q in namespace %#x", name, ns)
	}
	return nil
}

// pool runs jobs in a bounded number of goroutines. The first error cancels
// the context of the rest.
type pool struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
	free   chan struct{}
	jobs   sync.WaitGroup
}

func newPool(ctx context.Context, workers int) *pool {
	p := &pool{free: make(chan struct{}, workers)}
	p.ctx, p.cancel = context.WithCancelCause(ctx)
	return p
}

// run starts the job as soon as there is a goroutine for it.
func (p *pool) run(job func(ctx context.Context) error) {
	p.free <- struct{}{}
	p.jobs.Add(1)
	go func() {
		defer func() { <-p.free; p.jobs.Done() }()
		if p.ctx.Err() != nil {
			return
		}
		if err := job(p.ctx); err != nil {
			p.cancel(err)
		}
	}()
}

// wait waits for all jobs and returns the first error.
func (p *pool) wait() error {
	p.jobs.Wait()
	err := context.Cause(p.ctx)
	p.cancel(nil)
	return err
}
