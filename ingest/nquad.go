package ingest

import (
	"bytes"
	"errors"
	"unicode/utf8"

	"github.com/edgemill/edgemill/mutation"
)

// nquadReader reads statements one after the other. Its place's data is valid
// UTF-8.
type nquadReader struct {
	*Parser
	place
	pos int
	// row is how many line ends lie before pos.
	row int
	op  mutation.Op
}

// lines reads data as a document of N-Quads: a statement a line.
func (r *nquadReader) lines(dst []Quad) ([]Quad, error) {
	for r.skipBlank(); r.pos < len(r.data); r.skipBlank() {
		dst = append(dst, Quad{})
		if err := r.statement(&dst[len(dst)-1]); err != nil {
			return dst[:len(dst)-1], err
		}
		if err := r.endOfLine(); err != nil {
			return dst[:len(dst)-1], err
		}
	}
	return dst, nil
}

// peek gives the next byte, or 0 at the end (no statement has a 0 where peek
// decides).
func (r *nquadReader) peek() byte {
	if r.pos < len(r.data) {
		return r.data[r.pos]
	}
	return 0
}

func (r *nquadReader) skipSpace() {
	for r.pos < len(r.data) && isSpace(r.data[r.pos]) {
		r.pos++
	}
}

// skipBlank passes over white space, line ends and comments.
func (r *nquadReader) skipBlank() {
	for r.pos < len(r.data) {
		switch c := r.data[r.pos]; {
		case isSpace(c):
			r.pos++
		case isEOL(c):
			r.skipLineEnd()
		case c == '#':
			r.skipComment()
		default:
			return
		}
	}
}

func (r *nquadReader) skipLineEnd() {
	if r.data[r.pos] == '\r' && r.pos+1 < len(r.data) && r.data[r.pos+1] == '\n' {
		r.pos++
	}
	r.pos++
	r.row++
}

func (r *nquadReader) skipComment() {
	for r.pos < len(r.data) && !isEOL(r.data[r.pos]) {
		r.pos++
	}
}

// endOfLine passes over what may follow a statement on its line.
func (r *nquadReader) endOfLine() error {
	r.skipSpace()
	if c := r.peek(); r.pos < len(r.data) && c != '#' && !isEOL(c) {
		return r.fail("more after the statement's dot: one statement a line, please")
	}
	return nil
}

func (r *nquadReader) fail(format string, args ...any) error {
	return r.errorAt(r.pos, nil, format, args...)
}

// expected is the error for a term of which the next byte is no beginning.
func (r *nquadReader) expected(what string) error {
	if r.pos >= len(r.data) || isEOL(r.data[r.pos]) {
		return r.fail("the statement ends where %s is expected", what)
	}
	c, _ := utf8.DecodeRune(r.data[r.pos:])
	return r.fail("%q where %s is expected", c, what)
}

// statement reads one statement up to and including its dot.
func (r *nquadReader) statement(q *Quad) error {
	q.Op, q.Line = r.op, r.line+r.row
	if err := r.node(&q.Subject, "a subject (<IRI>, _:label or a uid)"); err != nil {
		return err
	}
	star, err := r.predicate(q)
	if err != nil {
		return err
	}
	if err := r.object(q, star); err != nil {
		return err
	}
	return r.ending(q)
}

// ending reads what may stand behind the object: a graph label, facets, and the
// dot.
func (r *nquadReader) ending(q *Quad) error {
	r.skipSpace()
	if c := r.peek(); c != '.' && c != '(' {
		if err := r.graph(); err != nil {
			return err
		}
	}
	if r.peek() == '(' {
		if err := r.readFacets(q); err != nil {
			return err
		}
	}
	if r.peek() != '.' {
		return r.expected("a dot")
	}
	r.pos++
	return nil
}

