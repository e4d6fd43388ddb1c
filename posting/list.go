package posting

import (
	"cmp"
	"iter"
	"slices"
	"sort"

	"github.com/edgemill/edgemill/schema/value"
)

// List is one posting list at one read timestamp: the newest complete list at
// or below it, with the deltas above laid on top. A nil *List is the empty
// list. A List is never changed; any number of goroutines may read it.
type List struct {
	// parts are the complete list, in ascending order of their first uid; one
	// unless the list is split.
	parts []Part
	// all says that a delete-all marker hides the complete list.
	all bool
	// changes are the newest posting of each uid that a delta touched,
	// ascending.
	changes []Posting
	// newest is the version of the newest delta or complete list, 0 for none.
	newest uint64
	// deltas and deltaBytes are how many deltas lie above the complete list,
	// and their size in bytes; size is that of the complete list.
	deltas, deltaBytes, size int
	// deleted says that the key was deleted below what the list was read from.
	deleted bool
}

// layer takes the postings of one delta, from the newest delta to the oldest,
// and reports whether what lies below it still counts. They were committed at
// commitTS, 0 for a delta that is not committed.
func (l *List) layer(data []byte, commitTS uint64) (more bool, err error) {
	from := len(l.changes)
	if l.changes, err = DecodeDelta(l.changes, data); err != nil {
		return false, err
	}
	for i := from; i < len(l.changes); i++ {
		l.changes[i].CommitTS = commitTS
	}
	for i := from; i < len(l.changes); i++ {
		if l.changes[i].IsDeleteAll() {
			l.changes = slices.Delete(l.changes, i, i+1)
			l.all = true
			break
		}
	}
	return !l.all, nil
}

// over lays what the list holds, one delta's postings, on top of another list.
func (l *List) over(base *List) {
	if base == nil || l.all {
		return
	}
	l.parts, l.all, l.newest = base.parts, base.all, base.newest
	l.deltas, l.deltaBytes, l.size = base.deltas, base.deltaBytes, base.size
	l.changes = append(l.changes, base.changes...)
}

// settle puts the postings of all layers in order and keeps the newest of each
// uid.
func (l *List) settle() {
	byUID := func(a, b Posting) int { return cmp.Compare(a.UID, b.UID) }
	if !slices.IsSortedFunc(l.changes, byUID) {
		slices.SortStableFunc(l.changes, byUID)
	}
	l.changes = slices.CompactFunc(l.changes, func(a, b Posting) bool { return a.UID == b.UID })
}

// check decodes the complete list once, so that reading it cannot fail later.
func (l *List) check() error {
	for i := range l.parts {
		if err := l.parts[i].List.Pack.Check(); err != nil {
			return err
		}
	}
	return nil
}

// change finds the newest posting that a delta has for the uid.
func (l *List) change(uid uint64) (*Posting, bool) {
	i, ok := slices.BinarySearchFunc(l.changes, uid, func(p Posting, uid uint64) int { return cmp.Compare(p.UID, uid) })
	if !ok {
		return nil, false
	}
	return &l.changes[i], true
}

// part returns the part in whose range the uid lies.
func (l *List) part(uid uint64) *Complete {
	i := sort.Search(len(l.parts), func(i int) bool { return l.parts[i].Start > uid })
	if i == 0 {
		return nil
	}
	return &l.parts[i-1].List
}

// inComplete reports whether the complete list, hidden or not, has the uid.
func (l *List) inComplete(uid uint64) bool {
	c := l.part(uid)
	if c == nil {
		return false
	}
	ok, _ := c.Pack.Contains(uid) // check has decoded the pack
	return ok
}

// Has reports whether the list holds the uid.
func (l *List) Has(uid uint64) bool {
	if l == nil {
		return false
	}
	if p, ok := l.change(uid); ok {
		return p.Op != OpDelete
	}
	return !l.all && l.inComplete(uid)
}

