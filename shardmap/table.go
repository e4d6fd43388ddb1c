package shardmap

import (
	"math/bits"
	"sync/atomic"
	"unsafe"
)

const (
	bucketSlots = 7
	firstReach  = 8       // buckets that a key may be looked for in, at first
	closed      = 1 << 31 // flag in table.reach
	chunkSize   = 32      // buckets copied at a time

	firstBuckets = 4  // buckets of a shard's first table
	fewBuckets   = 64 // up to so many, tables grow fourfold, else twofold

	everyByte = 0x0101010101010101
	slotTops  = 0x0080808080808080 // the top bit of each slot's byte in bucket.marks
)

// bucket is one cache line: seven slots and a byte for each that says which keys are
// not in it. The byte of a slot is zero until its entry is published, and then for
// ever the fingerprint of that entry's key, whose top bit is set.
type bucket struct {
	marks atomic.Uint64
	slots [bucketSlots]atomic.Pointer[entry]
}

// slot returns slot j, which is below bucketSlots.
func (b *bucket) slot(j uint) *atomic.Pointer[entry] {
	return (*atomic.Pointer[entry])(unsafe.Add(unsafe.Pointer(&b.slots), uintptr(j)*unsafe.Sizeof(b.slots[0])))
}

// claim puts e into slot j if it is still free, which is what M2 asks for. Until the
// mark is set too, those who look for e find the slot by its missing mark.
func (b *bucket) claim(j uint, e *entry) bool {
	pause()
	if !b.slot(j).CompareAndSwap(nil, e) {
		return false
	}
	pause()
	b.marks.Or(fingerprint(e.id) << (8 * j))
	return true
}

// home is the number of the bucket in which to look for a key first.
func home(id uint64) uintptr { return uintptr(id >> 32) }

// fingerprint is a byte of the key's tag, the one that home uses last.
func fingerprint(id uint64) uint64 { return id>>57 | 0x80 }

// matches returns a word with the top bit set in the byte of each slot whose entry
// may be the one of the key with this id. It is zero in nearly all others' bytes.
func matches(marks, id uint64) uint64 {
	diff := marks ^ fingerprint(id)*everyByte
	return (diff - everyByte) &^ diff & slotTops
}

// firstSlot returns the first slot whose byte in c is not zero.
func firstSlot(c uint64) uint { return uint(bits.TrailingZeros64(c)) / 8 }

// table is one open-addressed table of a shard: a power of two of buckets. A key is
// looked for in its home bucket and those after it, at most reach of them.
type table struct {
	first *bucket
	mask  uintptr // number of buckets - 1
	kind  kind
	reach atomic.Uint32         // buckets to look in, and the flag closed
	next  atomic.Pointer[table] // the table that takes over; set once, after closed
	base  uint64                // the shard's deletions when the table was made
	given atomic.Uint32         // chunks given out for copying
	done  atomic.Uint32         // of those, chunks copied
	_     [16]byte              // makes it a cache line
}

// newTable makes a table of so many buckets, a power of two.
func newTable(k kind, buckets int, deleted uint64) *table {
	b := make([]bucket, buckets)
	t := &table{first: &b[0], mask: uintptr(buckets - 1), kind: k, base: deleted}
	t.reach.Store(uint32(min(buckets, firstReach)))
	return t
}

// bucketsFor returns how many buckets hold so many entries at a load of 0.4 to 0.8.
func bucketsFor(entries uint64) int {
	return 1 << bits.Len64(entries*5/(4*bucketSlots))
}

// larger returns how many buckets the next table has if this one has become too small.
func (t *table) larger() int {
	if t.buckets() <= fewBuckets {
		return 4 * t.buckets()
	}
	return 2 * t.buckets()
}

func (t *table) buckets() int { return int(t.mask) + 1 }

func (t *table) chunks() uint32 { return uint32((t.buckets() + chunkSize - 1) / chunkSize) }

// bucket returns bucket i modulo their number.
func (t *table) bucket(i uintptr) *bucket {
	return (*bucket)(unsafe.Add(unsafe.Pointer(t.first), (i&t.mask)*unsafe.Sizeof(bucket{})))
}

// spot is what looking for a key in t found, at the moment it looked:
//
//	e an entry              the key's entry, which was not gone
//	e nil, b not nil        the key is absent; slot j of b is where it would go
//	e nil, b nil            the key is absent and the j buckets of its reach are full
//	e &moved.entry          the key is not in t; the table after t knows more
type spot struct {
	t *table
	b *bucket
	j uint
	e *entry
}

// find looks for key in t alone. It takes a bounded number of steps.
func (t *table) find(id uint64, key string) spot {
	for d := uint32(0); ; d++ {
		if r := t.reach.Load(); d >= r&^closed {
			return t.end(r)
		}
		b := t.bucket(home(id) + uintptr(d))
		marks := b.marks.Load()
		for c := matches(marks, id) | ^marks&slotTops; c != 0; c &= c - 1 {
			j := firstSlot(c)
			e := b.slot(j).Load()
			if e == nil || e == &moved.entry || e.holds(id, key) && e.live(t.kind) {
				return spot{t, b, j, e}
			}
		}
	}
}

// end is the spot after the last bucket, where the reach was r.
func (t *table) end(r uint32) spot {
	if r&closed != 0 {
		return spot{t: t, e: &moved.entry}
	}
	return spot{t: t, j: uint(r)}
}

// each calls f for the entries of t, gone ones too, until f returns false.
func (t *table) each(f func(*entry) bool) bool {
	for i := range t.buckets() {
		b := t.bucket(uintptr(i))
		for j := range b.slots {
			if e := b.slots[j].Load(); e != nil && !f(e) {
				return false
			}
		}
	}
	return true
}
