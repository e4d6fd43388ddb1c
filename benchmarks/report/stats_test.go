package report

import (
	"math"
	"math/bits"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestMannWhitney(t *testing.T) {
	for name, c := range map[string]struct {
		a, b []float64
		want float64
	}{
		"all below":        {[]float64{1, 2, 3, 4}, []float64{5, 6, 7, 8}, 2.0 / 70},
		"five below":       {[]float64{1, 2, 3, 4, 5}, []float64{6, 7, 8, 9, 10}, 2.0 / 252},
		"three are few":    {[]float64{1, 2, 3}, []float64{4, 5, 6}, 2.0 / 20},
		"mixed":            {[]float64{1, 4}, []float64{2, 3}, 1},
		"equal":            {[]float64{7, 7, 7, 7}, []float64{7, 7, 7, 7}, 1},
		"nothing to go by": {nil, []float64{1}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			require.InDelta(t, c.want, mannWhitney(c.a, c.b), 1e-12)
			require.InDelta(t, c.want, mannWhitney(c.b, c.a), 1e-12)
		})
	}
}

// plainP deals the values out in every way there is.
func plainP(a, b []float64) float64 {
	all := slices.Concat(a, b)
	// excess is how often a value of the first lot beats one of the second, less
	// how often it is beaten.
	excess := func(first uint) int {
		sum := 0
		for i := range all {
			for j := range all {
				if first>>i&1 == 1 && first>>j&1 == 0 {
					sum += btoi(all[i] > all[j]) - btoi(all[i] < all[j])
				}
			}
		}
		return max(sum, -sum)
	}
	seen := excess(1<<len(a) - 1)
	as, ways := 0, 0
	for first := range uint(1) << len(all) {
		if bits.OnesCount(first) == len(a) {
			ways++
			as += btoi(excess(first) >= seen)
		}
	}
	return float64(as) / float64(ways)
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

func TestMannWhitneyAgainstAllWays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		few := rapid.SliceOfN(rapid.Float64Range(0, 4), 1, 5)
		ties := rapid.SliceOfN(rapid.Map(rapid.IntRange(0, 3), func(i int) float64 { return float64(i) }), 1, 5)
		values := rapid.OneOf(few, ties)
		a, b := values.Draw(t, "a"), values.Draw(t, "b")
		require.InDelta(t, plainP(a, b), mannWhitney(a, b), 1e-9)
	})
}

// The approximation for many values meets the count.
func TestNormalP(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := rapid.SliceOfN(rapid.Float64Range(0, 10), 20, 25).Draw(t, "a")
		b := rapid.SliceOfN(rapid.Float64Range(2, 12), 20, 25).Draw(t, "b")
		ranks := doubledRanks(a, b)
		sum := 0
		for _, r := range ranks[:len(a)] {
			sum += r
		}
		require.InDelta(t, exactP(ranks, len(a), sum), normalP(ranks, len(a), sum), 0.02)
	})
}

func TestManyValues(t *testing.T) {
	a, b := make([]float64, 100), make([]float64, 100)
	for i := range a {
		a[i], b[i] = float64(i), float64(i)+0.5
	}
	require.Greater(t, mannWhitney(a, b), 0.5)
	for i := range b {
		b[i] += 50
	}
	require.Less(t, mannWhitney(a, b), 1e-6)
	require.Equal(t, 1.0, mannWhitney(make([]float64, 100), make([]float64, 100)))
}

func TestSummary(t *testing.T) {
	s := summarize([]float64{4, 1, 3, 2})
	require.Equal(t, []float64{2.5, 1, 4}, []float64{s.median, s.min, s.max})
	require.InDelta(t, 0.6, s.spread(), 1e-9)
	zero := summarize([]float64{0, 0})
	require.Zero(t, zero.spread())
	require.False(t, math.IsNaN(zero.median))
	require.Zero(t, summarize(nil).median)
}
