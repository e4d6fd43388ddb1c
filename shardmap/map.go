package shardmap

import (
	"hash/maphash"
	"math/bits"
	"runtime"
	"unsafe"
)

const (
	minShards = 64
	maxShards = 1024
)

// Map is a concurrent hash map from byte strings to V.
type Map[V any] struct {
	seed   maphash.Seed
	mask   uint64 // number of shards - 1
	kind   kind
	shards []shard
}

// New returns an empty map of so many shards: 0 (or less) means four times
// GOMAXPROCS, and the number is rounded up to a power of two from 64 to 1024.
func New[V any](shards int) *Map[V] {
	n := shardCount(shards)
	return &Map[V]{
		seed:   maphash.MakeSeed(),
		mask:   uint64(n - 1),
		kind:   kindOf[V](),
		shards: make([]shard, n),
	}
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
func (m *Map[V]) Load(key string) (V, bool) { return m.load(key) }

// LoadBytes is Load for a key held in a byte slice.
func (m *Map[V]) LoadBytes(key []byte) (V, bool) { return m.load(view(key)) }

// Store sets the value of key. The map keeps the string of a new key.
func (m *Map[V]) Store(key string, v V) { m.store(nil, key, true, v) }

// StoreBytes is Store for a key held in a byte slice. A new key is copied.
func (m *Map[V]) StoreBytes(key []byte, v V) { m.store(nil, view(key), false, v) }

// LoadOrStore returns the value of key if there is one (loaded is true), and
// otherwise stores v and returns it.
func (m *Map[V]) LoadOrStore(key string, v V) (actual V, loaded bool) {
	s, tag := m.locate(key)
	for t := s.root(m.kind); ; {
		at := s.seek(t, tag, key)
		if at.e == nil {
			if m.insert(nil, s, at, tag, key, true, v) {
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
	s, tag := m.locate(key)
	for {
		at, x := m.see(s, tag, key)
		if at.e == nil {
			return v, false
		}
		if m.remove(s, at, x) {
			return x.v, true
		}
	}
}

// locate returns the shard of key and the rest of its hash.
func (m *Map[V]) locate(key string) (*shard, uint32) {
	h := maphash.String(m.seed, key)
	return &m.shards[h&m.mask], uint32(h >> 32)
}

// see looks for key, for one who stores nothing: at.e is nil if the key is absent.
func (m *Map[V]) see(s *shard, tag uint32, key string) (at spot, x sight[V]) {
	for t := s.table.Load(); t != nil; {
		at = t.find(tag, key)
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

func (m *Map[V]) load(key string) (V, bool) {
	s, tag := m.locate(key)
	at, x := m.see(s, tag, key)
	return x.v, at.e != nil
}

func (m *Map[V]) store(p *pool[V], key string, owned bool, v V) {
	s, tag := m.locate(key)
	for t := s.root(m.kind); ; {
		at := s.seek(t, tag, key)
		if at.e == nil {
			if m.insert(p, s, at, tag, key, owned, v) {
				return
			}
		} else if x, ok := m.look(at.e); ok && m.swap(at.e, x, v) {
			return
		}
		t = at.t
	}
}

func (m *Map[V]) update(p *pool[V], key string, owned bool, f func(V, bool) (V, bool)) {
	s, tag := m.locate(key)
	for t := s.root(m.kind); ; {
		at := s.seek(t, tag, key)
		if at.e == nil {
			var none V
			if v, keep := f(none, false); !keep || m.insert(p, s, at, tag, key, owned, v) {
				return
			}
		} else if x, ok := m.look(at.e); ok {
			if v, keep := f(x.v, true); keep && m.swap(at.e, x, v) || !keep && m.remove(s, at, x) {
				return
			}
		}
		t = at.t
	}
}

// insert publishes an entry in the free slot at at, if it still is free.
func (m *Map[V]) insert(p *pool[V], s *shard, at spot, tag uint32, key string, owned bool, v V) bool {
	if !at.b.claim(at.j, p.make(m.kind, tag, key, owned, v)) {
		return false
	}
	s.inserted.Add(1)
	return true
}

// remove makes the entry at at gone, if it still looks as x, and lets go of it.
func (m *Map[V]) remove(s *shard, at spot, x sight[V]) bool {
	if !m.kill(at.e, x) {
		return false
	}
	s.deleted.Add(1)
	at.b.slots[at.j].CompareAndSwap(at.e, &tomb.entry)
	return true
}

// view returns b's bytes as a string that must not be kept.
func view(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }
