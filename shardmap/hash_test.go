package shardmap

import (
	"fmt"
	"math/bits"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestHashSpread looks at the parts of the hash that the map uses, for keys that
// differ little: the shard (low bits), the home bucket and the fingerprint.
func TestHashSpread(t *testing.T) {
	const n = 1 << 16
	for _, form := range []string{"%d", "%08d", "key-%012d", "%024d\x00", "%040d", "%0100d"} {
		h := newHasher()
		var shards, homes [256]int
		var marks [128]int
		for i := range n {
			hash := h.hash(fmt.Sprintf(form, i))
			id := identity(hash, "")
			shards[hash%256]++
			homes[home(id)%256]++
			marks[fingerprint(id)&^0x80]++
		}
		for _, counts := range [][]int{shards[:], homes[:], marks[:]} {
			mean := n / len(counts)
			for _, c := range counts {
				require.InDelta(t, mean, c, float64(mean)/2, form)
			}
		}
	}
}

// TestHashBits flips each bit of keys of each length, which is to flip about half of
// the hash's bits, and each about half of the time.
func TestHashBits(t *testing.T) {
	h := newHasher()
	for n := 1; n <= 100; n++ {
		flips, trials := [64]int{}, 0
		for seed := range 8 {
			key := []byte(strings.Repeat(string(rune('a'+seed)), n))
			before := h.hash(string(key))
			for i := range 8 * n {
				key[i/8] ^= 1 << (i % 8)
				d := before ^ h.hash(string(key))
				key[i/8] ^= 1 << (i % 8)
				require.GreaterOrEqual(t, bits.OnesCount64(d), 8, "length %d, bit %d", n, i)
				for j := range flips {
					flips[j] += int(d >> j & 1)
				}
				trials++
			}
		}
		for j, f := range flips {
			require.InDelta(t, 0.5, float64(f)/float64(trials), 0.3, "length %d, bit %d of the hash", n, j)
		}
	}
}

func TestHashLengths(t *testing.T) {
	h := newHasher()
	seen := map[uint64]int{}
	for n := range 1000 {
		hash := h.hash(strings.Repeat("\x00", n))
		seen[hash] = n
	}
	require.Len(t, seen, 1000)
	other := newHasher()
	require.NotEqual(t, h.hash("a"), other.hash("a"), "two maps have their own secrets")
}
