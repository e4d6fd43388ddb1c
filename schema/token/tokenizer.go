package token

import (
	"fmt"

	"github.com/edgemill/edgemill/schema/value"
)

// The identifier bytes that begin tokens. Those from IDCustom on belong to
// tokenizers that are loaded into other programs.
const (
	IDTerm      byte = 0x01
	IDExact     byte = 0x02
	IDExactLang byte = 0x03
	IDYear      byte = 0x04
	IDGeo       byte = 0x05
	IDInt       byte = 0x06
	IDFloat     byte = 0x07
	IDFulltext  byte = 0x08
	IDBool      byte = 0x09
	IDTrigram   byte = 0x0a
	IDHash      byte = 0x0b
	IDSHA256    byte = 0x0c
	IDBigFloat  byte = 0x0d
	IDNGram     byte = 0x0f
	IDMonth     byte = 0x41
	IDDay       byte = 0x42
	IDHour      byte = 0x43
	IDCustom    byte = 0x80
)

// Tokenizer makes the index tokens of values of one type. It is immutable and
// may be used by any number of goroutines at once.
type Tokenizer struct {
	name     string
	id       byte
	typ      value.Type
	sortable bool
	// append adds the tokens of a value of type typ to dst, each once among those
	// from base on. It may leave some there with an error, and may panic where a
	// library does.
	append func(dst *Buffer, base int, v value.Value, lang string) error
}

// tokenizers are all that there are, by identifier byte.
var tokenizers = [...]Tokenizer{
	{name: "term", id: IDTerm, typ: value.String, append: appendTerms},
	{name: "exact", id: IDExact, typ: value.String, sortable: true, append: appendExact},
	{name: "year", id: IDYear, typ: value.DateTime, sortable: true, append: appendYear},
	{name: "geo", id: IDGeo, typ: value.Geo, append: appendCells},
	{name: "int", id: IDInt, typ: value.Int, sortable: true, append: appendInt},
	{name: "float", id: IDFloat, typ: value.Float, sortable: true, append: appendFloat},
	{name: "fulltext", id: IDFulltext, typ: value.String, append: appendFulltext},
	{name: "bool", id: IDBool, typ: value.Bool, append: appendBool},
	{name: "trigram", id: IDTrigram, typ: value.String, append: appendTrigrams},
	{name: "hash", id: IDHash, typ: value.String, append: appendHash},
	{name: "sha256", id: IDSHA256, typ: value.String, append: appendSHA256},
	{name: "bigfloat", id: IDBigFloat, typ: value.BigFloat, sortable: true, append: appendBigFloat},
	{name: "ngram", id: IDNGram, typ: value.String, append: appendNGrams},
	{name: "month", id: IDMonth, typ: value.DateTime, sortable: true, append: appendMonth},
	{name: "day", id: IDDay, typ: value.DateTime, sortable: true, append: appendDay},
	{name: "hour", id: IDHour, typ: value.DateTime, sortable: true, append: appendHour},
}

// Get finds a tokenizer by its name. Tokenizers are compared by pointer.
func Get(name string) (*Tokenizer, bool) {
	for i := range tokenizers {
		if tokenizers[i].name == name {
			return &tokenizers[i], true
		}
	}
	return nil, false
}

// All gives every tokenizer, in the order of their identifier bytes.
func All() []*Tokenizer {
	all := make([]*Tokenizer, len(tokenizers))
	for i := range tokenizers {
		all[i] = &tokenizers[i]
	}
	return all
}

// Name gives the tokenizer's name in the schema language.
func (t *Tokenizer) Name() string { return t.name }

// String gives the tokenizer's name.
func (t *Tokenizer) String() string { return t.name }

// ID gives the identifier byte that begins its tokens. Exact has a second one,
// IDExactLang, for values with a language.
func (t *Tokenizer) ID() byte { return t.id }

// Type gives the type of the predicates that it is for.
func (t *Tokenizer) Type() value.Type { return t.typ }

// Sortable says whether its tokens stand in the order of the values.
func (t *Tokenizer) Sortable() bool { return t.sortable }

// Append adds the tokens of v to dst, each once, in no order that anyone may
// rely on. v is of the tokenizer's type and well formed; lang is its language
// tag, "" for none. On an error, which says what the tokenizer refused, dst is
// left with the tokens that it had.
func (t *Tokenizer) Append(dst *Buffer, v value.Value, lang string) (err error) {
	if v.Type != t.typ {
		return fmt.Errorf("tokenizer %s is for %s, not %s", t.name, t.typ, v.Type)
	}
	base := dst.Len()
	defer func() {
		// The libraries below have panicked on odd text and geometries; here that
		// is a value that is refused.
		if r := recover(); r != nil {
			err = fmt.Errorf("%v", r)
		}
		if err != nil {
			dst.tokens.truncate(base)
			err = fmt.Errorf("tokenizer %s: %w", t.name, err)
		}
	}()
	return t.append(dst, base, v, lang)
}

// Query adds the tokens by which the tokenizer called name finds text in the
// index of a predicate of type typ. What matches has all of these tokens (there may
// be none: a text of stop words, or one too short for trigram). The text is read
// as input text of the type.
func Query(dst *Buffer, name string, typ value.Type, text, lang string) error {
	t, ok := Get(name)
	if !ok {
		return fmt.Errorf("unknown tokenizer %q", name)
	}
	v, err := value.Parse(typ, text)
	if err != nil {
		return err
	}
	return t.Append(dst, v, lang)
}
