package mutation

import (
	"bytes"
	"encoding/binary"
	"hash/maphash"
	"slices"
)

// recordOp is what a record does to its uid in a derived list.
type recordOp uint8

const (
	// opTouch writes nothing: the record only stands for a conflict key.
	opTouch recordOp = iota
	opSet
	opDelete
	// opForget takes back what the transaction wrote before.
	opForget
)

// The flags of a record.
const (
	// flagFound: the transaction found the posting in the list when it began.
	flagFound = 1 << iota
	// flagEmit: the write of a reverse list has a conflict key.
	flagEmit
	// flagUp and flagDown: the number of the target's sources changes.
	flagUp
	flagDown
)

// record is an operation on one uid of a derived list, on its way from the
// part that derived it to the owner of the key.
type record struct {
	uid uint64
	// edge is the batch's edge that it follows from (I2).
	edge uint32
	// id is the key's number in the part's table.
	id uint32
	// facets is one more than the place of the facets in the part's store, 0
	// for none.
	facets uint32
	part   uint16
	op     recordOp
	flags  uint8
}

// derived is the records that one worker derived for one kind of key of one
// predicate. It belongs to that worker until the pass is joined; then the
// owners read it, each only the records of its own keys (I1).
type derived struct {
	keys keyTable
	recs []record
	// byKey are the records grouped by key, in the order in which they were
	// added; those of key id end at ends[id].
	byKey []record
	ends  []uint32
	// byOwner are the key ids grouped by owner.
	byOwner []uint32
	ownerOf []uint32
}

func (d *derived) reset() {
	d.keys.reset()
	d.recs, d.byKey, d.ends = d.recs[:0], d.byKey[:0], d.ends[:0]
	d.byOwner, d.ownerOf = d.byOwner[:0], d.ownerOf[:0]
}

// seal groups the records by key, and the keys by owner.
func (d *derived) seal(owners int) {
	if len(d.recs) == 0 {
		return
	}
	n := d.keys.len()
	d.ends = append(slices.Grow(d.ends[:0], n), make([]uint32, n)...)
	for i := range d.recs {
		d.ends[d.recs[i].id]++
	}
	sum := uint32(0)
	for id, count := range d.ends {
		d.ends[id] = sum
		sum += count
	}
	d.byKey = slices.Grow(d.byKey[:0], len(d.recs))[:len(d.recs)]
	for i := range d.recs {
		id := d.recs[i].id
		d.byKey[d.ends[id]] = d.recs[i]
		d.ends[id]++
	}
	d.sealOwners(owners)
}

func (d *derived) sealOwners(owners int) {
	n := d.keys.len()
	d.ownerOf = append(d.ownerOf[:0], make([]uint32, owners+1)...)
	if owners > 1 {
		for id := range n {
			d.ownerOf[ownerOf(d.keys.hashes[id], owners)+1]++
		}
	} else {
		d.ownerOf[1] = uint32(n)
	}
	for i := 1; i <= owners; i++ {
		d.ownerOf[i] += d.ownerOf[i-1]
	}
	d.byOwner = slices.Grow(d.byOwner[:0], n)[:n]
	if owners == 1 {
		for id := range d.byOwner {
			d.byOwner[id] = uint32(id)
		}
		return
	}
	next := slices.Clone(d.ownerOf)
	for id := range n {
		o := ownerOf(d.keys.hashes[id], owners)
		d.byOwner[next[o]] = uint32(id)
		next[o]++
	}
}

// owned is the ids of the keys that the owner has.
func (d *derived) owned(owner int) []uint32 {
	if len(d.ownerOf) == 0 {
		return nil
	}
	return d.byOwner[d.ownerOf[owner]:d.ownerOf[owner+1]]
}

// of is the records of a key, in the order in which they were added.
func (d *derived) of(id uint32) []record {
	from := uint32(0)
	if id > 0 {
		from = d.ends[id-1]
	}
	return d.byKey[from:d.ends[id]]
}

// ownerOf spreads keys over owners by the upper half of their hash.
func ownerOf(hash uint64, owners int) int { return int((hash >> 32) * uint64(owners) >> 32) }

// keyTable numbers distinct keys from 0 on: the part of a key behind its kind
// byte, that is a token, a uid or a number.
type keyTable struct {
	// slots are one more than an id, 0 where free, probed in a line.
	slots  []uint32
	hashes []uint64
	ends   []uint32
	bytes  []byte
}

// hashSeed keeps chosen keys from meeting in one slot.
var hashSeed = maphash.MakeSeed()

var uidSeed = maphash.Bytes(hashSeed, nil)

func hashBytes(b []byte) uint64 { return maphash.Bytes(hashSeed, b) }

// hashUID mixes a number as MurmurHash3's finalizer does.
func hashUID(n uint64) uint64 {
	n ^= uidSeed
	n ^= n >> 33
	n *= 0xff51afd7ed558ccd
	n ^= n >> 33
	n *= 0xc4ceb9fe1a85ec53
	return n ^ n>>33
}

func (t *keyTable) len() int { return len(t.hashes) }

func (t *keyTable) reset() {
	clear(t.slots)
	t.hashes, t.ends, t.bytes = t.hashes[:0], t.ends[:0], t.bytes[:0]
}

func (t *keyTable) at(id uint32) []byte {
	from := uint32(0)
	if id > 0 {
		from = t.ends[id-1]
	}
	return t.bytes[from:t.ends[id]]
}

// id finds a key's number, or gives it one.
func (t *keyTable) id(hash uint64, key []byte) uint32 {
	if 4*len(t.hashes) >= 3*len(t.slots) {
		t.grow()
	}
	mask := uint64(len(t.slots) - 1)
	for i := hash & mask; ; i = (i + 1) & mask {
		s := t.slots[i]
		if s == 0 {
			t.slots[i] = uint32(len(t.hashes) + 1)
			t.hashes = append(t.hashes, hash)
			t.bytes = append(t.bytes, key...)
			t.ends = append(t.ends, uint32(len(t.bytes)))
			return uint32(len(t.hashes) - 1)
		}
		if t.hashes[s-1] == hash && bytes.Equal(t.at(s-1), key) {
			return s - 1
		}
	}
}

// minSlots is the size of the smallest table.
const minSlots = 64

func (t *keyTable) grow() {
	size := max(minSlots, 2*len(t.slots))
	t.slots = make([]uint32, size)
	mask := uint64(size - 1)
	for id, hash := range t.hashes {
		i := hash & mask
		for t.slots[i] != 0 {
			i = (i + 1) & mask
		}
		t.slots[i] = uint32(id + 1)
	}
}

// uidID is id for a key that is a uid.
func (t *keyTable) uidID(uid uint64) uint32 {
	var key [8]byte
	binary.BigEndian.PutUint64(key[:], uid)
	return t.id(hashUID(uid), key[:])
}

// countID is id for a key that is a number of postings.
func (t *keyTable) countID(n int) uint32 {
	var key [4]byte
	binary.BigEndian.PutUint32(key[:], uint32(n))
	return t.id(hashUID(uint64(n)), key[:])
}
