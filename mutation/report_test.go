package mutation_test

import (
	"bytes"
	"context"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/edgemill/edgemill/mutation"
)

// reports keeps what an Applier told its metrics.
type reports struct {
	mu       sync.Mutex
	all      []mutation.Report
	failed   int
	noFanOut int
}

func (r *reports) Applied(report *mutation.Report, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, *report)
	if err != nil {
		r.failed++
	}
	if report.NoFanOut() {
		r.noFanOut++
	}
}

const reportSchema = "name: string @index(term) .\npal: [uid] @reverse @count .\nmail: string @index(exact) @upsert @unique @lang .\n"

// palsAndNames are n edges on each of two predicates.
func palsAndNames(n int) []mutation.Edge {
	var edges []mutation.Edge
	for i := range uint64(n) {
		edges = append(edges, targetEdge(1+i, "pal", 1000+i%3), stringEdge(1+i, "name", "ann lee"))
	}
	return edges
}

func TestReport(t *testing.T) {
	store := openTestStore(t)
	snap := parseSnapshot(t, reportSchema)
	a, err := mutation.New(mutation.Options{Parallelism: mutation.Workers(4), EdgesPerWorker: 10, MinEdges: 1})
	require.NoError(t, err)
	tx := mutation.NewTxn(store, 10)
	defer tx.Release()
	r, err := a.Apply(context.Background(), tx, snap, mutation.Batch{Edges: palsAndNames(15)})
	require.NoError(t, err)
	require.Equal(t, 3, r.Workers)
	require.Equal(t, mutation.BoundWork, r.Bound)
	require.Equal(t, 4, r.Asked)
	require.Equal(t, []mutation.Grant{{Predicate: "name", Edges: 15, Workers: 2}, {Predicate: "pal", Edges: 15, Workers: 1}}, r.Grants)
	require.Equal(t, 30, r.Edges)
	require.Equal(t, len(tx.Deltas().Sorted()), r.Keys)
	_, size := tx.Deltas().Size()
	require.Equal(t, size, r.Bytes)
	require.Equal(t, 15+15+3, r.Reads, "the subjects of both, and the targets")
	var names []string
	for _, p := range r.Passes {
		names = append(names, p.Name)
		require.LessOrEqual(t, p.Took, r.Took)
	}
	require.Equal(t, []string{"fold", "own", "recount"}, names)
	require.False(t, r.NoFanOut())
}

// TestReportBounds checks which applier a batch took, and what bound its
// workers.
func TestReportBounds(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	for _, c := range []struct {
		name     string
		opts     mutation.Options
		edges    []mutation.Edge
		workers  int
		bound    mutation.Bound
		noFanOut bool
	}{
		{"serial for all", mutation.Options{}, palsAndNames(300), 1, mutation.BoundSerial, false},
		{"too small", mutation.Options{MinEdges: 100}, palsAndNames(49), 1, mutation.BoundSerial, true},
		{"just large enough", mutation.Options{MinEdges: 98, EdgesPerWorker: 1}, palsAndNames(49), 2, mutation.BoundSizing, false},
		{"no work for two", mutation.Options{MinEdges: 1}, palsAndNames(200), 1, mutation.BoundWork, true},
		{"work for two", mutation.Options{MinEdges: 1}, palsAndNames(256), 2, mutation.BoundSizing, false},
		{"off", mutation.Options{MinEdges: 1, Parallelism: mutation.Off}, palsAndNames(300), 1, mutation.BoundSizing, false},
		{"languages and @unique", mutation.Options{MinEdges: 1, EdgesPerWorker: 1}, []mutation.Edge{stringEdge(1, "mail", "a"), stringEdge(2, "mail", "b")}, 1, mutation.BoundSerial, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			tx := mutation.NewTxn(openTestStore(t), 10)
			defer tx.Release()
			var seen reports
			c.opts.Metrics = &seen
			a, err := mutation.New(c.opts)
			require.NoError(t, err)
			r, err := a.Apply(context.Background(), tx, parseSnapshot(t, reportSchema), mutation.Batch{Edges: c.edges})
			require.NoError(t, err)
			require.Equal(t, c.workers, r.Workers)
			require.Equal(t, c.bound, r.Bound)
			require.Equal(t, c.noFanOut, r.NoFanOut())
			require.Equal(t, []mutation.Report{r}, seen.all, "the metrics get the same report, once")
			require.Equal(t, c.noFanOut, seen.noFanOut == 1)
		})
	}
}

// TestMetricsOfFailedBatches checks that a failed batch is told as well.
func TestMetricsOfFailedBatches(t *testing.T) {
	var seen reports
	a, err := mutation.New(mutation.Options{MinEdges: 1, Metrics: &seen})
	require.NoError(t, err)
	tx := mutation.NewTxn(openTestStore(t), 10)
	defer tx.Release()
	_, err = a.Apply(context.Background(), tx, parseSnapshot(t, reportSchema), mutation.Batch{Edges: []mutation.Edge{stringEdge(1, "nobody", "x")}})
	require.Error(t, err)
	require.Equal(t, 1, seen.failed)
	require.Equal(t, 1, seen.all[0].Edges)
}

// TestDebugLine checks that a batch gives one line at debug level, with the
// figures of its report, and none above that level.
func TestDebugLine(t *testing.T) {
	snap := parseSnapshot(t, reportSchema)
	store := openTestStore(t)
	for level, lines := range map[slog.Level]int{slog.LevelDebug: 2, slog.LevelInfo: 0} {
		var out bytes.Buffer
		logger := slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: level}))
		a, err := mutation.New(mutation.Options{MinEdges: 1, Parallelism: mutation.Workers(2), EdgesPerWorker: 1, Logger: logger})
		require.NoError(t, err)
		tx := mutation.NewTxn(store, 10)
		_, err = a.Apply(context.Background(), tx, snap, mutation.Batch{Edges: palsAndNames(2)})
		require.NoError(t, err)
		_, err = a.Apply(context.Background(), tx, snap, mutation.Batch{Edges: []mutation.Edge{stringEdge(1, "nobody", "x")}})
		require.Error(t, err)
		tx.Release()
		require.Equal(t, lines, strings.Count(out.String(), "\n"), out.String())
		if lines == 0 {
			continue
		}
		first, second, _ := strings.Cut(out.String(), "\n")
		for _, part := range []string{
			"level=DEBUG", `msg="batch applied"`, "report.workers=2", "report.bound=sizing", "report.predicates=2",
			"report.edges=4", "report.reads=6", "report.keys=", "report.bytes=", "report.took=", "error=<nil>",
		} {
			require.Contains(t, first, part)
		}
		require.Contains(t, second, "nobody")
	}
}
