package token

// Buffer collects tokens in one flat reusable byte slice. The zero Buffer is
// empty and ready. It belongs to one goroutine at a time.
type Buffer struct {
	data []byte
	ends []int
}

// Reset empties the buffer and keeps its memory.
func (b *Buffer) Reset() {
	b.data = b.data[:0]
	b.ends = b.ends[:0]
}

// Len gives the number of tokens.
func (b *Buffer) Len() int { return len(b.ends) }

// At gives token i, its identifier byte first. The slice aliases the buffer:
// it is good until the next Append or Reset.
func (b *Buffer) At(i int) []byte {
	start := 0
	if i > 0 {
		start = b.ends[i-1]
	}
	return b.data[start:b.ends[i]:b.ends[i]]
}