// Find returns the posting under the uid. A posting of a complete list that
// carries no more than its uid has no op and no timestamps.
func (l *List) Find(uid uint64) (Posting, bool) {
	if l == nil {
		return Posting{}, false
	}
	if p, ok := l.change(uid); ok {
		return *p, p.Op != OpDelete
	}
	if l.all || !l.inComplete(uid) {
		return Posting{}, false
	}
	ps := l.part(uid).Postings
	i, ok := slices.BinarySearchFunc(ps, uid, func(p Posting, uid uint64) int { return cmp.Compare(p.UID, uid) })
	if ok {
		return ps[i], true
	}
	return Posting{UID: uid}, true
}

// Len returns the number of live postings.
func (l *List) Len() int {
	if l == nil {
		return 0
	}
	n := 0
	for i := range l.parts {
		n += l.parts[i].List.Pack.Len()
	}
	if l.all {
		n = 0
	}
	for i := range l.changes {
		p := &l.changes[i]
		below := !l.all && n > 0 && l.inComplete(p.UID)
		if live := p.Op != OpDelete; live && !below {
			n++
		} else if !live && below {
			n--
		}
	}
	return n
}

// Empty reports whether no posting is live.
func (l *List) Empty() bool {
	for range l.Postings(0) {
		return false
	}
	return true
}

// Newest returns the version of the newest delta or complete list that the
// list was read from, 0 where there was none.
func (l *List) Newest() uint64 {
	if l == nil {
		return 0
	}
	return l.newest
}

// Deltas returns how many deltas lie above the complete list, and their size
// in bytes: what a rollup would save each reader.
func (l *List) Deltas() (n, size int) {
	if l == nil {
		return 0, 0
	}
	return l.deltas, l.deltaBytes
}

// Postings yields the live postings whose uid is from or greater, in ascending
// uid. They alias the list.
func (l *List) Postings(from uint64) iter.Seq[Posting] {
	return func(yield func(Posting) bool) {
		if l == nil {
			return
		}
		changes := l.changes
		i, _ := slices.BinarySearchFunc(changes, from, func(p Posting, uid uint64) int { return cmp.Compare(p.UID, uid) })
		changes = changes[i:]
		if !l.all {
			for p := range l.completeFrom(from) {
				for len(changes) > 0 && changes[0].UID < p.UID {
					if changes[0].Op != OpDelete && !yield(changes[0]) {
						return
					}
					changes = changes[1:]
				}
				if len(changes) > 0 && changes[0].UID == p.UID {
					continue
				}
				if !yield(p) {
					return
				}
			}
		}
		for _, p := range changes {
			if p.Op != OpDelete && !yield(p) {
				return
			}
		}
	}
}

// completeFrom yields the postings of the complete list from a uid on.
func (l *List) completeFrom(from uint64) iter.Seq[Posting] {
	return func(yield func(Posting) bool) {
		for i := range l.parts {
			if i+1 < len(l.parts) && l.parts[i+1].Start <= from {
				continue
			}
			c := &l.parts[i].List
			rich := c.Postings
			it := c.Pack.Iter()
			it.Seek(from)
			for uid, ok := it.Next(); ok; uid, ok = it.Next() {
				for len(rich) > 0 && rich[0].UID < uid {
					rich = rich[1:]
				}
				p := Posting{UID: uid}
				if len(rich) > 0 && rich[0].UID == uid {
					p = rich[0]
				}
				if !yield(p) {
					return
				}
			}
		}
	}
}

// UIDs yields the live uids from from on, ascending.
func (l *List) UIDs(from uint64) iter.Seq[uint64] {
	return func(yield func(uint64) bool) {
		for p := range l.Postings(from) {
			if !yield(p.UID) {
				return
			}
		}
	}
}

// Val returns the posting's value with its type. It aliases the posting.
func (p *Posting) Val() value.Value { return value.Value{Type: p.ValType, Data: p.Value} }
