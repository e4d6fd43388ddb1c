package ingest

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"
)

func gzipped(t testing.TB, texts ...string) []byte {
	var b bytes.Buffer
	for _, text := range texts {
		w := gzip.NewWriter(&b)
		_, err := w.Write([]byte(text))
		require.NoError(t, err)
		require.NoError(t, w.Close())
	}
	return b.Bytes()
}

func zstded(t testing.TB, texts ...string) []byte {
	w, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	require.NoError(t, err)
	defer w.Close()
	var b []byte
	for _, text := range texts {
		b = w.EncodeAll([]byte(text), b)
	}
	return b
}

func TestSourceContent(t *testing.T) {
	skippable := append([]byte{0x50, 0x2a, 0x4d, 0x18, 3, 0, 0, 0}, "abc"...)
	for name, content := range map[string][]byte{
		"plain":                 []byte("one\ntwo\n"),
		"gzip":                  gzipped(t, "one\ntwo\n"),
		"gzip members":          gzipped(t, "one\n", "", "tw", "o\n"),
		"zstd":                  zstded(t, "one\ntwo\n"),
		"zstd frames":           zstded(t, "one\n", "", "two\n"),
		"zstd behind skippable": append(skippable, zstded(t, "one\ntwo\n")...),
	} {
		t.Run(name, func(t *testing.T) {
			// The name says nothing about the content.
			path := filepath.Join(t.TempDir(), "file.gz")
			require.NoError(t, os.WriteFile(path, content, 0o600))
			src, err := Open(path)
			require.NoError(t, err)
			got, err := io.ReadAll(src)
			require.NoError(t, err)
			require.Equal(t, "one\ntwo\n", string(got))
			require.Equal(t, path, src.Name())
			require.EqualValues(t, len(content), src.Size())
			require.EqualValues(t, len(content), src.Consumed())
			require.NoError(t, src.Close())
			require.NoError(t, src.Close())
		})
	}
}

// A compressed file that is cut short is an error with its name, and none of
// its last, half statement is read.
func TestTruncatedSource(t *testing.T) {
	text := strings.Repeat("<1> <p> \"something to press\" .\n", 1000) + "<1> <last> \"abcdefghijklmnopqrstuvwxyz\" .\n"
	for kind, whole := range map[string][]byte{
		"gzip": gzipped(t, text, "<2> <p> <3> .\n"),
		"zstd": zstded(t, text, "<2> <p> <3> .\n"),
	} {
		for _, cut := range []int{5, 12, len(whole) / 3, len(whole) / 2, len(whole) - 20, len(whole) - 1} {
			src, err := NewSource("some.file", bytes.NewReader(whole[:cut]))
			var quads []Quad
			if err == nil {
				quads, err = readAllQuads(src, 100)
			}
			var fault *Error
			require.ErrorAs(t, err, &fault, "%s %d", kind, cut)
			require.Equal(t, "some.file", fault.File)
			require.ErrorIs(t, err, io.ErrUnexpectedEOF)
			for _, q := range quads {
				require.Contains(t, []string{"something to press", "abcdefghijklmnopqrstuvwxyz", ""}, string(q.Value.Data))
			}
			require.NoError(t, src0(src).Close())
		}
	}
}

// src0 gives src, or something to close where there is none.
func src0(src *Source) *Source {
	if src == nil {
		return &Source{}
	}
	return src
}

func TestSourceErrors(t *testing.T) {
	_, err := Open(filepath.Join(t.TempDir(), "none"))
	require.ErrorContains(t, err, "none: can't open: no such file")
	require.ErrorIs(t, err, os.ErrNotExist)

	_, err = NewSource("bad", iotest.ErrReader(errors.New("broken")))
	require.EqualError(t, err, "bad: can't read: broken")

	flipped := gzipped(t, strings.Repeat("abc", 1000))
	flipped[len(flipped)-5] ^= 1
	src, err := NewSource("flipped", bytes.NewReader(flipped))
	require.NoError(t, err)
	_, err = io.ReadAll(src)
	require.ErrorContains(t, err, "flipped: can't read: gzip: invalid checksum")

	src, err = NewSource("tail", bytes.NewReader(append(gzipped(t, "abc\n"), "rubbish rubbish"...)))
	require.NoError(t, err)
	_, err = io.ReadAll(src)
	require.ErrorContains(t, err, "tail: can't read")

	_, err = Open(t.TempDir())
	require.ErrorContains(t, err, "is a directory")
}

func TestLinesOverMembers(t *testing.T) {
	src, err := NewSource("in", bytes.NewReader(gzipped(t, "<a> <p> <b> .\n<a", "> <p> <c> .\n", "bad\n")))
	require.NoError(t, err)
	quads, err := readAllQuads(src, chunkSize)
	require.Equal(t, lines("<a> p <b>", "<a> p <c>"), show(quads))
	require.ErrorContains(t, err, "in:3: ")
}

func TestWordNetSmall(t *testing.T) {
	src, err := Open(shared(t, "data/wordnet-small.nq.gz"))
	require.NoError(t, err)
	defer src.Close()
	quads, err := readAllQuads(src, chunkSize)
	require.NoError(t, err)
	require.Len(t, quads, 59_108)
	require.Equal(t, src.Size(), src.Consumed())
}
