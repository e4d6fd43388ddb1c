package ingest

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"sync/atomic"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// Source is the content of an input, decompressed as its first bytes ask: gzip
// (all members), zstd (all frames) or none; an input's name plays no part. Read
// and Close are for one goroutine; Consumed may be called from any.
type Source struct {
	name     string
	size     int64
	consumed atomic.Int64
	content  io.Reader
	closers  []func() error
}

// Open opens a file. An error names it.
func Open(path string) (*Source, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, &Error{File: path, Msg: "can't open", Err: withoutPath(err)}
	}
	s, err := NewSource(path, f)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	s.closers = append(s.closers, f.Close)
	if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
		s.size = info.Size()
	}
	return s, nil
}

// withoutPath drops the path that an error of package os repeats.
func withoutPath(err error) error {
	var p *os.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// NewSource reads from r, which errors call name. It reads the first bytes of
// r. Closing the Source does not close r.
func NewSource(name string, r io.Reader) (*Source, error) {
	s := &Source{name: name}
	raw := bufio.NewReaderSize(&countingReader{r: r, n: &s.consumed}, 64<<10)
	magic, err := raw.Peek(4)
	if err != nil && err != io.EOF {
		return nil, &Error{File: name, Msg: "can't read", Err: withoutPath(err)}
	}
	s.content = raw
	switch compressionOf(magic) {
	case compressedGzip:
		z, err := gzip.NewReader(raw)
		if err != nil {
			return nil, s.fault(err)
		}
		s.content = z
	case compressedZstd:
		z, err := zstd.NewReader(raw, zstd.WithDecoderConcurrency(1))
		if err != nil {
			return nil, s.fault(err)
		}
		s.content = z
		s.closers = append(s.closers, func() error { z.Close(); return nil })
	}
	return s, nil
}

type compression uint8

const (
	compressedNot compression = iota
	compressedGzip
	compressedZstd
)

// compressionOf tells by the first four bytes: RFC 1952's member header, RFC
// 8878's frame and its skippable frame. No text that is to be read begins so.
func compressionOf(magic []byte) compression {
	switch {
	case bytes.HasPrefix(magic, []byte{0x1f, 0x8b}):
		return compressedGzip
	case bytes.Equal(magic, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		return compressedZstd
	case len(magic) == 4 && magic[0]&0xf0 == 0x50 && bytes.Equal(magic[1:], []byte{0x2a, 0x4d, 0x18}):
		return compressedZstd
	}
	return compressedNot
}

// Name is what errors call the input.
func (s *Source) Name() string { return s.name }

// Size is the file's size in bytes, as it lies on disk (compressed), and 0
// where it isn't known.
func (s *Source) Size() int64 { return s.size }

// Consumed is how many bytes, of those that Size counts, have been read so far.
// Any goroutine may call it.
func (s *Source) Consumed() int64 { return s.consumed.Load() }

// Read reads decompressed content. An error other than io.EOF is an *Error with
// the input's name: io.ErrUnexpectedEOF is its cause where a compressed input is
// cut short.
func (s *Source) Read(b []byte) (int, error) {
	n, err := s.content.Read(b)
	if err != nil && err != io.EOF {
		err = s.fault(err)
	}
	return n, err
}

// Close ends reading and closes the file that Open opened.
func (s *Source) Close() error {
	var errs []error
	for _, c := range s.closers {
		errs = append(errs, c())
	}
	s.closers = nil
	return errors.Join(errs...)
}

func (s *Source) fault(err error) error {
	err = withoutPath(err)
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return &Error{File: s.name, Msg: "the compressed data is cut short", Err: io.ErrUnexpectedEOF}
	}
	return &Error{File: s.name, Msg: "can't read", Err: err}
}

// countingReader counts what goes through it.
type countingReader struct {
	r io.Reader
	n *atomic.Int64
}

func (c *countingReader) Read(b []byte) (int, error) {
	n, err := c.r.Read(b)
	c.n.Add(int64(n))
	return n, err
}
