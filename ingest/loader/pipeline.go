package loader

import (
	"context"
	"errors"
	"io"
	"sync"

	"github.com/edgemill/edgemill/ingest"
)

// pipeline reads and parses ahead of whoever takes the pieces: one goroutine
// for each of the two, so that the pieces come in the order of the inputs.
type pipeline struct {
	parsed chan piece
	cancel context.CancelFunc
	joined sync.WaitGroup
}

const (
	// Each channel holds few chunks of 1 MiB, enough that one side need not wait
	// for the other's hiccups.
	chunksAhead = 2
	piecesAhead = 2
)

// startPipeline begins to read. Whoever takes the pieces calls stop at the end.
func startPipeline(ctx context.Context, inputs []Input) *pipeline {
	ctx, cancel := context.WithCancel(ctx)
	p := &pipeline{parsed: make(chan piece, piecesAhead), cancel: cancel}
	chunks := make(chan piece, chunksAhead)
	p.joined.Go(func() {
		defer close(chunks)
		readInputs(ctx, inputs, chunks)
	})
	p.joined.Go(func() {
		defer close(p.parsed)
		parse(ctx, chunks, p.parsed)
	})
	return p
}

// stop ends both goroutines, wherever they are, and waits for them.
func (p *pipeline) stop() {
	p.cancel()
	p.joined.Wait()
}

// send hands a piece on, unless the load ends.
func send(ctx context.Context, to chan<- piece, p piece) bool {
	select {
	case to <- p:
		return true
	case <-ctx.Done():
		return false
	}
}

// readInputs cuts the inputs into chunks, up to the first fault.
func readInputs(ctx context.Context, inputs []Input, to chan<- piece) {
	var before int64
	for _, in := range inputs {
		n, err := readInput(ctx, in, before, to)
		if err != nil {
			send(ctx, to, piece{file: in.Name, fault: err})
			return
		}
		before += n
	}
}

// readInput hands on the chunks of one input and returns its size.
func readInput(ctx context.Context, in Input, before int64, to chan<- piece) (_ int64, err error) {
	src, err := in.Open()
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, src.Close()) }()
	r, err := ingest.NewChunkReader(src)
	if err != nil {
		return 0, err
	}
	for {
		c, err := r.Next()
		if err == io.EOF {
			return src.Consumed(), nil
		}
		if err != nil {
			return 0, err
		}
		p := piece{file: in.Name, chunk: c, unnamed: make(map[int]uint64), consumed: before + src.Consumed()}
		if !send(ctx, to, p) {
			return 0, ctx.Err()
		}
	}
}

// parse makes the quads of each chunk, up to the first fault.
func parse(ctx context.Context, chunks <-chan piece, to chan<- piece) {
	var parser ingest.Parser
	for p := range chunks {
		if p.fault == nil {
			p.quads, p.fault = parser.Parse(nil, p.chunk)
		}
		if !send(ctx, to, p) || p.fault != nil {
			return
		}
	}
}
