package shardmap

import (
	"strings"
	"unsafe"
)

// Writer stores into a map for one goroutine and takes its entries from slabs, so
// that many stores share one allocation. Any number of writers, and the map itself,
// may be used at the same time; one writer may not.
//
// A slab stays in memory as long as any of its entries does, and so do the values
// that were stored through it, also those that were since replaced or deleted. Use
// a writer where the entries of a map live and die together.
type Writer[V any] struct {
	m    *Map[V]
	pool pool[V]
}

// Writer returns a writer that allocates so many entries at a time, at least one.
func (m *Map[V]) Writer(slab int) *Writer[V] {
	return &Writer[V]{m: m, pool: pool[V]{slab: max(slab, 1)}}
}

// Store is Map.Store.
func (w *Writer[V]) Store(key string, v V) { w.m.store(&w.pool, key, true, v) }

// StoreBytes is Map.StoreBytes. A new key is copied, which is an allocation of its own.
func (w *Writer[V]) StoreBytes(key []byte, v V) { w.m.store(&w.pool, view(key), false, v) }

// Update is Map.Update.
func (w *Writer[V]) Update(key string, f func(old V, ok bool) (v V, keep bool)) {
	w.m.update(&w.pool, key, true, f)
}

// Merge is Map.Merge.
func (w *Writer[V]) Merge(other *Map[V], resolve func(mine, theirs V) V) {
	w.m.merge(&w.pool, other, resolve)
}

// pool makes entries. A nil pool makes each by itself.
type pool[V any] struct {
	slab    int
	entries []entry
	numbers []numberEntry
	cells   []cellEntry[V]
}

func (p *pool[V]) entry() *entry {
	if p == nil {
		return new(entry)
	}
	return take(&p.entries, p.slab)
}

func (p *pool[V]) number() *numberEntry {
	if p == nil {
		return new(numberEntry)
	}
	return take(&p.numbers, p.slab)
}

func (p *pool[V]) cell() *cellEntry[V] {
	if p == nil {
		return new(cellEntry[V])
	}
	return take(&p.cells, p.slab)
}

// take cuts one element off free, which it refills with n where it is empty.
func take[E any](free *[]E, n int) *E {
	if len(*free) == 0 {
		*free = make([]E, n)
	}
	e := &(*free)[0]
	*free = (*free)[1:]
	return e
}

// make returns an unpublished entry of key with value v. The key is copied unless
// the map may own its bytes.
func (p *pool[V]) make(k kind, id uint64, key string, owned bool, v V) *entry {
	var e *entry
	switch k {
	case pointers:
		e = p.entry()
		e.word = pointerTo(v)
	case numbers:
		n := p.number()
		e = &n.entry
		if bits, fits := toPayload(v); fits {
			n.num = bits | numLive
		} else {
			n.num = numBoxed
			e.word = newCell(v)
		}
	default:
		c := p.cell()
		c.first = v
		e = &c.entry
		e.word = unsafe.Pointer(&c.first)
	}
	if !owned {
		key = strings.Clone(key)
	}
	e.setKey(id, key)
	return e
}
