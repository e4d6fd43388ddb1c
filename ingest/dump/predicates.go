package dump

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/edgemill/edgemill/mutation"
	"github.com/edgemill/edgemill/posting"
	"github.com/edgemill/edgemill/schema"
)

// predicates finds those that the schema has and those that have lists, by
// namespace and name.
func predicates(ctx context.Context, r *posting.Reader, snap *schema.Snapshot) ([]mutation.Name, error) {
	var names []mutation.Name
	for p := range snap.All() {
		names = append(names, mutation.Name{Namespace: p.Namespace, Predicate: p.Name})
	}
	var from []byte
	for {
		key, err := firstKey(ctx, r, from)
		if err != nil {
			return nil, err
		}
		if key == nil {
			break
		}
		k, err := posting.ParseKey(key)
		if err != nil {
			return nil, err
		}
		names = append(names, mutation.Name{Namespace: k.Namespace, Predicate: k.Predicate})
		if from = behind(posting.PredicatePrefix(nil, k.Namespace, k.Predicate)); from == nil {
			break
		}
	}
	slices.SortFunc(names, func(a, b mutation.Name) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Predicate, b.Predicate))
	})
	return slices.Compact(names), nil
}

// errFound ends a walk that looks for one key.
var errFound = errors.New("found")

// firstKey is the first key of a list that is from or above it, nil if there
// is none.
func firstKey(ctx context.Context, r *posting.Reader, from []byte) ([]byte, error) {
	var found []byte
	err := r.WalkFrom(ctx, []byte{byte(posting.SpaceList)}, from, func(key []byte) error {
		found = bytes.Clone(key)
		return errFound
	})
	if errors.Is(err, errFound) {
		err = nil
	}
	return found, err
}

// behind is the least key above all that begin with the prefix; nil if there
// is none.
func behind(prefix []byte) []byte {
	next := bytes.Clone(prefix)
	for i := len(next) - 1; i >= 0; i-- {
		if next[i]++; next[i] != 0 {
			return next[:i+1]
		}
	}
	return nil
}
