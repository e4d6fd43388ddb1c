package mutation_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/edgemill/edgemill/conflict"
	"github.com/edgemill/edgemill/mutation"
	"github.com/edgemill/edgemill/posting"
	"github.com/edgemill/edgemill/schema"
)

const shapeSchema = `name: string @index(term, exact) @lang @count .
	tag: [string] @index(term) @count .
	age: int @index(int) .
	mail: string @index(hash) @upsert @unique .
	pal: [uid] @reverse @count .
	boss: uid @reverse @count .
	likes: [uid] @reverse @upsert .
	code: string .
	`

// shape is a batch whose edges lie in an uneven way.
type shape struct {
	name string
	// bend makes one of a random edge.
	bend func(n int, e *mutation.Edge)
}

const shapeEdges = 3000

func shapes() []shape {
	return []shape{
		{"even", func(int, *mutation.Edge) {}},
		{"one subject has half of the edges", func(n int, e *mutation.Edge) {
			if n%2 == 0 {
				e.Subject = 77
			}
		}},
		{"one subject has all", func(_ int, e *mutation.Edge) { e.Subject = 77 }},
		{"one target has half of the edges", func(n int, e *mutation.Edge) {
			if n%2 == 0 {
				e.Target = 77
			}
		}},
		{"one predicate has all but a few", func(n int, e *mutation.Edge) {
			if n%100 > 0 {
				*e = targetEdge(e.Subject, "pal", e.Subject%50+1)
			}
		}},
		{"a thousand predicates of one edge", func(n int, e *mutation.Edge) {
			if n%3 == 0 {
				*e = stringEdge(e.Subject, fmt.Sprintf("one%d", n/3), "a b")
			}
		}},
		{"ascending subjects", func(n int, e *mutation.Edge) { e.Subject = uint64(n + 1) }},
		{"descending subjects", func(n int, e *mutation.Edge) { e.Subject = uint64(shapeEdges - n) }},
		{"subjects that differ in their highest bits", func(n int, e *mutation.Edge) { e.Subject |= uint64(n%7) << 61 }},
		{"the greatest subjects", func(n int, e *mutation.Edge) { e.Subject = ^uint64(0) - 1 - uint64(n%300) }},
		{"stars between", func(n int, e *mutation.Edge) {
			switch {
			case n%10 == 0:
				*e = star(e.Subject, e.Predicate)
			case n%1000 == 1:
				*e = star(e.Subject, mutation.StarPredicate)
			}
		}},
		{"sets and deletes of the same few", func(n int, e *mutation.Edge) {
			e.Subject, e.Target = 1+uint64(n%5), 1+uint64(n%3)
			if n%4 == 3 {
				e.Op = mutation.Delete
			}
		}},
	}
}

func shapeSnapshot(t testing.TB) *schema.Snapshot {
	var text strings.Builder
	text.WriteString(shapeSchema)
	for i := range shapeEdges / 3 {
		fmt.Fprintf(&text, "one%d: string @index(term) .\n", i)
	}
	return parseSnapshot(t, text.String())
}

// edges makes a shape's batch. mail is on its own subjects, so that no two
// hold one value.
func (s shape) edges(seed uint64) []mutation.Edge {
	rnd := rand.New(rand.NewPCG(seed, 3))
	edges := make([]mutation.Edge, shapeEdges)
	for n := range edges {
		e := &edges[n]
		subject := 1 + rnd.Uint64N(1000)
		switch rnd.IntN(8) {
		case 0:
			*e = stringEdge(subject, "name", fmt.Sprintf("name %d", rnd.IntN(40)))
			e.Lang = []string{"", "en", "de"}[rnd.IntN(3)]
		case 1:
			*e = stringEdge(subject, "tag", fmt.Sprintf("tag %d", rnd.IntN(40)))
		case 2:
			*e = stringEdge(subject, "age", fmt.Sprint(rnd.IntN(90)))
		case 3:
			*e = stringEdge(subject, "mail", fmt.Sprintf("%d@%d", n, seed))
		case 4:
			*e = targetEdge(subject, "boss", 1+rnd.Uint64N(100))
		case 5:
			*e = targetEdge(subject, "likes", 1+rnd.Uint64N(100))
		case 6:
			*e = stringEdge(subject, "code", "x")
		default:
			*e = targetEdge(subject, "pal", 1+rnd.Uint64N(100))
		}
		s.bend(n, e)
		if e.Object != mutation.ObjectUID {
			e.Target = 0
		}
	}
	return edges
}

// TestShapes applies batches of uneven shapes, in two batches of one
// transaction, on an empty store and on one that holds the subjects already,
// and compares the parallel applier's result with the serial one's (I4).
func TestShapes(t *testing.T) {
	snap := shapeSnapshot(t)
	grants := parallelisms()
	if testing.Short() {
		grants = []mutation.Parallelism{mutation.Workers(3), mutation.Workers(32)}
	}
	for _, s := range shapes() {
		t.Run(s.name, func(t *testing.T) {
			store := openTestStore(t)
			before := mutation.NewTxn(store, 10)
			defer before.Release()
			b := mutation.Batch{Edges: s.edges(1)}
			applyWith(t, mutation.Options{}, before, snap, b)
			for _, p := range grants {
				requireEqualTo(t, store, 10, snap, before, p, b)
			}
			commitTestTxn(t, store, before, 11)
			after := mutation.NewTxn(store, 20)
			defer after.Release()
			batches := []mutation.Batch{{Edges: s.edges(2)}, {Edges: s.edges(3)}}
			for _, b := range batches {
				applyWith(t, mutation.Options{}, after, snap, b)
			}
			for _, p := range grants {
				requireEqualTo(t, store, 20, snap, after, p, batches...)
			}
		})
	}
}

