package mutation_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/edgemill/edgemill/mutation"
	"github.com/edgemill/edgemill/posting"
)

// countingContext counts how often it is asked whether it is done, and is done
// when it was asked often enough.
type countingContext struct {
	context.Context
	asked atomic.Int64
	until int64
}

func (c *countingContext) Err() error {
	if n := c.asked.Add(1); c.until > 0 && n >= c.until {
		return context.Canceled
	}
	return nil
}

// cancelShapes are batches that keep a pass busy in one place.
func cancelShapes(n uint64) map[string][]mutation.Edge {
	shapes := make(map[string][]mutation.Edge)
	add := func(name string, e mutation.Edge) { shapes[name] = append(shapes[name], e) }
	for i := range n {
		add("many subjects", stringEdge(1+i, "code", "x"))
		add("one subject", stringEdge(1, "tag", fmt.Sprint(i)))
		add("many targets", targetEdge(1, "pal", 1+i))
		add("many tokens", stringEdge(1+i, "age", fmt.Sprint(i)))
	}
	return shapes
}

// TestContextIsAskedOften checks that no stretch of work of a few hundred
// edges, subjects or keys goes by without a look at the context (I5).
func TestContextIsAskedOften(t *testing.T) {
	const edges, stretch = 50_000, 300
	snap := parseSnapshot(t, shapeSchema)
	store := openTestStore(t)
	for name, batch := range cancelShapes(edges) {
		passes := map[string]int64{"many subjects": 1, "one subject": 2, "many tokens": 2, "many targets": 3}[name]
		for applier, opts := range map[string]mutation.Options{"serial": {}, "off": failureOptions()["off"]} {
			if applier == "serial" {
				passes = 1
			}
			ctx := &countingContext{Context: context.Background()}
			a, err := mutation.New(opts)
			require.NoError(t, err)
			tx := mutation.NewTxn(store, 10)
			_, err = a.Apply(ctx, tx, snap, mutation.Batch{Edges: batch})
			require.NoError(t, err)
			tx.Release()
			require.Greater(t, ctx.asked.Load(), passes*edges/stretch, "%s, %s", name, applier)
		}
	}
}

// TestCancelledAnywhere cancels at each of many looks at the context, so at any
// point of any pass: the batch leaves nothing, and what comes next works.
func TestCancelledAnywhere(t *testing.T) {
	snap := parseSnapshot(t, shapeSchema)
	for name, opts := range failureOptions() {
		t.Run(name, func(t *testing.T) {
			f := newFailing(t, snap, opts)
			all := &countingContext{Context: context.Background()}
			other := mutation.NewTxn(f.store, 20)
			defer other.Release()
			_, err := f.a.Apply(all, other, snap, f.next())
			require.NoError(t, err)
			looks := all.asked.Load()
			for until := int64(1); until < looks; until += 1 + looks/20 {
				err := f.fail(&countingContext{Context: context.Background(), until: until}, f.next())
				require.ErrorIs(t, err, context.Canceled)
			}
			f.works()
		})
	}
}

// TestCancelledCause checks that the error is the context's cause, and that a
// context that is done stops an empty batch too.
func TestCancelledCause(t *testing.T) {
	cause := errors.New("the client went away")
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(cause)
	snap := parseSnapshot(t, shapeSchema)
	for name, opts := range failureOptions() {
		t.Run(name, func(t *testing.T) {
			f := newFailing(t, snap, opts)
			require.ErrorIs(t, f.fail(ctx, f.next()), cause)
			require.ErrorIs(t, f.fail(ctx, mutation.Batch{}), context.Canceled)
			f.works()
		})
	}
}

// TestCancelIsPrompt cancels large batches at random moments, and says how long
// it took until Apply returned. The bound is far above the few milliseconds
// that it takes on a machine with nothing else to do.
func TestCancelIsPrompt(t *testing.T) {
	const bound = time.Second
	edges, trials := uint64(200_000), 5
	if testing.Short() {
		edges, trials = 50_000, 2
	}
	snap := parseSnapshot(t, shapeSchema)
	store := openTestStore(t)
	a, err := mutation.New(mutation.Options{MinEdges: 1, Parallelism: mutation.Workers(8)})
	require.NoError(t, err)
	rnd := rand.New(rand.NewPCG(5, 1))
	for name, batch := range cancelShapes(edges) {
		var worst time.Duration
		for range trials {
			tx := mutation.NewTxn(store, 10)
			ctx, cancel := context.WithCancel(context.Background())
			var at time.Time
			timer := time.AfterFunc(time.Duration(rnd.Int64N(int64(50*time.Millisecond))), func() { at = time.Now(); cancel() })
			_, err := a.Apply(ctx, tx, snap, mutation.Batch{Edges: batch})
			if !timer.Stop() && err != nil {
				<-ctx.Done()
				worst = max(worst, time.Since(at))
				require.ErrorIs(t, err, context.Canceled)
				require.Empty(t, tx.Deltas().Sorted())
			}
			cancel()
			tx.Release()
		}
		t.Logf("%s: %v at most", name, worst)
		require.Less(t, worst, bound, name)
	}
}

// TestWaitingBatchIsCancelled: a batch that waits for another one of its
// transaction ends with its context, and the transaction goes on.
func TestWaitingBatchIsCancelled(t *testing.T) {
	snap := parseSnapshot(t, shapeSchema)
	let, reached := make(chan struct{}), make(chan struct{})
	tx := mutation.NewTxnAfter(openTestStore(t), 10, func(context.Context) error {
		close(reached)
		<-let
		return nil
	})
	defer tx.Release()
	a, err := mutation.New(mutation.DefaultOptions())
	require.NoError(t, err)
	apply := func(ctx context.Context, subject uint64) error {
		_, err := a.Apply(ctx, tx, snap, mutation.Batch{Edges: []mutation.Edge{stringEdge(subject, "age", "7")}})
		return err
	}
	errs := make(chan error, 3)
	go func() { errs <- apply(context.Background(), 1) }()
	<-reached
	ctx, cancel := context.WithCancel(context.Background())
	for n := range uint64(2) {
		go func() { errs <- apply(ctx, 2+n) }()
	}
	cancel()
	for range 2 {
		require.ErrorIs(t, <-errs, context.Canceled)
	}
	close(let)
	require.NoError(t, <-errs)
	require.NoError(t, apply(context.Background(), 4))
	written := map[uint64]bool{}
	for key := range tx.Deltas().All() {
		k, err := posting.ParseKey(key)
		require.NoError(t, err)
		if k.Kind == posting.KindData {
			written[k.UID] = true
		}
	}
	require.Equal(t, map[uint64]bool{1: true, 4: true}, written)
}
