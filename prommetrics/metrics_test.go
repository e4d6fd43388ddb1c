package prommetrics_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/edgemill/edgemill"
	"github.com/edgemill/edgemill/mutation"
	"github.com/edgemill/edgemill/prommetrics"
	"github.com/edgemill/edgemill/schema/value"
)

func nick(subject uint64, text string) []mutation.Edge {
	return []mutation.Edge{{
		Subject: subject, Predicate: "nick", Value: value.Value{Type: value.String, Data: []byte(text)},
	}}
}

// TestScrape does a little of everything with a DB and compares what a registry
// gets, but for times.
func TestScrape(t *testing.T) {
	ctx := context.Background()
	registry := prometheus.NewPedanticRegistry()
	m := prommetrics.New()
	registry.MustRegister(m)
	opts := mutation.Options{Parallelism: mutation.Workers(2), MinEdges: 1, EdgesPerWorker: 2}
	db, err := edgemill.Open(ctx, edgemill.Options{InMemory: true, Metrics: m, Mutation: &opts})
	require.NoError(t, err)
	require.NoError(t, db.Alter(ctx, "nick: string @index(exact) ."))

	_, err = db.RunTxn(ctx, slices.Concat(nick(1, "ann"), nick(2, "bob"), nick(3, "cy"), nick(4, "dot")), nil)
	require.NoError(t, err)
	_, err = db.RunTxn(ctx, nick(1, "eve"), func(ctx context.Context, _ *edgemill.Txn) error {
		other, err := db.Begin(ctx)
		require.NoError(t, err)
		defer other.Discard()
		_, err = other.Mutate(ctx, nick(1, "fay"))
		require.NoError(t, err)
		_, err = other.Mutate(ctx, []mutation.Edge{{Subject: 1, Predicate: "unknown"}})
		require.Error(t, err)
		_, err = other.Commit(ctx)
		return err
	}, edgemill.MaxTries(1))
	require.Error(t, err)
	require.NoError(t, db.Close())

	got := map[string]float64{}
	families, err := registry.Gather()
	require.NoError(t, err)
	for _, f := range families {
		for _, series := range f.Metric {
			name := strings.TrimPrefix(f.GetName(), "edgemill_")
			for _, l := range series.Label {
				name += " " + l.GetValue()
			}
			switch {
			case series.Counter != nil:
				got[name] = series.Counter.GetValue()
			case series.Gauge != nil:
				got[name] = series.Gauge.GetValue()
			default:
				got[name] = float64(series.Histogram.GetSampleCount())
			}
		}
	}
	for name, want := range map[string]float64{
		"applies_total ok": 3, "applies_total error": 1, "applied_edges_total": 6,
		"apply_list_reads_total": 6, "apply_grants_total": 4, "intra_mutation_no_fanout_total": 2,
		"apply_duration_seconds": 3, "commits_total ok": 2, "commits_total conflict": 1, "commits_total error": 0,
		"commits_total schema_changed": 0, "commit_duration_seconds": 3, "conflicts_total": 1,
		"gate_waits_total": 0, "gate_refusals_total": 0, "gate_in_flight": 0, "open_transactions": 0,
		"commit_group_size": 3, "pending_commits": 0, "commit_failures_total": 0,
	} {
		require.Equal(t, want, got[name], name)
	}
	for _, name := range []string{"applied_keys_total", "applied_bytes_total", "commit_write_seconds_total"} {
		require.Positive(t, got[name], name)
	}

	problems, err := testutil.GatherAndLint(registry)
	require.NoError(t, err)
	require.Empty(t, problems)
	requireDocumented(t, registry)
}

// requireDocumented compares the names with the table in docs/metrics.md.
func requireDocumented(t *testing.T, registry *prometheus.Registry) {
	t.Helper()
	page, err := os.ReadFile(filepath.Join("..", "docs", "metrics.md"))
	require.NoError(t, err)
	var documented, served []string
	for _, row := range regexp.MustCompile("(?m)^\\| `(edgemill_[a-z_]+)").FindAllSubmatch(page, -1) {
		documented = append(documented, string(row[1]))
	}
	families, err := registry.Gather()
	require.NoError(t, err)
	for _, f := range families {
		served = append(served, f.GetName())
	}
	require.ElementsMatch(t, served, documented)
}

// TestGroupSizes compares a histogram that is made of figures.
func TestGroupSizes(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	m := prommetrics.New()
	registry.MustRegister(m)
	_, err := registry.Gather()
	require.NoError(t, err, "before a DB was opened")
	m.Watch(func() (s edgemill.Stats) {
		s.Commit.Groups, s.Commit.Commits = 6, 2113
		s.Commit.Sizes = [12]uint64{0: 2, 1: 1, 3: 2, 11: 1}
		return s
	})
	require.NoError(t, testutil.GatherAndCompare(registry, strings.NewReader(`
# HELP edgemill_commit_group_size Commits that went to disk together.
# TYPE edgemill_commit_group_size histogram
edgemill_commit_group_size_bucket{le="1"} 2
edgemill_commit_group_size_bucket{le="2"} 3
edgemill_commit_group_size_bucket{le="4"} 3
edgemill_commit_group_size_bucket{le="8"} 5
edgemill_commit_group_size_bucket{le="16"} 5
edgemill_commit_group_size_bucket{le="32"} 5
edgemill_commit_group_size_bucket{le="64"} 5
edgemill_commit_group_size_bucket{le="128"} 5
edgemill_commit_group_size_bucket{le="256"} 5
edgemill_commit_group_size_bucket{le="512"} 5
edgemill_commit_group_size_bucket{le="1024"} 5
edgemill_commit_group_size_bucket{le="+Inf"} 6
edgemill_commit_group_size_sum 2113
edgemill_commit_group_size_count 6
`), "edgemill_commit_group_size"))
}

func TestCommittedResults(t *testing.T) {
	m := prommetrics.New()
	m.Committed(time.Millisecond, edgemill.ErrSchemaChanged)
	m.Committed(time.Millisecond, errors.New("disk"))
	require.NoError(t, testutil.CollectAndCompare(m, strings.NewReader(`
# HELP edgemill_commits_total Commits of transactions that wrote, by result: ok, conflict, schema_changed or error.
# TYPE edgemill_commits_total counter
edgemill_commits_total{result="conflict"} 0
edgemill_commits_total{result="error"} 1
edgemill_commits_total{result="ok"} 0
edgemill_commits_total{result="schema_changed"} 1
`), "edgemill_commits_total"))
}
