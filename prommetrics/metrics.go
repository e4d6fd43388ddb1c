package prommetrics

import (
	"errors"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/edgemill/edgemill"
	"github.com/edgemill/edgemill/conflict"
	"github.com/edgemill/edgemill/mutation"
)

// namespace is what every name begins with.
const namespace = "edgemill"

// Metrics counts what a DB does. Its zero value is not usable; see New.
type Metrics struct {
	applies, commits                             *prometheus.CounterVec
	edges, keys, bytes, reads, grants, notFanned prometheus.Counter
	applyTime, commitTime                        prometheus.Histogram
	events                                       []prometheus.Collector
	figures                                      []figure
	groupSizes                                   *prometheus.Desc
	stats                                        atomic.Pointer[func() edgemill.Stats]
}

var (
	_ edgemill.Metrics     = (*Metrics)(nil)
	_ prometheus.Collector = (*Metrics)(nil)
)

// times are the upper bounds of a histogram's buckets, in seconds: from a commit
// to memory to one that waits behind a stall.
var times = []float64{
	.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10,
}

// New returns a Metrics to be registered and to be put into edgemill.Options.
func New() *Metrics {
	m := &Metrics{
		applies:    counters("applies_total", "Batches applied, by result: ok or error.", "result"),
		commits:    counters("commits_total", "Commits of transactions that wrote, by result: ok, conflict, schema_changed or error.", "result"),
		edges:      counter("applied_edges_total", "Edges of batches that were applied."),
		keys:       counter("applied_keys_total", "Keys of the deltas that batches wrote."),
		bytes:      counter("applied_bytes_total", "Bytes of the keys and values of deltas."),
		reads:      counter("apply_list_reads_total", "Lists that were read to apply batches."),
		grants:     counter("apply_grants_total", "Parts that the work of batches was cut into."),
		notFanned:  counter("intra_mutation_no_fanout_total", "Batches that asked for parallelism and got none."),
		applyTime:  histogram("apply_duration_seconds", "Time to apply a batch."),
		commitTime: histogram("commit_duration_seconds", "Time from a call of Commit to its answer."),
		groupSizes: description("commit_group_size", "Commits that went to disk together."),
		figures:    figures(),
	}
	m.events = []prometheus.Collector{
		m.applies, m.commits, m.edges, m.keys, m.bytes, m.reads, m.grants, m.notFanned, m.applyTime, m.commitTime,
	}
	for _, result := range []string{resultOK, resultError} {
		m.applies.WithLabelValues(result)
		m.commits.WithLabelValues(result)
	}
	m.commits.WithLabelValues(resultConflict)
	m.commits.WithLabelValues(resultSchemaChanged)
	return m
}

func counters(name, help string, labels ...string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help}, labels)
}

func counter(name, help string) prometheus.Counter {
	return prometheus.NewCounter(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help})
}

func histogram(name, help string) prometheus.Histogram {
	return prometheus.NewHistogram(prometheus.HistogramOpts{
		Namespace: namespace, Name: name, Help: help, Buckets: times,
	})
}

func description(name, help string) *prometheus.Desc {
	return prometheus.NewDesc(prometheus.BuildFQName(namespace, "", name), help, nil, nil)
}

// The values of the label result.
const (
	resultOK            = "ok"
	resultError         = "error"
	resultConflict      = "conflict"
	resultSchemaChanged = "schema_changed"
)

// Applied implements edgemill.Metrics. What a failed batch did does not count.
func (m *Metrics) Applied(r *mutation.Report, err error) {
	if err != nil {
		m.applies.WithLabelValues(resultError).Inc()
		return
	}
	m.applies.WithLabelValues(resultOK).Inc()
	m.edges.Add(float64(r.Edges))
	m.keys.Add(float64(r.Keys))
	m.bytes.Add(float64(r.Bytes))
	m.reads.Add(float64(r.Reads))
	for _, g := range r.Grants {
		m.grants.Add(float64(g.Workers))
	}
	if r.NoFanOut() {
		m.notFanned.Inc()
	}
	m.applyTime.Observe(r.Took.Seconds())
}

// Committed implements edgemill.Metrics.
func (m *Metrics) Committed(took time.Duration, err error) {
	result := resultError
	switch {
	case err == nil:
		result = resultOK
	case errors.Is(err, conflict.ErrConflict):
		result = resultConflict
	case errors.Is(err, edgemill.ErrSchemaChanged):
		result = resultSchemaChanged
	}
	m.commits.WithLabelValues(result).Inc()
	m.commitTime.Observe(took.Seconds())
}

// Watch implements edgemill.Metrics.
func (m *Metrics) Watch(stats func() edgemill.Stats) { m.stats.Store(&stats) }

// Describe implements prometheus.Collector.
func (m *Metrics) Describe(to chan<- *prometheus.Desc) {
	for _, c := range m.events {
		c.Describe(to)
	}
	for _, f := range m.figures {
		to <- f.desc
	}
	to <- m.groupSizes
}

// Collect implements prometheus.Collector.
func (m *Metrics) Collect(to chan<- prometheus.Metric) {
	for _, c := range m.events {
		c.Collect(to)
	}
	stats := m.stats.Load()
	if stats == nil {
		return
	}
	s := (*stats)()
	for _, f := range m.figures {
		to <- prometheus.MustNewConstMetric(f.desc, f.kind, f.of(&s))
	}
	to <- groupSizes(m.groupSizes, &s)
}
