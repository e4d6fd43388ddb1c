package posting

import (
	"bytes"
	"iter"
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/edgemill/edgemill/shardmap"
)

// Run is encoded deltas by distinct key, built by one goroutine and published
// whole. Keys and values lie one behind the other in chunks of memory, and an
// entry is three numbers, so that a run of a million deltas is a few dozen
// objects to the garbage collector.
type Run struct {
	chunks  [][]byte
	entries []runEntry
	bytes   int
}

// runEntry finds a key and the value right behind it.
type runEntry struct {
	chunk, off, klen, vlen uint32
}

const (
	minChunk = 512
	maxChunk = 1 << 20
)

// Grow makes room for about n more entries of size bytes in all, so that a
// writer that knows its sizes allocates once.
func (r *Run) Grow(n, size int) {
	r.entries = slices.Grow(r.entries, n)
	if size >= r.nextChunk() && (len(r.chunks) == 0 || free(r.chunks[len(r.chunks)-1]) < size) {
		r.chunks = append(r.chunks, make([]byte, 0, size))
	}
}

func free(chunk []byte) int { return cap(chunk) - len(chunk) }

// Space returns an empty slice with room for size bytes at the end of the
// run's memory. The caller appends a key and a value to it, within size, and
// hands the result to Take.
func (r *Run) Space(size int) []byte {
	if n := len(r.chunks); n > 0 {
		if c := r.chunks[n-1]; free(c) >= size {
			return c[len(c):]
		}
	}
	r.chunks = append(r.chunks, make([]byte, 0, max(size, r.nextChunk())))
	return r.chunks[len(r.chunks)-1]
}

// nextChunk doubles what the run holds, within bounds.
func (r *Run) nextChunk() int { return min(max(r.bytes, minChunk), maxChunk) }

// Take adds the entry whose key is the first klen bytes of buf, and whose
// value is the rest; buf is what Space returned, appended to. An empty value
// says that the transaction no longer writes the key.
func (r *Run) Take(buf []byte, klen int) {
	n := len(r.chunks) - 1
	c := r.chunks[n]
	r.entries = append(r.entries, runEntry{
		chunk: uint32(n), off: uint32(len(c)), klen: uint32(klen), vlen: uint32(len(buf) - klen),
	})
	r.chunks[n] = c[:len(c)+len(buf)]
	r.bytes += len(buf)
}

// Add copies a key and a value into the run.
func (r *Run) Add(key, value []byte) {
	buf := r.Space(len(key) + len(value))
	r.Take(append(append(buf, key...), value...), len(key))
}

// Len returns the number of entries.
func (r *Run) Len() int { return len(r.entries) }

// Bytes returns the size of all keys and values.
func (r *Run) Bytes() int { return r.bytes }

func (r *Run) at(i int) (key, value []byte) {
	e := &r.entries[i]
	c := r.chunks[e.chunk]
	mid, end := e.off+e.klen, e.off+e.klen+e.vlen
	return c[e.off:mid:mid], c[mid:end:end]
}

// Deltas is all that a transaction has written so far: by key, one encoded
// delta. A batch publishes the runs that its workers built, which hold each
// key once; where a key stands in several batches' runs the last one counts,
// since a batch folds the earlier delta into its own.
//
// The plain design is a map that every worker stores into while a batch runs.
// It costs an entry and a hash for each key of each batch, and most
// transactions have one batch and are never read, so nobody asks the map
// anything. Here a publication is one pointer, and the runs are entered into
// the map when a key is next asked for.
//
// Publish has one caller at a time. Everything else may be called from any
// goroutine, also while Publish runs; a batch's keys are then all there or not
// at all (I3). What is returned aliases the runs, which never change.
type Deltas struct {
	published atomic.Pointer[publication]
	// index finds the newest entry of each key of the first indexed runs. It
	// is read without a lock; growing guards only who extends it.
	index   atomic.Pointer[shardmap.Map[place]]
	indexed atomic.Int64
	growing sync.Mutex
}

// publication is the runs of all batches so far; it is never changed.
type publication struct {
	runs    []*Run
	batches int
}

// place is an entry of a run of the publication.
type place struct {
	run, entry uint32
}

