package edgemill

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/edgemill/edgemill/posting"
	"github.com/edgemill/edgemill/schema/token"
	"github.com/edgemill/edgemill/schema/value"
)

// builder makes the lists that one step of an Alter adds, from the predicate's
// data as it stands at the reader's timestamp. One sweep over the data gives the
// postings of all index, reverse and count lists; sorted, they are written list by
// list; the lengths of the reverse lists give the reverse counts in the same way.
type builder struct {
	*step
	db     *DB
	reader *posting.Reader
	out    entryWriter
	// derived are the postings of all lists but the reverse counts.
	derived, reverseCounts postingSorter

	tokens token.Buffer
	key    []byte // scratch
	rich   []byte // scratch
}

// build writes what the step adds, if there is anything to build it of.
func (a *alteration) build(ctx context.Context, s *step, r *posting.Reader) (err error) {
	c := &s.change
	if !s.hasKeys || len(c.AddIndexes) == 0 && !c.AddReverse && !c.AddCount {
		return nil
	}
	limit := a.db.alterLimits.postings
	b := &builder{
		step: s, db: a.db, reader: r, out: entryWriter{db: a.db},
		derived:       postingSorter{store: a.db.store, limit: limit},
		reverseCounts: postingSorter{store: a.db.store, limit: limit},
	}
	defer func() {
		b.out.close()
		err = errors.Join(err, b.derived.close(), b.reverseCounts.close())
	}()
	begun := time.Now()
	if err := b.run(ctx); err != nil {
		return err
	}
	a.db.logAlter("lists built", "predicate", s.new.Name, "took", time.Since(begun))
	return nil
}

func (b *builder) run(ctx context.Context) error {
	err := b.reader.WalkLists(ctx, b.prefix(posting.KindData), nil, func(key []byte, l *posting.List) error {
		k, err := posting.ParseKey(key)
		if err == nil {
			err = b.keepRules(ctx, key, l)
		}
		if err == nil {
			err = b.subject(k.UID, l)
		}
		var known *AlterError
		if err != nil && !errors.As(err, &known) {
			err = b.fail(k.UID, err)
		}
		return err
	})
	if err != nil {
		return err
	}
	if err := b.writeLists(ctx, &b.derived, b.countSources); err != nil {
		return err
	}
	if b.change.AddCount && b.new.Reverse && !b.change.AddReverse {
		if err := b.countKeptSources(ctx); err != nil {
			return err
		}
	}
	if err := b.writeLists(ctx, &b.reverseCounts, nil); err != nil {
		return err
	}
	return b.out.flush(ctx)
}

// subject emits the postings of one subject.
func (b *builder) subject(uid uint64, l *posting.List) error {
	n := 0
	for p := range l.Postings(0) {
		n++
		err := mistyped(b.new, &p)
		if err == nil && p.Type == posting.PostingRef {
			err = b.target(uid, &p)
		} else if err == nil {
			err = b.value(uid, &p)
		}
		if err != nil {
			return err
		}
	}
	if !b.change.AddCount || n == 0 {
		return nil
	}
	return b.derived.add(keyedPosting{key: b.countKey(posting.KindCount, n), uid: uid})
}

func (b *builder) countKey(kind posting.Kind, n int) []byte {
	b.key = binary.BigEndian.AppendUint32(append(b.key[:0], byte(kind)), uint32(n))
	return b.key
}

// value emits the tokens of one value.
func (b *builder) value(uid uint64, p *posting.Posting) error {
	b.tokens.Reset()
	for _, t := range b.change.AddIndexes {
		if err := t.Append(&b.tokens, value.Value{Type: b.new.Type, Data: p.Value}, string(p.Lang)); err != nil {
			return err
		}
	}
	for i := range b.tokens.Len() {
		term := b.tokens.At(i)
		if err := posting.CheckKeyLen(b.new.Name, posting.PrefixLen(b.new.Name)+len(term)); err != nil {
			return err
		}
		b.key = append(append(b.key[:0], byte(posting.KindIndex)), term...)
		if err := b.derived.add(keyedPosting{key: b.key, uid: uid}); err != nil {
			return err
		}
	}
	return nil
}

