package token

import "github.com/edgemill/edgemill/schema/value"

// Tokenizer makes the index tokens of values. It is immutable and may be used
// by any number of goroutines at once.
type Tokenizer struct {
	name     string
	id       byte
	typ      value.Type
	sortable bool
}

// Name gives the tokenizer's name in the schema language.
func (t *Tokenizer) Name() string { return t.name }

// ID gives the identifier byte that begins its tokens. Exact has a second one,
// IDExactLang, for values with a language.
func (t *Tokenizer) ID() byte { return t.id }

// Type gives the type of the predicates that it is for.
func (t *Tokenizer) Type() value.Type { return t.typ }

// Sortable says whether its tokens stand in the order of the values.
func (t *Tokenizer) Sortable() bool { return t.sortable }

// Append adds the distinct tokens of v, which is of the tokenizer's type, to
// dst. On an error dst is left as it was.
func (t *Tokenizer) Append(dst *Buffer, v value.Value, lang string) error { panic("unwritten") }

// AppendQuery adds the tokens that a lookup of v asks for; a value that
// matches has all of them.
func (t *Tokenizer) AppendQuery(dst *Buffer, v value.Value, lang string) error { panic("unwritten") }

// Get finds a tokenizer by its name.
func Get(name string) (*Tokenizer, bool) { panic("unwritten") }

// All gives every tokenizer, in the order of their identifier bytes.
func All() []*Tokenizer { panic("unwritten") }

// FacetTokens adds the term tokens of a string facet, sorted.
func FacetTokens(dst *Buffer, s string) error { panic("unwritten") }
