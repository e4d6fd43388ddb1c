package loader

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/edgemill/edgemill"
	"github.com/edgemill/edgemill/ingest"
)

// Load reads the inputs and commits their statements, EdgesPerTxn a
// transaction, in their order.
//
// An error ends the load at the boundary of a transaction: what was committed is
// kept, and the Summary says how far that goes. An *ingest.Error is about a
// statement or an input, and says which file and line; where applying it failed,
// it wraps the *mutation.EdgeError. A cancelled context's error is the context's.
//
// What is committed is durable when Load returns, whatever the store's
// CommitOptions, unless the error says that it could not be made so.
func Load(ctx context.Context, db *edgemill.DB, opts Options) (Summary, error) {
	l, err := newLoad(db, opts)
	if err != nil {
		return Summary{}, fmt.Errorf("load: %w", err)
	}
	err = l.run(ctx)
	// The end of a cancelled load is also made durable.
	err = errors.Join(err, db.Store().Flush(context.WithoutCancel(ctx)), l.saveNames())
	l.done.Took = time.Since(l.begun)
	if err != nil {
		return l.done, fmt.Errorf("load: %w", err)
	}
	return l.done, nil
}

// load is one Load at work. It belongs to the goroutine that called Load.
type load struct {
	opts  Options
	names *ingest.Names // of NamesFile
	total int64
	begun time.Time
	done  Summary
	txns  transactor
	batch batch
}

func newLoad(db *edgemill.DB, opts Options) (*load, error) {
	if opts.EdgesPerTxn < 0 || opts.Retries < 0 {
		return nil, fmt.Errorf("%d edges per transaction, %d retries: less than none", opts.EdgesPerTxn, opts.Retries)
	}
	if opts.EdgesPerTxn == 0 {
		opts.EdgesPerTxn = DefaultEdgesPerTxn
	}
	l := &load{opts: opts, begun: time.Now()}
	var err error
	if l.total, err = check(opts.Inputs); err != nil {
		return nil, err
	}
	names := opts.Names
	if opts.NamesFile != "" {
		if l.names, err = readNames(opts.NamesFile); err != nil {
			return nil, fmt.Errorf("%s: %w", opts.NamesFile, err)
		}
		names = l.names
	}
	l.txns = newTransactor(db, names, opts.Retries)
	l.txns.scoped = opts.FileScopedBlanks
	l.txns.onNew = func(ingest.Node, uint64) { l.done.Nodes++ }
	return l, nil
}

func (l *load) saveNames() error {
	if l.names == nil {
		return nil
	}
	if err := writeNames(l.opts.NamesFile, l.names); err != nil {
		return fmt.Errorf("saving the names: %w", err)
	}
	return nil
}

// run takes pieces until there are no more, or until something fails.
func (l *load) run(ctx context.Context) error {
	p := startPipeline(ctx, l.opts.Inputs)
	defer p.stop()
	for piece := range p.parsed {
		fault := piece.fault
		if err := l.add(ctx, piece); err != nil {
			return err
		}
		if fault != nil {
			return fault
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return l.commit(ctx)
}

// add takes a piece into the batch, and commits the batch whenever it is full.
func (l *load) add(ctx context.Context, p piece) error {
	for len(p.quads) > 0 {
		rest := l.batch.add(p, l.opts.EdgesPerTxn)
		if l.batch.full(l.opts.EdgesPerTxn) {
			if err := l.commit(ctx); err != nil {
				return err
			}
		}
		p.quads = rest
	}
	return nil
}

// commit makes a transaction of the batch, and empties it.
func (l *load) commit(ctx context.Context) error {
	if l.batch.size == 0 {
		return nil
	}
	r, err := l.txns.run(ctx, &l.batch)
	l.done.Retries += r.retries
	if err != nil {
		return err
	}
	l.count(r)
	l.batch.reset()
	if l.opts.Progress != nil {
		l.opts.Progress(Progress{Summary: l.done, Total: l.total})
	}
	return nil
}

func (l *load) count(r result) {
	d := &l.done
	d.Statements += uint64(l.batch.size)
	d.Transactions++
	d.Keys += uint64(r.report.Keys)
	d.KeyBytes += uint64(r.report.Bytes)
	last := l.batch.pieces[len(l.batch.pieces)-1]
	d.File, d.Line = last.file, last.quads[len(last.quads)-1].Line
	d.Bytes = last.consumed
	d.Took = time.Since(l.begun)
}
