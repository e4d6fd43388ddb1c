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

// NewSet makes a set of keys in any order, zeros and repetitions among them.
// It keeps neither slice.
func NewSet(exclusive, shared []uint64) Set {
	s := Set{Exclusive: distinct(exclusive), Shared: distinct(shared)}
	s.Shared = without(s.Shared, s.Exclusive)
	return s
}

func distinct(keys []uint64) []uint64 {
	if len(keys) == 0 {
		return nil
	}
	keys = slices.Compact(sorted(keys))
	if keys[0] == 0 {
		keys = keys[1:]
	}
	return keys
}

// without drops in place the keys that stand in drop; both are sorted.
func without(keys, drop []uint64) []uint64 {
	kept := keys[:0]
	for _, key := range keys {
		for len(drop) > 0 && drop[0] < key {
			drop = drop[1:]
		}
		if len(drop) == 0 || drop[0] != key {
			kept = append(kept, key)
		}
	}
	return kept
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