// graph reads a graph label and drops it. Where no Dgraph form asks for it, a
// relative IRI is refused; the namespace that Dgraph's exports write as a label
// (<0x0>) is read.
func (r *nquadReader) graph() error {
	start := r.pos
	switch r.peek() {
	case '<':
		iri, err := r.iri()
		if err != nil {
			return err
		}
		if !isAbsolute(iri) && !isNumber(iri) {
			r.pos = start
			return r.fail("the graph label <%s> is a relative IRI", iri)
		}
	case '_':
		if _, err := r.label(); err != nil {
			return err
		}
	default:
		return r.expected("a dot, a graph label or facets")
	}
	r.skipSpace()
	return nil
}

// isNumber says whether an IRI's text is a number as Dgraph writes namespaces.
func isNumber(iri []byte) bool {
	_, err := parseUID(iri)
	return !errors.Is(err, errNoUID)
}

// isAbsolute says whether an IRI begins with a scheme (RFC 3987).
func isAbsolute(iri []byte) bool {
	for i, c := range iri {
		switch {
		case c == ':':
			return i > 0
		case isLetter(c):
		case i > 0 && (isDigit(c) || c == '+' || c == '-' || c == '.'):
		default:
			return false
		}
	}
	return false
}

// node reads a subject or a node object.
func (r *nquadReader) node(n *Node, what string) error {
	start := r.pos
	switch r.peek() {
	case '<':
		iri, err := r.iri()
		if err != nil {
			return err
		}
		return r.iriNode(n, iri, start)
	case '_':
		name, err := r.label()
		n.Name = name
		return err
	case '0':
		return r.bareUID(n, what)
	case '*':
		return r.fail("a star where %s is expected", what)
	}
	return r.expected(what)
}

// iriNode tells uids from names. The text of iri stands at start, in brackets,
// if it has no escapes.
func (r *nquadReader) iriNode(n *Node, iri []byte, start int) error {
	uid, err := parseUID(iri)
	switch {
	case err == nil:
		n.UID = uid
	case err == errUIDRange:
		return r.errorAt(start, nil, "uid <%s>: %v", iri, err)
	case len(iri) == r.pos-start-2:
		n.Name = r.data[start:r.pos:r.pos]
	default:
		n.Name = r.bracketed(iri)
	}
	return nil
}

func (r *nquadReader) bracketed(iri []byte) []byte {
	b := append(r.bytes.space(len(iri)+2), '<')
	return r.bytes.take(append(append(b, iri...), '>'))
}

// bareUID reads a uid without brackets: 0x and hexadecimal digits. Decimal ones
// would be N-Quads' refused numbers.
func (r *nquadReader) bareUID(n *Node, what string) error {
	end := r.pos
	for end < len(r.data) && isAlphanumeric(r.data[end]) {
		end++
	}
	text := r.data[r.pos:end]
	uid, err := parseUID(text)
	if !bytes.HasPrefix(text, []byte("0x")) || err == errNoUID {
		return r.fail("%s where %s is expected", text, what)
	}
	if err != nil {
		return r.fail("uid %s: %v", text, err)
	}
	n.UID = uid
	r.pos = end
	return nil
}

// iri reads `<...>` and gives what is inside, its escapes resolved.
func (r *nquadReader) iri() ([]byte, error) {
	start := r.pos + 1
	end := start
	for end < len(r.data) && classes[r.data[end]]&inIRI != 0 {
		end++
	}
	r.pos = end
	var text []byte
	switch {
	case r.peek() == '>':
		text = r.data[start:end]
	case r.peek() == '\\':
		var err error
		if text, err = r.escapedIRI(start); err != nil {
			return nil, err
		}
	default:
		return nil, r.badIRI()
	}
	if len(text) == 0 {
		return nil, r.fail("an empty IRI")
	}
	r.pos++
	return text, nil
}

func (r *nquadReader) badIRI() error {
	if r.pos >= len(r.data) || isEOL(r.data[r.pos]) {
		return r.fail("an IRI without its closing >")
	}
	return r.fail("%q can't stand in an IRI", rune(r.data[r.pos]))
}

