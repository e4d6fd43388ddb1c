package mutation_test

import (
	"context"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/edgemill/edgemill/conflict"
	"github.com/edgemill/edgemill/mutation"
	"github.com/edgemill/edgemill/posting"
	"github.com/edgemill/edgemill/schema"
	"github.com/edgemill/edgemill/schema/value"
)

func parseSnapshot(t testing.TB, text string) *schema.Snapshot {
	parsed, err := schema.Parse(text)
	require.NoError(t, err)
	return schema.NewSnapshot(parsed.Predicates, nil)
}

func stringEdge(subject uint64, predicate, text string) mutation.Edge {
	return mutation.Edge{
		Subject: subject, Predicate: predicate, Value: value.Value{Type: value.String, Data: []byte(text)},
	}
}

func targetEdge(subject uint64, predicate string, target uint64) mutation.Edge {
	return mutation.Edge{Subject: subject, Predicate: predicate, Object: mutation.ObjectUID, Target: target}
}

func star(subject uint64, predicate string) mutation.Edge {
	return mutation.Edge{Subject: subject, Predicate: predicate, Op: mutation.Delete, Object: mutation.ObjectStar}
}

func deletion(e mutation.Edge) mutation.Edge {
	e.Op = mutation.Delete
	return e
}

func TestExpectedKeys(t *testing.T) {
	fp := func(key []byte) uint64 { return conflict.Fingerprint(key) }
	data := func(name string) uint64 { return fp(posting.AppendDataKey(nil, 0, name, 1)) }
	token := func(name, text string) uint64 {
		return fp(posting.AppendIndexKey(nil, 0, name, append([]byte{0x02}, text...)))
	}
	reverse := func(name string, target uint64) uint64 { return fp(posting.AppendReverseKey(nil, 0, name, target)) }
	ann := conflict.Fingerprint([]byte("ann"))
	long := strings.Repeat("x", 70000)
	for name, c := range map[string]struct {
		schema    string
		edge      mutation.Edge
		exclusive []uint64
		shared    []uint64
	}{
		"scalar":                    {"p: string .", stringEdge(1, "p", "ann"), []uint64{data("p")}, nil},
		"scalar with an index":      {"p: string @index(exact) .", stringEdge(1, "p", "ann"), []uint64{data("p")}, nil},
		"upsert":                    {"p: string @index(exact) @upsert .", stringEdge(1, "p", "ann"), []uint64{data("p"), token("p", "ann")}, nil},
		"delete of an upsert value": {"p: string @index(exact) @upsert .", deletion(stringEdge(1, "p", "ann")), []uint64{data("p"), token("p", "ann")}, nil},
		"delete of what cannot be":  {"p: string @index(exact) @upsert .", deletion(stringEdge(1, "p", long)), []uint64{data("p")}, nil},
		"noconflict":                {"p: string @index(exact) @upsert @noconflict .", stringEdge(1, "p", "ann"), nil, nil},
		"list":                      {"p: [string] @index(exact) .", stringEdge(1, "p", "ann"), []uint64{data("p") ^ ann, token("p", "ann") ^ 1}, []uint64{data("p")}},
		"star of a list":            {"p: [string] @index(exact) .", star(1, "p"), []uint64{data("p")}, nil},
		"star of everything":        {"p: string .\nq: [uid] .\nr: int @noconflict .", star(1, "*"), []uint64{data("p"), data("q")}, nil},
		"targets":                   {"p: [uid] @reverse .", targetEdge(1, "p", 9), []uint64{data("p") ^ 9}, []uint64{data("p")}},
		"counted targets":           {"p: [uid] @count .", targetEdge(1, "p", 9), []uint64{data("p") ^ 9, data("p")}, nil},
		"counted sources":           {"p: [uid] @reverse @count .", targetEdge(1, "p", 9), []uint64{data("p") ^ 9, data("p"), reverse("p", 9)}, nil},
		"upsert targets":            {"p: uid @reverse @upsert .", targetEdge(1, "p", 9), []uint64{data("p"), reverse("p", 9)}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			b := mutation.Batch{Edges: []mutation.Edge{c.edge}}
			got, err := mutation.ExpectedKeys(parseSnapshot(t, c.schema), b)
			require.NoError(t, err)
			want := conflict.NewSet(c.exclusive, c.shared)
			require.ElementsMatch(t, want.Exclusive, got.Exclusive)
			require.ElementsMatch(t, want.Shared, got.Shared)
		})
	}
}

