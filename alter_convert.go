package edgemill

import (
	"context"
	"slices"

	"github.com/edgemill/edgemill/conflict"
	"github.com/edgemill/edgemill/posting"
	"github.com/edgemill/edgemill/schema"
	"github.com/edgemill/edgemill/schema/value"
)

// converts reports whether postings change because values become lists. Targets
// stand under the same uids in either case.
func (s *step) converts() bool {
	return s.hasKeys && s.old != nil && s.change.ToList && s.new.Type != value.UID
}

// convert writes single values as lists of one at ts, which nobody reads at yet:
// the value's posting goes from the uid of single values to the fingerprint of
// the value. What an interruption leaves is for convertBack.
func (a *alteration) convert(ctx context.Context, ts uint64) error {
	if !slices.ContainsFunc(a.steps, (*step).converts) {
		return nil
	}
	if err := a.note(ts); err != nil {
		return err
	}
	w := &entryWriter{db: a.db, fixed: ts}
	r := a.db.store.Reader(ts - 1)
	defer r.Release()
	for _, s := range a.steps {
		if !s.converts() {
			continue
		}
		err := r.WalkLists(ctx, s.prefix(posting.KindData), nil, func(key []byte, l *posting.List) error {
			p, ok := l.Find(posting.DeleteAllUID)
			if !ok {
				return nil
			}
			p.UID, p.Op, p.StartTS, p.CommitTS = conflict.Fingerprint(p.Value), posting.OpSet, a.since, 0
			delta := posting.AppendPosting(posting.AppendDeleteAll(nil, a.since), &p)
			return w.add(ctx, posting.Entry{Key: slices.Clone(key), Value: delta, Meta: posting.MetaDelta, Version: ts})
		})
		if err != nil {
			return err
		}
	}
	return w.flush(ctx)
}

// convertBack undoes convert for all predicates.
func (a *alteration) convertBack(ctx context.Context, ts uint64) error {
	for _, s := range a.steps {
		if s.converts() {
			if err := a.db.convertBack(ctx, s.old, ts); err != nil {
				return err
			}
		}
	}
	return nil
}

// convertBack puts in the place of what convert wrote at ts a delta that changes
// nothing: the value that stood there below ts, set again. It may be repeated.
func (db *DB) convertBack(ctx context.Context, p *schema.Predicate, ts uint64) error {
	w := &entryWriter{db: db, fixed: ts}
	r, below := db.store.Reader(ts), db.store.Reader(ts-1)
	defer r.Release()
	defer below.Release()
	op := posting.OpSet
	if p.Count {
		op = posting.OpOverwrite
	}
	prefix := posting.AppendPrefix(nil, p.Namespace, p.Name, posting.KindData)
	err := r.WalkLists(ctx, prefix, nil, func(key []byte, l *posting.List) error {
		if l.Newest() != ts {
			return nil
		}
		old, err := below.List(key)
		if err != nil {
			return err
		}
		v, ok := old.Find(posting.DeleteAllUID)
		if !ok {
			return nil
		}
		v.Op, v.CommitTS = op, 0
		return w.add(ctx, posting.Entry{
			Key: slices.Clone(key), Value: posting.AppendPosting(nil, &v), Meta: posting.MetaDelta, Version: ts,
		})
	})
	if err != nil {
		return err
	}
	return w.flush(ctx)
}
