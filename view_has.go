package edgemill

import (
	"context"
	"encoding/binary"
	"errors"
	"iter"
	"slices"

	"github.com/edgemill/edgemill/posting"
	"github.com/edgemill/edgemill/schema"
)

// walkedAtOnce is how many lists of a predicate a loop over its subjects reads
// before it hands out what it found.
const walkedAtOnce = 1024

// errPageFull ends the walk of one page.
var errPageFull = errors.New("page is full")

// Has yields the subjects, from a uid on and ascending, that have a value or a
// target under the predicate. It ends after an error. The store is read as the loop
// goes on; batches that a transaction applies meanwhile may be seen or not.
func (v *View) Has(pred string, from uint64) iter.Seq2[uint64, error] {
	return v.hasInPages(pred, from, walkedAtOnce)
}

func (v *View) hasInPages(pred string, from uint64, limit int) iter.Seq2[uint64, error] {
	return func(yield func(uint64, error) bool) {
		p, err := v.predicate(pred)
		if err != nil {
			yield(0, err)
			return
		}
		s := subjectScan{view: v, p: p, next: max(from, 1), limit: limit}
		for !s.done {
			page, err := s.page()
			for _, uid := range page {
				if !yield(uid, nil) {
					return
				}
			}
			if err != nil {
				yield(0, err)
				return
			}
		}
	}
}

// subjectScan goes over a predicate's subjects page by page. It belongs to one
// goroutine.
type subjectScan struct {
	view *View
	p    *schema.Predicate
	// next is the first subject of the next page.
	next uint64
	// limit is how many stored lists make a page.
	limit int
	done  bool
	// own are the subjects whose lists the transaction writes, from next on, as
	// the first page found them.
	own     []uint64
	started bool
}

// page returns the subjects of the next page that have a posting.
func (s *subjectScan) page() ([]uint64, error) {
	if err := s.view.enter(); err != nil {
		return nil, err
	}
	defer s.view.leave()
	if !s.started {
		s.own, s.started = s.view.ownSubjects(s.p, s.next), true
	}
	stored, last, err := s.stored()
	if err != nil {
		return nil, err
	}
	live, err := s.ownUpTo(last)
	if err != nil {
		return nil, err
	}
	s.done = last == posting.DeleteAllUID
	s.next = last + 1
	if len(live) == 0 {
		return stored, nil
	}
	page := append(stored, live...)
	slices.Sort(page)
	return page, nil
}

// stored walks the stored lists of a page and returns the subjects whose list
// is not empty and not the transaction's, and the last uid that belongs to the
// page.
func (s *subjectScan) stored() (live []uint64, last uint64, err error) {
	walked := 0
	last = posting.DeleteAllUID
	err = s.walk(func(uid uint64, some bool) error {
		if _, own := slices.BinarySearch(s.own, uid); some && !own {
			live = append(live, uid)
		}
		if walked++; walked == s.limit {
			last = uid
			return errPageFull
		}
		return nil
	})
	if errors.Is(err, errPageFull) {
		err = nil
	}
	return live, last, err
}

// walk calls f with each stored subject from next on, and whether its list
// holds something.
func (s *subjectScan) walk(f func(uid uint64, some bool) error) error {
	prefix := posting.AppendPrefix(nil, s.p.Namespace, s.p.Name, posting.KindData)
	from := posting.AppendDataKey(nil, s.p.Namespace, s.p.Name, s.next)
	if !s.view.past {
		reader := s.view.db.store.Reader(s.view.ts)
		defer reader.Release()
		return reader.WalkLists(context.Background(), prefix, from, func(key []byte, l *posting.List) error {
			return f(lastUID(key), !l.Empty())
		})
	}
	// In the past a list whose versions are gone is still to be noticed.
	newest := s.view.db.store.Reader(^uint64(0))
	defer newest.Release()
	return newest.WalkFrom(context.Background(), prefix, from, func(key []byte) error {
		l, err := s.view.list(key)
		if err != nil {
			return err
		}
		return f(lastUID(key), !l.Empty())
	})
}

// lastUID is the uid at the end of a data or reverse key.
func lastUID(key []byte) uint64 { return binary.BigEndian.Uint64(key[len(key)-8:]) }

// ownUpTo takes the transaction's subjects up to last off the list, and returns
// those that have a posting.
func (s *subjectScan) ownUpTo(last uint64) ([]uint64, error) {
	var live []uint64
	for len(s.own) > 0 && s.own[0] <= last {
		uid := s.own[0]
		s.own = s.own[1:]
		l, err := s.view.list(posting.AppendDataKey(nil, s.p.Namespace, s.p.Name, uid))
		if err != nil {
			return nil, err
		}
		if !l.Empty() {
			live = append(live, uid)
		}
	}
	return live, nil
}

// ownSubjects are the subjects from a uid on whose lists the transaction
// writes, ascending.
func (v *View) ownSubjects(p *schema.Predicate, from uint64) []uint64 {
	if v.txn == nil {
		return nil
	}
	prefix := posting.AppendPrefix(nil, p.Namespace, p.Name, posting.KindData)
	var own []uint64
	for key := range v.txn.txn.Deltas().All() {
		if len(key) != len(prefix)+8 || string(key[:len(prefix)]) != string(prefix) {
			continue
		}
		if uid := lastUID(key); uid >= from {
			own = append(own, uid)
		}
	}
	slices.Sort(own)
	return own
}