func TestExpectedKeysBadEdge(t *testing.T) {
	snap := parseSnapshot(t, "p: int @index(int) .\nq: [string] @index(exact) .")
	good := mutation.Edge{Subject: 1, Predicate: "p", Value: value.Value{Type: value.String, Data: []byte("7")}}
	for _, bad := range []mutation.Edge{
		stringEdge(2, "p", "x"),
		stringEdge(2, "unknown", "x"),
		stringEdge(0, "p", "7"),
		targetEdge(2, "p", 7),
		stringEdge(2, "q", strings.Repeat("x", 70000)),
	} {
		_, err := mutation.ExpectedKeys(snap, mutation.Batch{Edges: []mutation.Edge{good, bad}})
		var edge *mutation.EdgeError
		require.ErrorAs(t, err, &edge)
		require.Equal(t, 1, edge.Index)
		require.Equal(t, bad.Predicate, edge.Predicate)
	}
}

// TestExpectedKeysMeet checks what a gate needs: of two transactions that
// conflict, and not over what they found in the store, the expected keys meet.
// Nothing is stored, so all that they write follows from their edges. (@upsert
// and @count together are left out: there, subjects that have nothing in common
// meet in the buckets of equal numbers.)
func TestExpectedKeysMeet(t *testing.T) {
	snap := parseSnapshot(t, `a: string @index(exact) .
		b: string @index(term) @upsert .
		c: [string] @index(term) .
		d: [string] @count .
		e: string @lang @index(term) @count .
		f: [uid] @reverse .
		g: [uid] @reverse @count .
		h: uid @reverse @count .
		i: uid @reverse @upsert .
		j: [uid] @noconflict @count .`)
	store := openTestStore(t)
	applier, err := mutation.New(mutation.DefaultOptions())
	require.NoError(t, err)
	rnd := rand.New(rand.NewPCG(4, 1))
	keys := func() (expected, actual conflict.Set) {
		b := mutation.Batch{Edges: distinctEdges(rnd)}
		txn := mutation.NewTxn(store, 1)
		defer txn.Release()
		_, err := applier.Apply(context.Background(), txn, snap, b)
		require.NoError(t, err)
		expected, err = mutation.ExpectedKeys(snap, b)
		require.NoError(t, err)
		return expected, txn.ConflictKeys()
	}
	conflicts := 0
	for range 3000 {
		expected1, actual1 := keys()
		expected2, actual2 := keys()
		if setsMeet(actual1, actual2) {
			conflicts++
			require.True(t, setsMeet(expected1, expected2))
		}
	}
	require.Greater(t, conflicts, 300)
	require.Less(t, conflicts, 2700)
}

// distinctEdges sets something in one to three places.
func distinctEdges(rnd *rand.Rand) []mutation.Edge {
	var edges []mutation.Edge
	for _, n := range rnd.Perm(10)[:1+rnd.IntN(3)] {
		name := string(rune('a' + n))
		subject := 1 + rnd.Uint64N(4)
		if name >= "f" {
			edges = append(edges, targetEdge(subject, name, 5+rnd.Uint64N(3)))
			continue
		}
		e := stringEdge(subject, name, []string{"red", "red car", "blue car"}[rnd.IntN(3)])
		if name == "e" {
			e.Lang = []string{"", "de", "en"}[rnd.IntN(3)]
		}
		edges = append(edges, e)
	}
	return edges
}

func setsMeet(a, b conflict.Set) bool {
	meets := func(keys, others []uint64) bool {
		return slices.ContainsFunc(keys, func(key uint64) bool { return slices.Contains(others, key) })
	}
	return meets(a.Exclusive, b.Exclusive) || meets(a.Exclusive, b.Shared) || meets(a.Shared, b.Exclusive)
}
