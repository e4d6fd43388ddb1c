package ingest

import (
	"bytes"
	"io"

	"github.com/edgemill/edgemill/mutation"
)

// ReadMutation reads a mutation file: one transaction's quads, in the order
// given. The file holds blocks `set { ... }` and `delete { ... }` of N-Quads, in
// any number and order, with or without one more pair of braces around them
// all; or the JSON object {"set": [...], "delete": [...]}, whose keys may stand
// in either order and hold one object or an array. Within a block, several
// statements may share a line. JSON is told from blocks by the quote (or the
// brace) that follows the first brace.
//
// An error is an *Error. The whole file is held in memory, as the transaction
// will be; one of more than 256 MiB is refused.
func ReadMutation(src *Source) ([]Quad, error) {
	at := place{file: src.Name(), line: 1}
	var err error
	if at.data, err = readAll(src); err != nil {
		return nil, err
	}
	if err := checkUTF8(at); err != nil {
		return nil, err
	}
	at.data = bytes.TrimPrefix(at.data, byteOrderMark)
	if isEnvelope(at.data) {
		return readEnvelope(at)
	}
	r := blockReader{nquadReader{Parser: &Parser{}, place: at}}
	return r.file()
}

func readAll(src *Source) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(src, maxStatement+1))
	switch {
	case err != nil:
		return nil, err
	case len(data) > maxStatement:
		return nil, &Error{File: src.Name(), Msg: "a mutation file of more than 256 MiB"}
	}
	return data, nil
}

// isEnvelope says whether a mutation file is JSON.
func isEnvelope(b []byte) bool {
	b = b[skipJSONSpace(b, 0):]
	if len(b) == 0 || b[0] != '{' {
		return len(b) > 0 && b[0] == '['
	}
	b = b[skipJSONSpace(b, 1):]
	return len(b) > 0 && (b[0] == '"' || b[0] == '}')
}

// readEnvelope reads {"set": ..., "delete": ...}.
func readEnvelope(at place) ([]Quad, error) {
	p := &Parser{}
	r := jsonReader{place: at, bytes: &p.bytes}
	r.skipSpace()
	v, err := r.value()
	if err != nil {
		return nil, err
	}
	if v.kind != jsonObject {
		return nil, at.errorAt(v.from, nil, `want an object with "set" and "delete"`)
	}
	if r.skipSpace(); r.pos < len(r.data) {
		return nil, r.fail("more after the JSON object")
	}
	e := jsonEmitter{Parser: p, place: at}
	for i := range v.members {
		if err := e.block(&v.members[i]); err != nil {
			return nil, err
		}
	}
	return e.dst, nil
}

// block emits the objects of one key of the envelope.
func (e *jsonEmitter) block(m *jsonMember) error {
	op, ok := opOf(m.key)
	if !ok {
		return e.failAt(m.at, nil, `key %q where "set" or "delete" is expected`, m.key)
	}
	e.op, e.path = op, append(e.path[:0], m.key...)
	if m.value.kind != jsonArray {
		return e.root(&m.value)
	}
	size := len(e.path)
	for i := range m.value.elements {
		e.path = appendIndex(e.path[:size], i)
		if err := e.root(&m.value.elements[i]); err != nil {
			return err
		}
	}
	return nil
}

func opOf(word []byte) (mutation.Op, bool) {
	switch string(word) {
	case "set":
		return mutation.Set, true
	case "delete":
		return mutation.Delete, true
	}
	return 0, false
}

// blockReader reads the blocks of a mutation file.
type blockReader struct {
	nquadReader
}

// file reads the blocks, and the braces around them if there are any.
func (r *blockReader) file() (dst []Quad, err error) {
	r.skipBlank()
	wrapped := r.peek() == '{'
	if wrapped {
		r.pos++
		r.skipBlank()
	}
	for r.pos < len(r.data) && r.data[r.pos] != '}' {
		if dst, err = r.block(dst); err != nil {
			return nil, err
		}
		r.skipBlank()
	}
	if wrapped {
		if r.peek() != '}' {
			return nil, r.fail("the file ends without the brace that closes its first one")
		}
		r.pos++
		r.skipBlank()
	}
	if r.pos < len(r.data) {
		return nil, r.fail("more after the last block")
	}
	return dst, nil
}

// block reads `set { ... }` or `delete { ... }`.
func (r *blockReader) block(dst []Quad) ([]Quad, error) {
	start := r.pos
	for r.pos < len(r.data) && isLetter(r.data[r.pos]) {
		r.pos++
	}
	op, ok := opOf(r.data[start:r.pos])
	if !ok {
		return nil, r.errorAt(start, nil, "want set { ... } or delete { ... }")
	}
	r.op = op
	r.skipBlank()
	if r.peek() != '{' {
		return nil, r.expected("the opening brace of a block")
	}
	r.pos++
	return r.statements(dst)
}

// statements reads up to and including the brace that closes the block.
func (r *blockReader) statements(dst []Quad) ([]Quad, error) {
	for r.skipBlank(); r.peek() != '}'; r.skipBlank() {
		if r.pos >= len(r.data) {
			return nil, r.fail("the file ends within a block")
		}
		dst = append(dst, Quad{})
		if err := r.statement(&dst[len(dst)-1]); err != nil {
			return nil, err
		}
	}
	r.pos++
	return dst, nil
}
