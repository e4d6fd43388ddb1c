package conflict

import (
	"math/bits"
	"runtime"
	"slices"
	"sort"
	"sync"
)

// sorted returns the keys in order, in memory of its own. Keys are hashes, so
// their highest bits spread them over buckets of a few keys each; where a
// bucket's keys share more bits, as the keys of one index list do, it is spread
// again by the highest bits in which they differ.
func sorted(keys []uint64) []uint64 {
	if slices.IsSorted(keys) {
		return slices.Clone(keys)
	}
	to := make([]uint64, len(keys))
	var s keySorter
	if ends := s.spread(to, keys, 0); len(ends) > 0 {
		s.bucketsApart(to, ends)
	}
	return to
}

// keySorter keeps the scratch of a sort.
type keySorter struct {
	spare []uint64
	// places are, by depth, where each bucket of a spread ends.
	places [][]uint32
}

const (
	// sortFew is the number of keys that are sorted by comparing.
	sortFew = 48
	// spreadBits is the greatest number of bits to spread by: a table of 8 KiB.
	spreadBits = 11
)

// spread lays from into to, which is as long and elsewhere, in buckets by the
// highest bits in which the keys differ, and returns where the buckets end. It
// returns nothing where that put the keys in order.
func (s *keySorter) spread(to, from []uint64, depth int) (ends []uint32) {
	all, some := ^uint64(0), uint64(0)
	for _, key := range from {
		all &= key
		some |= key
	}
	differing := bits.Len64(all ^ some)
	if differing == 0 || len(from) <= sortFew {
		copy(to, from)
		insert(to)
		return nil
	}
	width := min(bits.Len(uint(len(from)))-2, spreadBits, differing)
	shift := uint(differing - width)
	place := s.table(depth, 1<<width)
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
	if shift == 0 {
		return nil
	}
	return place
}

// table is a zeroed table of size numbers, its depth's own.
func (s *keySorter) table(depth, size int) []uint32 {
	for len(s.places) <= depth {
		s.places = append(s.places, nil)
	}
	s.places[depth] = slices.Grow(s.places[depth][:0], size)[:size]
	clear(s.places[depth])
	return s.places[depth]
}

// sortApart is the number of keys from which two goroutines sort them.
const sortApart = 8192

// bucketsApart sorts the buckets, many keys on two goroutines, one for those
// of the lower half and one for the rest.
func (s *keySorter) bucketsApart(keys []uint64, ends []uint32) {
	if len(keys) < sortApart || runtime.GOMAXPROCS(0) == 1 {
		s.buckets(keys, 0, ends, 1)
		return
	}
	half := sort.Search(len(ends), func(i int) bool { return int(ends[i]) >= len(keys)/2 }) + 1
	var join sync.WaitGroup
	join.Go(func() {
		var lower keySorter
		lower.buckets(keys, 0, ends[:half], 1)
	})
	s.buckets(keys, ends[half-1], ends[half:], 1)
	join.Wait()
}

// buckets sorts each bucket of keys that share the bits spread by; the first
// begins at from.
func (s *keySorter) buckets(keys []uint64, from uint32, ends []uint32, depth int) {
	for _, end := range ends {
		bucket := keys[from:end]
		from = end
		if len(bucket) <= sortFew {
			insert(bucket)
			continue
		}
		at := len(s.spare)
		s.spare = append(s.spare, bucket...)
		if ends := s.spread(bucket, s.spare[at:], depth); len(ends) > 0 {
			s.buckets(bucket, 0, ends, depth+1)
		}
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
