package benchmarks

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/edgemill/edgemill"
	"github.com/edgemill/edgemill/conflict"
	"github.com/edgemill/edgemill/mutation"
	"github.com/edgemill/edgemill/posting"
)

const (
	// txnEdges is the size of the batches of the free and contended Txns cases,
	// which have one batch a transaction.
	txnEdges = 200
	// upsertPredicates and upsertValues are what contended edges are about;
	// upsertSkew is the exponent of the values' Zipf distribution.
	upsertPredicates = 20
	upsertValues     = 2000
	upsertSkew       = 1.1
)

// txnCases are many clients, each with a transaction after the other on new
// subjects; an operation is a transaction that was committed. The clients of
// single ones, of one edge, and of free ones have no conflict key in common; they
// are run with commits that wait for the disk and with ones that do not.
// Contended ones meet in @upsert values of which some are far more frequent than
// others, with RunTxn, whose gate lets them wait for each other, and without:
// whoever is refused begins again at once (nogate) or after a pause, longer each
// time (nogate-pause).
func txnCases() []Case {
	var cases []Case
	for _, clients := range []int{1, 8, 64} {
		for _, kind := range []struct {
			name   string
			commit posting.CommitOptions
		}{{"synced", posting.CommitOptions{}}, {"unsynced", posting.CommitOptions{NoSync: true}}} {
			cases = append(cases,
				Case{
					Name: fmt.Sprintf("Txns/single/%s/clients=%d", kind.name, clients),
					Run:  txnRun{clients, kind.commit, freeSchema, singleBatch, untilCommitted}.run,
				},
				Case{
					Name: fmt.Sprintf("Txns/free/%s/clients=%d", kind.name, clients),
					Run:  txnRun{clients, kind.commit, freeSchema, freeBatch, untilCommitted}.run,
				})
		}
	}
	for _, clients := range []int{1, 2, 4, 8, 16, 32, 64} {
		for _, way := range []struct {
			name   string
			commit committing
		}{{"gate", throughGate}, {"nogate", untilCommitted}, {"nogate-pause", untilCommittedWithPauses}} {
			cases = append(cases, Case{
				Name: fmt.Sprintf("Txns/contended/%s/clients=%d", way.name, clients),
				Run:  txnRun{clients, posting.CommitOptions{}, contendedSchema(), contendedBatch, way.commit}.run,
			})
		}
	}
	return cases
}

const freeSchema = "name: string @index(exact) .\nlink: [uid] @reverse ."

// freeBatch is the n-th batch of free transactions: a name of its own and a
// link for each subject.
func freeBatch(n int) mutation.Batch {
	b := freshBatch(n, txnEdges/2)
	for i := range uint64(txnEdges / 2) {
		subject := b.Fresh[0].First + i
		b.Edges = append(b.Edges,
			mutation.Edge{Subject: subject, Predicate: "name", Value: text("name-%d", subject)},
			mutation.Edge{Subject: subject, Predicate: "link", Object: mutation.ObjectUID, Target: 1 + subject%1000})
	}
	return b
}

// singleBatch is the n-th batch of one edge: the link of a subject of its own.
func singleBatch(n int) mutation.Batch {
	b := freshBatch(n, 1)
	subject := b.Fresh[0].First
	b.Edges = []mutation.Edge{{Subject: subject, Predicate: "link", Object: mutation.ObjectUID, Target: 1 + subject%1000}}
	return b
}

func contendedSchema() string {
	var s string
	for i := range upsertPredicates {
		s += fmt.Sprintf("%s: string @index(exact) @upsert .\n", predicateName(i))
	}
	return s
}

// contendedBatch is the n-th batch of contended transactions, the same each
// time.
func contendedBatch(n int) mutation.Batch {
	b := freshBatch(n, txnEdges)
	r := rand.New(rand.NewPCG(uint64(n), 1))
	zipf := rand.NewZipf(r, upsertSkew, 1, upsertValues-1)
	for i := range uint64(txnEdges) {
		b.Edges = append(b.Edges, mutation.Edge{
			Subject:   b.Fresh[0].First + i,
			Predicate: predicateName(r.IntN(upsertPredicates)),
			Value:     text("value-%d", zipf.Uint64()),
		})
	}
	return b
}

// freshBatch has no edges yet, but so many subjects that no other batch has.
func freshBatch(n, subjects int) mutation.Batch {
	first := uint64(firstSubject + n*subjects)
	return mutation.Batch{Fresh: []mutation.UIDRange{{First: first, Last: first + uint64(subjects) - 1}}}
}

// txnRun is how a Txns case is run.
type txnRun struct {
	clients int
	options posting.CommitOptions
	schema  string
	batch   func(int) mutation.Batch
	commit  committing
}

// committing runs a transaction of one batch until it goes through, and counts
// how often it was refused.
type committing func(ctx context.Context, db *edgemill.DB, b *mutation.Batch, refused *atomic.Int64) error

func (r txnRun) run(ctx context.Context, m Meter, n int) (err error) {
	db, err := openDB(ctx, m.Dir(), r.schema, mutation.DefaultOptions(), r.options)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	batches := make([]mutation.Batch, n)
	for i := range batches {
		batches[i] = r.batch(i)
	}
	var refused atomic.Int64
	m.ResetTimer()
	before := processorTime()
	err = onClients(r.clients, n, func(i int) error { return r.commit(ctx, db, &batches[i], &refused) })
	m.StopTimer()
	if n > 0 {
		reportEdges(m, n, len(batches[0].Edges))
	}
	m.ReportMetric(float64(n)/m.Elapsed().Seconds(), "txn/s")
	m.ReportMetric(float64((processorTime()-before).Nanoseconds())/float64(n), "cpu-ns/op")
	m.ReportMetric(float64(refused.Load())/float64(n), "refused/op")
	return err
}

func untilCommitted(ctx context.Context, db *edgemill.DB, b *mutation.Batch, refused *atomic.Int64) error {
	return retry(ctx, db, b, func(int) { refused.Add(1) })
}

// untilCommittedWithPauses waits before another try: a random part of a
// millisecond, of twice that the next time, and so on to a tenth of a second.
func untilCommittedWithPauses(ctx context.Context, db *edgemill.DB, b *mutation.Batch, refused *atomic.Int64) error {
	return retry(ctx, db, b, func(tries int) {
		refused.Add(1)
		time.Sleep(rand.N(min(time.Millisecond<<min(tries-1, 10), 100*time.Millisecond)))
	})
}

// retry runs a transaction until it goes through; again is called after each try
// that was refused.
func retry(ctx context.Context, db *edgemill.DB, b *mutation.Batch, again func(tries int)) error {
	for tries := 1; ; tries++ {
		err := mutateOnce(ctx, db, b)
		if !errors.Is(err, conflict.ErrConflict) {
			return err
		}
		again(tries)
	}
}

func throughGate(ctx context.Context, db *edgemill.DB, b *mutation.Batch, refused *atomic.Int64) error {
	tries := 0
	_, err := db.RunTxn(ctx, b.Edges, func(context.Context, *edgemill.Txn) error {
		tries++
		return nil
	}, edgemill.FreshUIDs(b.Fresh...))
	refused.Add(int64(tries - 1))
	return err
}
