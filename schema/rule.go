package schema

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/edgemill/edgemill/schema/token"
	"github.com/edgemill/edgemill/schema/value"
)

// MaxNameLen is the greatest length of a predicate's or type's name in bytes:
// with it, every fixed part of a list's key fits the store.
const MaxNameLen = 64972

// part is a part of a predicate's statement.
type part uint8

const (
	namePart part = iota
	typePart
	indexPart     // the word @index
	tokenizerPart // one word in its parentheses
	reversePart
	countPart
	upsertPart
	noConflictPart
	langPart
	uniquePart
)

// fault is what is wrong with a predicate, and with which part of it, so that
// Parse can say where that stands.
type fault struct {
	part part
	// index is which tokenizer, for tokenizerPart.
	index int
	msg   string
}

// Validate says whether a schema may have the predicate. The error names the
// predicate and the reason.
func (p *Predicate) Validate() error {
	if f := p.fault(); f != nil {
		return fmt.Errorf("predicate %.60q: %s", p.Name, f.msg)
	}
	return nil
}

// fault gives the first thing wrong with the predicate, or nil.
func (p *Predicate) fault() *fault {
	for _, rule := range [...]func(*Predicate) *fault{
		(*Predicate).nameFault, (*Predicate).typeFault, (*Predicate).indexFault,
		(*Predicate).reverseFault, (*Predicate).langFault, (*Predicate).uniqueFault,
	} {
		if f := rule(p); f != nil {
			return f
		}
	}
	return nil
}

func (p *Predicate) nameFault() *fault {
	err := checkName(p.Name)
	if err == nil && strings.HasPrefix(p.Name, reservedPrefix) && !p.isNodeType() {
		err = fmt.Errorf("names that begin with %s are reserved, but for dgraph.type: [string] @index(exact)", reservedPrefix)
	}
	if err != nil {
		return &fault{part: namePart, msg: err.Error()}
	}
	return nil
}

// reservedPrefix begins the names that the graph server keeps for itself.
const reservedPrefix = "dgraph."

// isNodeType says whether this is the one reserved predicate that a schema may
// state, and just as it always is.
func (p *Predicate) isNodeType() bool {
	exact, _ := token.Get("exact")
	want := Predicate{Namespace: p.Namespace, Name: "dgraph.type", Type: value.String, List: true,
		Tokenizers: []*token.Tokenizer{exact}}
	return p.Equal(&want)
}

// checkName says whether a name, of a predicate or a type, is one that keys,
// N-Quads and this language can all carry.
func checkName(name string) error {
	switch {
	case name == "":
		return errors.New("the name is empty")
	case len(name) > MaxNameLen:
		return fmt.Errorf("the name has %d bytes; at most %d are possible", len(name), MaxNameLen)
	case !utf8.ValidString(name):
		return errors.New("the name is not valid UTF-8")
	case name == "uid" || name == "*":
		return errors.New("the name is reserved")
	case strings.HasPrefix(name, "~"):
		return errors.New("a name can't begin with ~, which stands for the reverse of a predicate")
	}
	for _, r := range name {
		if unicode.IsSpace(r) || unicode.IsControl(r) {
			return fmt.Errorf("the name holds white space or a control character (%U)", r)
		}
		if strings.ContainsRune("<>\"{}|^@`", r) {
			return fmt.Errorf("the name holds %q", r)
		}
	}
	return nil
}

func (p *Predicate) typeFault() *fault {
	if !isPredicateType(p.Type) {
		return &fault{part: typePart, msg: fmt.Sprintf("a predicate can't have the type %s", p.Type)}
	}
	if p.List && (p.Type == value.Bool || p.Type == value.Password) {
		return &fault{part: typePart, msg: fmt.Sprintf("a list of %s is not possible", p.Type)}
	}
	return nil
}

func (p *Predicate) indexFault() *fault {
	if len(p.Tokenizers)+len(p.CustomTokenizers)+len(p.IndexSpecs) == 0 {
		return nil
	}
	switch p.Type {
	case value.UID, value.Default, value.Password:
		return &fault{part: indexPart, msg: fmt.Sprintf("a predicate of type %s can't have an index", p.Type)}
	}
	if len(p.CustomTokenizers) > 0 {
		return &fault{part: indexPart, msg: fmt.Sprintf("unknown tokenizer %q", p.CustomTokenizers[0])}
	}
	if len(p.IndexSpecs) > 0 {
		return p.specFault()
	}
	return p.tokenizerFault()
}

