package conflict

import "slices"

// Buffer collects the keys that one worker derives. It holds numbers, never
// borrowed bytes, takes no lock and belongs to one goroutine; Append hands the
// keys on when the worker has joined.
type Buffer struct {
	exclusive, shared []uint64
}

// Exclusive adds an exclusive key; 0 is dropped.
func (b *Buffer) Exclusive(key uint64) {
	if key != 0 {
		b.exclusive = append(b.exclusive, key)
	}
}

// Shared adds a shared key; 0 is dropped.
func (b *Buffer) Shared(key uint64) {
	if key != 0 {
		b.shared = append(b.shared, key)
	}
}

// Grow makes room for n more exclusive keys and m shared ones.
func (b *Buffer) Grow(n, m int) {
	b.exclusive = slices.Grow(b.exclusive, n)
	b.shared = slices.Grow(b.shared, m)
}

// Append adds the keys of another buffer.
func (b *Buffer) Append(o *Buffer) {
	b.exclusive = append(b.exclusive, o.exclusive...)
	b.shared = append(b.shared, o.shared...)
}

// Reset empties the buffer and keeps its memory.
func (b *Buffer) Reset() { b.exclusive, b.shared = b.exclusive[:0], b.shared[:0] }

// Len returns how many keys were added, repetitions included.
func (b *Buffer) Len() (exclusive, shared int) { return len(b.exclusive), len(b.shared) }

// Set returns the distinct keys added so far. The buffer may be added to
// afterwards.
func (b *Buffer) Set() Set {
	return NewSet(b.exclusive, b.shared)
}
