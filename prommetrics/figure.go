package prommetrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/edgemill/edgemill"
)

// figure is a metric that is read from a DB's Stats.
type figure struct {
	desc *prometheus.Desc
	kind prometheus.ValueType
	of   func(*edgemill.Stats) float64
}

func total(name, help string, of func(*edgemill.Stats) float64) figure {
	return figure{description(name, help), prometheus.CounterValue, of}
}

func gauge(name, help string, of func(*edgemill.Stats) float64) figure {
	return figure{description(name, help), prometheus.GaugeValue, of}
}

// figures are all metrics of the kind.
func figures() []figure {
	type stats = *edgemill.Stats
	return []figure{
		total("conflicts_total", "Commits that the oracle refused over a conflict key.",
			func(s stats) float64 { return float64(s.Oracle.Conflicts) }),
		gauge("conflict_keys", "Conflict keys of recent commits in memory.",
			func(s stats) float64 { return float64(s.Oracle.Keys) }),
		gauge("open_transactions", "Transactions that have begun and not ended.",
			func(s stats) float64 { return float64(s.Oracle.Open) }),
		gauge("open_reads", "Views and other reads that have begun and not ended.",
			func(s stats) float64 { return float64(s.Oracle.Reads) }),
		gauge("pending_commits", "Commits that have been decided and cannot be read yet.",
			func(s stats) float64 { return float64(s.Oracle.Pending) }),

		total("gate_waits_total", "Transactions that had to wait at the gate.",
			func(s stats) float64 { return float64(s.Gate.Waits) }),
		total("gate_wait_seconds_total", "Time spent waiting at the gate.",
			func(s stats) float64 { return s.Gate.WaitTime.Seconds() }),
		total("gate_refusals_total", "Transactions that the gate refused: it was full, or a later batch met another one.",
			func(s stats) float64 { return float64(s.Gate.Refused) }),
		gauge("gate_waiting", "Transactions that wait at the gate.",
			func(s stats) float64 { return float64(s.Gate.Waiting) }),
		gauge("gate_in_flight", "Transactions that the gate let through and that have not been decided.",
			func(s stats) float64 { return float64(s.Gate.InFlight) }),

		total("commit_log_bytes_total", "Bytes appended to the commit log.",
			func(s stats) float64 { return float64(s.Commit.Bytes) }),
		total("commit_log_syncs_total", "Syncs of the commit log.",
			func(s stats) float64 { return float64(s.Commit.Syncs) }),
		total("commit_log_sync_seconds_total", "Time spent in syncs of the commit log.",
			func(s stats) float64 { return s.Commit.SyncTime.Seconds() }),
		gauge("commit_log_segments", "Files that the commit log consists of.",
			func(s stats) float64 { return float64(s.Commit.Segments) }),
		total("commit_write_seconds_total", "Time spent putting groups of commits into the store.",
			func(s stats) float64 { return s.Commit.WriteTime.Seconds() }),
		total("commit_failures_total", "Commits that were refused by the disk's state, or lost their group.",
			func(s stats) float64 { return float64(s.Commit.Failed) }),

		total("rollups_total", "Lists that were rolled up.",
			func(s stats) float64 { return float64(s.Rollup.Lists) }),
		total("rollup_bytes_total", "Bytes of the keys and values that rollups wrote.",
			func(s stats) float64 { return float64(s.Rollup.Bytes) }),
		total("rollup_failures_total", "Lists that could not be rolled up.",
			func(s stats) float64 { return float64(s.Rollup.Failed) }),
		total("cache_hits_total", "Lists that were found in the cache.",
			func(s stats) float64 { return float64(s.Cache.Hits) }),
		total("cache_misses_total", "Lists that were looked for in the cache and read from the store.",
			func(s stats) float64 { return float64(s.Cache.Misses) }),
		gauge("cache_bytes", "Size of the lists in the cache.",
			func(s stats) float64 { return float64(s.Cache.Bytes) }),
	}
}

// groupSizes is the histogram of the sizes of groups.
func groupSizes(desc *prometheus.Desc, s *edgemill.Stats) prometheus.Metric {
	sizes := s.Commit.Sizes
	buckets := make(map[float64]uint64, len(sizes)-1)
	sum := uint64(0)
	for i, n := range sizes[:len(sizes)-1] {
		sum += n
		buckets[float64(uint(1)<<i)] = sum
	}
	return prometheus.MustNewConstHistogram(desc, s.Commit.Groups, float64(s.Commit.Commits), buckets)
}
