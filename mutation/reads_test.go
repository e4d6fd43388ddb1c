package mutation_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/edgemill/edgemill/mutation"
	"github.com/edgemill/edgemill/posting"
	"github.com/edgemill/edgemill/schema"
	"github.com/edgemill/edgemill/schema/value"
)

// readSubjects is the number of subjects in the cases of TestReads.
const readSubjects = 10

// readsOf says how many lists a batch of one edge for each of readSubjects
// subjects reads. Every subject holds something, and each value and target is
// its own.
type readsOf struct {
	definition                 string
	set, again, remove, star   int
	freshSet, freshDel, absent int
}

// TestReads pins the number of lists that a batch reads, by what the predicate
// keeps: with the subjects' lists alone a read of every subject is 10, with
// the lists of sources too it is 20 or more. set is of another value or
// target, again of the one that stands, remove deletes what stands, absent
// what does not.
func TestReads(t *testing.T) {
	for _, c := range []readsOf{
		// Nothing follows from the data, so nothing has to be known.
		{definition: "[uid]"},
		{definition: "uid"},
		{definition: "uid @upsert"},
		// A set in a list adds a source whatever stands; a delete has one to
		// take away only if it stands.
		{definition: "[uid] @reverse", remove: 10, star: 10, absent: 10},
		{definition: "[uid] @reverse @noconflict", remove: 10, star: 10, absent: 10},
		// The key of a reverse list goes with a source that comes.
		{definition: "[uid] @reverse @upsert", set: 10, again: 10, remove: 10, star: 10, absent: 10},
		{definition: "[uid] @reverse @upsert @noconflict", remove: 10, star: 10, absent: 10},
		// The old target loses a source.
		{definition: "uid @reverse", set: 10, again: 10, remove: 10, star: 10, absent: 10},
		{definition: "[uid] @count", set: 10, again: 10, remove: 10, star: 10, absent: 10},
		{definition: "uid @count", set: 10, again: 10, remove: 10, star: 10, absent: 10},
		// The number of a target's sources is known from its list alone, also
		// where the subject is fresh; a target that was there keeps its number.
		{definition: "[uid] @reverse @count", set: 20, again: 10, remove: 20, star: 20, absent: 10, freshSet: 10},
		{definition: "uid @reverse @count", set: 30, again: 10, remove: 20, star: 20, absent: 10, freshSet: 10},
		// A value is replaced unseen; a delete compares.
		{definition: "string", remove: 10, absent: 10},
		{definition: "int", remove: 10, absent: 10},
		{definition: "default", remove: 10, absent: 10},
		{definition: "string @lang", remove: 10, absent: 10},
		{definition: "[string]", remove: 10, absent: 10},
		{definition: "string @count", set: 10, again: 10, remove: 10, star: 10, absent: 10},
		{definition: "[string] @count", set: 10, again: 10, remove: 10, star: 10, absent: 10},
		{definition: "string @index(exact)", set: 10, again: 10, remove: 10, star: 10, absent: 10},
		{definition: "string @index(exact, term) @count", set: 10, again: 10, remove: 10, star: 10, absent: 10},
		{definition: "string @lang @index(term)", set: 10, again: 10, remove: 10, star: 10, absent: 10},
		{definition: "[string] @index(exact)", set: 10, again: 10, remove: 10, star: 10, absent: 10},
		{definition: "int @index(int) @upsert", set: 10, again: 10, remove: 10, star: 10, absent: 10},
		// Who else has the value is looked up.
		{definition: "string @index(exact) @upsert @unique", set: 20, again: 20, remove: 10, star: 10, absent: 10, freshSet: 10},
	} {
		t.Run(c.definition, c.run)
	}
}

