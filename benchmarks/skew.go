package benchmarks

import (
	"fmt"
	"strings"

	"github.com/edgemill/edgemill/mutation"
)

// SkewWorkloads are batches that cannot be cut into equal parts by predicate or
// by subject, and batches that are too small to cut. Each is to be no slower in
// parallel than one edge after another.
func SkewWorkloads() []Workload {
	return []Workload{
		dominantPredicate(), hotSubject(), hotTarget(), manyPredicates(10_000, 1),
		manyPredicates(1, 1), manyPredicates(10, 1),
	}
}

func skewCases() []Case {
	var cases []Case
	for _, w := range SkewWorkloads() {
		cases = append(cases, workloadCases("Skew/"+w.Name, w, nil)...)
	}
	return cases
}

// skewEdges is the size of the large Skew batches.
const skewEdges = 20_000

// dominantPredicate has 99% of the edges on one predicate, and the others on
// twenty.
func dominantPredicate() Workload {
	const others, each = 20, skewEdges / 100 / 20
	schemaText := "sname: string @index(exact) .\n" + indexedPredicates(others)
	return Workload{Name: "Predicate99", Schema: schemaText, Batch: func() (b mutation.Batch) {
		b.Edges = valueEdges(nil, "sname", skewEdges-others*each, values("value", 50))
		for i := range others {
			b.Edges = valueEdges(b.Edges, predicateName(i), each, values("value", 5))
		}
		return b
	}}
}

// hotSubject has half of the edges on one subject, each to its own target.
func hotSubject() Workload {
	return Workload{Name: "HotSubject", Schema: "link: [uid] @reverse .", Batch: func() (b mutation.Batch) {
		b.Edges = uidEdges(nil, "link", skewEdges/2, skewEdges/2, 1)
		for i := range skewEdges / 2 {
			b.Edges = append(b.Edges, mutation.Edge{
				Subject: firstSubject - 1, Predicate: "link", Object: mutation.ObjectUID, Target: uint64(skewEdges + i),
			})
		}
		return b
	}}
}

// hotTarget has half of the edges lead to one target, the others each to its
// own.
func hotTarget() Workload {
	return Workload{Name: "HotTarget", Schema: "link: [uid] @reverse .", Batch: func() (b mutation.Batch) {
		b.Edges = uidEdges(nil, "link", skewEdges, skewEdges, 1)
		for i := 0; i < len(b.Edges); i += 2 {
			b.Edges[i].Target = firstSubject - 1
		}
		return b
	}}
}

// manyPredicates has so many indexed predicates of so many edges each.
func manyPredicates(predicates, each int) Workload {
	return Workload{
		Name:   fmt.Sprintf("%dx%d", predicates, each),
		Schema: indexedPredicates(predicates),
		Batch: func() (b mutation.Batch) {
			for i := range predicates {
				b.Edges = valueEdges(b.Edges, predicateName(i), each, values("value", each))
			}
			return b
		},
	}
}

func predicateName(i int) string { return fmt.Sprintf("p%05d", i) }

func indexedPredicates(n int) string {
	var s strings.Builder
	for i := range n {
		fmt.Fprintf(&s, "%s: string @index(exact) .\n", predicateName(i))
	}
	return s.String()
}
