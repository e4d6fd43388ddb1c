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
		cases = append(cases, workloadCases("Skew", w)...)
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
	edges := valueEdges(nil, "sname", skewEdges-others*each, values("value", 50))
	for i := range others {
		edges = valueEdges(edges, predicateName(i), each, values("value", 5))
	}
	return Workload{Name: "Predicate99", Schema: schemaText, Batch: mutation.Batch{Edges: edges}}
}

// hotSubject has half of the edges on one subject, each to its own target.
func hotSubject() Workload {
	edges := uidEdges(nil, "link", skewEdges/2, skewEdges/2, 1)
	for i := range skewEdges / 2 {
		edges = append(edges, mutation.Edge{
			Subject: firstSubject - 1, Predicate: "link", Object: mutation.ObjectUID, Target: uint64(skewEdges + i),
		})
	}
	return Workload{Name: "HotSubject", Schema: "link: [uid] @reverse .", Batch: mutation.Batch{Edges: edges}}
}

// hotTarget has half of the edges lead to one target, the others each to its
// own.
func hotTarget() Workload {
	edges := uidEdges(nil, "link", skewEdges, skewEdges, 1)
	for i := 0; i < len(edges); i += 2 {
		edges[i].Target = firstSubject - 1
	}
	return Workload{Name: "HotTarget", Schema: "link: [uid] @reverse .", Batch: mutation.Batch{Edges: edges}}
}

// manyPredicates has so many indexed predicates of so many edges each.
func manyPredicates(predicates, each int) Workload {
	var edges []mutation.Edge
	for i := range predicates {
		edges = valueEdges(edges, predicateName(i), each, values("value", each))
	}
	return Workload{
		Name:   fmt.Sprintf("%dx%d", predicates, each),
		Schema: indexedPredicates(predicates), Batch: mutation.Batch{Edges: edges},
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
