package shardmap

import (
	"reflect"
	"sync/atomic"
	"unsafe"
)

// kindOf chooses the kind for V.
func kindOf[V any]() kind {
	t := reflect.TypeFor[V]()
	switch {
	case t.Kind() == reflect.Pointer:
		return pointers
	case t.Size() <= 8 && pointerFree(t):
		return numbers
	}
	return cells
}

func pointerFree(t reflect.Type) bool {
	switch k := t.Kind(); k {
	case reflect.Array:
		return t.Len() == 0 || pointerFree(t.Elem())
	case reflect.Struct:
		for i := range t.NumField() {
			if !pointerFree(t.Field(i).Type) {
				return false
			}
		}
		return true
	default:
		return k >= reflect.Bool && k <= reflect.Complex128
	}
}

// sight is the value of an entry at one moment, with what must not have changed for
// the value to be still the same.
type sight[V any] struct {
	v    V
	word unsafe.Pointer
	num  uint64
}

// look reads e. It fails where e is gone.
func (m *Map[V]) look(e *entry) (x sight[V], ok bool) {
	if m.kind == numbers {
		x.num = atomic.LoadUint64(&e.number().num)
		switch x.num & numState {
		case numLive:
			x.v = fromPayload[V](x.num)
			return x, true
		case numGone:
			return x, false
		}
	}
	x.word = atomic.LoadPointer(&e.word)
	switch {
	case x.word == goneMark():
		return x, false
	case m.kind == pointers:
		x.v = *(*V)(unsafe.Pointer(&x.word))
	case x.word == nil: // numBoxed, but not yet in a cell
		x.v = fromPayload[V](x.num)
	default:
		x.v = *(*V)(x.word)
	}
	return x, true
}

// swap makes v the value of e, which looked as x, if it still does.
func (m *Map[V]) swap(e *entry, x sight[V], v V) bool {
	switch m.kind {
	case numbers:
		return swapNumber(e.number(), x, v)
	case pointers:
		pause()
		return atomic.CompareAndSwapPointer(&e.word, x.word, pointerTo(v))
	}
	pause()
	return atomic.CompareAndSwapPointer(&e.word, x.word, newCell(v))
}

func swapNumber[V any](e *numberEntry, x sight[V], v V) bool {
	pause()
	if x.num&numState == numLive {
		n, fits := toPayload(v)
		if fits {
			return atomic.CompareAndSwapUint64(&e.num, x.num, n|numLive)
		}
		if !atomic.CompareAndSwapUint64(&e.num, x.num, x.num&^numState|numBoxed) {
			return false
		}
		pause()
	}
	return atomic.CompareAndSwapPointer(&e.word, x.word, newCell(v))
}

// kill makes e, which looked as x, gone, if it still looks so.
func (m *Map[V]) kill(e *entry, x sight[V]) bool {
	pause()
	if m.kind == numbers && x.num&numState == numLive {
		return atomic.CompareAndSwapUint64(&e.number().num, x.num, numGone)
	}
	return atomic.CompareAndSwapPointer(&e.word, x.word, goneMark())
}

// newCell returns the address of a new cell with v in it. (That a cell is as new as
// its address keeps a compare-and-swap from taking a later value for an earlier one.)
func newCell[V any](v V) unsafe.Pointer {
	c := new(V)
	*c = v
	return unsafe.Pointer(c)
}

// pointerTo returns v, which is a pointer, as one.
func pointerTo[V any](v V) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(&v)) }

// toPayload gives v's bits shifted past the state, and whether none was lost: the
// bits are taken as a signed number, so that small numbers of either sign fit.
func toPayload[V any](v V) (n uint64, fits bool) {
	var raw int64
	*(*V)(unsafe.Pointer(&raw)) = v
	return uint64(raw) << 2, raw<<2>>2 == raw
}

func fromPayload[V any](n uint64) V {
	raw := int64(n) >> 2
	return *(*V)(unsafe.Pointer(&raw))
}
