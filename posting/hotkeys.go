package posting

import "sync/atomic"

// hotKeys takes the keys whose lists are worth rolling up from who notices them
// to the roller. A reader notices a list with many deltas above it, the writer
// a key among those that it writes most. Telling must cost neither of them
// anything to speak of: a key that was told lately is not told again, and one
// that finds the queue full is dropped. A key that is hot is noticed again.
type hotKeys struct {
	rule  rollupRule
	queue chan []byte
	// told are hashes of keys that are in the queue, each in the slot that its
	// upper bits name. A slot taken by another key only lets a key be told
	// twice.
	told [toldSlots]atomic.Uint64
}

const (
	// hotQueue is how many keys wait for the roller at most.
	hotQueue  = 1024
	toldSlots = 1024
	toldShift = 54
	// deltasATell is how many deltas of a stripe of keys go to Badger before
	// the writer names the key of the next one.
	deltasATell = 64
)

func newHotKeys(rule rollupRule) *hotKeys {
	return &hotKeys{rule: rule, queue: make(chan []byte, hotQueue)}
}

// tell queues the key, which is copied. hash is by the store's marks.
func (h *hotKeys) tell(hash uint64, key []byte) {
	slot := &h.told[hash>>toldShift]
	if slot.Load() == hash || len(h.queue) == cap(h.queue) {
		return
	}
	slot.Store(hash)
	select {
	case h.queue <- append([]byte(nil), key...):
	default:
		slot.Store(0)
	}
}

// taken lets the key be told again, for what is done to it from here on.
func (h *hotKeys) taken(hash uint64) {
	h.told[hash>>toldShift].CompareAndSwap(hash, 0)
}

// rollupRule says which lists are rolled up in the background.
type rollupRule struct{ minDeltas, minBytes int }

// A rollup writes the whole list, so the longer a list is the more it has to
// save its readers: one delta more for so many bytes, and deltas of a fourth of
// its size.
const (
	bytesADelta = 16 << 10
	sizeShare   = 4
)

// due reports whether the list is to be rolled up.
func (r rollupRule) due(l *List) bool {
	if l == nil || l.deltas == 0 {
		return false
	}
	return l.deltas >= r.minDeltas+l.size/bytesADelta || l.deltaBytes >= r.minBytes+l.size/sizeShare
}
