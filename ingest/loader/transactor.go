package loader

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/edgemill/edgemill"
	"github.com/edgemill/edgemill/conflict"
	"github.com/edgemill/edgemill/ingest"
	"github.com/edgemill/edgemill/mutation"
	"github.com/edgemill/edgemill/schema/value"
)

// transactor makes transactions of batches, one after the other, and gives
// nodes their uids. It belongs to one goroutine.
type transactor struct {
	db      *edgemill.DB
	names   ingest.Namer
	uids    uids
	retries int
	scoped  bool
	onNew   func(n ingest.Node, uid uint64)
	// beforeCommit is called where a test wants to do something in between.
	beforeCommit func()
	// edges is the memory of the batch's edges, used again and again.
	edges []mutation.Edge
}

func newTransactor(db *edgemill.DB, names ingest.Namer, retries int) transactor {
	if names == nil {
		names = ingest.NewNames()
	}
	if retries == 0 {
		retries = DefaultRetries
	}
	t := transactor{db: db, names: names, retries: retries, uids: uids{db: db}}
	if known, ok := names.(*ingest.Names); ok {
		t.uids.above(known.Greatest(maxHandedOut))
	}
	return t
}

// result is how a transaction went.
type result struct {
	commitTS uint64
	report   mutation.Report
	retries  uint64
}

// run commits the batch, with further tries after conflicts.
func (t *transactor) run(ctx context.Context, b *batch) (result, error) {
	resolved := false
	for try := 0; ; try++ {
		r, err := t.attempt(ctx, b, &resolved)
		r.retries = uint64(try)
		if err == nil {
			return r, nil
		}
		if !isRetried(err) {
			return r, b.place(err)
		}
		if try == t.retries {
			return r, fmt.Errorf("after %d tries: %w", try+1, err)
		}
		if err := pause(ctx, try); err != nil {
			return r, err
		}
	}
}

// isRetried says whether the transaction may succeed when it is begun again.
func isRetried(err error) bool {
	return errors.Is(err, conflict.ErrConflict) || errors.Is(err, edgemill.ErrSchemaChanged)
}

// pause waits longer after each try, and never as long as another who waits.
func pause(ctx context.Context, try int) error {
	longest := time.Millisecond << min(try, 8)
	timer := time.NewTimer(longest/2 + rand.N(longest/2))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// attempt is one try. The first resolves the batch's names once its
// transaction has begun, and states what is fresh; for the later ones, whose
// start is later, that would not be true.
func (t *transactor) attempt(ctx context.Context, b *batch, resolved *bool) (result, error) {
	txn, err := t.db.Begin(ctx)
	if err != nil {
		return result{}, err
	}
	defer txn.Discard()
	if !*resolved {
		fresh, err := t.resolve(ctx, b, txn)
		if err != nil {
			return result{}, err
		}
		for _, uids := range fresh {
			txn.Fresh(uids)
		}
		*resolved = true
	}
	var r result
	if r.report, err = txn.Mutate(ctx, t.edges); err != nil {
		return r, err
	}
	if t.beforeCommit != nil {
		t.beforeCommit()
	}
	r.commitTS, err = txn.Commit(ctx)
	return r, err
}

// resolve makes the edges of the batch, and returns the uids that were handed
// out for them.
func (t *transactor) resolve(ctx context.Context, b *batch, txn *edgemill.Txn) ([]mutation.UIDRange, error) {
	t.uids.above(b.greatestStated(maxHandedOut))
	var unnamed map[int]uint64
	// A resolver keeps a uid for the next new name, which a later statement may
	// state meanwhile: so each transaction has its own.
	r := ingest.NewResolver(t.names, &t.uids, ingest.ResolverOptions{
		Lease: 1, ScopedBlanks: t.scoped,
		IsPassword: func(pred string) bool {
			p, ok := txn.Schema().Predicate(t.db.Namespace(), pred)
			return ok && p.Type == value.Password
		},
		OnNew: func(n ingest.Node, uid uint64) {
			if n.Unnamed > 0 {
				unnamed[n.Unnamed] = uid
			}
			if t.onNew != nil {
				t.onNew(n, uid)
			}
		},
	})
	t.edges = t.edges[:0]
	for i := range b.pieces {
		p := &b.pieces[i]
		unnamed = p.unnamed
		p.takeUnnamed()
		var err error
		if t.edges, err = r.Edges(ctx, t.edges, p.quads, p.file); err != nil {
			return nil, err
		}
	}
	return r.Fresh(), nil
}

// takeUnnamed puts in the uids that nodes without names got as part of an
// earlier piece of the chunk.
func (p *piece) takeUnnamed() {
	if len(p.unnamed) == 0 {
		return
	}
	for i := range p.quads {
		for _, n := range [...]*ingest.Node{&p.quads[i].Subject, &p.quads[i].Target} {
			if uid, ok := p.unnamed[n.Unnamed]; ok && n.Unnamed > 0 {
				n.UID = uid
			}
		}
	}
}

// maxHandedOut is the first uid that is never handed out.
const maxHandedOut = uint64(1) << 63

// uids hands out uids that are above all that were stated. It belongs to one
// goroutine.
type uids struct {
	db *edgemill.DB
	// stated is the greatest uid that was.
	stated uint64
}

func (u *uids) above(stated uint64) { u.stated = max(u.stated, stated) }

// NewUIDs implements ingest.Allocator. The DB learns of stated uids only when
// their transaction is committed, so they are passed over here.
func (u *uids) NewUIDs(_ context.Context, n uint64) (start, end uint64, err error) {
	for {
		got, err := u.db.NewUIDs(n)
		if err != nil {
			return 0, 0, err
		}
		if got.First > u.stated {
			return got.First, got.Last, nil
		}
		if got.Last >= u.stated {
			continue
		}
		if _, err := u.db.NewUIDs(u.stated - got.Last); err != nil {
			return 0, 0, err
		}
	}
}
