package shardmap

import "iter"

// Map is a concurrent hash map from byte strings to V.
type Map[V any] struct{}

// New returns an empty map. shards 0 means four times GOMAXPROCS; the number is
// rounded up to a power of two and kept within 64 and 1024.
func New[V any](shards int) *Map[V] { panic("unwritten") }

// NewSized is New with room for so many entries before the first growth.
func NewSized[V any](shards, entries int) *Map[V] { panic("unwritten") }

// Shards returns the number of shards, a power of two from 64 to 1024.
func (m *Map[V]) Shards() int { panic("unwritten") }

// Len returns the number of entries; exact when nobody writes.
func (m *Map[V]) Len() int { panic("unwritten") }

// Load returns the value of key and whether there is one.
func (m *Map[V]) Load(key string) (V, bool) { panic("unwritten") }

// LoadBytes is Load for a key held in a byte slice; it does not allocate.
func (m *Map[V]) LoadBytes(key []byte) (V, bool) { panic("unwritten") }

// Store sets the value of key. The map keeps the string.
func (m *Map[V]) Store(key string, v V) { panic("unwritten") }

// StoreBytes is Store for a key held in a byte slice, which it copies if the key is new.
func (m *Map[V]) StoreBytes(key []byte, v V) { panic("unwritten") }

// LoadOrStore returns the value of key if there is one (loaded is true), and
// otherwise stores v and returns it.
func (m *Map[V]) LoadOrStore(key string, v V) (actual V, loaded bool) { panic("unwritten") }

// Update replaces the value of key by what f returns for it, atomically: f may run
// several times, and only its last result counts. Where keep is false the key is
// deleted, or stays absent.
func (m *Map[V]) Update(key string, f func(old V, ok bool) (v V, keep bool)) { panic("unwritten") }

// UpdateBytes is Update for a key held in a byte slice, which it copies if the key is new.
func (m *Map[V]) UpdateBytes(key []byte, f func(old V, ok bool) (v V, keep bool)) {
	panic("unwritten")
}

// Delete removes key and returns the value it had and whether it had one.
func (m *Map[V]) Delete(key string) (V, bool) { panic("unwritten") }

// Range calls f for entries in no particular order until f returns false.
func (m *Map[V]) Range(f func(key string, v V) bool) { panic("unwritten") }

// Sorted yields the entries in ascending key order (bytewise) and leaves them in the map.
func (m *Map[V]) Sorted() iter.Seq2[string, V] { panic("unwritten") }

// Drain yields the entries in ascending key order and removes each as it yields it.
func (m *Map[V]) Drain() iter.Seq2[string, V] { panic("unwritten") }

// Merge stores every entry of other; where both have a key the value is resolve(mine, theirs).
func (m *Map[V]) Merge(other *Map[V], resolve func(mine, theirs V) V) { panic("unwritten") }

// Writer stores into a map for one goroutine and takes its entries from slabs, so
// that many stores share one allocation. A slab stays in memory as long as any of
// its entries does: use it where the keys of a map live and die together.
type Writer[V any] struct{}

// Writer returns a writer that allocates so many entries at a time (at least one).
func (m *Map[V]) Writer(slab int) *Writer[V] { panic("unwritten") }

// Store is Map.Store.
func (w *Writer[V]) Store(key string, v V) { panic("unwritten") }

// Update is Map.Update.
func (w *Writer[V]) Update(key string, f func(old V, ok bool) (v V, keep bool)) { panic("unwritten") }
