package mutation

import (
	"github.com/edgemill/edgemill/posting"
	"github.com/edgemill/edgemill/schema/value"
)

// Op says what an edge does with its object.
type Op uint8

const (
	// Set adds the object, or replaces what a single-valued predicate holds.
	Set Op = iota
	// Delete removes the object where it is the current one.
	Delete
)

// ObjectKind says which field of an Edge holds its object.
type ObjectKind uint8

const (
	// ObjectValue is a literal: Edge.Value, with Edge.Lang.
	ObjectValue ObjectKind = iota
	// ObjectUID is a node: Edge.Target.
	ObjectUID
	// ObjectStar is the bare star of a delete: every value or target, or with
	// Edge.Lang only that language's value.
	ObjectStar
)

// StarPredicate, with ObjectStar in a Delete, stands for every predicate of
// the schema in which the subject has a posting.
const StarPredicate = "*"

// Edge is one change of a graph. It is a plain value: an applier reads it and
// never writes to it, and keeps no reference to its slices after Apply
// returns.
type Edge struct {
	Subject   uint64
	Predicate string
	Op        Op
	Object    ObjectKind
	// Target is the object's uid, from 1 to 2^64-2, for ObjectUID.
	Target uint64
	// Value is the literal in stored form, of the type it was given with
	// (value.Default for an untyped one), for ObjectValue. Apply converts it
	// to the predicate's type. A password arrives as its bcrypt hash; in a
	// Delete it may be plain text.
	Value value.Value
	// Lang is the language tag, "" for none.
	Lang string
	// Facets go with a Set, in any order, each key once.
	Facets []Facet
}

// Facet is a key and a typed value on an edge. Its value types and stored
// forms are those of posting.Facet.
type Facet struct {
	Key   string
	Type  posting.FacetType
	Value []byte
}

// UIDRange is the uids from First to Last, both included.
type UIDRange struct {
	First, Last uint64
}

// Batch is an ordered list of edges. Its result is that of applying the edges
// one by one, in order.
type Batch struct {
	Edges []Edge
	// Namespace is the namespace of every edge, 0 for the root.
	Namespace uint64
	// Fresh are ranges of subjects that had nothing in the store when the
	// transaction began: uids handed out for it. They are sorted and do not
	// overlap. Their old state is not read, so a range that is wrong gives
	// wrong indexes.
	Fresh []UIDRange
}
