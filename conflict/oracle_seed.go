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
// mixed, twice: after one fold, keys that differ only in their upper half still
// crowd for one seed in some hundred.
func (s keySeed) hash(key uint64) uint64 {
	high, low := bits.Mul64(key^uint64(s), 0xd6e8feb86659fd93)
	high, low = bits.Mul64(high^low, 0x9e3779b97f4a7c15)
	return high ^ low
}
