package token

import (
	"bytes"
	"hash/maphash"
	"slices"
)

// Buffer collects tokens in one flat reusable byte slice. The zero Buffer is
// empty and ready. It belongs to one goroutine at a time; a Buffer that is used
// again and again spares nearly all allocations.
type Buffer struct {
	tokens flat
	// words is scratch: the words of the text in hand.
	words flat
	// runes and text are scratch of the stemmer and of the analyzers.
	runes []rune
	text  []byte
	dupes dupes
	// languages caches what the tags seen lately stand for.
	languages map[string]*language
}

// Reset empties the buffer and keeps its memory.
func (b *Buffer) Reset() { b.tokens.truncate(0) }

// Len gives the number of tokens.
func (b *Buffer) Len() int { return b.tokens.len() }

// At gives token i, its identifier byte first. The slice aliases the buffer:
// it is good until the next Append or Reset.
func (b *Buffer) At(i int) []byte { return b.tokens.at(i) }

// add puts a token in, unless it is among those from base on.
func (b *Buffer) add(base int, id byte, term []byte) {
	b.tokens.data = append(append(b.tokens.data, id), term...)
	b.seal(base)
}

// seal makes one token of the bytes behind the last one, or drops them if that
// token is among those from base on.
func (b *Buffer) seal(base int) {
	b.tokens.seal()
	if b.dupes.lastIsOne(&b.tokens, base) {
		b.tokens.truncate(b.tokens.len() - 1)
	}
}

// sortFrom puts the tokens from base on in byte order.
func (b *Buffer) sortFrom(base int) {
	n := b.tokens.len()
	if n-base < 2 {
		return
	}
	sorted := make([][]byte, 0, n-base)
	for i := base; i < n; i++ {
		sorted = append(sorted, bytes.Clone(b.At(i)))
	}
	slices.SortFunc(sorted, bytes.Compare)
	b.tokens.truncate(base)
	for _, t := range sorted {
		b.tokens.data = append(b.tokens.data, t...)
		b.tokens.seal()
	}
}

// flat is a list of byte strings, one behind the other in one slice.
type flat struct {
	data []byte
	ends []int
}

func (f *flat) len() int { return len(f.ends) }

// start gives where string i begins, or, for i the length, the next one.
func (f *flat) start(i int) int {
	if i == 0 {
		return 0
	}
	return f.ends[i-1]
}

func (f *flat) at(i int) []byte {
	end := f.ends[i]
	return f.data[f.start(i):end:end]
}

// seal makes the bytes behind the last string one more string.
func (f *flat) seal() { f.ends = append(f.ends, len(f.data)) }

// truncate keeps the first n strings.
func (f *flat) truncate(n int) {
	f.data = f.data[:f.start(n)]
	f.ends = f.ends[:n]
}

// fewTokens is up to how many tokens are compared one by one with a new one.
const fewTokens = 12

// dupes finds whether a token was there already. Few tokens are compared one by
// one; with more, a text of a million words would take a million squared steps,
// so they go into a hash table of token numbers.
type dupes struct {
	seed maphash.Seed
	// table has token numbers less base plus one, at the hash or behind it; its
	// length is a power of two, at least twice the tokens in it.
	table []uint32
	// base is the first token that counts, filled how many from there are in the
	// table.
	base, filled int
}

// lastIsOne says whether the last token equals one between base and it. Calls
// with one base follow each other, each with at most one token more.
func (d *dupes) lastIsOne(f *flat, base int) bool {
	last := f.len() - 1
	if last-base <= fewTokens {
		d.filled = 0
		token := f.at(last)
		for i := base; i < last; i++ {
			if bytes.Equal(f.at(i), token) {
				return true
			}
		}
		return false
	}
	if d.filled == 0 || d.base != base || 2*(last-base+1) > len(d.table) {
		d.rebuild(f, base, last)
	}
	return !d.insert(f, last)
}

// rebuild makes the table anew, with the tokens from base until last, all
// distinct.
func (d *dupes) rebuild(f *flat, base, last int) {
	if d.seed == (maphash.Seed{}) {
		d.seed = maphash.MakeSeed()
	}
	size := 64
	for size < 4*(last-base+1) {
		size *= 2
	}
	if size > cap(d.table) {
		d.table = make([]uint32, size)
	} else {
		d.table = d.table[:size]
		clear(d.table)
	}
	d.base, d.filled = base, 0
	for i := base; i < last; i++ {
		d.insert(f, i)
	}
}

// insert puts token i in and says whether it was new.
func (d *dupes) insert(f *flat, i int) bool {
	token := f.at(i)
	mask := uint64(len(d.table) - 1)
	slot := maphash.Bytes(d.seed, token) & mask
	for ; d.table[slot] != 0; slot = (slot + 1) & mask {
		if bytes.Equal(f.at(d.base+int(d.table[slot])-1), token) {
			return false
		}
	}
	d.table[slot] = uint32(i - d.base + 1)
	d.filled++
	return true
}
