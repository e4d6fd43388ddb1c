package schema

import (
	"iter"

	"github.com/edgemill/edgemill/schema/token"
	"github.com/edgemill/edgemill/schema/value"
)

// Predicate is what a schema says of one predicate. Once it is in a Snapshot
// nobody changes it.
type Predicate struct {
	Namespace uint64
	Name      string
	Type      value.Type

	List, Lang, Reverse, Count, Upsert, NoConflict, Unique bool

	// Tokenizers are those of @index, in the order in which they were named.
	Tokenizers []*token.Tokenizer
	// CustomTokenizers are names of tokenizers that a stored message has and
	// this package doesn't know.
	CustomTokenizers []string
	// IndexSpecs are the vector indexes.
	IndexSpecs []IndexSpec

	NonNullable, NonNullableList bool
	ObjectTypeName               string
}

// IndexSpec is an index with options, such as hnsw.
type IndexSpec struct {
	Name    string
	Options []IndexOption
}

// IndexOption is one option of an IndexSpec.
type IndexOption struct{ Key, Value string }

// TypeDef is a type: a name for a set of predicates.
type TypeDef struct {
	Namespace uint64
	Name      string
	Fields    []string
}

// Schema is a parsed schema text.
type Schema struct {
	Predicates []*Predicate
	Types      []*TypeDef
}

// Indexed says whether values of the predicate are tokenized.
func (p *Predicate) Indexed() bool { return len(p.Tokenizers) > 0 }

// Unsupported gives an error where the predicate has an index that this
// program can't keep: its edges are to be refused.
func (p *Predicate) Unsupported() error { panic("unwritten") }

// Equal says whether p and q say the same.
func (p *Predicate) Equal(q *Predicate) bool { panic("unwritten") }

// String gives the predicate as a line of the schema language.
func (p *Predicate) String() string { panic("unwritten") }

// String gives the type as a block of the schema language.
func (t *TypeDef) String() string { panic("unwritten") }

// Equal says whether t and u say the same.
func (t *TypeDef) Equal(u *TypeDef) bool { panic("unwritten") }

// AppendUpdate appends the stored SchemaUpdate message.
func (p *Predicate) AppendUpdate(dst []byte) []byte { panic("unwritten") }

// AppendUpdate appends the stored TypeUpdate message.
func (t *TypeDef) AppendUpdate(dst []byte) []byte { panic("unwritten") }

// DecodeUpdate reads a stored SchemaUpdate message.
func DecodeUpdate(data []byte) (*Predicate, error) { panic("unwritten") }

// DecodeTypeUpdate reads a stored TypeUpdate message.
func DecodeTypeUpdate(data []byte) (*TypeDef, error) { panic("unwritten") }

// Error is what is wrong with a schema text, and where.
type Error struct {
	Line, Column int
	Msg          string
}

// Error gives the place and the reason.
func (e *Error) Error() string { panic("unwritten") }

// Parse reads a schema text.
func Parse(src string) (*Schema, error) { panic("unwritten") }

// Snapshot is a whole schema at one moment.
type Snapshot struct {
}

// NewSnapshot makes a snapshot of these predicates and types.
func NewSnapshot(preds []*Predicate, types []*TypeDef) *Snapshot { panic("unwritten") }

// Predicate finds a predicate.
func (s *Snapshot) Predicate(ns uint64, name string) (*Predicate, bool) { panic("unwritten") }

// Type finds a type.
func (s *Snapshot) Type(ns uint64, name string) (*TypeDef, bool) { panic("unwritten") }

// All goes over the predicates by namespace, then name.
func (s *Snapshot) All() iter.Seq[*Predicate] { panic("unwritten") }

// Namespace goes over the predicates of one namespace by name.
func (s *Snapshot) Namespace(ns uint64) iter.Seq[*Predicate] { panic("unwritten") }

// Types goes over the types by namespace, then name.
func (s *Snapshot) Types() iter.Seq[*TypeDef] { panic("unwritten") }

// Len gives the number of predicates.
func (s *Snapshot) Len() int { panic("unwritten") }

// With gives a changed copy: these predicates and types added or replaced.
func (s *Snapshot) With(preds []*Predicate, types []*TypeDef) *Snapshot { panic("unwritten") }

// Without gives a copy that lacks these predicates and types.
func (s *Snapshot) Without(preds []*Predicate, types []*TypeDef) *Snapshot { panic("unwritten") }

// Change is what an Alter has to do to the data of one predicate.
type Change struct {
	AddIndexes, DropIndexes []*token.Tokenizer
	AddReverse, DropReverse bool
	AddCount, DropCount     bool
	// ToList: a single-valued predicate becomes a list.
	ToList bool
	// ToSingle: a list becomes single-valued; refused while there is data.
	ToSingle bool
	// Retyped: the type changes; refused while there is data.
	Retyped bool
}

// Diff says what changes between old, which may be nil, and new.
func Diff(old, new *Predicate) Change { panic("unwritten") }

// Empty says whether there is nothing to do.
func (c Change) Empty() bool { panic("unwritten") }
