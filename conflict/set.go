package conflict

import (
	"slices"
	"strconv"
)

// Mode says how a transaction's keys are put before an arbiter that knows only
// exclusive keys.
type Mode uint8

const (
	// Exact hands over the exclusive keys alone. A star on a list and an add
	// to it can then both commit, and break the index and reverse statements.
	Exact Mode = iota + 1
	// Safe hands over the shared keys as exclusive ones too. Two adds to one
	// list then conflict.
	Safe
)

// Set is the distinct conflict keys of a transaction. Both slices are sorted
// and hold no zero; a key that is both exclusive and shared stands in
// Exclusive only. A Set is a value; whoever holds one does not change its
// slices.
type Set struct {
	Exclusive, Shared []uint64
}

// NewSet sorts both slices in place, drops zeros and repetitions, and keeps
// the slices.
func NewSet(exclusive, shared []uint64) Set {
	exclusive = distinct(exclusive)
	shared = distinct(shared)
	shared = slices.DeleteFunc(shared, func(key uint64) bool {
		_, both := slices.BinarySearch(exclusive, key)
		return both
	})
	return Set{Exclusive: exclusive, Shared: shared}
}

func distinct(keys []uint64) []uint64 {
	if !slices.IsSorted(keys) {
		sortKeys(keys, make([]uint64, len(keys)))
	}
	keys = slices.Compact(keys)
	if len(keys) > 0 && keys[0] == 0 {
		keys = keys[1:]
	}
	return keys
}

// Keys returns the sorted distinct keys for an arbiter without shared keys.
func (s Set) Keys(mode Mode) []uint64 {
	if mode == Exact || len(s.Shared) == 0 {
		return slices.Clone(s.Exclusive)
	}
	return distinct(slices.Concat(s.Exclusive, s.Shared))
}

// Base36 returns a key as text in base 36, the form in which a Dgraph Zero
// takes it.
func Base36(key uint64) string { return strconv.FormatUint(key, 36) }
