package conflict

import (
	"math/bits"
	"math/rand/v2"
)

// keySeed hashes keys for the tables of one oracle or gate. Keys are
// fingerprints already, but come in runs of neighbours where one list's key is
// combined with many uids, and the seed keeps chosen ones from meeting in a
// slot.
type keySeed uint64

func newKeySeed() keySeed { return keySeed(rand.Uint64()) }

// hash folds the 128 bits of a product with an odd constant whose bits are well
// mixed, so that low and high bits of the result depend on all of the key.
func (s keySeed) hash(key uint64) uint64 {
	high, low := bits.Mul64(key^uint64(s), 0xd6e8feb86659fd93)
	return high ^ low
}
