package ingest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"testing"

	"github.com/edgemill/edgemill/mutation"
)

// readInput gives WordNet's first part, decompressed.
func readInput(b *testing.B) []byte {
	src, err := Open(shared(b, "data/wordnet-small.nq.gz"))
	if err != nil {
		b.Fatal(err)
	}
	text, err := io.ReadAll(src)
	if err := errors.Join(err, src.Close()); err != nil {
		b.Fatal(err)
	}
	return text
}

// eachChunk reads text and hands its chunks' quads over.
func eachChunk(b *testing.B, text []byte, do func([]Quad)) {
	src, err := NewSource("in", bytes.NewReader(text))
	if err != nil {
		b.Fatal(err)
	}
	r, err := NewChunkReader(src)
	if err != nil {
		b.Fatal(err)
	}
	var p Parser
	var quads []Quad
	for {
		c, err := r.Next()
		if err == io.EOF {
			return
		}
		if err == nil {
			quads, err = p.Parse(quads[:0], c)
		}
		if err != nil {
			b.Fatal(err)
		}
		do(quads)
	}
}

func BenchmarkParse(b *testing.B) {
	text := readInput(b)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		eachChunk(b, text, func(quads []Quad) { n += len(quads) })
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "quads/s")
}

func BenchmarkParseAndResolve(b *testing.B) {
	text := readInput(b)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		r := NewResolver(NewNames(), &counter{}, ResolverOptions{})
		var edges []mutation.Edge
		eachChunk(b, text, func(quads []Quad) {
			var err error
			if edges, err = r.Edges(context.Background(), edges[:0], quads, "in"); err != nil {
				b.Fatal(err)
			}
			n += len(edges)
		})
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "quads/s")
}

// BenchmarkNames reports how many bytes of memory a name of 10 bytes takes.
func BenchmarkNames(b *testing.B) {
	const count = 500_000
	var before, after runtime.MemStats
	for b.Loop() {
		runtime.GC()
		runtime.ReadMemStats(&before)
		n := NewNames()
		for i := range uint64(count) {
			_, _, _ = n.Assign(fmt.Appendf(nil, "_:n%07d", i), i+1)
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		runtime.KeepAlive(n)
	}
	b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/count, "B/name")
}
