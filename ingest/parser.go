package ingest

import (
	"unicode/utf8"

	"github.com/edgemill/edgemill/mutation"
)

// Parser makes quads of chunks. It keeps what is worth keeping from chunk to
// chunk (predicates as strings, for one). The zero Parser is ready; it is for
// one goroutine.
type Parser struct {
	names  interner
	langs  interner
	keys   interner
	bytes  arena
	facets facetArena
	// pending collects the facets of one statement.
	pending []mutation.Facet
}

// Parse appends the quads of a chunk to dst, in order. An error is an *Error;
// the quads of the statements before it come with it (none where the chunk is
// not UTF-8, which is looked at first).
func (p *Parser) Parse(dst []Quad, c *Chunk) ([]Quad, error) {
	at := place{file: c.File, line: c.line, data: c.data}
	if err := checkUTF8(at); err != nil {
		return dst, err
	}
	if c.Format == JSON {
		return p.parseElements(dst, c, at)
	}
	r := nquadReader{Parser: p, place: at, op: mutation.Set}
	return r.lines(dst)
}

// checkUTF8 finds the first byte that is not of a UTF-8 character.
func checkUTF8(at place) error {
	if utf8.Valid(at.data) {
		return nil
	}
	pos := 0
	for pos < len(at.data) {
		r, n := utf8.DecodeRune(at.data[pos:])
		if r == utf8.RuneError && n == 1 {
			break
		}
		pos += n
	}
	return at.errorAt(pos, nil, "byte %#02x is not valid UTF-8", at.data[pos])
}
