package conflict

import (
	"math/bits"
	"slices"
)

// sorted returns the keys in order, in memory of its own. Keys are hashes, so
// their highest bits spread them over buckets of a few keys each; where a
// bucket's keys share more bits, as the keys of one index list do, it is spread
// again by the highest bits in which they differ.
func sorted(keys []uint64) []uint64 {
	if slices.IsSorted(keys) {
		return slices.Clone(keys)
	}
	var s keySorter
	to := make([]uint64, len(keys))
	s.spread(to, keys)
	return to
}

// keySorter keeps the scratch of a sort.
type keySorter struct {
	spare []uint64
}

const (
	// sortFew is the number of keys that are sorted by comparing.
	sortFew = 48
	// spreadBits is the greatest number of bits to spread by: a table of 8 KiB.
	spreadBits = 11
)

// spread lays from into to, which is as long and elsewhere, in order.
func (s *keySorter) spread(to, from []uint64) {
	all, some := ^uint64(0), uint64(0)
	for _, key := range from {
		all &= key
		some |= key
	}
	differing := bits.Len64(all ^ some)
	if differing == 0 {
		copy(to, from)
		return
	}
	if len(from) <= sortFew {
		copy(to, from)
		insert(to)
		return
	}
	width := min(bits.Len(uint(len(from)))-2, spreadBits, differing)
	shift := uint(differing - width)
	var ends [1 << spreadBits]uint32
	place := ends[:1<<width]
	mask := uint64(len(place) - 1)
	for _, key := range from {
		place[key>>shift&mask]++
	}
	sum := uint32(0)
	for i, n := range place {
		place[i] = sum
		sum += n
	}
	for _, key := range from {
		b := key >> shift & mask
		to[place[b]] = key
		place[b]++
	}
	if shift > 0 {
		s.buckets(to, place)
	}
}

// buckets sorts each bucket of keys that share the bits spread by.
func (s *keySorter) buckets(keys []uint64, ends []uint32) {
	from := uint32(0)
	for _, end := range ends {
		bucket := keys[from:end]
		from = end
		if len(bucket) <= sortFew {
			insert(bucket)
			continue
		}
		at := len(s.spare)
		s.spare = append(s.spare, bucket...)
		s.spread(bucket, s.spare[at:])
		s.spare = s.spare[:at]
	}
}

// insert sorts a few keys.
func insert(keys []uint64) {
	for i := 1; i < len(keys); i++ {
		key := keys[i]
		at := i
		for ; at > 0 && keys[at-1] > key; at-- {
			keys[at] = keys[at-1]
		}
		keys[at] = key
	}
}
