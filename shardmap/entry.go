package shardmap

import (
	"math"
	"sync/atomic"
	"unsafe"
)

// kind says where the value of an entry lives. It follows from V alone, so it is
// the same for every entry of a map.
type kind uint8

const (
	// pointers: V is a pointer. entry.word is the value itself.
	pointers kind = iota
	// numbers: V has no pointers and at most 8 bytes. numberEntry.num holds the
	// value as long as it fits in 62 bits; the first that does not moves the
	// entry for good to a cell that entry.word points to.
	numbers
	// cells: every other V. entry.word points to the value, the first one being
	// in the entry itself, and whoever replaces it points word to another.
	cells
)

// entry is what a slot points to: a key, and the word that decides what it maps to.
// All but word is written before the entry is published and never after. It is the
// head of the larger entries of the kinds numbers and cells.
//
// An entry is gone when its value was deleted, and stays gone: a later store of the
// same key publishes another entry.
type entry struct {
	data unsafe.Pointer // the key's first byte; a *string where the key is long
	id   uint64         // identity of the key
	word unsafe.Pointer // atomic; goneMark when gone, else see kind
}

// numberEntry is the entry of the kind numbers.
type numberEntry struct {
	entry
	num uint64 // atomic; payload<<2 | state. On 8 bytes everywhere, as the head's size is a multiple of 8.
}

// cellEntry is the entry of the kind cells.
type cellEntry[V any] struct {
	entry
	first V
}

// longKey in the place of a length marks a key too long for 32 bits.
const longKey = math.MaxUint32

// identity is what two equal keys share and two others mostly don't: the key's length,
// at most longKey, in the lower half, and the upper half of its hash, here called
// its tag.
func identity(hash uint64, key string) uint64 {
	return hash&^longKey | min(uint64(len(key)), longKey)
}

// The states of numberEntry.num. An entry that is numBoxed has its value in the cell
// at entry.word, or still in the payload where that is nil.
const (
	numGone  = 0
	numLive  = 1
	numBoxed = 2
	numState = 3
)

// Addresses with a meaning; what is stored there is never written. tomb stands in
// the slot of a deleted entry, and moved in one that was free when its table was
// copied. Both are themselves gone entries, of every kind.
var (
	gone  byte
	tomb  = numberEntry{entry: entry{word: unsafe.Pointer(&gone)}}
	moved = numberEntry{entry: entry{word: unsafe.Pointer(&gone)}}
)

func goneMark() unsafe.Pointer { return unsafe.Pointer(&gone) }

// setKey makes key the key of e, which is not published yet.
func (e *entry) setKey(id uint64, key string) {
	e.id, e.data = id, unsafe.Pointer(unsafe.StringData(key))
	if uint32(id) == longKey {
		long := key
		e.data = unsafe.Pointer(&long)
	}
}

func (e *entry) key() string {
	if uint32(e.id) == longKey {
		return *(*string)(e.data)
	}
	return unsafe.String((*byte)(e.data), uint32(e.id))
}

// holds tells whether e is an entry of key.
func (e *entry) holds(id uint64, key string) bool {
	return e.id == id && (e.data == unsafe.Pointer(unsafe.StringData(key)) || e.key() == key)
}

// live tells whether e is not gone.
func (e *entry) live(k kind) bool {
	if k == numbers {
		switch atomic.LoadUint64(&e.number().num) & numState {
		case numLive:
			return true
		case numGone:
			return false
		}
	}
	return atomic.LoadPointer(&e.word) != goneMark()
}

// number returns the whole of e, which is of the kind numbers.
func (e *entry) number() *numberEntry { return (*numberEntry)(unsafe.Pointer(e)) }
