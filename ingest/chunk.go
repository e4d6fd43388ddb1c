package ingest

import (
	"bytes"
	"io"
)

// Format is what the content of an input is written in.
type Format uint8

const (
	// NQuads is W3C N-Quads with Dgraph's RDF forms, every statement a set.
	NQuads Format = iota
	// JSON is Dgraph's mutation JSON: objects, or arrays of objects, one after
	// the other, every one a set.
	JSON
)

// Chunk is a stretch of an input that holds whole statements. Its memory is its
// own and is not written to any more.
type Chunk struct {
	// File is the name that the input was opened with.
	File string
	// Number counts the chunks of one input from 0.
	Number int
	// Format says how the data reads.
	Format Format

	line int
	data []byte
	// elements are the top-level objects of a JSON chunk.
	elements []element
}

// element is where a top-level JSON object lies in its chunk, and its index in
// the input.
type element struct {
	from, to, index int
}

// Line is the line of the input that the chunk begins on, from 1.
func (c *Chunk) Line() int { return c.line }

// Len is the number of bytes of the chunk's text.
func (c *Chunk) Len() int { return len(c.data) }

// TextAt gives what the chunk has on a line of the input, at most some 80 bytes,
// for errors that are found after parsing. A line outside of the chunk gives "".
func (c *Chunk) TextAt(line int) string {
	rest := c.data
	for n := c.line; n < line; n++ {
		i := bytes.IndexAny(rest, "\r\n")
		if i < 0 {
			return ""
		}
		if rest[i] == '\r' && i+1 < len(rest) && rest[i+1] == '\n' {
			i++
		}
		rest = rest[i+1:]
	}
	if line < c.line {
		return ""
	}
	end := bytes.IndexAny(rest, "\r\n")
	if end < 0 {
		end = len(rest)
	}
	return around(rest, min(end, textBefore))
}

const (
	chunkSize = 1 << 20
	// maxStatement bounds one statement: a line of N-Quads, a top-level object
	// of JSON, a mutation file.
	maxStatement = 256 << 20
)

// ChunkReader cuts an input into chunks, in order. It is for one goroutine.
type ChunkReader struct {
	window
	format Format
	number int
	json   elementScanner
}

// NewChunkReader begins to read; format and compression are told by the
// content: JSON begins with a bracket or a brace. A byte order mark at the
// beginning is passed over.
func NewChunkReader(src *Source) (*ChunkReader, error) {
	return newChunkReader(src, chunkSize)
}

func newChunkReader(src *Source, size int) (*ChunkReader, error) {
	r := &ChunkReader{window: window{src: src, line: 1, size: size, limit: maxStatement}}
	first, err := r.skipToContent()
	if err != nil {
		return nil, err
	}
	if first == '{' || first == '[' {
		r.format = JSON
	}
	return r, nil
}

// Format is the format of the input.
func (r *ChunkReader) Format() Format { return r.format }

// Next gives the next chunk, and io.EOF after the last. Any other error is an
// *Error; whole statements that stand before the place of the fault have been
// given by then.
func (r *ChunkReader) Next() (*Chunk, error) {
	if r.format == JSON {
		return r.nextElements()
	}
	return r.nextLines()
}

// chunk makes a chunk of the first n bytes of the window.
func (r *ChunkReader) chunk(n int) *Chunk {
	c := &Chunk{File: r.src.Name(), Number: r.number, Format: r.format, line: r.line}
	c.data = r.take(n)
	r.number++
	return c
}

// nextLines cuts behind the last line end of the window, or, at the end of the
// input, takes all.
func (r *ChunkReader) nextLines() (*Chunk, error) {
	for {
		if err := r.fill(); err != nil {
			return nil, err
		}
		n := lastLineEnd(r.data)
		if r.err == io.EOF {
			n = len(r.data)
		}
		switch {
		case n > 0:
			return r.chunk(n), nil
		case r.err != nil:
			return nil, r.err
		}
	}
}

// lastLineEnd gives the length of the whole lines in b. A CR that ends b is not
// counted on: an LF may follow.
func lastLineEnd(b []byte) int {
	if i := bytes.LastIndexByte(b, '\n'); i >= 0 {
		return i + 1
	}
	return 1 + bytes.LastIndexByte(b[:max(0, len(b)-1)], '\r')
}

// window is the part of an input that has been read and not yet given out.
// What it gives out it does not touch again.
type window struct {
	src *Source
	// data is what has been read, from line line on.
	data []byte
	line int
	// size is how much a chunk is to have, and limit how much a statement may.
	size, limit int
	// err is why nothing can be read behind data.
	err error
}

// fill reads until the window is as large as a chunk, or, if it was already, by
// half larger, so that what is looked through again stays in proportion. Nothing is left to read if the window is empty and err set; that err is
// given.
func (w *window) fill() error {
	want := max(w.size, len(w.data)+len(w.data)/2+1)
	if len(w.data) >= w.limit && w.err == nil {
		return place{file: w.src.Name(), line: w.line, data: w.data}.errorAt(0, nil,
			"the statement that begins here has more than %d bytes", w.limit)
	}
	if w.err == nil && cap(w.data) < want {
		w.data = append(make([]byte, 0, want), w.data...)
	}
	for w.err == nil && len(w.data) < want {
		var n int
		n, w.err = w.src.Read(w.data[len(w.data):want])
		w.data = w.data[:len(w.data)+n]
	}
	if len(w.data) == 0 {
		return w.err
	}
	return nil
}

// take gives the first n bytes away. What follows moves to memory of its own,
// so that the next reads don't write into what was given.
func (w *window) take(n int) []byte {
	given := w.data[:n:n]
	rest := w.data[n:]
	w.line += countLines(given)
	w.data = nil
	if len(rest) > 0 || w.err == nil {
		w.data = append(make([]byte, 0, max(w.size, len(rest))), rest...)
	}
	return given
}

// drop passes over the first n bytes.
func (w *window) drop(n int) {
	w.line += countLines(w.data[:n])
	w.data = w.data[n:]
}

var byteOrderMark = []byte("\xef\xbb\xbf")

// skipToContent passes over a byte order mark and gives the first byte that is
// no white space, without passing over it; 0 if there is none.
func (w *window) skipToContent() (byte, error) {
	for {
		if err := w.fill(); err == io.EOF {
			return 0, nil
		} else if err != nil {
			return 0, err
		}
		rest := bytes.TrimLeft(bytes.TrimPrefix(w.data, byteOrderMark), " \t\r\n")
		if w.err == nil && (len(rest) == 0 || len(w.data) < len(byteOrderMark)) {
			continue
		}
		w.data = bytes.TrimPrefix(w.data, byteOrderMark)
		if len(rest) == 0 {
			return 0, nil
		}
		return rest[0], nil
	}
}