func (c readsOf) run(t *testing.T) {
	snap := parseSnapshot(t, "p: "+c.definition+" .")
	store := openTestStore(t)
	before := mutation.NewTxn(store, 10)
	applyWith(t, mutation.Options{}, before, snap, mutation.Batch{Edges: readEdges(snap, 0)})
	commitTestTxn(t, store, before, 11)
	before.Release()
	deleted := func(edges []mutation.Edge) []mutation.Edge {
		for i := range edges {
			edges[i].Op = mutation.Delete
		}
		return edges
	}
	var stars []mutation.Edge
	for i := range uint64(readSubjects) {
		stars = append(stars, star(1+i, "p"))
	}
	everyone := []mutation.UIDRange{{First: 1, Last: readSubjects}}
	for _, step := range []struct {
		name  string
		want  int
		batch mutation.Batch
	}{
		{"set", c.set, mutation.Batch{Edges: readEdges(snap, 100)}},
		{"set twice", c.set, mutation.Batch{Edges: append(readEdges(snap, 100), readEdges(snap, 100)...)}},
		{"set again", c.again, mutation.Batch{Edges: readEdges(snap, 0)}},
		{"delete", c.remove, mutation.Batch{Edges: deleted(readEdges(snap, 0))}},
		{"delete the absent", c.absent, mutation.Batch{Edges: deleted(readEdges(snap, 100))}},
		{"star", c.star, mutation.Batch{Edges: stars}},
		{"fresh set", c.freshSet, mutation.Batch{Edges: readEdges(snap, 100), Fresh: everyone}},
		{"fresh delete", c.freshDel, mutation.Batch{Edges: deleted(readEdges(snap, 100)), Fresh: everyone}},
	} {
		for name, opts := range readAppliers() {
			var wait firstRead
			tx := mutation.NewTxnAfter(store, 20, wait.readable)
			a, err := mutation.New(opts)
			require.NoError(t, err)
			r, err := a.Apply(wait.context(), tx, snap, step.batch)
			require.NoError(t, err)
			require.False(t, wait.inPass, "%s, %s: waited inside a pass", step.name, name)
			require.True(t, wait.waited || r.Reads == 0, "%s, %s: read without a wait", step.name, name)
			if step.batch.Fresh != nil && r.Reads == 0 && name != "serial" {
				require.False(t, wait.waited && !readsForFresh(snap), "%s, %s: waited to read nothing", step.name, name)
			}
			want := step.want
			if p, _ := snap.Predicate(0, "p"); name == "serial" && step.name == "set again" && p.Reverse && p.Count {
				want += readSubjects // It opens a list of sources whatever it is for.
			}
			require.Equal(t, want, r.Reads, "%s, %s", step.name, name)
			tx.Release()
		}
	}
}

// readsForFresh says whether a fresh subject may need other lists than its own.
func readsForFresh(snap *schema.Snapshot) bool {
	p, _ := snap.Predicate(0, "p")
	return p.Unique || p.Reverse && p.Count
}

func readAppliers() map[string]mutation.Options {
	return map[string]mutation.Options{
		"serial":   {},
		"off":      {MinEdges: 1, Parallelism: mutation.Off},
		"parallel": {MinEdges: 1, Parallelism: mutation.Workers(4), EdgesPerWorker: 1},
	}
}

// applyWith applies a batch with an Applier of its own.
func applyWith(t testing.TB, opts mutation.Options, tx *mutation.Txn, snap *schema.Snapshot, b mutation.Batch) mutation.Report {
	t.Helper()
	a, err := mutation.New(opts)
	require.NoError(t, err)
	r, err := a.Apply(context.Background(), tx, snap, b)
	require.NoError(t, err)
	return r
}

// readEdges sets something of its own for each subject; other shifts what.
func readEdges(snap *schema.Snapshot, other uint64) []mutation.Edge {
	p, _ := snap.Predicate(0, "p")
	var edges []mutation.Edge
	for i := range uint64(readSubjects) {
		if p.Type == value.UID {
			edges = append(edges, targetEdge(1+i, "p", 1000+other+i))
		} else {
			edges = append(edges, stringEdge(1+i, "p", fmt.Sprint(1000+other+i)))
		}
	}
	return edges
}

