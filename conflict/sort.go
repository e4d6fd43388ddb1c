package conflict

import (
	"math/bits"
	"slices"
)

// sortFew is the number of keys that are sorted by comparing.
const sortFew = 48

// sortKeys sorts keys in place, with a spare of at least their number. Keys are
// hashes, so that their highest bits spread them over buckets of a few keys
// each; where a bucket's keys share more bits, as the keys of one index list
// do, it is spread again by the highest bits in which they differ.
func sortKeys(keys, spare []uint64) {
	if len(keys) <= sortFew {
		slices.Sort(keys)
		return
	}
	all, some := ^uint64(0), uint64(0)
	for _, key := range keys {
		all &= key
		some |= key
	}
	top := bits.Len64(all ^ some)
	if top == 0 {
		return
	}
	width := min(max(bits.Len(uint(len(keys)))-3, 2), 11)
	shift := uint(max(top-width, 0))
	mask := uint64(1)<<width - 1
	var ends [1 << 11]uint32
	for _, key := range keys {
		ends[key>>shift&mask]++
	}
	sum := uint32(0)
	for i, n := range ends[:mask+1] {
		ends[i] = sum
		sum += n
	}
	spare = spare[:len(keys)]
	for _, key := range keys {
		b := key >> shift & mask
		spare[ends[b]] = key
		ends[b]++
	}
	copy(keys, spare)
	if shift == 0 {
		return
	}
	from := uint32(0)
	for _, end := range ends[:mask+1] {
		if end-from > 1 {
			sortKeys(keys[from:end], spare[from:end])
		}
		from = end
	}
}
