package shardmap

import (
	"math/bits"
	"runtime"
	"sync/atomic"
	"unsafe"
)

const (
	minShards = 64
	maxShards = 1024
)

// Map is a concurrent hash map from byte strings to V. All methods may be called by
// any number of goroutines at the same time. Load, Store, LoadOrStore, Update and
// Delete are linearizable: each takes effect at one moment between call and return.
// A Map is made by New and must not be copied.
//
// # The problem
//
// Many goroutines publish and merge values under a few hot and many cold keys, and
// none may wait for another: not for one that was preempted while it held a lock, and
// not for one that is busy enlarging a table. A map behind sharded mutexes fails the
// first; most lock-free tables with a lock around their growth fail the second. Here
// there is no lock, spinning or other: whatever one goroutine leaves half done the
// next can finish or ignore.
//
// # The structure
//
// A key's hash chooses a shard; each shard has a chain of open-addressed tables,
// mostly one. A slot of a table points to an entry, which holds the key and decides
// its value (see kind). Tables never hold values: when a table is copied, the new one
// points to the same entries, so that it does not matter through which table an entry
// was found. A slot and an entry only ever go forward:
//
//	slot:   free -> entry -> tomb     entry: live, value -> value ... -> gone
//	        free -> moved             table: open, wider ... -> closed -> followed
//
// For one key the slots of its buckets, within the reach of the first table and then
// of those after it, form one sequence, the key's path. A table's reach is not widened
// once it is closed, and no table follows one that is not closed; so a path grows at
// its end only.
//
// # The invariants
//
//	M1  Nothing on a path comes back: a slot that is not free never becomes free, a
//	    slot that held an entry never holds another, an entry that is gone stays gone.
//	M2  An entry is published in the first free slot of its key's path, by a
//	    compare-and-swap from free, after all slots before were seen not to be free
//	    and to hold no live entry of the key. (Copying begins in the middle of the
//	    path, after the table that holds the entry.)
//	M3  A table is let go of, as the first of its shard, only when all its free slots
//	    are marked as moved and each of its entries was seen to be gone or to stand in
//	    a later table.
//
// From them follows that no key has two live entries: of two goroutines that publish
// one, the second to try finds the slot taken, looks again, and meets the first one's
// entry (M2), wherever on the path it began (M3).
//
// # Who may see what
//
// Publication: all of an entry but its value is written before the compare-and-swap
// that publishes it; who finds it by an atomic load sees it whole.
//
// A writer takes effect with one compare-and-swap: on the slot for a new key, on the
// entry's value otherwise, from a value to another (Store, Update) or to gone (Delete).
// A reader that finds the entry takes effect when it reads the value. A reader that
// does not find it has met a free slot, or the end of the path, having seen no live
// entry before; at that moment the key was absent: a live entry would stand before
// that slot (M2), but what was seen there can't have come to life since (M1).
//
// Growth: who finds no room closes the table and adds one after it. Chunks of the
// closed table are given out to the writers that come by; each marks the free slots
// as moved, and places the live entries in the tables after. Copying a chunk twice
// changes nothing, as the entry is already there. Copying it late, after others have
// gone on, at worst publishes an entry that is gone, which everyone passes over. So a
// goroutine may stall anywhere: where its chunk is needed, somebody else copies it.
// Until then all its keys are found through the old table.
//
// # What was left aside
//
// Values in the table's slots, or one immutable entry for each value, make updates
// allocate the key's part anew, and a stalled copier could bring an old value back
// unless each slot is frozen first. A list for each bucket would cost a cache miss
// for each step.
type Map[V any] struct{ core }

// core is the part of a map that does not depend on the type of its values.
type core struct {
	hasher hasher
	first  *shard // of shards
	mask   uint64 // number of shards - 1
	kind   kind
	shards []shard
}

// New returns an empty map of so many shards: 0 (or less) means four times
// GOMAXPROCS, and the number is rounded up to a power of two from 64 to 1024.
func New[V any](shards int) *Map[V] {
	all := make([]shard, shardCount(shards))
	c := make([]counts, len(all))
	for i := range all {
		all[i].counts = &c[i]
	}
	return &Map[V]{core{
		hasher: newHasher(),
		first:  &all[0],
		mask:   uint64(len(all) - 1),
		kind:   kindOf[V](),
		shards: all,
	}}
}

