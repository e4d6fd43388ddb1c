package loader

import (
	"errors"

	"github.com/edgemill/edgemill/ingest"
	"github.com/edgemill/edgemill/mutation"
)

// piece is a run of statements of one input.
type piece struct {
	file string
	// chunk is the text that the quads were parsed from; nil where it isn't
	// kept.
	chunk *ingest.Chunk
	quads []ingest.Quad
	// unnamed are the uids of the nodes without names of the chunk, as far as
	// its statements have been resolved. All pieces of one chunk share it.
	unnamed map[int]uint64
	// consumed is how many bytes of all inputs were read by the chunk's end.
	consumed int64
	// fault is what ended the input behind the quads.
	fault error
}

// textAt is what stands on a line of the piece.
func (p *piece) textAt(line int) string {
	if p.chunk == nil {
		return ""
	}
	return p.chunk.TextAt(line)
}

// maxBatchText bounds the text of the chunks that a batch holds in memory. It
// counts where literals are long.
const maxBatchText = 64 << 20

// batch is the statements of one transaction.
type batch struct {
	pieces []piece
	// size is the number of statements, text the length of their chunks.
	size, text int
}

// add takes as many of the piece's statements as there is room for, and returns
// the others.
func (b *batch) add(p piece, limit int) (rest []ingest.Quad) {
	n := min(limit-b.size, len(p.quads))
	p.quads, rest = p.quads[:n], p.quads[n:]
	b.pieces = append(b.pieces, p)
	b.size += n
	if p.chunk != nil {
		b.text += p.chunk.Len()
	}
	return rest
}

func (b *batch) full(limit int) bool { return b.size >= limit || b.text >= maxBatchText }

func (b *batch) reset() {
	clear(b.pieces) // their memory is not to outlive them
	b.pieces = b.pieces[:0]
	b.size, b.text = 0, 0
}

// place says where a failed edge stands in the inputs, in the place of where it
// stands in the batch.
func (b *batch) place(err error) error {
	var at *mutation.EdgeError
	if !errors.As(err, &at) {
		return err
	}
	i := at.Index
	for _, p := range b.pieces {
		if i < len(p.quads) {
			line := p.quads[i].Line
			return &ingest.Error{File: p.file, Line: line, Text: p.textAt(line), Msg: "can't be applied", Err: at}
		}
		i -= len(p.quads)
	}
	return err
}

// greatestStated is the greatest uid below limit that a statement states.
func (b *batch) greatestStated(limit uint64) uint64 {
	var greatest uint64
	for _, p := range b.pieces {
		for i := range p.quads {
			for _, uid := range [...]uint64{p.quads[i].Subject.UID, p.quads[i].Target.UID} {
				if uid < limit {
					greatest = max(greatest, uid)
				}
			}
		}
	}
	return greatest
}
