package schema

import (
	"cmp"
	"iter"
	"maps"
	"slices"
)

// Snapshot is a whole schema at one moment. It never changes, so any number of
// goroutines may read it, and a batch that holds one sees one schema from its
// beginning to its end. The zero Snapshot is empty.
type Snapshot struct {
	predicates catalog[*Predicate]
	types      catalog[*TypeDef]
}

// nameKey names a predicate or a type.
type nameKey struct {
	ns   uint64
	name string
}

func (k nameKey) compare(o nameKey) int {
	return cmp.Or(cmp.Compare(k.ns, o.ns), cmp.Compare(k.name, o.name))
}

func (p *Predicate) key() nameKey { return nameKey{p.Namespace, p.Name} }

func (t *TypeDef) key() nameKey { return nameKey{t.Namespace, t.Name} }

// catalog holds predicates or types for look-up by name and for going over them
// in order.
type catalog[T interface{ key() nameKey }] struct {
	byName map[nameKey]T
	sorted []T
}

// changed gives a copy with some entries set and then some dropped.
func (c catalog[T]) changed(set, drop []T) catalog[T] {
	byName := make(map[nameKey]T, len(c.byName)+len(set))
	maps.Copy(byName, c.byName)
	for _, e := range set {
		byName[e.key()] = e
	}
	for _, e := range drop {
		delete(byName, e.key())
	}
	sorted := slices.SortedFunc(maps.Values(byName), func(a, b T) int {
		return a.key().compare(b.key())
	})
	return catalog[T]{byName: byName, sorted: sorted}
}

// NewSnapshot makes a snapshot of these predicates and types, of which nobody
// changes one any more. Of two with one name the later counts.
func NewSnapshot(preds []*Predicate, types []*TypeDef) *Snapshot {
	return new(Snapshot).With(preds, types)
}

// With gives a changed copy: these predicates and types added, or put in the
// place of those with their names.
func (s *Snapshot) With(preds []*Predicate, types []*TypeDef) *Snapshot {
	return &Snapshot{
		predicates: s.predicates.changed(preds, nil),
		types:      s.types.changed(types, nil),
	}
}

// Without gives a copy that lacks the predicates and types with these names.
func (s *Snapshot) Without(preds []*Predicate, types []*TypeDef) *Snapshot {
	return &Snapshot{
		predicates: s.predicates.changed(nil, preds),
		types:      s.types.changed(nil, types),
	}
}

// Predicate finds a predicate.
func (s *Snapshot) Predicate(ns uint64, name string) (*Predicate, bool) {
	p, ok := s.predicates.byName[nameKey{ns, name}]
	return p, ok
}

// Type finds a type.
func (s *Snapshot) Type(ns uint64, name string) (*TypeDef, bool) {
	t, ok := s.types.byName[nameKey{ns, name}]
	return t, ok
}

// All goes over the predicates by namespace, then name.
func (s *Snapshot) All() iter.Seq[*Predicate] { return slices.Values(s.predicates.sorted) }

// Types goes over the types by namespace, then name.
func (s *Snapshot) Types() iter.Seq[*TypeDef] { return slices.Values(s.types.sorted) }

// Namespace goes over the predicates of one namespace by name.
func (s *Snapshot) Namespace(ns uint64) iter.Seq[*Predicate] {
	return func(yield func(*Predicate) bool) {
		from, _ := slices.BinarySearchFunc(s.predicates.sorted, nameKey{ns: ns}, func(p *Predicate, k nameKey) int {
			return p.key().compare(k)
		})
		for _, p := range s.predicates.sorted[from:] {
			if p.Namespace != ns || !yield(p) {
				return
			}
		}
	}
}

// Len gives the number of predicates.
func (s *Snapshot) Len() int { return len(s.predicates.sorted) }
