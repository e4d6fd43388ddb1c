package benchmarks

import (
	"fmt"

	"github.com/edgemill/edgemill/mutation"
	"github.com/edgemill/edgemill/schema"
	"github.com/edgemill/edgemill/schema/value"
)

// Workload is a schema and one batch, as a named benchmark applies it.
type Workload struct {
	Name   string
	Schema string
	// Batch makes the batch, the same each time; nobody keeps it, so that one
	// benchmark's edges are not on the heap of the next.
	Batch func() mutation.Batch
	// Before makes one that gives the same subjects other values, for the Existing
	// variant.
	Before func() mutation.Batch
}

// Snapshot parses the workload's schema.
func (w *Workload) Snapshot() (*schema.Snapshot, error) {
	parsed, err := schema.Parse(w.Schema)
	if err != nil {
		return nil, fmt.Errorf("workload %s: %w", w.Name, err)
	}
	return schema.NewSnapshot(parsed.Predicates, parsed.Types), nil
}

// applyEdges is the size of most Apply batches.
const applyEdges = 19980

// ApplyWorkloads are the batches of the Apply benchmarks.
func ApplyWorkloads() []Workload {
	return []Workload{
		skewedBatch(), reverseDominant(), reverseHighCardinality(), reverseMultiPredicate(25),
		reverseHighCardConcurrent(4), fiftyFifty(), scalarDominant(),
	}
}

// firstSubject is the first subject of every workload; targets lie below it.
const firstSubject = 1_000_001

func text(format string, args ...any) value.Value {
	return value.Value{Type: value.String, Data: fmt.Appendf(nil, format, args...)}
}

// values makes n values that edges share.
func values(prefix string, n int) []value.Value {
	vs := make([]value.Value, n)
	for i := range vs {
		vs[i] = text("%s-%d", prefix, i)
	}
	return vs
}

// valueEdges gives n subjects one of the values each.
func valueEdges(edges []mutation.Edge, predicate string, n int, of []value.Value) []mutation.Edge {
	for i := range n {
		edges = append(edges, mutation.Edge{Subject: firstSubject + uint64(i), Predicate: predicate, Value: of[i%len(of)]})
	}
	return edges
}

// uidEdges links n subjects to one of so many targets each.
func uidEdges(edges []mutation.Edge, predicate string, n, targets, firstTarget int) []mutation.Edge {
	for i := range n {
		edges = append(edges, mutation.Edge{
			Subject: firstSubject + uint64(i), Predicate: predicate,
			Object: mutation.ObjectUID, Target: uint64(firstTarget + i%targets),
		})
	}
	return edges
}

func skewedBatch() Workload {
	build := func(kind string, target int) (b mutation.Batch) {
		b.Edges = valueEdges(b.Edges, "name", applyEdges, values("name"+kind, 50))
		b.Edges = valueEdges(b.Edges, "dept", 10, values("dept"+kind, 5))
		b.Edges = uidEdges(b.Edges, "friend", 10, 4, target)
		return b
	}
	return Workload{
		Name:   "SkewedBatch",
		Schema: "name: string .\ndept: string @index(exact) .\nfriend: uid @reverse .",
		Batch:  func() mutation.Batch { return build("", 1) },
		Before: func() mutation.Batch { return build("-old", 100) },
	}
}

func reverseDominant() Workload {
	return Workload{
		Name:   "ReverseDominant",
		Schema: "link: [uid] @reverse .",
		Batch:  func() mutation.Batch { return mutation.Batch{Edges: uidEdges(nil, "link", applyEdges, 5, 1)} },
		Before: func() mutation.Batch { return mutation.Batch{Edges: uidEdges(nil, "link", applyEdges, 5, 100)} },
	}
}

func reverseHighCardinality() Workload {
	return Workload{
		Name:   "ReverseHighCardinality",
		Schema: "link: [uid] @reverse .",
		Batch:  func() mutation.Batch { return mutation.Batch{Edges: uidEdges(nil, "link", applyEdges, 8000, 1)} },
		Before: func() mutation.Batch { return mutation.Batch{Edges: uidEdges(nil, "link", applyEdges, 8000, 10000)} },
	}
}

func reverseMultiPredicate(n int) Workload {
	var schemaText string
	build := func(target int) (b mutation.Batch) {
		for i := range n {
			b.Edges = uidEdges(b.Edges, fmt.Sprintf("link%02d", i), applyEdges/n, 1, target+i)
		}
		return b
	}
	for i := range n {
		schemaText += fmt.Sprintf("link%02d: [uid] @reverse .\n", i)
	}
	return Workload{
		Name: fmt.Sprintf("ReverseMultiPredicate/%d", n), Schema: schemaText,
		Batch:  func() mutation.Batch { return build(1) },
		Before: func() mutation.Batch { return build(1000) },
	}
}

func reverseHighCardConcurrent(n int) Workload {
	var schemaText string
	build := func(target int) (b mutation.Batch) {
		for i := range n {
			b.Edges = uidEdges(b.Edges, fmt.Sprintf("link%d", i), 16000, 8000, target)
		}
		return b
	}
	for i := range n {
		schemaText += fmt.Sprintf("link%d: [uid] @reverse .\n", i)
	}
	return Workload{
		Name: fmt.Sprintf("ReverseHighCardConcurrent/%d", n), Schema: schemaText,
		Batch:  func() mutation.Batch { return build(1) },
		Before: func() mutation.Batch { return build(10000) },
	}
}

func fiftyFifty() Workload {
	build := func(kind string, target int) (b mutation.Batch) {
		b.Edges = valueEdges(b.Edges, "sname", 10000, values("value"+kind, 50))
		b.Edges = uidEdges(b.Edges, "link", 10000, 5, target)
		return b
	}
	return Workload{
		Name:   "FiftyFifty",
		Schema: "sname: string @index(exact) .\nlink: [uid] @reverse .",
		Batch:  func() mutation.Batch { return build("", 1) },
		Before: func() mutation.Batch { return build("-old", 100) },
	}
}

func scalarDominant() Workload {
	return Workload{
		Name:   "ScalarDominant",
		Schema: "sname: string @index(exact) .",
		Batch: func() mutation.Batch {
			return mutation.Batch{Edges: valueEdges(nil, "sname", applyEdges, values("value", 50))}
		},
		Before: func() mutation.Batch {
			return mutation.Batch{Edges: valueEdges(nil, "sname", applyEdges, values("value-old", 50))}
		},
	}
}
