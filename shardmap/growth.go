package shardmap

import (
	"sync/atomic"
	"unsafe"
)

// shard is an independent part of the map: the oldest of its tables that is not
// wholly copied, and counts. What readers read and what writers write stand on
// different cache lines.
type shard struct {
	table    atomic.Pointer[table] // nil until the first store
	_        [64 - unsafe.Sizeof(uintptr(0))]byte
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
	s.table.CompareAndSwap(nil, newTable(k, 1, s.deleted.Load()))
	return s.table.Load()
}

// seek looks for key in t and the tables after it, for a writer: it makes room where
// there is none, so that it ends at an entry or at a free slot. On the way it does
// its share of the copying that is under way.
func (s *shard) seek(t *table, tag uint32, key string) spot {
	for {
		at := t.find(tag, key)
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

// finish copies all of t, which has a table after it, and lets go of t.
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
	t.reach.CompareAndSwap(r, wider)
}

// successor returns the table after t, which is closed, and makes it if need be:
// twice as large where most of what t took in is live, else as large as that asks for.
func (s *shard) successor(t *table) *table {
	if next := t.next.Load(); next != nil {
		return next
	}
	live, deleted := s.live(), s.deleted.Load()
	n := bucketsFor(live * 3 / 2)
	if deleted-t.base < live {
		n = max(n, 2*t.buckets())
	}
	t.next.CompareAndSwap(nil, newTable(t.kind, n, deleted))
	return t.next.Load()
}

// copyChunk copies chunk c of t to the table after it. It may be done more than once,
// by several at a time, and at any time later.
func (s *shard) copyChunk(t *table, c uint32) {
	from := int(c) * chunkSize
	for i := from; i < min(from+chunkSize, t.buckets()); i++ {
		b := t.bucket(uintptr(i))
		for j := range b.slots {
			s.copySlot(t, &b.slots[j])
		}
	}
}

// copySlot marks a free slot of t as moved, so that nothing is published in it any
// more, and places its entry, if it has one that is not gone, after t.
func (s *shard) copySlot(t *table, slot *atomic.Pointer[entry]) {
	e := slot.Load()
	if e == nil {
		if slot.CompareAndSwap(nil, &moved.entry) {
			return
		}
		e = slot.Load()
	}
	if e.live(t.kind) {
		s.place(t.next.Load(), e)
	}
}

// place publishes e in t or a table after it, unless its key has an entry there.
func (s *shard) place(t *table, e *entry) {
	key := e.key()
	for {
		at := t.find(e.tag, key)
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