// Publish adds a batch's runs at once. The caller has given them away.
func (d *Deltas) Publish(runs ...*Run) {
	next := &publication{}
	if p := d.published.Load(); p != nil {
		next.runs, next.batches = slices.Clone(p.runs), p.batches
	}
	next.batches++
	for _, r := range runs {
		if r.Len() > 0 {
			next.runs = append(next.runs, r)
		}
	}
	d.published.Store(next)
}

// Get returns the transaction's delta of a key.
func (d *Deltas) Get(key []byte) ([]byte, bool) {
	p := d.published.Load()
	if p == nil || len(p.runs) == 0 {
		return nil, false
	}
	if d.indexed.Load() < int64(len(p.runs)) {
		d.extend(p)
	}
	at, ok := d.index.Load().LoadBytes(key)
	if !ok {
		return nil, false
	}
	// The place may be of a run that came after p.
	_, value := d.published.Load().runs[at.run].at(int(at.entry))
	return value, len(value) > 0
}

// extend enters the runs that the index does not hold yet, in order, so that a
// later batch's entry of a key replaces an earlier one's.
func (d *Deltas) extend(p *publication) {
	d.growing.Lock()
	defer d.growing.Unlock()
	d.enter(p)
}

// enter is extend for who holds the lock.
func (d *Deltas) enter(p *publication) {
	m := d.index.Load()
	if m == nil {
		m = shardmap.New[place](0)
		d.index.Store(m)
	}
	for n := int(d.indexed.Load()); n < len(p.runs); n++ {
		for i := range p.runs[n].entries {
			key, _ := p.runs[n].at(i)
			m.Store(unsafe.String(unsafe.SliceData(key), len(key)), place{run: uint32(n), entry: uint32(i)})
		}
		d.indexed.Store(int64(n + 1))
	}
}

// All returns every key with its delta as they stand when the loop begins, each
// key once, in no order.
func (d *Deltas) All() iter.Seq2[[]byte, []byte] {
	return func(yield func(key, value []byte) bool) {
		p, places := d.newest()
		if places != nil {
			yieldPlaces(p, places, yield)
			return
		}
		for _, r := range p.runs {
			for i := range r.entries {
				if key, value := r.at(i); len(value) > 0 && !yield(key, value) {
					return
				}
			}
		}
	}
}

func yieldPlaces(p *publication, places []place, yield func(key, value []byte) bool) {
	for _, at := range places {
		if key, value := p.runs[at.run].at(int(at.entry)); len(value) > 0 && !yield(key, value) {
			return
		}
	}
}

// newest returns what is published, and where the newest entry of each key is;
// nil where all entries are, since there is one batch. They are found while the
// lock keeps the index from going on to batches that come meanwhile, which would
// hide the entries that they replace.
func (d *Deltas) newest() (*publication, []place) {
	d.growing.Lock()
	defer d.growing.Unlock()
	p := d.published.Load()
	switch {
	case p == nil:
		return &publication{}, nil
	case p.batches == 1:
		return p, nil
	}
	d.enter(p)
	places := []place{}
	m := d.index.Load()
	for n, r := range p.runs {
		for i := range r.entries {
			key, _ := r.at(i)
			here := place{run: uint32(n), entry: uint32(i)}
			if at, _ := m.LoadBytes(key); at == here {
				places = append(places, here)
			}
		}
	}
	return p, places
}

// KeyValue is a key and the transaction's delta of it.
type KeyValue struct {
	Key, Value []byte
}

// Sorted returns every key with its delta in key order.
func (d *Deltas) Sorted() []KeyValue {
	keys, _ := d.Size()
	kvs := make([]KeyValue, 0, keys)
	for key, value := range d.All() {
		kvs = append(kvs, KeyValue{key, value})
	}
	slices.SortFunc(kvs, func(a, b KeyValue) int { return bytes.Compare(a.Key, b.Key) })
	return kvs
}

// Size returns an upper bound of the number of keys and of the bytes of keys
// and values: entries that a later batch replaced count too.
func (d *Deltas) Size() (keys, size int) {
	p := d.published.Load()
	if p == nil {
		return 0, 0
	}
	for _, r := range p.runs {
		keys += r.Len()
		size += r.Bytes()
	}
	return keys, size
}