func (p *Predicate) specFault() *fault {
	switch {
	case p.Type != value.Vector:
		return &fault{part: indexPart, msg: fmt.Sprintf("an index of kind %s is for %s, not %s", hnsw, value.Vector, p.Type)}
	case len(p.IndexSpecs) > 1 || len(p.Tokenizers) > 0:
		return &fault{part: indexPart, msg: fmt.Sprintf("beside %s there can be no other index", hnsw)}
	case p.IndexSpecs[0].Name != hnsw:
		return &fault{part: indexPart, msg: fmt.Sprintf("unknown kind of index %q", p.IndexSpecs[0].Name)}
	}
	return nil
}

func (p *Predicate) tokenizerFault() *fault {
	var sortable *token.Tokenizer
	for i, t := range p.Tokenizers {
		msg := ""
		switch {
		case t.Type() != p.Type:
			msg = fmt.Sprintf("tokenizer %s is for %s, not %s", t.Name(), t.Type(), p.Type)
		case slices.Contains(p.Tokenizers[:i], t):
			msg = fmt.Sprintf("tokenizer %s is named twice", t.Name())
		case t.Sortable() && sortable != nil:
			msg = fmt.Sprintf("tokenizers %s and %s are both sortable; one at most is possible", sortable.Name(), t.Name())
		}
		if msg != "" {
			return &fault{part: tokenizerPart, index: i, msg: msg}
		}
		if t.Sortable() {
			sortable = t
		}
	}
	return nil
}

func (p *Predicate) reverseFault() *fault {
	if p.Reverse && p.Type != value.UID {
		return &fault{part: reversePart, msg: fmt.Sprintf("@reverse is for uid, not %s", p.Type)}
	}
	return nil
}

func (p *Predicate) langFault() *fault {
	switch {
	case !p.Lang:
		return nil
	case p.Type != value.String:
		return &fault{part: langPart, msg: fmt.Sprintf("@lang is for string, not %s", p.Type)}
	case p.List:
		return &fault{part: langPart, msg: "@lang is not for lists"}
	}
	return nil
}

func (p *Predicate) uniqueFault() *fault {
	if !p.Unique {
		return nil
	}
	msg := ""
	switch {
	case p.Type != value.String && p.Type != value.Int:
		msg = fmt.Sprintf("@unique is for string and int, not %s", p.Type)
	case p.Type == value.String && !p.hasTokenizer("exact") && !p.hasTokenizer("hash"):
		msg = "@unique asks for an index, exact or hash"
	case p.Type == value.Int && !p.hasTokenizer("int"):
		msg = "@unique asks for the index int"
	case !p.Upsert:
		msg = "@unique asks for @upsert"
	case p.NoConflict:
		msg = "@unique and @noconflict exclude each other"
	}
	if msg == "" {
		return nil
	}
	return &fault{part: uniquePart, msg: msg}
}

func (p *Predicate) hasTokenizer(name string) bool {
	t, ok := token.Get(name)
	return ok && slices.Contains(p.Tokenizers, t)
}

// Validate says whether a schema may have the type. The error names the type
// and the reason.
func (t *TypeDef) Validate() error {
	if err := checkTypeName(t.Name); err != nil {
		return fmt.Errorf("type %.60q: %w", t.Name, err)
	}
	for i, f := range t.Fields {
		err := checkField(f)
		if err == nil && slices.Contains(t.Fields[:i], f) {
			err = errFieldTwice
		}
		if err != nil {
			return fmt.Errorf("type %.60q: field %.60q: %w", t.Name, f, err)
		}
	}
	return nil
}

var errFieldTwice = errors.New("the field is named twice")

func checkTypeName(name string) error {
	if strings.HasPrefix(name, reservedPrefix) {
		return fmt.Errorf("names that begin with %s are reserved", reservedPrefix)
	}
	return checkName(name)
}

// checkField says whether a name may be a field: that of a predicate, or ~ and
// that of a predicate.
func checkField(name string) error {
	return checkName(strings.TrimPrefix(name, "~"))
}
