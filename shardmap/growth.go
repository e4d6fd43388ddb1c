package shardmap

import "sync/atomic"

// shard is an independent part of the map: the oldest of its tables that is not
// wholly copied, and counts. Shards lie side by side, so that the table pointers,
// which every operation reads and few ever write, share cache lines.
type shard struct {
	table atomic.Pointer[table] // nil until the first store
	*counts
}

// counts is what the writers of a shard write, on a cache line of its own.
type counts struct {
	inserted atomic.Uint64 // entries published for a key that was absent
	deleted  atomic.Uint64
	_        [48]byte
}

// live is the number of keys; off by the operations under way.
func (s *shard) live() uint64 {
	d := s.deleted.Load() // first: an entry is mostly counted before it is deleted
	if i := s.inserted.Load(); i > d {
		return i - d
	}
	return 0
}

// root returns the table to begin with, and makes the first one if need be.
func (s *shard) root(k kind) *table {
	if t := s.table.Load(); t != nil {
		return t
	}
	s.table.CompareAndSwap(nil, newTable(k, firstBuckets, s.deleted.Load()))
	return s.table.Load()
}

// peek returns the entry of key, which may be gone, if it is where it mostly is, in
// its home bucket of the first table. Else it returns nil, which says nothing.
func (s *shard) peek(id uint64, key string) *entry {
	t := s.table.Load()
	if t == nil {
		return nil
	}
	b := t.bucket(home(id))
	for c := matches(b.marks.Load(), id); c != 0; c &= c - 1 {
		if e := b.slot(firstSlot(c)).Load(); e.holds(id, key) {
			return e
		}
	}
	return nil
}

// bury puts the tomb in the place of e, which is gone, so that e can be collected. It
// may miss e where it was published just now; then its table is its last one.
func (s *shard) bury(e *entry) {
	for t := s.table.Load(); t != nil; t = t.next.Load() {
		for d := uint32(0); d < t.reach.Load()&^closed; d++ {
			b := t.bucket(home(e.id) + uintptr(d))
			for c := matches(b.marks.Load(), e.id); c != 0; c &= c - 1 {
				b.slot(firstSlot(c)).CompareAndSwap(e, &tomb.entry)
			}
			if b.marks.Load()&slotTops != slotTops {
				break // the bucket is not full, so e has not gone farther
			}
		}
	}
}

// seek looks for key in t and the tables after it, for a writer: it makes room where
// there is none, so that it ends at an entry or at a free slot. On the way it does
// its share of the copying that is under way.
func (s *shard) seek(t *table, id uint64, key string) spot {
	for {
		at := t.find(id, key)
		switch {
		case at.e == &moved.entry:
			t = s.pass(t)
		case at.b == nil:
			s.settle(t)
			s.widen(t, uint32(at.j))
		default:
			return at
		}
	}
}

// pass copies a chunk of t, which is closed, and returns the table after it.
func (s *shard) pass(t *table) *table {
	next := s.successor(t)
	if t.given.Load() < t.chunks() {
		if c := t.given.Add(1) - 1; c < t.chunks() {
			s.copyChunk(t, c)
			pause()
			t.done.Add(1)
		}
	}
	if t.done.Load() == t.chunks() {
		s.table.CompareAndSwap(t, next)
	}
	return next
}

// settle sees to it that t is the shard's first table, or is not its last one. It
// copies all of the tables before t, also what others took on but have not finished,
// so that tables do not queue up behind a stalled goroutine.
func (s *shard) settle(t *table) {
	for r := s.table.Load(); r != t && t.next.Load() == nil; r = s.table.Load() {
		s.finish(r)
	}
}

// finish copies all of t, which has a table after it, and lets go of t (M3).
func (s *shard) finish(t *table) {
	for c := range t.chunks() {
		s.copyChunk(t, c)
	}
	s.table.CompareAndSwap(t, t.next.Load())
}

// newest returns a table that held every key when it was the last one of the shard,
// which it was at a moment after the call; or nil where nothing was ever stored.
func (s *shard) newest() *table {
	t := s.table.Load()
	for t != nil && t.next.Load() != nil {
		s.finish(t)
		t = t.next.Load()
	}
	return t
}

// widen is called where the buckets that some key may go to are full, and r was t's
// reach. It closes t, or lets keys go farther if t is far from full. Either is a
// step from the reach that was walked: after the one, who walked as far can't do the
// other. So all agree on which slots come before t.next.
func (s *shard) widen(t *table, r uint32) {
	wider := r | closed
	used := s.inserted.Load() - t.base
	if n := uint32(t.buckets()); r < n && used < uint64(n)*bucketSlots/3 {
		wider = min(2*r, n)
	}
	pause()
	t.reach.CompareAndSwap(r, wider)
}

// successor returns the table after t, which is closed, and makes it if need be:
// larger where most of what t took in is live, else as large as that asks for.
func (s *shard) successor(t *table) *table {
	if next := t.next.Load(); next != nil {
		return next
	}
	live, deleted := s.live(), s.deleted.Load()
	n := bucketsFor(live * 3 / 2)
	if deleted-t.base < live {
		n = max(n, t.larger())
	}
	pause()
	t.next.CompareAndSwap(nil, newTable(t.kind, n, deleted))
	return t.next.Load()
}

// copyChunk copies chunk c of t to the table after it. It may be done more than once,
// by several at a time, and at any time later.
func (s *shard) copyChunk(t *table, c uint32) {
	next := t.next.Load()
	from := int(c) * chunkSize
	for i := from; i < min(from+chunkSize, t.buckets()); i++ {
		s.copyBucket(t.kind, t.bucket(uintptr(i)), next)
	}
}

// copyBucket marks the free slots of b as moved, so that nothing is published in
// them any more, and places the entries of the others in the table next.
func (s *shard) copyBucket(k kind, b *bucket, next *table) {
	var entries [bucketSlots]*entry
	for j := range b.slots {
		pause()
		if entries[j] = b.slots[j].Load(); entries[j] == nil && !b.slots[j].CompareAndSwap(nil, &moved.entry) {
			entries[j] = b.slots[j].Load()
		}
	}
	// Reading them all before any is placed lets the processor wait for all at once.
	var live [bucketSlots]bool
	for j, e := range entries {
		live[j] = e != nil && e.live(k)
	}
	for j, e := range entries {
		if live[j] {
			pause()
			s.place(next, e)
		}
	}
}

// place publishes e in t or a table after it, unless its key has an entry there: e
// itself, if someone else was first, or else e is gone.
func (s *shard) place(t *table, e *entry) {
	key := e.key()
	for {
		at := t.find(e.id, key)
		switch {
		case at.e == &moved.entry:
			t = s.successor(t)
		case at.e != nil:
			return
		case at.b == nil:
			s.widen(t, uint32(at.j))
		case at.b.claim(at.j, e):
			return
		}
	}
}
