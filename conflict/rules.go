package conflict

import (
	"github.com/dgryski/go-farm"

	"github.com/edgemill/edgemill/schema"
)

// Rules derives the conflict keys of one predicate's writes (docs/semantics.md,
// Conflicts, has them as a table). It is the one place where they are derived. fp is Fingerprint of the whole key written.
// A result of 0 is no key; a Buffer drops it.
type Rules struct {
	none, upsert, list bool
}

// RulesOf returns the rules of a predicate.
func RulesOf(p *schema.Predicate) Rules {
	return Rules{none: p.NoConflict, upsert: p.Upsert && !p.NoConflict, list: p.List}
}

// Fingerprint is farm's Fingerprint64 of a key.
func Fingerprint(key []byte) uint64 { return farm.Fingerprint64(key) }

// None reports that no write of the predicate has a key.
func (r Rules) None() bool { return r.none }

// Data is the exclusive key of a data posting that is set or deleted.
func (r Rules) Data(fp, posting uint64) uint64 {
	if r.list {
		return r.Posting(fp, posting)
	}
	return r.star(fp)
}

// DataStar is the exclusive key of a delete of everything, or of a language.
func (r Rules) DataStar(fp uint64) uint64 { return r.star(fp) }

func (r Rules) star(fp uint64) uint64 {
	if r.none {
		return 0
	}
	return fp
}

// DataShared is the shared key of a write to a list: it lets two adds of
// different targets pass, and meets the star of the list.
func (r Rules) DataShared(fp uint64) uint64 {
	if r.list && !r.none && !r.upsert {
		return fp
	}
	return 0
}

// Posting is the exclusive key of a posting of an index, count or
// reverse-count list.
func (r Rules) Posting(fp, posting uint64) uint64 {
	switch {
	case r.none:
		return 0
	case r.upsert:
		return fp
	}
	return fp ^ posting
}

// HasReverse reports whether writes to reverse lists have a key.
func (r Rules) HasReverse() bool { return r.upsert }

// Reverse is the exclusive key of a write to a reverse list.
func (r Rules) Reverse(fp uint64) uint64 {
	if r.upsert {
		return fp
	}
	return 0
}

// Counted is the key of a list whose number of postings a write may change. No
// transaction has it when it commits: it has the buckets of the numbers, which
// it knows once it has read the list. At a Gate it stands for those, since two
// transactions that change the number of one list meet in some bucket.
func (r Rules) Counted(fp uint64) uint64 { return r.star(fp) }
