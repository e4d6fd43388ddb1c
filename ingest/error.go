package ingest

import (
	"bytes"
	"fmt"
	"strconv"
	"unicode/utf8"
)

// Error is a fault of an input: where it is, what stands there, and what is
// wrong with it.
type Error struct {
	// File is the name that the input was opened with.
	File string
	// Line is the line in the decompressed content, from 1; 0 where a fault has
	// no line. A line ends with LF, CR LF or a lone CR.
	Line int
	// Text is what stands around the fault, from its line, at most some 80
	// bytes.
	Text string
	// Msg says what is wrong.
	Msg string
	// Err is the cause, where there is one.
	Err error
}

// Error gives all of it on one line.
func (e *Error) Error() string {
	s := e.File
	if e.Line > 0 {
		s += ":" + strconv.Itoa(e.Line)
	}
	s += ": " + e.Msg
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	if e.Text != "" {
		s += ", near " + quote(e.Text)
	}
	return s
}

// quote puts text in quotes that let it stand as it is, if there are any.
func quote(text string) string {
	if strconv.CanBackquote(text) {
		return "`" + text + "`"
	}
	return strconv.Quote(text)
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

// place is what an error needs to know of the text that it is about.
type place struct {
	file string
	// line is the number of the first line of data.
	line int
	data []byte
}

// errorAt makes the error for what stands at data[pos].
func (p place) errorAt(pos int, err error, format string, args ...any) *Error {
	pos = min(pos, len(p.data))
	return &Error{
		File: p.file,
		Line: p.line + countLines(p.data[:pos]),
		Text: around(p.data, pos),
		Msg:  fmt.Sprintf(format, args...),
		Err:  err,
	}
}

// countLines counts line ends: LF, CR LF, and CR alone.
func countLines(b []byte) int {
	n := bytes.Count(b, []byte{'\n'})
	if bytes.IndexByte(b, '\r') < 0 {
		return n
	}
	return n + bytes.Count(b, []byte{'\r'}) - bytes.Count(b, []byte("\r\n"))
}

const (
	textBefore = 32
	textAfter  = 48
)

// around cuts what stands around data[pos] from its line, at rune boundaries.
func around(data []byte, pos int) string {
	from := max(0, pos-textBefore)
	if i := bytes.LastIndexAny(data[from:pos], "\r\n"); i >= 0 {
		from += i + 1
	}
	to := min(len(data), pos+textAfter)
	if i := bytes.IndexAny(data[pos:to], "\r\n"); i >= 0 {
		to = pos + i
	}
	for from < pos && from > 0 && !utf8.RuneStart(data[from]) {
		from++
	}
	for to > pos && to < len(data) && !utf8.RuneStart(data[to]) {
		to--
	}
	return string(data[from:to])
}
