package posting

import (
	"bytes"
	"fmt"
	"sync/atomic"
	"unsafe"

	"github.com/dgraph-io/ristretto/v2"
)

// listCache keeps decoded lists in memory for Snapshots.
//
// The problem: a list is another one at every timestamp at which its key was
// committed, and readers at old and new timestamps come at once. To keep lists
// by key and version is right, but to know the version a reader has to ask
// Badger, which is most of what reading costs. To keep the newest by key, and
// take it away when the key is written, races: a reader that has read before
// puts it back after.
//
// What is done: an entry is a statement about the past, which does not change.
// Whoever read a list of the version n at the timestamp t knows that no commit
// of the key lies above n, up to t. So the list is right for every reader from n
// to t, for good. A reader above t takes it too if no version of the key has gone
// to Badger above t: the marks tell. Nothing has to be taken away, so nothing can
// come back.
//
// Invariants:
//
// K1: an entry holds for every timestamp from list.newest to upTo, as long as
// the mark's rewrites is what it was before the list was read. A Snapshot at t
// read it, so everything at or below t was there to be read and stays; all but
// transactions' deltas, which may come at versions that are read at already,
// moves rewrites.
//
// K2: the mark's latest is at or above every version of the key that a Snapshot
// at t can see, when that Snapshot first reads: it moves before the version goes
// to Badger, which is before the commit is readable, which is before a Snapshot at
// or above it reads. So where latest is at or below upTo, no version lies above
// upTo up to t, and the entry holds up to t. Deletions and complete lists count
// as deltas do: who reads below them after they went moves nothing that the
// rewrites tell.
//
// A list is kept when it is read for the second time at one version: those that
// are read once, and those that are written each time that they are read, as in
// a load, cost a look in vain and no more. What is dropped is up to ristretto, by
// what a list takes in memory. Rightness does not depend on either. Any number of goroutines may use it; a nil one keeps nothing.
type listCache struct {
	lists *ristretto.Cache[[]byte, *cachedList]
	marks *marks
	// once are lists that were read once, by key and version, in the slots that
	// the hashes of the keys name.
	once  []atomic.Uint64
	stats [statStripes]cacheCounts
}

type cachedList struct {
	key      []byte
	list     *List
	rewrites uint64
	upTo     atomic.Uint64
}

// statStripes keep those who count from waiting for each other.
const statStripes = 16

type cacheCounts struct {
	hits, misses atomic.Uint64
	_            [6]uint64
}

// CacheStats counts since the store was opened.
type CacheStats struct {
	// Hits are lists that the cache had for a reader at its timestamp, Misses
	// those that it was asked for in vain.
	Hits, Misses uint64
	// Bytes is about what the lists in it take.
	Bytes int64
}

const (
	// stripeBytes is for how many bytes of the cache there is a mark.
	stripeBytes = 1 << 10
	maxStripes  = 1 << 19
	// counterBytes is for how many bytes of the cache ristretto counts how
	// often a key was asked for: ten times the lists of some hundred bytes.
	counterBytes = 64
	// bufferItems is what ristretto advises.
	bufferItems = 64
)

func cacheStripes(size int64) int { return int(min(max(size, 0)/stripeBytes, maxStripes)) }

func (s *Store) openCache() error {
	if s.opts.CacheBytes <= 0 {
		return nil
	}
	lists, err := ristretto.NewCache(&ristretto.Config[[]byte, *cachedList]{
		NumCounters: max(s.opts.CacheBytes/counterBytes, 1<<10),
		MaxCost:     s.opts.CacheBytes,
		BufferItems: bufferItems,
	})
	if err != nil {
		return fmt.Errorf("cache: %w", err)
	}
	s.cache = &listCache{lists: lists, marks: s.marks, once: make([]atomic.Uint64, len(s.marks.stripes))}
	return nil
}

func (c *listCache) close() {
	if c != nil {
		c.lists.Close()
	}
}

// CacheStats returns the counts as they stand.
func (s *Store) CacheStats() CacheStats {
	var all CacheStats
	if s.cache == nil {
		return all
	}
	for i := range s.cache.stats {
		c := &s.cache.stats[i]
		all.Hits += c.hits.Load()
		all.Misses += c.misses.Load()
	}
	all.Bytes = s.cache.lists.MaxCost() - s.cache.lists.RemainingCost()
	return all
}

// cacheSeek is a look into the cache for a reader.
type cacheSeek struct {
	// list is what was found, nil for nothing.
	list *List

	key      []byte
	hash, ts uint64
	mark     *mark
	rewrites uint64
	// other is the key's entry where it is not for this reader.
	other *cachedList
}

// seek looks for the list under the key at the timestamp.
func (c *listCache) seek(key []byte, ts uint64) cacheSeek {
	hash := c.marks.hash(key)
	mark := c.marks.at(hash)
	s := cacheSeek{key: key, hash: hash, ts: ts, mark: mark, rewrites: mark.rewrites.load()}
	counts := &c.stats[hash%statStripes]
	e, ok := c.lists.Get(key)
	if ok && bytes.Equal(e.key, key) && e.rewrites == s.rewrites {
		if s.other = e; e.holdsAt(ts, mark) {
			s.list = e.list
			counts.hits.Add(1)
			return s
		}
	}
	counts.misses.Add(1)
	return s
}

// holdsAt reports whether the entry is right for a reader at the timestamp (K1,
// K2).
func (e *cachedList) holdsAt(ts uint64, mark *mark) bool {
	upTo := e.upTo.Load()
	switch {
	case ts < e.list.newest:
		return false
	case ts <= upTo:
		return true
	case mark.latest.Load() > upTo:
		return false
	}
	e.extend(ts)
	return true
}

// extend notes that the entry holds up to the timestamp.
func (e *cachedList) extend(ts uint64) {
	for {
		upTo := e.upTo.Load()
		if upTo >= ts || e.upTo.CompareAndSwap(upTo, ts) {
			return
		}
	}
}

// keep takes a list that was read from Badger after the seek.
func (c *listCache) keep(s *cacheSeek, l *List) {
	if l == nil || !s.mark.rewrites.still(s.rewrites) {
		return
	}
	if s.other != nil && s.other.list.newest >= l.newest {
		if s.other.list.newest == l.newest {
			s.other.extend(s.ts) // The same list, read again.
		}
		return
	}
	if !c.again(s.hash, l.newest) {
		return
	}
	e := &cachedList{key: bytes.Clone(s.key), list: l, rewrites: s.rewrites}
	e.upTo.Store(s.ts)
	c.lists.Set(e.key, e, e.cost())
}

// again reports whether the list was read before, as far as is known.
func (c *listCache) again(hash, version uint64) bool {
	slot := &c.once[hash&uint64(len(c.once)-1)]
	known := hash ^ version
	if slot.Load() == known {
		return true
	}
	slot.Store(known)
	return false
}

// cost is about how many bytes the entry takes in memory.
func (e *cachedList) cost() int64 {
	n := unsafe.Sizeof(*e) + unsafe.Sizeof(*e.list) + uintptr(len(e.key)+e.list.size+e.list.deltaBytes)
	n += uintptr(cap(e.list.changes)) * unsafe.Sizeof(Posting{})
	for i := range e.list.parts {
		p := &e.list.parts[i]
		n += unsafe.Sizeof(*p) + uintptr(cap(p.List.Postings))*unsafe.Sizeof(Posting{}) + uintptr(p.List.Pack.Blocks())*unsafe.Sizeof(blockRef{})
	}
	return int64(n)
}
