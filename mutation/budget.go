package mutation

import (
	"cmp"
	"slices"
)

// Bound says which term of the budget decided a batch's workers.
type Bound uint8

const (
	// BoundSerial: the batch was too small, or the serial applier was chosen.
	BoundSerial Bound = iota
	// BoundSizing: the parallelism asked for.
	BoundSizing
	// BoundWork: the batch has no work for more.
	BoundWork
)

// String names the bound.
func (b Bound) String() string {
	return [...]string{"serial", "sizing", "work"}[b]
}

// workersFor is how many workers a batch gets: what is asked for, but no more
// than there is work for.
func workersFor(o Options, edges, procs int) (int, Bound) {
	sizing := o.Parallelism.sizing(procs)
	workCap := max(1, edges/o.EdgesPerWorker)
	if workCap < sizing {
		return workCap, BoundWork
	}
	return sizing, BoundSizing
}

// Grant is into how many parts a predicate's work is cut.
type Grant struct {
	Predicate string
	// Edges is the number of the batch's edges on the predicate.
	Edges int
	// Workers is the number of parts; 1 means no fan-out.
	Workers int
}

// grantWorkers fills in each grant's Workers. With no more workers than
// predicates each gets 1. Otherwise each gets its share by edges, floored but
// never below 1; what is left goes to the largest remainders, what is too much
// is taken from the grants above 1 with the smallest. Ties go by name.
func grantWorkers(grants []Grant, workers int) {
	total := 0
	for i := range grants {
		grants[i].Workers = 1
		total += grants[i].Edges
	}
	if len(grants) >= workers || total == 0 {
		return
	}
	sum := 0
	order := make([]int, len(grants))
	// What a grant lacks to its share, times the total; a share below 1 that was
	// raised to 1 lacks less than nothing.
	remainders := make([]int, len(grants))
	for i := range grants {
		order[i] = i
		share := workers * grants[i].Edges
		grants[i].Workers = max(1, share/total)
		remainders[i] = share - grants[i].Workers*total
		sum += grants[i].Workers
	}
	remainder := func(i int) int { return remainders[i] }
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(remainder(b), remainder(a)), cmp.Compare(grants[a].Predicate, grants[b].Predicate))
	})
	for i := 0; sum < workers; i++ {
		grants[order[i%len(order)]].Workers++
		sum++
	}
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(remainder(a), remainder(b)), cmp.Compare(grants[a].Predicate, grants[b].Predicate))
	})
	for i := 0; sum > workers; i++ {
		if g := &grants[order[i%len(order)]]; g.Workers > 1 {
			g.Workers--
			sum--
		}
	}
}
