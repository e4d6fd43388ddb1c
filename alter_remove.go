package edgemill

import (
	"bytes"
	"context"
	"slices"

	"github.com/edgemill/edgemill/posting"
	"github.com/edgemill/edgemill/schema"
	"github.com/edgemill/edgemill/schema/token"
)

// removeUnkept deletes every list of a predicate that its schema does not keep:
// indexes, reverse lists and counts, with their parts. Older reads go on seeing
// them. A predicate that is not in the schema keeps none.
func (db *DB) removeUnkept(ctx context.Context, p *schema.Predicate) error {
	ts, release, err := db.oracle.Timestamp(ctx)
	if err != nil {
		return err
	}
	defer release()
	r := db.store.Reader(ts)
	defer r.Release()
	w := &entryWriter{db: db}
	defer w.close()
	for _, g := range unkept(p) {
		err := r.WalkFrom(ctx, g.prefix, g.from, func(key []byte) error {
			version, err := w.version(ctx)
			if err != nil {
				return err
			}
			return w.add(ctx, posting.Entry{Key: slices.Clone(key), Version: version, Delete: true})
		})
		if err != nil {
			return err
		}
	}
	return w.flush(ctx)
}

// keyGroup is the keys with a prefix, from one of them on.
type keyGroup struct{ prefix, from []byte }

// unkept are the groups of keys that the predicate has no use for.
func unkept(p *schema.Predicate) []keyGroup {
	var groups []keyGroup
	add := func(kind posting.Kind, more ...byte) {
		prefix := append(posting.AppendPrefix(nil, p.Namespace, p.Name, kind), more...)
		groups = append(groups, keyGroup{prefix: prefix}, keyGroup{prefix: partsOf(prefix)})
	}
	for _, t := range token.All() {
		if !slices.Contains(p.Tokenizers, t) {
			for _, id := range tokenIDs(t) {
				add(posting.KindIndex, id)
			}
		}
	}
	if len(p.CustomTokenizers) == 0 {
		prefix := posting.AppendPrefix(nil, p.Namespace, p.Name, posting.KindIndex)
		for _, prefix := range [][]byte{prefix, partsOf(prefix)} {
			groups = append(groups, keyGroup{prefix: prefix, from: append(bytes.Clone(prefix), token.IDCustom)})
		}
	}
	if !p.Reverse {
		add(posting.KindReverse)
	}
	if !p.Count {
		add(posting.KindCount)
	}
	if !p.Count || !p.Reverse {
		add(posting.KindCountReverse)
	}
	return groups
}

// partsOf is the prefix of the parts of the lists with a prefix.
func partsOf(prefix []byte) []byte {
	parts := bytes.Clone(prefix)
	parts[0] = byte(posting.SpacePart)
	return parts
}
