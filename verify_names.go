package edgemill

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/edgemill/edgemill/mutation"
	"github.com/edgemill/edgemill/posting"
)

// errFound ends a walk that looks for one key.
var errFound = errors.New("found")

// names finds the predicates that are in the schema or have keys, in the order
// of their keys. Keys that belong to none are violations.
func (v *verifier) names(ctx context.Context) ([]mutation.Name, error) {
	names := make(map[mutation.Name]struct{})
	for p := range v.snap.All() {
		names[mutation.Name{Namespace: p.Namespace, Predicate: p.Name}] = struct{}{}
	}
	var from []byte
	for {
		key, err := v.firstKey(ctx, from)
		if err != nil {
			return nil, err
		}
		if key == nil {
			break
		}
		if n, head, ok := listHead(key); ok {
			names[n] = struct{}{}
			from = behind(head)
		} else {
			from = v.stray(key)
		}
		if from == nil {
			break
		}
	}
	return sortedNames(names), nil
}

func sortedNames(names map[mutation.Name]struct{}) []mutation.Name {
	sorted := make([]mutation.Name, 0, len(names))
	for n := range names {
		sorted = append(sorted, n)
	}
	slices.SortFunc(sorted, func(a, b mutation.Name) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Predicate, b.Predicate))
	})
	return sorted
}

// firstKey returns the first key that is from or above it, nil if there is
// none.
func (v *verifier) firstKey(ctx context.Context, from []byte) ([]byte, error) {
	var found []byte
	err := v.reader.WalkFrom(ctx, nil, from, func(key []byte) error {
		found = bytes.Clone(key)
		return errFound
	})
	if errors.Is(err, errFound) {
		err = nil
	}
	return found, err
}

// stray handles a key that is not a list's or a part's and returns from where
// on to look further. Schemas and types have been checked.
func (v *verifier) stray(key []byte) (next []byte) {
	if space := posting.Space(key[0]); space == posting.SpaceSchema || space == posting.SpaceType {
		return []byte{key[0] + 1}
	}
	_, err := posting.ParseKey(key)
	v.violation(key, 0, fmt.Sprint(err))
	v.passed(1, 0)
	return append(key, 0)
}

const (
	keySizeAt = 9
	keyNameAt = 11
)

// listHead takes the name off the front of the key of a list or of a part,
// whatever follows it; head is what all keys of the predicate in that space begin
// with.
func listHead(key []byte) (n mutation.Name, head []byte, ok bool) {
	space := posting.Space(key[0])
	if (space != posting.SpaceList && space != posting.SpacePart) || len(key) < keyNameAt {
		return mutation.Name{}, nil, false
	}
	size := int(binary.BigEndian.Uint16(key[keySizeAt:]))
	if size == 0 || len(key) < keyNameAt+size {
		return mutation.Name{}, nil, false
	}
	head = key[:keyNameAt+size]
	return mutation.Name{Namespace: binary.BigEndian.Uint64(key[1:]), Predicate: string(head[keyNameAt:])}, head, true
}

// behind is the least key that is above all that begin with the prefix; nil
// if there is none.
func behind(prefix []byte) []byte {
	next := bytes.Clone(prefix)
	for i := len(next) - 1; i >= 0; i-- {
		if next[i]++; next[i] != 0 {
			return next[:i+1]
		}
	}
	return nil
}