// NewSized is New with room for about so many entries before any table grows.
func NewSized[V any](shards, entries int) *Map[V] {
	m := New[V](shards)
	if entries <= 0 {
		return m
	}
	each := bucketsFor(uint64(entries) / uint64(len(m.shards)))
	for i := range m.shards {
		m.shards[i].table.Store(newTable(m.kind, each, 0))
	}
	return m
}

func shardCount(n int) int {
	if n <= 0 {
		n = 4 * runtime.GOMAXPROCS(0)
	}
	n = min(max(n, minShards), maxShards)
	return 1 << bits.Len(uint(n-1))
}

// Shards returns the number of shards, a power of two from 64 to 1024.
func (m *Map[V]) Shards() int { return len(m.shards) }

// Len returns the number of entries: exact while nobody writes, and otherwise off by
// at most the writes under way while it counts.
func (m *Map[V]) Len() int {
	var n uint64
	for i := range m.shards {
		n += m.shards[i].live()
	}
	return int(n)
}

// Load returns the value of key and whether there is one.
func (m *Map[V]) Load(key string) (v V, ok bool) {
	h := m.hasher.hash(key)
	id := identity(h, key)
	if t := m.shard(h).table.Load(); t != nil {
		// Mostly the first likely slot of the home bucket is the right one, so that
		// is tried here, without a loop, which would cost registers.
		b := t.bucket(home(id))
		if c := matches(b.marks.Load(), id); c != 0 {
			if e := b.slot(firstSlot(c)).Load(); e.holds(id, key) {
				if m.kind == numbers {
					if n := atomic.LoadUint64(&e.number().num); n&numState == numLive {
						return fromPayload[V](n), true
					}
				}
				if x, ok := m.look(e); ok {
					return x.v, true
				}
			}
		}
	}
	return m.search(h, key)
}

// LoadBytes is Load for a key held in a byte slice.
func (m *Map[V]) LoadBytes(key []byte) (V, bool) { return m.Load(view(key)) }

// Store sets the value of key. The map keeps the string of a new key.
func (m *Map[V]) Store(key string, v V) { m.store(nil, key, true, v) }

// StoreBytes is Store for a key held in a byte slice. A new key is copied.
func (m *Map[V]) StoreBytes(key []byte, v V) { m.store(nil, view(key), false, v) }

// LoadOrStore returns the value of key if there is one (loaded is true), and
// otherwise stores v and returns it.
func (m *Map[V]) LoadOrStore(key string, v V) (actual V, loaded bool) {
	h := m.hasher.hash(key)
	s, id := m.shard(h), identity(h, key)
	for t := s.root(m.kind); ; {
		at := s.seek(t, id, key)
		if at.e == nil {
			if m.insert(nil, s, at, id, key, true, v) {
				return v, false
			}
		} else if x, ok := m.look(at.e); ok {
			return x.v, true
		}
		t = at.t
	}
}

// Update replaces the value of key by what f returns for it (ok tells whether there
// was one), as one step. f may run several times, where other goroutines change the
// key meanwhile; the last of its results is the one that counts. Where keep is false
// the key is deleted, or stays absent. f runs under no lock: it may use the map, and
// where it panics the map is as before.
func (m *Map[V]) Update(key string, f func(old V, ok bool) (v V, keep bool)) {
	m.update(nil, key, true, f)
}

// UpdateBytes is Update for a key held in a byte slice. A new key is copied.
func (m *Map[V]) UpdateBytes(key []byte, f func(old V, ok bool) (v V, keep bool)) {
	m.update(nil, view(key), false, f)
}

// Delete removes key and returns the value that it had, and whether it had one.
func (m *Map[V]) Delete(key string) (v V, ok bool) {
	h := m.hasher.hash(key)
	s, id := m.shard(h), identity(h, key)
	for {
		at, x := m.see(s, id, key)
		if at.e == nil {
			return v, false
		}
		if m.remove(s, at.e, x) {
			return x.v, true
		}
	}
}

