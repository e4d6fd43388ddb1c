package ingest

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/edgemill/edgemill/mutation"
	"github.com/edgemill/edgemill/schema/value"
)

// Allocator hands out uids that no one has and of which nothing is in the
// store.
type Allocator interface {
	// NewUIDs hands out the n uids from start to end, both included.
	NewUIDs(ctx context.Context, n uint64) (start, end uint64, err error)
}

// ResolverOptions say how a Resolver works. Zero fields have their defaults.
type ResolverOptions struct {
	// Lease is how many uids are taken from the Allocator at a time; what is
	// left of the last is wasted. The default is 1,000.
	Lease uint64
	// ScopedBlanks makes a blank node label a node of its scope (its file), and
	// not of all inputs.
	ScopedBlanks bool
	// IsPassword says which predicates are of type password. Text that is set on
	// one is hashed (an existing bcrypt hash is kept). By default, only literals
	// of that datatype are.
	IsPassword func(predicate string) bool
	// OnNew is told of each node that got a uid, as it was named.
	OnNew func(n Node, uid uint64)
}

const defaultLease = 1000

// Resolver makes edges of quads: it puts uids in the place of names. It belongs
// to one goroutine; any number of Resolvers may share a Namer and an Allocator.
//
// It also knows which uids it was the first to hand out, for mutation.Batch's
// Fresh. A claim of freshness is that the uid had nothing in the store when the
// transaction began. Were the names resolved first and the transaction begun
// later, another one that met the same name could have committed in between, and
// the claim would be false. So: begin the transaction, then resolve its quads
// (the uid was handed out after the beginning, so no earlier commit has it), then
// take Fresh. A transaction that is begun again with a later start timestamp has
// to go without Fresh.
type Resolver struct {
	names   Namer
	uids    Allocator
	options ResolverOptions
	// The lease has left uids more, from next on.
	next, left uint64
	fresh      []mutation.UIDRange
	unnamed    map[int]uint64
	key        []byte
}

// NewResolver makes a Resolver that gets its names from names and new uids from
// uids.
func NewResolver(names Namer, uids Allocator, o ResolverOptions) *Resolver {
	if o.Lease == 0 {
		o.Lease = defaultLease
	}
	return &Resolver{names: names, uids: uids, options: o}
}

// Edges appends the edges of quads to dst, one each, in order. The quads are
// those of one chunk or document (a node without a name is one node within
// them), and scope is its file. Edges share the quads' memory. An error leaves
// the names as they are by then: a name that has got a uid keeps it.
func (r *Resolver) Edges(ctx context.Context, dst []mutation.Edge, quads []Quad, scope string) ([]mutation.Edge, error) {
	clear(r.unnamed)
	for i := range quads {
		q := &quads[i]
		e := mutation.Edge{
			Predicate: q.Predicate, Op: q.Op, Object: q.Object,
			Value: q.Value, Lang: q.Lang, Facets: q.Facets,
		}
		var err error
		if e.Subject, err = r.uid(ctx, &q.Subject, scope); err != nil {
			return dst, &Error{File: scope, Line: q.Line, Msg: "subject " + q.Subject.String(), Err: err}
		}
		if e.Object == mutation.ObjectUID {
			if e.Target, err = r.uid(ctx, &q.Target, scope); err != nil {
				return dst, &Error{File: scope, Line: q.Line, Msg: "object " + q.Target.String(), Err: err}
			}
		}
		if err := r.hash(&e); err != nil {
			return dst, &Error{File: scope, Line: q.Line, Msg: "predicate " + q.Predicate, Err: err}
		}
		dst = append(dst, e)
	}
	return dst, nil
}

// hash replaces plain text that is set on a password predicate.
func (r *Resolver) hash(e *mutation.Edge) (err error) {
	if r.options.IsPassword == nil || e.Op != mutation.Set || e.Object != mutation.ObjectValue {
		return nil
	}
	if t := e.Value.Type; t != value.Default && t != value.String || !r.options.IsPassword(e.Predicate) {
		return nil
	}
	e.Value, err = hashed(e.Value.Data)
	return err
}

// Fresh gives the uids that were first handed out since Fresh was called last,
// as mutation.Batch wants them: sorted, and neighbours in one range.
func (r *Resolver) Fresh() []mutation.UIDRange {
	fresh := r.fresh
	r.fresh = nil
	slices.SortFunc(fresh, func(a, b mutation.UIDRange) int {
		if a.First < b.First {
			return -1
		}
		return 1
	})
	return fresh
}

// uid gives a node's uid, a new one if it has none.
func (r *Resolver) uid(ctx context.Context, n *Node, scope string) (uint64, error) {
	if n.UID != 0 {
		return n.UID, nil
	}
	if uid, ok := r.unnamed[n.Unnamed]; ok && n.Unnamed > 0 {
		return uid, nil
	}
	if n.Unnamed <= 0 && len(n.Name) == 0 {
		return 0, errors.New("a node without a uid or a name")
	}
	if err := r.lease(ctx); err != nil {
		return 0, err
	}
	uid, taken := r.next, true
	if n.Unnamed > 0 {
		r.keep(n.Unnamed, uid)
	} else {
		var err error
		if uid, taken, err = r.names.Assign(r.keyOf(n.Name, scope), r.next); err != nil {
			return 0, err
		}
	}
	if taken {
		r.take(n)
	}
	return uid, nil
}

func (r *Resolver) keep(unnamed int, uid uint64) {
	if r.unnamed == nil {
		r.unnamed = make(map[int]uint64)
	}
	r.unnamed[unnamed] = uid
}

// keyOf gives what a name is kept under: itself, and for a scoped blank node
// also its scope, behind a byte that no label has.
func (r *Resolver) keyOf(name []byte, scope string) []byte {
	if !r.options.ScopedBlanks || name[0] != '_' {
		return name
	}
	r.key = append(append(append(r.key[:0], name...), 0), scope...)
	return r.key
}

// lease sees to it that next can be handed out.
func (r *Resolver) lease(ctx context.Context) error {
	if r.left > 0 {
		return nil
	}
	start, end, err := r.uids.NewUIDs(ctx, r.options.Lease)
	if err != nil {
		return fmt.Errorf("can't get uids: %w", err)
	}
	if start == 0 || end < start || end > maxUID {
		return fmt.Errorf("can't get uids: was handed %#x to %#x", start, end)
	}
	r.next, r.left = start, end-start+1
	return nil
}

// take hands next out to n and notes that it is fresh.
func (r *Resolver) take(n *Node) {
	uid := r.next
	r.next++
	r.left--
	if last := len(r.fresh) - 1; last >= 0 && r.fresh[last].Last+1 == uid {
		r.fresh[last].Last = uid
	} else {
		r.fresh = append(r.fresh, mutation.UIDRange{First: uid, Last: uid})
	}
	if r.options.OnNew != nil {
		r.options.OnNew(*n, uid)
	}
}
