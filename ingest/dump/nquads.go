package dump

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"slices"

	"github.com/edgemill/edgemill"
	"github.com/edgemill/edgemill/ingest"
	"github.com/edgemill/edgemill/mutation"
	"github.com/edgemill/edgemill/posting"
	"github.com/edgemill/edgemill/schema"
	"github.com/edgemill/edgemill/schema/value"
)

// Options say what is written. The zero value writes all.
type Options struct {
	// Namespaces are those that are written; nil for all.
	Namespaces []uint64
}

func (o *Options) has(namespace uint64) bool {
	return o.Namespaces == nil || slices.Contains(o.Namespaces, namespace)
}

// writeBuffer is how many bytes are handed to the writer at a time.
const writeBuffer = 64 << 10

// NQuads writes the graph as statements, a line each: by namespace, predicate,
// subject, and within a subject by the uid of the posting. Uids are written as
// they are, and values so that loading them, under the same schema, gives the
// same stored bytes: with their datatype where they need one, a password as its
// hash, languages and facets.
//
// A statement of a namespace other than the root has it as its graph label, as in
// <0x1>. Loading passes over labels and puts all into one namespace; so each
// namespace of a store that has several is dumped and loaded by itself.
//
// What N-Quads can't say, such as bytes that are no text, is an error that names
// the subject and the predicate. What was written till then stands.
func NQuads(ctx context.Context, db *edgemill.DB, w io.Writer, opts Options) error {
	out := bufio.NewWriterSize(w, writeBuffer)
	err := atPresent(ctx, db, func(r *posting.Reader, snap *schema.Snapshot) error {
		names, err := predicates(ctx, r, snap)
		if err != nil {
			return err
		}
		for _, n := range names {
			if !opts.has(n.Namespace) {
				continue
			}
			if err := writeStatements(ctx, out, r, snap, n); err != nil {
				return err
			}
		}
		return out.Flush()
	})
	if err != nil {
		return fmt.Errorf("dump: %w", err)
	}
	return nil
}

// atPresent calls f with the store and the schema as they stand now.
func atPresent(ctx context.Context, db *edgemill.DB, f func(*posting.Reader, *schema.Snapshot) error) error {
	// The view keeps the timestamp's versions from being dropped.
	view, err := db.View(ctx, 0)
	if err != nil {
		return err
	}
	defer view.Close()
	r := db.Store().Reader(view.TS())
	defer r.Release()
	return f(r, view.Schema())
}

// writeStatements writes those of one predicate.
func writeStatements(ctx context.Context, w io.Writer, r *posting.Reader, snap *schema.Snapshot, n mutation.Name) error {
	p, _ := snap.Predicate(n.Namespace, n.Predicate)
	prefix := posting.AppendPrefix(nil, n.Namespace, n.Predicate, posting.KindData)
	var line []byte
	return r.WalkLists(ctx, prefix, nil, func(key []byte, l *posting.List) error {
		subject := binary.BigEndian.Uint64(key[len(key)-8:])
		for post := range l.Postings(0) {
			e, err := edgeOf(p, n.Predicate, subject, &post)
			if err != nil {
				return err
			}
			if line, err = ingest.AppendNQuad(line[:0], &e, n.Namespace); err != nil {
				return err
			}
			if _, err := w.Write(line); err != nil {
				return err
			}
		}
		return nil
	})
}

// edgeOf is the statement that a posting of a subject's data list stands for; p is
// nil for a predicate that the schema does not have. The edge aliases the
// posting. A string of a string predicate is given the type default, which
// AppendNQuad writes without a datatype.
func edgeOf(p *schema.Predicate, name string, subject uint64, post *posting.Posting) (mutation.Edge, error) {
	e := mutation.Edge{Subject: subject, Predicate: name}
	facets, err := posting.DecodeFacets(post.Facets)
	if err != nil {
		return e, fmt.Errorf("predicate %q, subject %#x: %w", name, subject, err)
	}
	for _, f := range facets {
		e.Facets = append(e.Facets, mutation.Facet{Key: f.Key, Type: f.Type, Value: f.Value})
	}
	if post.Type == posting.PostingRef {
		e.Object, e.Target = mutation.ObjectUID, post.UID
		return e, nil
	}
	e.Value, e.Lang = post.Val(), string(post.Lang)
	if p != nil && p.Type == value.String && e.Value.Type == value.String && e.Lang == "" {
		e.Value.Type = value.Default
	}
	return e, nil
}
