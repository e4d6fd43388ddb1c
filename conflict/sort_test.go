package conflict

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestSorted sorts keys that spread well, that share their highest bits, and
// that are mostly equal.
func TestSorted(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	shapes := map[string]func(i int) uint64{
		"hashes":    func(int) uint64 { return rnd.Uint64() },
		"one list":  func(i int) uint64 { return 0xfeed_0000_0000_0000 ^ uint64(i*7919) },
		"few":       func(i int) uint64 { return uint64(i%3) << 60 },
		"equal":     func(int) uint64 { return 7 },
		"two lists": func(i int) uint64 { return uint64(i%2)<<63 ^ uint64(i) },
		"extremes":  func(i int) uint64 { return []uint64{0, 1, ^uint64(0), 1 << 63}[i%4] },
	}
	for name, shape := range shapes {
		for _, n := range []int{0, 1, 2, sortFew, sortFew + 1, 1000, 40000} {
			keys := make([]uint64, n)
			for i := range keys {
				keys[i] = shape(i)
			}
			given := slices.Clone(keys)
			got := sorted(keys)
			require.Equal(t, given, keys, "%s, %d keys", name, n)
			slices.Sort(keys)
			require.Equal(t, append([]uint64{}, keys...), append([]uint64{}, got...), "%s, %d keys", name, n)
		}
	}
}

func BenchmarkSorted(b *testing.B) {
	rnd := rand.New(rand.NewPCG(1, 2))
	keys := make([]uint64, 40000)
	for i := range keys {
		keys[i] = rnd.Uint64()
	}
	for range b.N {
		sorted(keys)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(keys)), "ns/key")
}
