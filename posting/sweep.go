package posting

import (
	"bytes"
	"errors"

	"github.com/dgraph-io/badger/v4"
)

// Sweep reads lists under ascending keys of one prefix. The plain way is a
// point read for each key, and where few keys are asked for it is the best
// one. A long sweep keeps an iterator beside it: where the next stored key lies
// above the one asked for, nothing is there, and nothing has to be searched
// for; so a sweep over keys that are not stored costs one search in all.
//
// A Sweep belongs to one goroutine, and is closed.
type Sweep struct {
	r      *Reader
	prefix []byte
	it     *badger.Iterator
	asked  int
	// opened is marks.rewrites before the iterator was opened.
	opened uint64
}

// sweepPoints is how many keys are read one by one before an iterator is
// opened.
const sweepPoints = 4

// Sweep begins a sweep over keys with the prefix, which it does not copy.
func (r *Reader) Sweep(prefix []byte) Sweep { return Sweep{r: r, prefix: prefix} }

// List is Reader.List for a key above all that were asked for before.
func (s *Sweep) List(key []byte) (*List, error) {
	s.asked++
	if s.asked <= sweepPoints {
		return s.r.List(key)
	}
	if s.it == nil {
		s.open(key)
	}
	if !s.reach(key) {
		return nil, nil
	}
	if s.r.cache == nil || s.plain() {
		return s.read(key)
	}
	seek := s.r.cache.seek(key, s.r.ts)
	if seek.list != nil {
		return seek.list, nil
	}
	l, err := s.read(key)
	if err == nil && l.dear() && s.r.store.marks.rewrites.still(s.opened) {
		s.r.cache.keep(&seek, l) // The iterator saw no less than a read behind the seek.
	}
	return l, err
}

// dear reports whether a sweep is likely to need longer for the list than for
// finding it in the cache.
func (l *List) dear() bool { return l != nil && l.deltas >= dearDeltas }

const dearDeltas = 4

// plain reports whether the list that the iterator stands at is about as fast
// to read as to find in the cache: a short one with no delta above it.
func (s *Sweep) plain() bool {
	item := s.it.Item()
	return item.UserMeta() != MetaDelta && item.EstimatedSize() < shortList
}

// shortList is a size in bytes.
const shortList = 1 << 10

// read reads the list that the iterator stands at.
func (s *Sweep) read(key []byte) (*List, error) {
	l := &List{}
	err := s.versions(key, l)
	if errors.Is(err, errPartGone) {
		return s.r.stored(key)
	}
	if err != nil || l.newest == 0 {
		return nil, err
	}
	l.settle()
	if hot := s.r.store.hot.Load(); hot != nil && hot.rule.due(l) {
		hot.tell(s.r.store.marks.hash(key), key)
	}
	return l, nil
}

func (s *Sweep) open(key []byte) {
	opt := badger.DefaultIteratorOptions
	opt.PrefetchValues = false
	opt.AllVersions = true
	opt.Prefix = s.prefix
	s.opened = s.r.store.marks.rewrites.load()
	s.it = s.r.txn.NewIterator(opt)
	s.it.Seek(key)
}

// stepsBeforeSeek is how many stored versions are stepped over before the next
// key is searched for.
const stepsBeforeSeek = 4

// reach moves the iterator to the key and reports whether it is stored.
func (s *Sweep) reach(key []byte) bool {
	for step := 0; s.it.Valid(); step++ {
		switch bytes.Compare(s.it.Item().Key(), key) {
		case 0:
			return true
		case 1:
			return false
		}
		if step == stepsBeforeSeek {
			s.it.Seek(key)
		} else {
			s.it.Next()
		}
	}
	return false
}

// versions takes the key's versions into the list, the newest first.
func (s *Sweep) versions(key []byte, l *List) error {
	for ; s.it.Valid() && bytes.Equal(s.it.Item().Key(), key); s.it.Next() {
		more, err := s.r.version(key, l, s.it.Item())
		if err != nil {
			return keyError(key, s.it.Item().Version(), err)
		}
		if !more {
			return nil
		}
	}
	return nil
}

// Close frees the iterator.
func (s *Sweep) Close() {
	if s.it != nil {
		s.it.Close()
		s.it = nil
	}
}
