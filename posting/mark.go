package posting

import (
	"hash/maphash"
	"sync/atomic"
)

// marks are what the writer of a store tells its readers about keys, without a
// lock: a key has the mark of the stripe that its hash falls into. A mark that
// another key of the stripe has moved costs a reader some work, never
// rightness.
//
// The goroutine that writes to Badger owns what a mark says; any number of
// goroutines read it.
type marks struct {
	seed    maphash.Seed
	stripes []mark // a power of two
	// rewrites is that of a mark for all stripes together.
	rewrites rewrites
}

type mark struct {
	// latest is the greatest version that went to Badger. It moves before the
	// version does.
	latest atomic.Uint64
	rewrites
	// deltas counts deltas until a key is named to the roller. The writer's
	// own.
	deltas uint32
}

// minStripes is how many stripes a store has at least.
const minStripes = 4 << 10

func newMarks(stripes int) *marks {
	n := minStripes
	for n < stripes {
		n *= 2
	}
	return &marks{seed: maphash.MakeSeed(), stripes: make([]mark, n)}
}

func (m *marks) hash(key []byte) uint64 { return maphash.Bytes(m.seed, key) }

func (m *marks) at(hash uint64) *mark { return &m.stripes[hash&uint64(len(m.stripes)-1)] }

// note notes a version on its way.
func (k *mark) note(version uint64) {
	if k.latest.Load() < version {
		k.latest.Store(version)
	}
}

// rewrites is odd while anything but a transaction's delta (a rolled-up list, a
// deletion) is on its way into Badger, and even, and another number than before,
// when it is there.
type rewrites struct{ n atomic.Uint64 }

// begin makes it odd, and reports whether it was not.
func (r *rewrites) begin() bool {
	if r.n.Load()&1 != 0 {
		return false
	}
	r.n.Add(1)
	return true
}

func (r *rewrites) end() { r.n.Add(1) }

func (r *rewrites) load() uint64 { return r.n.Load() }

// still reports whether nothing was rewritten since before was loaded, nor was
// being then.
func (r *rewrites) still(before uint64) bool { return before&1 == 0 && r.n.Load() == before }
