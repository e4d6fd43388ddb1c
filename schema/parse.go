package schema

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/edgemill/edgemill/schema/token"
	"github.com/edgemill/edgemill/schema/value"
)

// Schema is a parsed schema text: what it states, in its order.
type Schema struct {
	Predicates []*Predicate
	Types      []*TypeDef
}

// Error is what is wrong with a schema text, and where.
type Error struct {
	// Line and Column say where the offending word begins. Both count from 1, the
	// column in characters.
	Line, Column int
	Msg          string
}

// Error gives the place and the reason.
func (e *Error) Error() string {
	return fmt.Sprintf("schema: line %d, column %d: %s", e.Line, e.Column, e.Msg)
}

// Parse reads a schema text. Every predicate and type in the result is valid,
// and stated once. An error is an *Error.
func Parse(src string) (*Schema, error) { return ParseIn(src, 0) }

// ParseIn is Parse where a statement that names no namespace is of the one
// given.
func ParseIn(src string, namespace uint64) (*Schema, error) {
	p := &parser{src: src, ns: namespace, stated: make(map[statedKey]bool)}
	p.take("\ufeff") // a byte order mark, which some editors leave
	for p.skipSpace(); p.pos < len(p.src); p.skipSpace() {
		if err := p.statement(); err != nil {
			return nil, err
		}
	}
	return &p.out, nil
}

// parser goes over the text once; pos is always at the beginning of a character.
type parser struct {
	src string
	// ns is the namespace of statements that name none.
	ns     uint64
	pos    int
	out    Schema
	stated map[statedKey]bool
}

// statedKey names what a text may state once.
type statedKey struct {
	ns     uint64
	name   string
	isType bool
}

// errorAt is an error about what begins at byte at.
func (p *parser) errorAt(at int, format string, args ...any) error {
	before := p.src[:at]
	lineStart := strings.LastIndexByte(before, '\n') + 1
	return &Error{
		Line:   strings.Count(before, "\n") + 1,
		Column: utf8.RuneCountInString(before[lineStart:]) + 1,
		Msg:    fmt.Sprintf(format, args...),
	}
}

// expected is an error about what stands next, where what should.
func (p *parser) expected(what string) error {
	return p.errorAt(p.pos, "expected %s, found %s", what, p.found())
}

// found describes what stands next.
func (p *parser) found() string {
	if p.pos >= len(p.src) {
		return "the end of the text"
	}
	rest := p.src[p.pos:]
	end := strings.IndexFunc(rest, func(r rune) bool { return !isNameRune(r) })
	switch {
	case end < 0:
		end = len(rest)
	case end == 0:
		_, end = utf8.DecodeRuneInString(rest)
	}
	return strconv.Quote(rest[:min(end, 60)])
}

// skipSpace goes to what stands next but white space and comments.
func (p *parser) skipSpace() {
	for p.pos < len(p.src) {
		r, size := utf8.DecodeRuneInString(p.src[p.pos:])
		switch {
		case r == '#':
			end := strings.IndexByte(p.src[p.pos:], '\n')
			if end < 0 {
				p.pos = len(p.src)
				return
			}
			p.pos += end
		case unicode.IsSpace(r):
			p.pos += size
		default:
			return
		}
	}
}

// take goes past punctuation, and the space before it, if that stands next.
func (p *parser) take(punctuation string) bool {
	p.skipSpace()
	if !strings.HasPrefix(p.src[p.pos:], punctuation) {
		return false
	}
	p.pos += len(punctuation)
	return true
}

// need is take where nothing else may stand.
func (p *parser) need(punctuation string) error {
	if !p.take(punctuation) {
		return p.expected(strconv.Quote(punctuation))
	}
	return nil
}

// isNameRune says whether a name outside angle brackets may hold r.
func isNameRune(r rune) bool {
	switch {
	case r == '_' || r == '.' || r == '-':
		return true
	case r == utf8.RuneError:
		return false
	}
	return isWordRune(r)
}

// isWordRune says whether a keyword may hold r; names that are no keyword are
// met by saying that they are unknown.
func isWordRune(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r)
}

// run takes the characters that are all of one kind.
func (p *parser) run(kind func(rune) bool) string {
	rest := p.src[p.pos:]
	end := strings.IndexFunc(rest, func(r rune) bool { return !kind(r) })
	if end < 0 {
		end = len(rest)
	}
	p.pos += end
	return rest[:end]
}

// word takes a keyword: letters and digits. what says for an error which is
// wanted.
func (p *parser) word(what string) (string, error) {
	p.skipSpace()
	w := p.run(isWordRune)
	if w == "" {
		return "", p.expected(what)
	}
	return w, nil
}

