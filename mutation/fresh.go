package mutation

import "sort"

// isFresh reports whether a uid lies in one of the sorted ranges.
func isFresh(ranges []UIDRange, uid uint64) bool {
	if len(ranges) == 0 {
		return false
	}
	i := sort.Search(len(ranges), func(i int) bool { return ranges[i].Last >= uid })
	return i < len(ranges) && ranges[i].First <= uid
}

// checkFresh refuses ranges that are not sorted, or overlap.
func checkFresh(ranges []UIDRange) error {
	for i, r := range ranges {
		if r.First > r.Last || (i > 0 && r.First <= ranges[i-1].Last) {
			return badEdge("fresh range %#x to %#x is out of order", r.First, r.Last)
		}
	}
	return nil
}

// allFresh reports whether every subject of the batch is stated fresh.
func (b *Batch) allFresh() bool {
	for i := range b.Edges {
		if !isFresh(b.Fresh, b.Edges[i].Subject) {
			return false
		}
	}
	return true
}
