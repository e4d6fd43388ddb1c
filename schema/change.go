package schema

import (
	"slices"

	"github.com/edgemill/edgemill/schema/token"
)

// Change is what an alter of one predicate means for the data that is there.
// What merely steers later edges (@upsert, @noconflict, @unique, added @lang) and
// indexes that this program doesn't keep are no part of it.
type Change struct {
	// AddIndexes are to be built, DropIndexes removed. Where the type changes, so
	// that there can be no data, all old ones are dropped and all new ones added.
	AddIndexes, DropIndexes []*token.Tokenizer
	AddReverse, DropReverse bool
	// AddCount and DropCount are about the counts and, with @reverse, the reverse
	// counts. An added or dropped @reverse of a predicate that keeps @count
	// takes the reverse counts with it.
	AddCount, DropCount bool
	// ToList: a single value becomes a list of one. The data, not the indexes,
	// changes: values have other posting uids in lists.
	ToList bool
	// ToSingle: a list becomes a single value; refused while there is data.
	ToSingle bool
	// Retyped: the type of the values changes; refused while there is data.
	Retyped bool
	// DropLang: tagged values have no place any more.
	DropLang bool
}

// Diff says what changes between the old state of a predicate, nil for none, and
// the new one, nil for a predicate that is dropped.
func Diff(old, new *Predicate) Change {
	if old == nil {
		old = &Predicate{}
		if new != nil {
			old.Type, old.List = new.Type, new.List
		}
	}
	if new == nil {
		new = &Predicate{Type: old.Type, List: old.List, Lang: old.Lang}
	}
	retyped := old.Type != new.Type
	return Change{
		AddIndexes:  beyond(new.Tokenizers, old.Tokenizers, retyped),
		DropIndexes: beyond(old.Tokenizers, new.Tokenizers, retyped),
		AddReverse:  new.Reverse && !old.Reverse,
		DropReverse: old.Reverse && !new.Reverse,
		AddCount:    new.Count && !old.Count,
		DropCount:   old.Count && !new.Count,
		ToList:      new.List && !old.List,
		ToSingle:    old.List && !new.List,
		Retyped:     retyped,
		DropLang:    old.Lang && !new.Lang,
	}
}

// beyond gives the tokenizers of a that b lacks, or all of a.
func beyond(a, b []*token.Tokenizer, all bool) []*token.Tokenizer {
	var more []*token.Tokenizer
	for _, t := range a {
		if all || !slices.Contains(b, t) {
			more = append(more, t)
		}
	}
	return more
}

// Empty says whether the data stays as it is.
func (c Change) Empty() bool {
	return len(c.AddIndexes) == 0 && len(c.DropIndexes) == 0 &&
		!c.AddReverse && !c.DropReverse && !c.AddCount && !c.DropCount &&
		!c.ToList && !c.ToSingle && !c.Retyped && !c.DropLang
}
