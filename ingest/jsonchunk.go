package ingest

import (
	"io"

	"github.com/edgemill/edgemill/mutation"
)

// elementScanner follows the top level of a JSON input: objects, and arrays of
// objects, one after the other.
type elementScanner struct {
	inArray bool
	// first says that the array has had no element yet.
	first bool
	// comma says that a comma was passed, so that an element has to follow.
	comma bool
	// index counts the objects of the input.
	index int
}

// nextElements cuts behind the last whole object of the window. What stands
// between the objects is checked here, what is in them by the Parser.
func (r *ChunkReader) nextElements() (*Chunk, error) {
	for {
		if err := r.fill(); err == io.EOF {
			return nil, r.endOfJSON()
		} else if err != nil {
			return nil, err
		}
		state := r.json
		elements, end, fault := state.scan(r.data)
		if len(elements) > 0 {
			r.json = state
			c := r.chunk(end)
			c.elements = elements
			return c, nil
		}
		switch {
		case fault != nil:
			return nil, place{file: r.src.Name(), line: r.line, data: r.data}.errorAt(fault.pos, nil, "%s", fault.msg)
		case end == len(r.data):
			r.json = state
			r.drop(end)
		case r.err == io.EOF:
			return nil, place{file: r.src.Name(), line: r.line, data: r.data}.errorAt(end, nil,
				"the JSON text ends within the value that begins here")
		case r.err != nil:
			return nil, r.err
		}
	}
}

func (r *ChunkReader) endOfJSON() error {
	if r.json.inArray {
		return place{file: r.src.Name(), line: r.line}.errorAt(0, nil, "the JSON text ends within an array")
	}
	return io.EOF
}

// jsonFault is what is wrong between top-level values.
type jsonFault struct {
	pos int
	msg string
}

// scan finds the whole objects in b. It ends at a fault, at an object that is
// not whole, or at b's end, and gives how far it came; a fault that stands
// behind a whole object is for the next scan.
func (s *elementScanner) scan(b []byte) (elements []element, end int, fault *jsonFault) {
	for end < len(b) {
		c := b[end]
		switch {
		case isSpace(c) || isEOL(c):
			end++
		case c == '{' && (!s.inArray || s.first || s.comma):
			n := objectLength(b[end:])
			if n == 0 {
				return elements, end, nil
			}
			elements = append(elements, element{from: end, to: end + n, index: s.index})
			s.index++
			s.first, s.comma = false, false
			end += n
		case s.punctuation(c):
			end++
		default:
			return elements, end, &jsonFault{end, s.expectation()}
		}
	}
	return elements, end, nil
}

// punctuation takes a bracket or comma of the top level, where it may stand.
func (s *elementScanner) punctuation(c byte) bool {
	switch {
	case c == '[' && !s.inArray:
		s.inArray, s.first = true, true
	case c == ']' && s.inArray && !s.comma:
		s.inArray, s.first = false, false
	case c == ',' && s.inArray && !s.first && !s.comma:
		s.comma = true
	default:
		return false
	}
	return true
}

func (s *elementScanner) expectation() string {
	switch {
	case !s.inArray:
		return "want an object or an array of objects"
	case s.first:
		return "want an object or the array's end"
	case s.comma:
		return "want an object"
	}
	return "want a comma or the array's end"
}

// objectLength gives the length of the object that b begins with, by counting
// brackets outside strings; 0 if b ends within it.
func objectLength(b []byte) int {
	depth := 0
	for i := 0; i < len(b); i++ {
		switch b[i] {
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		case '"':
			n := stringLength(b[i:])
			if n == 0 {
				return 0
			}
			i += n - 1
		}
	}
	return 0
}

// stringLength gives the length of the string that b begins with, its quotes
// included; 0 if b ends within it.
func stringLength(b []byte) int {
	for i := 1; i < len(b); i++ {
		switch b[i] {
		case '"':
			return i + 1
		case '\\':
			i++
		}
	}
	return 0
}

// parseElements appends the quads of a JSON chunk.
func (p *Parser) parseElements(dst []Quad, c *Chunk, at place) ([]Quad, error) {
	e := jsonEmitter{Parser: p, place: at, op: mutation.Set, dst: dst}
	r := jsonReader{place: at, bytes: &p.bytes}
	for _, x := range c.elements {
		whole := len(e.dst)
		r.pos, r.data = x.from, at.data[:x.to]
		v, err := r.value()
		if err != nil {
			return e.dst, err
		}
		e.path = appendIndex(e.path[:0], x.index)
		if err := e.root(&v); err != nil {
			return e.dst[:whole], err
		}
	}
	return e.dst, nil
}
