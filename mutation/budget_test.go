package mutation_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/edgemill/edgemill/mutation"
)

func TestWorkersFor(t *testing.T) {
	for _, c := range []struct {
		name           string
		p              mutation.Parallelism
		perWorker      int
		edges, procs   int
		want           int
		bound          mutation.Bound
		boundInAReport string
	}{
		{"auto is all processors", mutation.Auto, 256, 20_000, 8, 8, mutation.BoundSizing, "sizing"},
		{"auto on many processors, and the cap binds", mutation.Auto, 256, 20_000, 148, 78, mutation.BoundWork, "work"},
		{"a number beyond the processors", mutation.Workers(32), 256, 20_000, 2, 32, mutation.BoundSizing, "sizing"},
		{"the cap binds a number too", mutation.Workers(32), 256, 2_560, 64, 10, mutation.BoundWork, "work"},
		{"the cap binds a factor too", mutation.Factor(4), 256, 2_560, 64, 10, mutation.BoundWork, "work"},
		{"as much work as asked for", mutation.Workers(10), 256, 2_560, 64, 10, mutation.BoundSizing, "sizing"},
		{"one edge short of a worker more", mutation.Workers(8), 256, 767, 8, 2, mutation.BoundWork, "work"},
		{"never below one", mutation.Auto, 256, 1, 8, 1, mutation.BoundWork, "work"},
		{"off", mutation.Off, 1, 20_000, 64, 1, mutation.BoundSizing, "sizing"},
		{"half the processors, rounded down", mutation.Factor(0.5), 1, 20_000, 7, 3, mutation.BoundSizing, "sizing"},
		{"a factor never gives none", mutation.Factor(0.1), 1, 20_000, 2, 1, mutation.BoundSizing, "sizing"},
		{"a factor has an upper end", mutation.Factor(mutation.MaxWorkers), 1, 1 << 30, 64, mutation.MaxWorkers, mutation.BoundSizing, "sizing"},
		{"one processor", mutation.Auto, 256, 1 << 20, 1, 1, mutation.BoundSizing, "sizing"},
	} {
		o, err := mutation.Options{Parallelism: c.p, EdgesPerWorker: c.perWorker, MinEdges: 1}.Validate()
		require.NoError(t, err)
		workers, bound := mutation.WorkersFor(o, c.edges, c.procs)
		require.Equal(t, c.want, workers, c.name)
		require.Equal(t, c.bound, bound, c.name)
		require.Equal(t, c.boundInAReport, bound.String(), c.name)
	}
	require.Equal(t, "serial", mutation.BoundSerial.String())
}

// equalPredicates are n predicates that share the edges; the names are in
// order.
func equalPredicates(n, each int) []mutation.Grant {
	grants := make([]mutation.Grant, n)
	for i := range grants {
		grants[i] = mutation.Grant{Predicate: fmt.Sprintf("p%03d", i), Edges: each}
	}
	return grants
}

func TestGrantsOfEqualPredicates(t *testing.T) {
	for _, c := range []struct {
		predicates, workers int
		// want is how many predicates get how many workers.
		want map[int]int
	}{
		{25, 2, map[int]int{1: 25}},
		{25, 25, map[int]int{1: 25}},
		{25, 30, map[int]int{1: 20, 2: 5}},
		{25, 50, map[int]int{2: 25}},
		{25, 64, map[int]int{2: 11, 3: 14}},
		{25, 78, map[int]int{3: 22, 4: 3}},
		{1, 78, map[int]int{78: 1}},
		{10_000, 8, map[int]int{1: 10_000}},
	} {
		grants := equalPredicates(c.predicates, 799)
		mutation.GrantWorkers(grants, c.workers)
		got := make(map[int]int)
		for i, g := range grants {
			got[g.Workers]++
			if i > 0 {
				require.LessOrEqual(t, g.Workers, grants[i-1].Workers, "ties go by name")
			}
		}
		require.Equal(t, c.want, got, "%d predicates, %d workers", c.predicates, c.workers)
	}
}

func TestGrants(t *testing.T) {
	for _, c := range []struct {
		name    string
		workers int
		edges   []int
		want    []int
	}{
		{"by edges", 10, []int{50, 30, 20}, []int{5, 3, 2}},
		{"the largest remainder gets what is left", 4, []int{50, 26, 24}, []int{2, 1, 1}},
		{"remainders before size", 5, []int{52, 28, 20}, []int{3, 1, 1}},
		{"one dominates: what is too much is taken from it", 4, []int{97, 1, 1}, []int{2, 1, 1}},
		{"one dominates many workers", 32, []int{990, 5, 5}, []int{30, 1, 1}},
		{"taken from the smallest remainder above 1", 6, []int{60, 35, 1, 1}, []int{3, 1, 1, 1}},
		{"taken from several, by name", 7, []int{44, 44, 1, 1, 1}, []int{2, 2, 1, 1, 1}},
		{"as many predicates as workers", 3, []int{100, 1, 1}, []int{1, 1, 1}},
		{"a predicate without edges of its own", 3, []int{10, 0}, []int{2, 1}},
		{"no edges at all", 3, []int{0, 0}, []int{1, 1}},
		{"no predicates", 3, nil, nil},
	} {
		var grants []mutation.Grant
		for i, n := range c.edges {
			grants = append(grants, mutation.Grant{Predicate: string(rune('a' + i)), Edges: n})
		}
		mutation.GrantWorkers(grants, c.workers)
		var got []int
		for _, g := range grants {
			got = append(got, g.Workers)
		}
		require.Equal(t, c.want, got, c.name)
	}
}

// TestGrantsProperties checks, for any predicates, that all workers are granted
// and no more, that each predicate has one, that no grant is more than one away
// from its share unless ones had to be made up for, and that the order in which
// predicates come does not matter.
func TestGrantsProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		edges := rapid.SliceOfN(rapid.IntRange(1, 10_000), 1, 60).Draw(t, "edges")
		workers := rapid.IntRange(1, 300).Draw(t, "workers")
		grants := make([]mutation.Grant, len(edges))
		total := 0
		for i, n := range edges {
			grants[i] = mutation.Grant{Predicate: fmt.Sprintf("p%03d", i), Edges: n}
			total += n
		}
		shuffled := rapid.Permutation(grants).Draw(t, "order")
		mutation.GrantWorkers(grants, workers)
		sum := 0
		for _, g := range grants {
			sum += g.Workers
			require.GreaterOrEqual(t, g.Workers, 1)
			require.LessOrEqual(t, g.Workers, workers*g.Edges/total+1, "share of %s", g.Predicate)
		}
		require.Equal(t, max(workers, len(grants)), sum)
		mutation.GrantWorkers(shuffled, workers)
		slices.SortFunc(shuffled, func(a, b mutation.Grant) int { return strings.Compare(a.Predicate, b.Predicate) })
		require.Equal(t, grants, shuffled)
	})
}
