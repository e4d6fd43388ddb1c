package schema

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/edgemill/edgemill/schema/token"
	"github.com/edgemill/edgemill/schema/value"
)

// Predicate is what a schema says of one predicate. Once it is in a Snapshot
// nobody changes it.
type Predicate struct {
	Namespace uint64
	Name      string
	// Type is that of the values; value.UID makes the objects nodes.
	Type value.Type

	// List: a subject may have several values or targets.
	List bool
	// Lang: values may have language tags, each its own value.
	Lang bool
	// Reverse: the sources of each target are kept.
	Reverse bool
	// Count: the subjects with each number of postings are kept.
	Count bool
	// Upsert: every key that is written conflicts as a whole.
	Upsert bool
	// NoConflict: nothing that is written conflicts.
	NoConflict bool
	// Unique: no two subjects have the same value.
	Unique bool

	// Tokenizers are those of @index, in the order in which they were named.
	Tokenizers []*token.Tokenizer
	// CustomTokenizers are names of tokenizers that a stored message has and
	// this program doesn't know.
	CustomTokenizers []string
	// IndexSpecs are the vector indexes; they are kept, not built.
	IndexSpecs []IndexSpec

	// NonNullable, NonNullableList and ObjectTypeName are kept as stored messages have
	// them and mean nothing here.
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

// hnsw is the one kind of IndexSpec that the language has.
const hnsw = "hnsw"

// Indexed says whether values of the predicate have index tokens.
func (p *Predicate) Indexed() bool { return len(p.Tokenizers) > 0 }

// StoredType gives the type that a value given with type given is stored in: the
// predicate's, but a predicate of type default keeps the given one.
func (p *Predicate) StoredType(given value.Type) value.Type {
	if p.Type == value.Default {
		return given
	}
	return p.Type
}

// Unsupported gives an error where the predicate has an index that this program
// can't keep, or a type that it doesn't know: edges on it are to be refused. Such
// predicates come from stored messages, but for hnsw, which the language has too.
func (p *Predicate) Unsupported() error {
	switch {
	case len(p.CustomTokenizers) > 0:
		return fmt.Errorf("predicate %.60q has the custom tokenizer %q, which is not supported", p.Name, p.CustomTokenizers[0])
	case len(p.IndexSpecs) > 0:
		return fmt.Errorf("predicate %.60q has an index of kind %q, which is not supported", p.Name, p.IndexSpecs[0].Name)
	case !isPredicateType(p.Type):
		return fmt.Errorf("predicate %.60q has the type %s (%d), which is not supported", p.Name, p.Type, p.Type)
	}
	return nil
}

// isPredicateType says whether predicates may have type t.
func isPredicateType(t value.Type) bool {
	return t <= value.Vector && t != value.Binary && t != value.Object
}

// Equal says whether p and q say the same.
func (p *Predicate) Equal(q *Predicate) bool {
	return p.flags() == q.flags() &&
		slices.Equal(p.Tokenizers, q.Tokenizers) &&
		slices.Equal(p.CustomTokenizers, q.CustomTokenizers) &&
		slices.EqualFunc(p.IndexSpecs, q.IndexSpecs, IndexSpec.equal)
}

// flags gives the predicate without its lists, so that it can be compared.
func (p *Predicate) flags() any {
	return [...]any{p.Namespace, p.Name, p.Type, p.List, p.Lang, p.Reverse, p.Count, p.Upsert,
		p.NoConflict, p.Unique, p.NonNullable, p.NonNullableList, p.ObjectTypeName}
}

func (s IndexSpec) equal(o IndexSpec) bool {
	return s.Name == o.Name && slices.Equal(s.Options, o.Options)
}

// String gives the predicate as a line of the schema language, without a line
// end. Parse reads an equal predicate from it, unless it has what only stored
// messages have (custom tokenizers, a type that predicates don't have, the fields
// that mean nothing here).
func (p *Predicate) String() string {
	var b strings.Builder
	writeNamespace(&b, p.Namespace)
	writeName(&b, p.Name)
	b.WriteString(": ")
	if p.List {
		b.WriteString("[" + p.Type.String() + "]")
	} else {
		b.WriteString(p.Type.String())
	}
	if indexes := p.indexNames(); len(indexes) > 0 {
		b.WriteString(" @index(" + strings.Join(indexes, ", ") + ")")
	}
	for _, d := range p.directives() {
		if *d.flag {
			b.WriteString(" @" + d.name)
		}
	}
	b.WriteString(" .")
	return b.String()
}

// indexNames gives what stands in the parentheses of @index.
func (p *Predicate) indexNames() []string {
	names := p.tokenizerNames()
	for _, s := range p.IndexSpecs {
		names = append(names, s.String())
	}
	return names
}

// tokenizerNames gives the names of all tokenizers, the custom ones last.
func (p *Predicate) tokenizerNames() []string {
	names := make([]string, 0, len(p.Tokenizers)+len(p.CustomTokenizers))
	for _, t := range p.Tokenizers {
		names = append(names, t.Name())
	}
	return append(names, p.CustomTokenizers...)
}

// String gives the index as it stands in the parentheses of @index.
func (s IndexSpec) String() string {
	if len(s.Options) == 0 {
		return s.Name
	}
	options := make([]string, len(s.Options))
	for i, o := range s.Options {
		options[i] = o.Key + ":" + strconv.Quote(o.Value)
	}
	return s.Name + "(" + strings.Join(options, ", ") + ")"
}

// directive is one that is either there or not.
type directive struct {
	name string
	flag *bool
}

// directives gives all of them but @index, in the order in which they are
// printed.
func (p *Predicate) directives() [6]directive {
	return [...]directive{
		{"reverse", &p.Reverse}, {"count", &p.Count}, {"upsert", &p.Upsert},
		{"noconflict", &p.NoConflict}, {"lang", &p.Lang}, {"unique", &p.Unique},
	}
}

func writeNamespace(b *strings.Builder, ns uint64) {
	if ns != 0 {
		fmt.Fprintf(b, "[%#x] ", ns)
	}
}

// writeName writes a name, in angle brackets unless it is plain ASCII.
func writeName(b *strings.Builder, name string) {
	if isPlainName(name) {
		b.WriteString(name)
		return
	}
	b.WriteString("<" + name + ">")
}

func isPlainName(name string) bool {
	for _, r := range name {
		if r > 'z' || !isNameRune(r) {
			return false
		}
	}
	return name != "" && name[0] != '.' && name[0] != '-'
}
