package posting

import (
	"bytes"
	"context"
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
		if err := s.r.Await(context.Background()); err != nil {
			return nil, err
		}
		s.open(key)
	}
	if !s.reach(key) {
		return nil, nil
	}
	l, err := s.read(key)
	if errors.Is(err, errPartGone) {
		return s.r.stored(key)
	}
	return l, err
}

// read reads the list that the iterator stands at, the newest version first; nil
// for one that was deleted. Where it turns out to be a long one, it is looked for
// in the cache.
func (s *Sweep) read(key []byte) (*List, error) {
	l := &List{}
	var seek cacheSeek
	for more := true; more && s.it.Valid() && bytes.Equal(s.it.Item().Key(), key); s.it.Next() {
		if s.r.cache != nil && seek.key == nil && s.dear(l) {
			if seek = s.r.cache.seek(key, s.r.ts); seek.list != nil {
				return seek.list, nil
			}
		}
		var err error
		if more, err = s.r.version(key, l, s.it.Item()); err != nil {
			return nil, keyError(key, s.it.Item().Version(), err)
		}
	}
	if l.newest == 0 {
		return nil, nil
	}
	l.settle()
	s.note(key, l, &seek)
	return l, nil
}

// dear reports whether to finish the list is likely to take longer than to find
// it in the cache: it has deltas enough, or a long complete list comes.
func (s *Sweep) dear(l *List) bool {
	item := s.it.Item()
	return l.deltas >= dearDeltas || item.UserMeta() != MetaDelta && item.EstimatedSize() >= dearBytes
}

const (
	dearDeltas = 4
	dearBytes  = 1 << 10
)

// note hands what was read to the cache, if it was looked for there, and to the
// roller.
func (s *Sweep) note(key []byte, l *List, seek *cacheSeek) {
	// The iterator saw what a read behind the seek would have seen, if nothing
	// was rewritten since it was opened.
	if seek.key != nil && s.r.store.marks.rewrites.still(s.opened) {
		s.r.cache.keep(seek, l)
	}
	if hot := s.r.store.hot.Load(); hot != nil && hot.rule.due(l) {
		hot.tell(s.r.store.marks.hash(key), key)
	}
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

// Close frees the iterator.
func (s *Sweep) Close() {
	if s.it != nil {
		s.it.Close()
		s.it = nil
	}
}
