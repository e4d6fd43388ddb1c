package shardmap

import (
	"math"
	"strings"
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
	data unsafe.Pointer // the key's first byte; a *string where size is longKey
	size uint32         // the key's length in bytes, or longKey
	tag  uint32         // the upper half of the key's hash
	word unsafe.Pointer // atomic; goneMark when gone, else see kind
}

// numberEntry is the entry of the kind numbers.
type numberEntry struct {
	entry
	num atomic.Uint64 // payload<<2 | state
}

// cellEntry is the entry of the kind cells.
type cellEntry[V any] struct {
	entry
	first V
}

// longKey as a size marks a key too long for 32 bits, whose string stands elsewhere.
const longKey = math.MaxUint32

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

// setKey makes key the key of e, which is not published yet, and copies its bytes
// unless they are owned, that is, will never change.
func (e *entry) setKey(tag uint32, key string, owned bool) {
	if !owned {
		key = strings.Clone(key)
	}
	e.tag = tag
	if uint64(len(key)) >= longKey {
		long := key
		e.size, e.data = longKey, unsafe.Pointer(&long)
		return
	}
	e.size, e.data = uint32(len(key)), unsafe.Pointer(unsafe.StringData(key))
}

func (e *entry) key() string {
	if e.size == longKey {
		return *(*string)(e.data)
	}
	return unsafe.String((*byte)(e.data), e.size)
}

// holds tells whether e is an entry of key.
func (e *entry) holds(tag uint32, key string) bool {
	return e.tag == tag && e.key() == key
}

// live tells whether e is not gone.
func (e *entry) live(k kind) bool {
	if k == numbers {
		switch e.number().num.Load() & numState {
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