// name takes a name, in angle brackets or plain. It takes ~ and * too, which no
// plain name may hold, so that the error is about the name.
func (p *parser) name(what string) (string, error) {
	if p.take("<") {
		rest := p.src[p.pos:]
		end := strings.IndexAny(rest, ">\n")
		if end < 0 || rest[end] == '\n' {
			return "", p.errorAt(p.pos-1, "a name that begins with < has no > on its line")
		}
		p.pos += end + 1
		return rest[:end], nil
	}
	// A name may hold these two but not begin with them: a point ends statements.
	if strings.HasPrefix(p.src[p.pos:], ".") || strings.HasPrefix(p.src[p.pos:], "-") {
		return "", p.expected(what)
	}
	name := p.run(func(r rune) bool { return isNameRune(r) || r == '~' || r == '*' })
	if name == "" {
		return "", p.expected(what)
	}
	return name, nil
}

// statement takes one predicate or type.
func (p *parser) statement() error {
	ns, err := p.namespace()
	if err != nil {
		return err
	}
	p.skipSpace()
	at := p.pos
	name, err := p.name("a predicate's name")
	if err != nil {
		return err
	}
	if name == "type" && p.src[at] != '<' {
		p.skipSpace()
		if !strings.HasPrefix(p.src[p.pos:], ":") {
			return p.typeDef(ns)
		}
	}
	return p.predicate(ns, name, at)
}

// namespace takes a namespace in square brackets, as exports have them before
// each statement.
func (p *parser) namespace() (uint64, error) {
	if !p.take("[") {
		return p.ns, nil
	}
	p.skipSpace()
	at := p.pos
	w, err := p.word("a namespace")
	if err != nil {
		return 0, err
	}
	digits, isHex := strings.CutPrefix(w, "0x")
	base := 10
	if isHex {
		base = 16
	}
	ns, err := strconv.ParseUint(digits, base, 64)
	if err != nil {
		return 0, p.errorAt(at, "%.60q is not a namespace, which is a number", w)
	}
	return ns, p.need("]")
}

// state notes that the text states something, which it may do once.
func (p *parser) state(key statedKey, at int) error {
	if p.stated[key] {
		kind := "predicate"
		if key.isType {
			kind = "type"
		}
		return p.errorAt(at, "%s %.60q is stated twice", kind, key.name)
	}
	p.stated[key] = true
	return nil
}

// places are where the parts of a predicate's statement begin.
type places struct {
	parts      map[part]int
	tokenizers []int
}

// of gives where the part that a fault is about begins.
func (s *places) of(f *fault) int {
	if f.part == tokenizerPart {
		return s.tokenizers[f.index]
	}
	return s.parts[f.part]
}

// predicate takes what follows a predicate's name, which begins at byte at.
func (p *parser) predicate(ns uint64, name string, at int) error {
	pred := &Predicate{Namespace: ns, Name: name}
	where := &places{parts: map[part]int{namePart: at}}
	if err := p.need(":"); err != nil {
		return err
	}
	if err := p.predicateType(pred, where); err != nil {
		return err
	}
	for {
		p.skipSpace()
		at := p.pos
		if !p.take("@") {
			break
		}
		if err := p.directive(pred, where, at); err != nil {
			return err
		}
	}
	if err := p.need("."); err != nil {
		return err
	}
	if f := pred.fault(); f != nil {
		return p.errorAt(where.of(f), "predicate %.60q: %s", name, f.msg)
	}
	if err := p.state(statedKey{ns: ns, name: name}, at); err != nil {
		return err
	}
	p.out.Predicates = append(p.out.Predicates, pred)
	return nil
}

// predicateType takes a type, or one in square brackets.
func (p *parser) predicateType(pred *Predicate, where *places) error {
	pred.List = p.take("[")
	p.skipSpace()
	at := p.pos
	where.parts[typePart] = at
	w, err := p.word("a type")
	if err != nil {
		return err
	}
	t, ok := value.ParseType(w)
	if !ok {
		return p.errorAt(at, "predicate %.60q: unknown type %.60q", pred.Name, w)
	}
	pred.Type = t
	if pred.List {
		return p.need("]")
	}
	return nil
}

// directiveParts are the directives, but for @index, by name.
var directiveParts = map[string]part{
	"reverse": reversePart, "count": countPart, "upsert": upsertPart,
	"noconflict": noConflictPart, "lang": langPart, "unique": uniquePart,
}

