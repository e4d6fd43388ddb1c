package benchmarks

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/edgemill/edgemill/ingest"
	"github.com/edgemill/edgemill/mutation"
	"github.com/edgemill/edgemill/posting"
	"github.com/edgemill/edgemill/schema"
)

// wordNetEdges is how many edges of WordNet one transaction has.
const wordNetEdges = 20_000

// wordNet is a graph as transactions, parsed, with uids for its names.
type wordNet struct {
	schema  string
	batches []mutation.Batch
	edges   int
}

// wordNetCases load the whole of WordNet; that is one operation. The statements
// are parsed beforehand. The cases apply each transaction on top of those
// before (apply, whose clock stands while they are committed), apply and commit
// as a user of the library does, by one client after another (load) or by
// several at once (clients=N), and write the key-values that come of it straight
// into Badger (badger).
func wordNetCases(data string) []Case {
	files := wordNetFiles{filepath.Join(data, "wordnet.nq.gz"), filepath.Join(data, "wordnet.schema")}
	cases := inModes("WordNet/apply", func(mode Mode) func(context.Context, Meter, int) error {
		return files.run(func(ctx context.Context, m Meter, g *wordNet) error { return g.apply(ctx, m, mode.Options) })
	})
	cases = append(cases, inModes("WordNet/load", func(mode Mode) func(context.Context, Meter, int) error {
		return files.run(func(ctx context.Context, m Meter, g *wordNet) error { return g.load(ctx, m, mode.Options) })
	})...)
	return append(cases, Case{Name: "WordNet/load/badger", Run: files.run(
		func(ctx context.Context, m Meter, g *wordNet) error { return g.raw(ctx, m) },
	)})
}

// wordNetFiles are the paths of the statements and of the schema.
type wordNetFiles struct{ quads, schema string }

// run parses the files outside the clock and runs the case n times.
func (f wordNetFiles) run(once func(context.Context, Meter, *wordNet) error) func(context.Context, Meter, int) error {
	return func(ctx context.Context, m Meter, n int) error {
		g, err := f.parse(ctx)
		if errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%w: %w", ErrSkipped, err)
		}
		if err != nil {
			return err
		}
		m.ResetTimer()
		for range n {
			m.StopTimer()
			if err := once(ctx, m, g); err != nil {
				return err
			}
		}
		reportEdges(m, n, g.edges)
		return nil
	}
}

func (f wordNetFiles) parse(ctx context.Context) (*wordNet, error) {
	text, err := os.ReadFile(f.schema)
	if err != nil {
		return nil, err
	}
	src, err := ingest.Open(f.quads)
	if err != nil {
		return nil, err
	}
	defer src.Close()
	g := &wordNet{schema: string(text)}
	quads, err := readQuads(src)
	if err != nil {
		return nil, err
	}
	g.edges = len(quads)
	names := ingest.NewResolver(ingest.NewNames(), &counting{}, ingest.ResolverOptions{})
	for part := range slices.Chunk(quads, wordNetEdges) {
		edges, err := names.Edges(ctx, nil, part, src.Name())
		if err != nil {
			return nil, err
		}
		g.batches = append(g.batches, mutation.Batch{Edges: edges, Fresh: names.Fresh()})
	}
	return g, nil
}

func readQuads(src *ingest.Source) ([]ingest.Quad, error) {
	chunks, err := ingest.NewChunkReader(src)
	if err != nil {
		return nil, err
	}
	var parser ingest.Parser
	var quads []ingest.Quad
	for {
		chunk, err := chunks.Next()
		if errors.Is(err, io.EOF) {
			return quads, nil
		}
		if err == nil {
			quads, err = parser.Parse(quads, chunk)
		}
		if err != nil {
			return nil, err
		}
	}
}

// counting hands out uids from 1 on.
type counting struct{ last uint64 }

// NewUIDs implements ingest.Allocator.
func (c *counting) NewUIDs(_ context.Context, n uint64) (start, end uint64, err error) {
	start = c.last + 1
	c.last += n
	return start, c.last, nil
}

func (g *wordNet) snapshot() (*schema.Snapshot, error) {
	w := Workload{Name: "WordNet", Schema: g.schema}
	return w.Snapshot()
}

// apply is on the clock while a transaction is applied.
func (g *wordNet) apply(ctx context.Context, m Meter, opts mutation.Options) error {
	reads := 0
	err := g.eachApplied(ctx, m, opts, func(_ uint64, _ *posting.Deltas, report mutation.Report) { reads += report.Reads })
	m.ReportMetric(float64(reads)/float64(g.edges), "reads/edge")
	return err
}

// eachApplied applies the transactions one after the other, each on top of
// those before, and shows what each writes at which timestamp.
func (g *wordNet) eachApplied(
	ctx context.Context, m Meter, opts mutation.Options, show func(uint64, *posting.Deltas, mutation.Report),
) (err error) {
	snap, err := g.snapshot()
	if err != nil {
		return err
	}
	w, err := newMutating(m.Dir(), snap, opts)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.store.Close()) }()
	for _, b := range g.batches {
		txn := mutation.NewTxn(w.store, w.ts+1)
		m.StartTimer()
		report, err := w.applier.Apply(ctx, txn, w.snap, b)
		txn.ConflictKeys()
		m.StopTimer()
		w.ts += 2
		if err == nil {
			show(w.ts, txn.Deltas(), report)
			err = w.write(ctx, txn.Deltas(), readable)
		}
		txn.Release()
		if err != nil {
			return err
		}
	}
	return nil
}

// load is on the clock from the first transaction until the last one's commit
// can be read.
func (g *wordNet) load(ctx context.Context, m Meter, opts mutation.Options) (err error) {
	db, err := openDB(ctx, m.Dir(), g.schema, opts, posting.CommitOptions{NoSync: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	m.StartTimer()
	defer m.StopTimer()
	for i := range g.batches {
		if err := mutateOnce(ctx, db, &g.batches[i]); err != nil {
			return err
		}
	}
	return allVisible(ctx, db)
}

// raw is on the clock while the key-values go into one write batch.
func (g *wordNet) raw(ctx context.Context, m Meter) (err error) {
	var txns []rawTxn
	size, count := 0, 0
	err = g.eachApplied(ctx, offClock{m}, mutation.DefaultOptions(), func(ts uint64, d *posting.Deltas, _ mutation.Report) {
		txns = append(txns, rawTxn{ts, entriesOf(d, asGiven)})
	})
	if err != nil {
		return err
	}
	raw, err := openRaw(m.Dir())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, raw.Close()) }()
	m.StartTimer()
	err = writeRawBatch(raw, txns)
	m.StopTimer()
	for _, t := range txns {
		count += len(t.kvs)
		for _, kv := range t.kvs {
			size += len(kv.Key) + len(kv.Value)
		}
	}
	m.ReportMetric(float64(count), "entries/op")
	m.ReportMetric(float64(size), "entry-bytes/op")
	return err
}
