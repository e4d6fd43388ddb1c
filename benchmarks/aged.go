package benchmarks

import (
	"context"
	"errors"
	"fmt"

	"github.com/edgemill/edgemill/mutation"
	"github.com/edgemill/edgemill/posting"
)

const (
	// agedCommits is how many commits of one edge an old store got, and agedKeys
	// the number of subjects, and of targets, that they were about.
	agedCommits = 10_000
	agedKeys    = 100
)

// agedCases read every list of a store: of one that got its edges one by one in
// commits of their own (commits), the same after a rollup of all keys (rolledup),
// and one that got them all at once (fresh). An operation is one list.
func agedCases() []Case {
	var cases []Case
	for _, kind := range []struct {
		name string
		fill func(context.Context, *mutating) error
	}{{"fresh", fillAtOnce}, {"commits", fillOneByOne}, {"rolledup", fillAndRollUp}} {
		cases = append(cases, Case{Name: "Aged/" + kind.name, Run: func(ctx context.Context, m Meter, n int) error {
			return runAged(ctx, m, n, kind.fill)
		}})
	}
	return cases
}

// agedEdges link each subject with each target, in such an order that any two
// neighbours differ in both.
func agedEdges() []mutation.Edge {
	edges := make([]mutation.Edge, agedCommits)
	for i := range edges {
		subject, turn := i%agedKeys, i/agedKeys
		edges[i] = mutation.Edge{
			Subject: uint64(firstSubject + subject), Predicate: "link",
			Object: mutation.ObjectUID, Target: uint64(1 + (subject+turn)%agedKeys),
		}
	}
	return edges
}

// agedListKeys are the keys of all lists of the store.
func agedListKeys() [][]byte {
	var keys [][]byte
	for i := range uint64(agedKeys) {
		keys = append(keys, posting.AppendDataKey(nil, 0, "link", firstSubject+i), posting.AppendReverseKey(nil, 0, "link", 1+i))
	}
	return keys
}

func fillAtOnce(ctx context.Context, w *mutating) error {
	_, err := w.mutate(ctx, mutation.Batch{Edges: agedEdges()}, readable)
	return err
}

func fillOneByOne(ctx context.Context, w *mutating) error {
	for _, e := range agedEdges() {
		if _, err := w.mutate(ctx, mutation.Batch{Edges: []mutation.Edge{e}}, readable); err != nil {
			return err
		}
	}
	return nil
}

func fillAndRollUp(ctx context.Context, w *mutating) error {
	if err := fillOneByOne(ctx, w); err != nil {
		return err
	}
	w.ts += 2
	reader := w.store.Reader(w.ts - 1)
	defer reader.Release()
	for _, key := range agedListKeys() {
		entries, err := reader.RollUp(key)
		if err != nil {
			return err
		}
		if err := w.store.Commit(ctx, posting.Commit{TS: w.ts, Entries: entries}); err != nil {
			return err
		}
	}
	return w.store.Flush(ctx)
}

func runAged(ctx context.Context, m Meter, n int, fill func(context.Context, *mutating) error) (err error) {
	w := Workload{Name: "Aged", Schema: "link: [uid] @reverse ."}
	snap, err := w.Snapshot()
	if err != nil {
		return err
	}
	store, err := newMutating(m.Dir(), snap, mutation.DefaultOptions())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.store.Close()) }()
	if err := fill(ctx, store); err != nil {
		return err
	}
	keys := agedListKeys()
	reader := store.store.Reader(store.ts + 1)
	defer reader.Release()
	m.ResetTimer()
	defer m.StopTimer()
	for i := range n {
		if err := readList(reader, keys[i%len(keys)], agedCommits/agedKeys); err != nil {
			return err
		}
	}
	return nil
}

// readList goes through a list, which is to have so many postings.
func readList(reader *posting.Reader, key []byte, want int) error {
	l, err := reader.List(key)
	if err != nil {
		return err
	}
	got := 0
	if l != nil {
		for range l.Postings(0) {
			got++
		}
	}
	if got != want {
		return fmt.Errorf("list %x: %d postings, not %d", key, got, want)
	}
	return nil
}