// TestReadsOf pins the reads of batches that are not of one edge a subject.
func TestReadsOf(t *testing.T) {
	const stored = `name: string @index(exact) @lang .
		plain: string @lang .
		mail: string @index(hash) @upsert @unique .
		pal: [uid] @reverse @count .
		likes: [uid] @reverse .`
	snap := parseSnapshot(t, stored)
	store := openTestStore(t)
	before := mutation.NewTxn(store, 10)
	applyWith(t, mutation.Options{}, before, snap, mutation.Batch{Edges: []mutation.Edge{
		stringEdge(1, "name", "ann"), stringEdge(1, "mail", "a@b"), targetEdge(1, "pal", 5), targetEdge(1, "likes", 5),
	}})
	commitTestTxn(t, store, before, 11)
	before.Release()
	var hot []mutation.Edge
	for i := range uint64(50) {
		hot = append(hot, targetEdge(1+i%25, "pal", 9))
	}
	inFrench := stringEdge(1, "plain", "anne")
	inFrench.Lang = "fr"
	frenchStar := star(1, "plain")
	frenchStar.Lang = "fr"
	for _, c := range []struct {
		name  string
		edges []mutation.Edge
		fresh []mutation.UIDRange
		want  int
	}{
		{"a subject's edges read its list once", []mutation.Edge{stringEdge(1, "name", "a"), stringEdge(1, "name", "b"), deletion(stringEdge(1, "name", "b"))}, nil, 1},
		{"and once for each predicate", []mutation.Edge{stringEdge(1, "name", "a"), stringEdge(1, "mail", "x"), stringEdge(1, "name", "c")}, nil, 3},
		{"a hot target's list is read once", hot, nil, 25 + 1},
		{"@unique looks at each distinct token", []mutation.Edge{stringEdge(2, "mail", "x"), stringEdge(3, "mail", "y"), deletion(stringEdge(2, "mail", "x")), stringEdge(4, "mail", "x")}, nil, 3 + 2},
		{"of fresh subjects too", []mutation.Edge{stringEdge(2, "mail", "x"), stringEdge(3, "mail", "y")}, []mutation.UIDRange{{First: 2, Last: 3}}, 2},
		{"a star on all looks at every predicate", []mutation.Edge{star(7, mutation.StarPredicate)}, nil, 5},
		{"and at each target whose sources are counted", []mutation.Edge{star(1, mutation.StarPredicate)}, nil, 5 + 1},
		{"of a fresh subject at none", []mutation.Edge{star(7, mutation.StarPredicate)}, []mutation.UIDRange{{First: 7, Last: 7}}, 0},
		{"a tagged value", []mutation.Edge{inFrench}, nil, 0},
		{"a language's star", []mutation.Edge{frenchStar}, nil, 0},
		{"an untagged value behind a star", []mutation.Edge{star(1, "plain"), inFrench, stringEdge(1, "plain", "ann")}, nil, 1},
		{"only those that are not fresh", []mutation.Edge{stringEdge(1, "name", "a"), stringEdge(2, "name", "a"), stringEdge(3, "name", "a")}, []mutation.UIDRange{{First: 1, Last: 1}, {First: 3, Last: 9}}, 1},
	} {
		for name, opts := range readAppliers() {
			t.Run(c.name+"/"+name, func(t *testing.T) {
				tx := mutation.NewTxn(store, 20)
				defer tx.Release()
				r := applyWith(t, opts, tx, snap, mutation.Batch{Edges: c.edges, Fresh: c.fresh})
				require.Equal(t, c.want, r.Reads)
			})
		}
	}
}

// TestFreshIsNeverRead says of subjects that hold something that they are
// fresh: what stands is then not seen, since nobody looked.
func TestFreshIsNeverRead(t *testing.T) {
	snap := parseSnapshot(t, "p: string @index(exact) .")
	store := openTestStore(t)
	before := mutation.NewTxn(store, 10)
	applyWith(t, mutation.Options{}, before, snap, mutation.Batch{Edges: []mutation.Edge{stringEdge(1, "p", "ann")}})
	commitTestTxn(t, store, before, 11)
	before.Release()
	ann := posting.AppendIndexKey(nil, 0, "p", []byte("\x02ann"))
	for name, opts := range readAppliers() {
		for _, fresh := range []bool{false, true} {
			b := mutation.Batch{Edges: []mutation.Edge{stringEdge(1, "p", "bob")}}
			if fresh {
				b.Fresh = []mutation.UIDRange{{First: 1, Last: 1}}
			}
			tx := mutation.NewTxn(store, 20)
			applyWith(t, opts, tx, snap, b)
			_, written := tx.Deltas().Get(ann)
			require.Equal(t, !fresh, written, name)
			tx.Release()
		}
	}
}

// TestFreshRefused checks that ranges that are not sorted, or overlap, are
// refused before anything is done.
func TestFreshRefused(t *testing.T) {
	snap := parseSnapshot(t, "p: string .")
	store := openTestStore(t)
	for _, ranges := range [][]mutation.UIDRange{
		{{First: 2, Last: 1}},
		{{First: 5, Last: 9}, {First: 1, Last: 2}},
		{{First: 1, Last: 5}, {First: 5, Last: 9}},
	} {
		tx := mutation.NewTxn(store, 20)
		a, err := mutation.New(mutation.DefaultOptions())
		require.NoError(t, err)
		_, err = a.Apply(context.Background(), tx, snap, mutation.Batch{Edges: []mutation.Edge{stringEdge(1, "p", "a")}, Fresh: ranges})
		require.ErrorIs(t, err, mutation.ErrBadEdge)
		require.Empty(t, tx.Deltas().Sorted())
		tx.Release()
	}
}
