package report

import (
	"math"
	"slices"
)

// summary is what is said of the values that one benchmark has in one unit.
type summary struct {
	// values are in the order in which they were measured.
	values   []float64
	median   float64
	min, max float64
}

func summarize(values []float64) summary {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	if n == 0 {
		return summary{}
	}
	return summary{values: values, median: (sorted[(n-1)/2] + sorted[n/2]) / 2, min: sorted[0], max: sorted[n-1]}
}

// spread is how far the values lie from the median at most, as a share of it.
func (s *summary) spread() float64 {
	if s.median == 0 {
		return 0
	}
	return max(s.max-s.median, s.median-s.min) / math.Abs(s.median)
}

// significant is the p below which a difference is called one.
const significant = 0.05

// mannWhitney is the probability that two samples of the same distribution
// differ in their ranks as much as a and b do, or more: the two-sided test of
// Mann and Whitney. Up to exactTotal values it is exact, ties included, being
// counted over all ways to deal the ranks out; above it is the normal
// approximation with the correction for ties.
func mannWhitney(a, b []float64) float64 {
	if len(a) == 0 || len(b) == 0 {
		return 1
	}
	ranks := doubledRanks(a, b)
	sum := 0
	for _, r := range ranks[:len(a)] {
		sum += r
	}
	if len(ranks) <= exactTotal {
		return exactP(ranks, len(a), sum)
	}
	return normalP(ranks, len(a), sum)
}

// exactTotal bounds what is counted out.
const exactTotal = 60

// doubledRanks are twice the ranks of the values of a, then of b; equal values
// share the mean of their ranks.
func doubledRanks(a, b []float64) []int {
	all := slices.Concat(a, b)
	sorted := slices.Sorted(slices.Values(all))
	ranks := make([]int, len(all))
	for i, v := range all {
		first, _ := slices.BinarySearch(sorted, v)
		last := first
		for last+1 < len(sorted) && sorted[last+1] == v {
			last++
		}
		ranks[i] = first + last + 2
	}
	return ranks
}

// exactP is the share of the ways to choose n of the ranks whose sum lies as far
// from the expected one as sum, or further.
func exactP(ranks []int, n, sum int) float64 {
	total := 0
	for _, r := range ranks {
		total += r
	}
	// ways[k][s] is in how many ways k of the ranks so far have the sum s.
	ways := make([][]float64, n+1)
	for k := range ways {
		ways[k] = make([]float64, total+1)
	}
	ways[0][0] = 1
	for _, r := range ranks {
		for k := n; k > 0; k-- {
			for s := total; s >= r; s-- {
				ways[k][s] += ways[k-1][s-r]
			}
		}
	}
	// Both sides are multiplied by the number of ranks, to stay whole.
	distance := func(s int) int { return max(s*len(ranks)-n*total, n*total-s*len(ranks)) }
	var as, all float64
	for s, w := range ways[n] {
		all += w
		if distance(s) >= distance(sum) {
			as += w
		}
	}
	return as / all
}

func normalP(ranks []int, n, sum int) float64 {
	total, m := float64(len(ranks)), float64(len(ranks)-n)
	counts := make(map[int]float64)
	for _, r := range ranks {
		counts[r]++
	}
	ties := 0.0
	for _, c := range counts {
		ties += c*c*c - c
	}
	variance := float64(n) * m / 12 * (total + 1 - ties/(total*(total-1)))
	if variance <= 0 {
		return 1
	}
	// The halves undo the doubling of the ranks; 0.5 is for continuity.
	distance := math.Abs(float64(sum)/2 - float64(n)*(total+1)/2)
	return math.Erfc(max(0, distance-0.5) / math.Sqrt(2*variance))
}
