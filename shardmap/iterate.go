package shardmap

import (
	"cmp"
	"encoding/binary"
	"iter"
	"slices"
	"strings"
)

// Range calls f for entries, in no order, until f returns false. A key that is in
// the map from the call's beginning to its end is seen exactly once; one that is
// stored or deleted meanwhile may be seen or not; one that is deleted and stored
// again meanwhile may be seen once for each of its lives. The value is the one that
// the key had at the moment of seeing it. f may use the map.
func (m *Map[V]) Range(f func(key string, v V) bool) {
	m.each(func(e *entry) bool {
		x, ok := m.look(e)
		return !ok || f(e.key(), x.v)
	})
}

// All is Range as an iterator.
func (m *Map[V]) All() iter.Seq2[string, V] { return m.Range }

// Sorted yields entries in ascending order of their keys (bytewise) and leaves them
// in the map. The keys are those that Range sees when the iteration starts; each
// comes with its value at the moment it is yielded, and is left out if it was
// deleted before that, even where it was stored again.
func (m *Map[V]) Sorted() iter.Seq2[string, V] {
	return func(yield func(string, V) bool) {
		for _, it := range m.sortedItems() {
			if x, ok := m.look(it.e); ok && !yield(it.key, x.v) {
				return
			}
		}
	}
}

// Drain yields entries in ascending order of their keys (bytewise) and removes each
// from the map, in one step, just before it is yielded. The keys are those that
// Range sees when the iteration starts. Several goroutines may drain one map; every
// entry goes to one of them. Where the iteration is left early the rest stays.
func (m *Map[V]) Drain() iter.Seq2[string, V] {
	return func(yield func(string, V) bool) {
		for _, it := range m.sortedItems() {
			if v, ok := m.Delete(it.key); ok && !yield(it.key, v) {
				return
			}
		}
	}
}

// Merge stores every entry of other in m; where m has the key already, its value
// becomes resolve(mine, theirs). Both maps may have any number of shards. m may be
// used and merged into by others meanwhile; of other, what Range sees is merged.
// resolve may run several times for a key, as Update's function may.
func (m *Map[V]) Merge(other *Map[V], resolve func(mine, theirs V) V) {
	m.merge(nil, other, resolve)
}

func (m *Map[V]) merge(p *pool[V], other *Map[V], resolve func(mine, theirs V) V) {
	var theirs V
	join := func(mine V, ok bool) (V, bool) {
		if !ok {
			return theirs, true
		}
		return resolve(mine, theirs), true
	}
	other.Range(func(key string, v V) bool {
		theirs = v
		m.update(p, key, true, join)
		return true
	})
}

// each calls f for the entries of every shard, some of which may be gone.
func (m *Map[V]) each(f func(*entry) bool) {
	for i := range m.shards {
		t := m.shards[i].newest()
		if t != nil && !t.each(f) {
			return
		}
	}
}

// item is an entry to be sorted. head is the first eight bytes of the key after what
// all keys have in common, which decide most comparisons without a look at the key.
type item struct {
	head uint64
	key  string
	e    *entry
}

// sortedItems returns the entries that Range sees, in ascending order of their keys.
func (m *Map[V]) sortedItems() []item {
	items := make([]item, 0, m.Len())
	m.each(func(e *entry) bool {
		if e.live(m.kind) {
			items = append(items, item{key: e.key(), e: e})
		}
		return true
	})
	common := commonPrefix(items)
	for i := range items {
		items[i].head = headOf(items[i].key[common:])
	}
	slices.SortFunc(items, func(a, b item) int {
		if c := cmp.Compare(a.head, b.head); c != 0 {
			return c
		}
		return strings.Compare(a.key, b.key)
	})
	return items
}

// commonPrefix returns how many bytes all keys begin with alike.
func commonPrefix(items []item) int {
	if len(items) == 0 {
		return 0
	}
	n := len(items[0].key)
	for _, it := range items {
		n = min(n, len(it.key))
		for it.key[:n] != items[0].key[:n] {
			n--
		}
	}
	return n
}

// headOf returns the first eight bytes of s, missing ones being zero, as a number
// that orders as they do.
func headOf(s string) uint64 {
	var b [8]byte
	copy(b[:], s)
	return binary.BigEndian.Uint64(b[:])
}