// target emits the reverse posting of one edge, which has the edge's facets.
func (b *builder) target(uid uint64, p *posting.Posting) error {
	if !b.change.AddReverse {
		return nil
	}
	b.rich = b.rich[:0]
	if len(p.Facets) > 0 {
		rev := posting.Posting{UID: uid, Op: max(p.Op, posting.OpSet), Facets: p.Facets, StartTS: p.StartTS, CommitTS: p.CommitTS}
		b.rich = posting.AppendPosting(b.rich, &rev)
	}
	b.key = binary.BigEndian.AppendUint64(append(b.key[:0], byte(posting.KindReverse)), p.UID)
	return b.derived.add(keyedPosting{key: b.key, uid: uid, rich: b.rich})
}

// keepRules rolls up a list that comes to be counted and was written by other
// rules: a reader of the format adds its ops up.
func (b *builder) keepRules(ctx context.Context, key []byte, l *posting.List) error {
	if n, _ := l.Deltas(); !b.change.AddCount || n == 0 || l.SetOnce() {
		return nil
	}
	entries, err := b.reader.RollUp(slices.Clone(key))
	if err != nil {
		return err
	}
	return b.out.add(ctx, entries...)
}

// countSources emits the reverse count of a reverse list that was built.
func (b *builder) countSources(key []byte, n int) error {
	if posting.Kind(key[0]) != posting.KindReverse || !b.new.Count {
		return nil
	}
	target := binary.BigEndian.Uint64(key[1:])
	return b.reverseCounts.add(keyedPosting{key: b.countKey(posting.KindCountReverse, n), uid: target})
}

// countKeptSources emits the reverse counts of the reverse lists that were
// there.
func (b *builder) countKeptSources(ctx context.Context) error {
	return b.reader.WalkLists(ctx, b.prefix(posting.KindReverse), nil, func(key []byte, l *posting.List) error {
		k, err := posting.ParseKey(key)
		if err == nil {
			err = b.keepRules(ctx, key, l)
		}
		if n := l.Len(); err == nil && n > 0 {
			err = b.reverseCounts.add(keyedPosting{key: b.countKey(posting.KindCountReverse, n), uid: k.UID})
		}
		return err
	})
}

// writeLists writes the lists that the postings make up, and calls built, if not
// nil, with each one's key, from the kind byte on, and length.
func (b *builder) writeLists(ctx context.Context, postings *postingSorter, built func(key []byte, n int) error) error {
	l := listInHand{b: b, built: built}
	err := postings.each(func(p keyedPosting) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		return l.add(ctx, p)
	})
	if err != nil {
		return err
	}
	return l.end(ctx)
}

// listInHand is the derived list whose postings are coming in.
type listInHand struct {
	b     *builder
	built func(key []byte, n int) error
	key   []byte
	last  uint64
	pack  posting.PackBuilder
	rich  []posting.Posting
}

// add takes the next posting; one that is there twice, as a token that two values
// of a subject share, counts once.
func (l *listInHand) add(ctx context.Context, p keyedPosting) error {
	if !bytes.Equal(p.key, l.key) {
		if err := l.end(ctx); err != nil {
			return err
		}
		l.key = append(l.key[:0], p.key...)
	}
	if l.pack.Len() > 0 && p.uid == l.last {
		return nil
	}
	l.pack.Add(p.uid)
	l.last = p.uid
	if len(p.rich) == 0 {
		return nil
	}
	post, _, err := posting.DecodePosting(bytes.Clone(p.rich))
	l.rich = append(l.rich, post)
	return err
}

// end writes the list.
func (l *listInHand) end(ctx context.Context) error {
	n := l.pack.Len()
	if n == 0 {
		return nil
	}
	version, err := l.b.out.version(ctx)
	if err != nil {
		return err
	}
	key := append(posting.PredicatePrefix(nil, l.b.new.Namespace, l.b.new.Name), l.key...)
	c := posting.Complete{Pack: l.pack.Pack(), Postings: l.rich}
	if err := l.b.out.add(ctx, posting.ListEntries(key, c, version)...); err != nil {
		return fmt.Errorf("predicate %q: %w", shorten(l.b.new.Name), err)
	}
	l.pack.Reset()
	l.rich = l.rich[:0]
	if l.built == nil {
		return nil
	}
	return l.built(l.key, n)
}