// shard returns the shard for keys of this hash.
func (c *core) shard(hash uint64) *shard {
	return (*shard)(unsafe.Add(unsafe.Pointer(c.first), uintptr(hash&c.mask)*unsafe.Sizeof(shard{})))
}

// search is Load for a key that is not where it mostly is.
func (m *Map[V]) search(h uint64, key string) (V, bool) {
	at, x := m.see(m.shard(h), identity(h, key), key)
	return x.v, at.e != nil
}

// see looks for key, for one who stores nothing: at.e is nil if the key is absent.
func (m *Map[V]) see(s *shard, id uint64, key string) (at spot, x sight[V]) {
	for t := s.table.Load(); t != nil; {
		at = t.find(id, key)
		if at.e == nil {
			return at, x
		}
		if at.e == &moved.entry {
			t = t.next.Load()
		} else if x, ok := m.look(at.e); ok {
			return at, x
		}
	}
	return spot{}, x
}

func (m *Map[V]) store(p *pool[V], key string, owned bool, v V) {
	h := m.hasher.hash(key)
	s, id := m.shard(h), identity(h, key)
	if e := s.peek(id, key); e != nil && m.overwrite(e, v) {
		return
	}
	for t := s.root(m.kind); ; {
		at := s.seek(t, id, key)
		if at.e == nil {
			if m.insert(p, s, at, id, key, owned, v) {
				return
			}
		} else if m.overwrite(at.e, v) {
			return
		}
		t = at.t
	}
}

func (m *Map[V]) update(p *pool[V], key string, owned bool, f func(V, bool) (V, bool)) {
	h := m.hasher.hash(key)
	s, id := m.shard(h), identity(h, key)
	if e := s.peek(id, key); e != nil && m.revise(s, e, f) {
		return
	}
	for t := s.root(m.kind); ; {
		at := s.seek(t, id, key)
		if at.e == nil {
			var none V
			if v, keep := f(none, false); !keep || m.insert(p, s, at, id, key, owned, v) {
				return
			}
		} else if m.revise(s, at.e, f) {
			return
		}
		t = at.t
	}
}

// overwrite is store for an entry that was found. It fails where the entry is gone or
// someone else changes it.
func (m *Map[V]) overwrite(e *entry, v V) bool {
	if m.kind == numbers {
		if n := atomic.LoadUint64(&e.number().num); n&numState == numLive {
			return swapNumber(e.number(), sight[V]{num: n}, v)
		}
	}
	x, ok := m.look(e)
	return ok && m.swap(e, x, v)
}

// revise is update for an entry that was found. It fails where the entry is gone or
// someone else changes it.
func (m *Map[V]) revise(s *shard, e *entry, f func(V, bool) (V, bool)) bool {
	if m.kind == numbers {
		if n := atomic.LoadUint64(&e.number().num); n&numState == numLive {
			if v, keep := f(fromPayload[V](n), true); keep {
				return swapNumber(e.number(), sight[V]{num: n}, v)
			}
			return m.remove(s, e, sight[V]{num: n})
		}
	}
	x, ok := m.look(e)
	if !ok {
		return false
	}
	if v, keep := f(x.v, true); keep {
		return m.swap(e, x, v)
	}
	return m.remove(s, e, x)
}

// insert publishes an entry in the free slot at at, if it still is free.
func (m *Map[V]) insert(p *pool[V], s *shard, at spot, id uint64, key string, owned bool, v V) bool {
	if !at.b.claim(at.j, p.make(m.kind, id, key, owned, v)) {
		return false
	}
	s.inserted.Add(1)
	return true
}

// remove makes e gone, if it still looks as x, and lets go of it.
func (m *Map[V]) remove(s *shard, e *entry, x sight[V]) bool {
	if !m.kill(e, x) {
		return false
	}
	s.deleted.Add(1)
	pause()
	s.bury(e)
	return true
}

// view returns b's bytes as a string that must not be kept.
func view(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }
