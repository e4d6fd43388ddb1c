package ingest

import (
	"fmt"
	"unicode/utf8"

	"github.com/edgemill/edgemill/mutation"
	"github.com/edgemill/edgemill/schema/value"
)

// literal reads a literal with its language tag or datatype.
func (r *nquadReader) literal(q *Quad) error {
	start := r.pos
	text, err := r.quoted()
	if err != nil {
		return err
	}
	r.skipSpace()
	switch r.peek() {
	case '@':
		q.Value = value.Value{Type: value.String, Data: text}
		q.Lang, err = r.lang()
		return err
	case '^':
		return r.typed(q, text, start)
	}
	q.Value = value.Value{Type: value.Default, Data: text}
	return nil
}

// quoted reads a string in quotes and gives it with its escapes resolved.
func (r *nquadReader) quoted() ([]byte, error) {
	start := r.pos + 1
	end := start
	for end < len(r.data) && classes[r.data[end]]&inLiteral != 0 {
		end++
	}
	if end < len(r.data) && r.data[end] == '"' {
		r.pos = end + 1
		return r.data[start:end:end], nil
	}
	end = closingQuote(r.data, end)
	if end < 0 {
		r.pos = start - 1
		return nil, r.fail("a string without its closing quote on the same line")
	}
	r.pos = end + 1
	return r.unescape(start, end, escapesOfLiteral)
}

// closingQuote finds the first quote from pos on that no backslash stands
// before, on the same line; -1 if there is none.
func closingQuote(data []byte, pos int) int {
	for ; pos < len(data); pos++ {
		switch data[pos] {
		case '"':
			return pos
		case '\\':
			pos++
			if pos < len(data) && isEOL(data[pos]) {
				return -1
			}
		case '\n', '\r':
			return -1
		}
	}
	return -1
}

// lang reads a language tag from its @ on.
func (r *nquadReader) lang() (string, error) {
	r.pos++
	n := langLength(r.data[r.pos:])
	if n == 0 {
		return "", r.expected("a language tag")
	}
	tag := r.langs.string(r.data[r.pos : r.pos+n])
	r.pos += n
	return tag, nil
}

// langLength gives the length of the language tag that s begins with: letters,
// then any number of hyphens with letters and digits; 0 for none.
func langLength[T string | []byte](s T) int {
	n := 0
	for n < len(s) && isLetter(s[n]) {
		n++
	}
	if n == 0 {
		return 0
	}
	for n < len(s) && s[n] == '-' {
		end := n + 1
		for end < len(s) && isAlphanumeric(s[end]) {
			end++
		}
		if end == n+1 {
			break
		}
		n = end
	}
	return n
}

// typed reads `^^<datatype>` and converts text, whose literal begins at start.
func (r *nquadReader) typed(q *Quad, text []byte, start int) error {
	r.pos++
	if r.peek() != '^' {
		return r.expected("^^ and a datatype")
	}
	r.pos++
	r.skipSpace()
	if r.peek() != '<' {
		return r.expected("a datatype in <>")
	}
	typeStart := r.pos
	iri, err := r.iri()
	if err != nil {
		return err
	}
	t, err := datatype(iri)
	if err != nil {
		return r.errorAt(typeStart, nil, "%v", err)
	}
	q.Value, err = convert(t, text, r.op)
	if err != nil {
		return r.errorAt(start, err, "predicate %s", q.Predicate)
	}
	return nil
}

// convert gives a literal's stored form. A password is hashed if it is to be
// set, and stays as it is in a delete, where it is compared with the hash.
func convert(t value.Type, text []byte, op mutation.Op) (value.Value, error) {
	switch {
	case t == value.Default || t == value.String || t == value.Password && op == mutation.Delete:
		return value.Value{Type: t, Data: text}, nil
	case t == value.Password:
		return hashed(text)
	}
	return value.Parse(t, string(text))
}

// hashed gives a password's stored form. A bcrypt hash stays as it is.
func hashed(text []byte) (value.Value, error) {
	if value.IsBcrypt(text) {
		return value.Value{Type: value.Password, Data: text}, nil
	}
	hash, err := value.HashPassword(string(text))
	if err != nil {
		return value.Value{}, fmt.Errorf("can't hash: %w", err)
	}
	return value.Value{Type: value.Password, Data: hash}, nil
}

// escapeSet says which escapes a text may have.
type escapeSet uint8

const (
	// escapesOfLiteral are \t \b \n \r \f \" \' \\ \uXXXX and \UXXXXXXXX.
	escapesOfLiteral escapeSet = iota
	// escapesOfIRI are \uXXXX and \UXXXXXXXX.
	escapesOfIRI
)

// unescape resolves the escapes of data[from:to], in memory of its own. No
// escape is shorter than what it stands for.
func (r *nquadReader) unescape(from, to int, set escapeSet) ([]byte, error) {
	out := r.bytes.space(to - from)
	for i := from; i < to; {
		c := r.data[i]
		if c != '\\' {
			out = append(out, c)
			i++
			continue
		}
		char, n, err := escape(r.data[i:to], set)
		if err != nil {
			return nil, r.errorAt(i, nil, "%v", err)
		}
		out = utf8.AppendRune(out, char)
		i += n
	}
	return r.bytes.take(out), nil
}

// escape reads the escape that b begins with, and gives its character and its
// length.
func escape(b []byte, set escapeSet) (char rune, n int, err error) {
	if len(b) < 2 {
		return 0, 0, fmt.Errorf("an escape that ends early")
	}
	switch b[1] {
	case 'u':
		return numericEscape(b, 4)
	case 'U':
		return numericEscape(b, 8)
	}
	if c := escapedChar(b[1]); c != 0 && set == escapesOfLiteral {
		return c, 2, nil
	}
	c, _ := utf8.DecodeRune(b[1:])
	return 0, 0, fmt.Errorf(`\%c is no escape here`, c)
}

func escapedChar(c byte) rune {
	switch c {
	case 't':
		return '\t'
	case 'b':
		return '\b'
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 'f':
		return '\f'
	case '"', '\'', '\\':
		return rune(c)
	}
	return 0
}

func numericEscape(b []byte, digits int) (rune, int, error) {
	if len(b) < 2+digits {
		return 0, 0, fmt.Errorf(`\%c wants %d hexadecimal digits`, b[1], digits)
	}
	var n uint32
	for _, c := range b[2 : 2+digits] {
		d, ok := hexDigit(c)
		if !ok {
			return 0, 0, fmt.Errorf(`\%c wants %d hexadecimal digits`, b[1], digits)
		}
		n = n<<4 | uint32(d)
	}
	if n > utf8.MaxRune || !utf8.ValidRune(rune(n)) {
		return 0, 0, fmt.Errorf("%s is no character", b[:2+digits])
	}
	return rune(n), 2 + digits, nil
}

func hexDigit(c byte) (byte, bool) {
	switch {
	case isDigit(c):
		return c - '0', true
	case 'a' <= c|0x20 && c|0x20 <= 'f':
		return (c | 0x20) - 'a' + 10, true
	}
	return 0, false
}