// directive takes a directive, whose @ is at byte at.
func (p *parser) directive(pred *Predicate, where *places, at int) error {
	w, err := p.word("a directive")
	if err != nil {
		return err
	}
	kind, ok := directiveParts[w]
	if w == "index" {
		kind, ok = indexPart, true
	}
	if !ok {
		return p.errorAt(at, "predicate %.60q: unknown directive @%.60s", pred.Name, w)
	}
	if _, twice := where.parts[kind]; twice {
		return p.errorAt(at, "predicate %.60q: @%s stands twice", pred.Name, w)
	}
	where.parts[kind] = at
	if kind == indexPart {
		return p.index(pred, where, at)
	}
	for _, d := range pred.directives() {
		if d.name == w {
			*d.flag = true
		}
	}
	return nil
}

// index takes the tokenizers of @index, which begins at byte at.
func (p *parser) index(pred *Predicate, where *places, at int) error {
	if !p.take("(") || p.take(")") {
		return p.errorAt(at, "predicate %.60q: @index names no tokenizer", pred.Name)
	}
	for {
		if err := p.tokenizer(pred, where); err != nil {
			return err
		}
		if p.take(")") {
			return nil
		}
		if !p.take(",") {
			return p.expected(`"," or ")"`)
		}
	}
}

func (p *parser) tokenizer(pred *Predicate, where *places) error {
	p.skipSpace()
	at := p.pos
	w, err := p.word("a tokenizer")
	if err != nil {
		return err
	}
	if w == hnsw {
		options, err := p.options()
		pred.IndexSpecs = append(pred.IndexSpecs, IndexSpec{Name: w, Options: options})
		return err
	}
	t, ok := token.Get(w)
	if !ok {
		return p.errorAt(at, "predicate %.60q: unknown tokenizer %.60q", pred.Name, w)
	}
	pred.Tokenizers = append(pred.Tokenizers, t)
	where.tokenizers = append(where.tokenizers, at)
	return nil
}

// options takes the options of an index, if there are any: a name, a colon and a
// string each.
func (p *parser) options() ([]IndexOption, error) {
	if !p.take("(") || p.take(")") {
		return nil, nil
	}
	var options []IndexOption
	for {
		key, err := p.word("an option")
		if err != nil {
			return nil, err
		}
		if err := p.need(":"); err != nil {
			return nil, err
		}
		text, err := p.quoted()
		if err != nil {
			return nil, err
		}
		options = append(options, IndexOption{Key: key, Value: text})
		if p.take(")") {
			return options, nil
		}
		if !p.take(",") {
			return nil, p.expected(`"," or ")"`)
		}
	}
}

// quoted takes a string in double quotes, with Go's escapes.
func (p *parser) quoted() (string, error) {
	p.skipSpace()
	quoted, err := strconv.QuotedPrefix(p.src[p.pos:])
	if err != nil || quoted[0] != '"' {
		return "", p.expected("a string in double quotes")
	}
	text, err := strconv.Unquote(quoted)
	if err != nil {
		return "", p.expected("a string in double quotes")
	}
	p.pos += len(quoted)
	return text, nil
}

// typeDef takes what follows the word type.
func (p *parser) typeDef(ns uint64) error {
	at := p.pos
	name, err := p.name("a type's name")
	if err != nil {
		return err
	}
	if err := checkTypeName(name); err != nil {
		return p.errorAt(at, "type %.60q: %s", name, err)
	}
	if err := p.state(statedKey{ns: ns, name: name, isType: true}, at); err != nil {
		return err
	}
	if err := p.need("{"); err != nil {
		return err
	}
	t := &TypeDef{Namespace: ns, Name: name}
	for !p.take("}") {
		if err := p.field(t); err != nil {
			return err
		}
	}
	p.out.Types = append(p.out.Types, t)
	return nil
}

// field takes a field's name and, where it follows, a type, of which nothing is
// kept.
func (p *parser) field(t *TypeDef) error {
	p.skipSpace()
	at := p.pos
	name, err := p.name(`a field or "}"`)
	if err != nil {
		return err
	}
	err = checkField(name)
	if err == nil && slices.Contains(t.Fields, name) {
		err = errFieldTwice
	}
	if err != nil {
		return p.errorAt(at, "type %.60q: field %.60q: %s", t.Name, name, err)
	}
	t.Fields = append(t.Fields, name)
	if p.take(":") {
		return p.fieldType()
	}
	return nil
}

// fieldType takes a type in the form of older definitions: a name, perhaps in
// square brackets, with ! where it can't be absent.
func (p *parser) fieldType() error {
	list := p.take("[")
	if _, err := p.name("a type"); err != nil {
		return err
	}
	p.take("!")
	if !list {
		return nil
	}
	if err := p.need("]"); err != nil {
		return err
	}
	p.take("!")
	return nil
}