// requireEqualTo applies batches in parallel, and compares with a transaction
// of the same timestamp.
func requireEqualTo(t *testing.T, store *posting.Store, ts uint64, snap *schema.Snapshot, want *mutation.Txn, p mutation.Parallelism, batches ...mutation.Batch) {
	t.Helper()
	opts := mutation.Options{Parallelism: p, EdgesPerWorker: 1, MinEdges: 1}
	tx := mutation.NewTxn(store, ts)
	defer tx.Release()
	for _, b := range batches {
		applyWith(t, opts, tx, snap, b)
	}
	requireEqualTxns(t, snap, want, tx, batches[0], opts)
}

// TestEdgesOfOneTargetKeepTheirOrder takes the number of one target's sources
// up and down, over subjects that different workers have: which buckets have a
// conflict key depends on the order of the edges, and on nothing else (I2).
func TestEdgesOfOneTargetKeepTheirOrder(t *testing.T) {
	snap := parseSnapshot(t, "pal: [uid] @reverse @count .")
	store := openTestStore(t)
	before := mutation.NewTxn(store, 10)
	var edges []mutation.Edge
	for i := range uint64(40) {
		edges = append(edges, targetEdge(1+i, "pal", 99))
	}
	applyWith(t, mutation.Options{}, before, snap, mutation.Batch{Edges: edges})
	commitTestTxn(t, store, before, 11)
	before.Release()
	up := func() (edges []mutation.Edge) {
		for i := range uint64(40) {
			edges = append(edges, targetEdge(101+i, "pal", 99))
		}
		return edges
	}
	down := func() (edges []mutation.Edge) {
		for i := range uint64(40) {
			edges = append(edges, deletion(targetEdge(40-i, "pal", 99)))
		}
		return edges
	}
	var turns []mutation.Edge
	for i, e := range up() {
		turns = append(turns, e, down()[i])
	}
	buckets := func(edges []mutation.Edge, opts mutation.Options) map[uint32]bool {
		tx := mutation.NewTxn(store, 20)
		defer tx.Release()
		applyWith(t, opts, tx, snap, mutation.Batch{Edges: edges})
		keys := make(map[uint64]bool)
		for _, key := range tx.ConflictKeys().Exclusive {
			keys[key] = true
		}
		found := make(map[uint32]bool)
		for n := uint32(1); n <= 90; n++ {
			key := posting.AppendCountKey(nil, 0, "pal", posting.KindCountReverse, n)
			if keys[conflict.Fingerprint(key)^99] {
				found[n] = true
			}
		}
		return found
	}
	between := func(from, to uint32) map[uint32]bool {
		all := make(map[uint32]bool)
		for n := from; n <= to; n++ {
			all[n] = true
		}
		return all
	}
	for name, opts := range readAppliers() {
		require.Equal(t, between(40, 80), buckets(append(up(), down()...), opts), "up, then down: %s", name)
		require.Equal(t, between(1, 40), buckets(append(down(), up()...), opts), "down, then up: %s", name)
		require.Equal(t, between(40, 41), buckets(turns, opts), "in turns: %s", name)
	}
}

// TestUniqueKeepsTheOrder takes a value from one subject to another: it depends
// on the order of the edges whether two hold it at once (I2).
func TestUniqueKeepsTheOrder(t *testing.T) {
	snap := parseSnapshot(t, "mail: string @index(hash) @upsert @unique .")
	give := deletion(stringEdge(200, "mail", "a@b"))
	take := stringEdge(1, "mail", "a@b")
	filler := func() (edges []mutation.Edge) {
		for i := range uint64(300) {
			edges = append(edges, stringEdge(3+i*2, "mail", fmt.Sprint(i)))
		}
		return edges
	}
	for name, opts := range readAppliers() {
		store := openTestStore(t)
		before := mutation.NewTxn(store, 10)
		applyWith(t, mutation.Options{}, before, snap, mutation.Batch{Edges: []mutation.Edge{stringEdge(200, "mail", "a@b")}})
		commitTestTxn(t, store, before, 11)
		before.Release()
		a, err := mutation.New(opts)
		require.NoError(t, err)
		tx := mutation.NewTxn(store, 20)
		_, err = a.Apply(context.Background(), tx, snap, mutation.Batch{Edges: append(append(filler(), take), give)})
		require.ErrorIs(t, err, mutation.ErrNotUnique, name)
		require.ErrorContains(t, err, "0xc8", "the other subject, by %s", name)
		var bad *mutation.EdgeError
		require.ErrorAs(t, err, &bad)
		require.Equal(t, mutation.EdgeError{Index: 300, Predicate: "mail", Subject: 1, Err: bad.Err}, *bad, name)
		require.Empty(t, tx.Deltas().Sorted())
		_, err = a.Apply(context.Background(), tx, snap, mutation.Batch{Edges: append(append(filler(), give), take)})
		require.NoError(t, err, name)
		tx.Release()
	}
}