// escapedIRI reads an IRI with escapes, from start to before its >.
func (r *nquadReader) escapedIRI(start int) ([]byte, error) {
	end := start
	for end < len(r.data) && (classes[r.data[end]]&inIRI != 0 || r.data[end] == '\\') {
		end++
	}
	if end >= len(r.data) || r.data[end] != '>' {
		r.pos = end
		return nil, r.badIRI()
	}
	text, err := r.unescape(start, end, escapesOfIRI)
	r.pos = end
	return text, err
}

// label reads a blank node label and gives it with its `_:`.
func (r *nquadReader) label() ([]byte, error) {
	n, ok := labelLength(r.data[r.pos:])
	if !ok {
		return nil, r.fail("a blank node without a label: want _: and then letters, digits, _, - or dots")
	}
	name := r.data[r.pos : r.pos+n : r.pos+n]
	r.pos += n
	if r.peek() == ':' {
		return nil, r.fail("a colon in a blank node label")
	}
	return name, nil
}

// labelLength gives the length of the blank node label that b begins with, its
// `_:` included. Dots at its end do not belong to it.
func labelLength(b []byte) (int, bool) {
	if !bytes.HasPrefix(b, []byte("_:")) {
		return 0, false
	}
	c, size := utf8.DecodeRune(b[2:])
	if size == 0 || !startsLabel(c) {
		return 0, false
	}
	end := 2 + size
	for i := end; i < len(b); i += size {
		size = 1
		if c := b[i]; c >= utf8.RuneSelf {
			var wide rune
			wide, size = utf8.DecodeRune(b[i:])
			if !continuesLabel(wide) {
				break
			}
		} else if c == '.' {
			continue
		} else if classes[c]&inLabel == 0 {
			break
		}
		end = i + size
	}
	return end, true
}

// predicate reads `<name>`, or the star of a delete; it says which.
func (r *nquadReader) predicate(q *Quad) (star bool, err error) {
	r.skipSpace()
	switch r.peek() {
	case '<':
	case '*':
		if r.op != mutation.Delete {
			return false, r.fail("a star for a predicate, which only a delete may have")
		}
		r.pos++
		q.Predicate = mutation.StarPredicate
		return true, nil
	default:
		return false, r.expected("a predicate in <>")
	}
	start := r.pos
	name, err := r.iri()
	if err != nil {
		return false, err
	}
	if string(name) == mutation.StarPredicate {
		return false, r.errorAt(start, nil, "<*> is no predicate: the star of a delete has no brackets")
	}
	q.Predicate = r.names.string(name)
	return false, nil
}

// object reads a node, a literal or a star.
func (r *nquadReader) object(q *Quad, starPredicate bool) error {
	r.skipSpace()
	c := r.peek()
	if starPredicate && c != '*' {
		return r.fail("a star for a predicate goes with a star for an object only")
	}
	switch c {
	case '"':
		q.Object = mutation.ObjectValue
		return r.literal(q)
	case '*':
		return r.star(q, starPredicate)
	}
	q.Object = mutation.ObjectUID
	return r.node(&q.Target, "an object (<IRI>, _:label, a uid, a literal or *)")
}

// star reads a star object. `<name@fr> *` is the star of one language.
func (r *nquadReader) star(q *Quad, starPredicate bool) error {
	if r.op != mutation.Delete {
		return r.fail("a star for an object, which only a delete may have")
	}
	q.Object = mutation.ObjectStar
	if at := lastAt(q.Predicate); at >= 0 && !starPredicate {
		name, tag := q.Predicate[:at], q.Predicate[at+1:]
		if name == "" || name == mutation.StarPredicate || tag == "" || langLength(tag) != len(tag) {
			return r.fail("<%s> *: want a predicate's name, @ and a language tag", q.Predicate)
		}
		q.Predicate, q.Lang = name, tag
	}
	r.pos++
	return nil
}

func lastAt(s string) int {
	for i := len(s) - 1; i >= 0; i-- {
		if s[i] == '@' {
			return i
		}
	}
	return -1
}
