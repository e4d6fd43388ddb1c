package edgemill

import (
	"time"

	"github.com/edgemill/edgemill/conflict"
	"github.com/edgemill/edgemill/mutation"
	"github.com/edgemill/edgemill/posting"
)

// Metrics is told what a DB does. Its methods are called from any goroutine, and
// must not call the DB. Package prommetrics has one for Prometheus.
type Metrics interface {
	// Applied is called once a batch.
	mutation.Metrics
	// Committed is called once a Commit of a transaction that wrote something
	// (edges that changed nothing included), with the time that it took.
	Committed(took time.Duration, err error)
	// Watch is called once, when the DB is open, with what gives the figures that
	// are counted anyway. It may be called at any time from then on, also after
	// the DB was closed.
	Watch(stats func() Stats)
}

// Stats are figures of the parts of a DB since it was opened.
type Stats struct {
	Oracle conflict.OracleStats
	Gate   conflict.GateStats
	Commit posting.CommitStats
	Rollup posting.RollupStats
	Cache  posting.CacheStats
}

// Stats returns the figures as they stand. It may be called at any time.
func (db *DB) Stats() Stats {
	return Stats{
		Oracle: db.oracle.Stats(), Gate: db.gate.Stats(), Commit: db.store.CommitStats(),
		Rollup: db.upkeep.roller.Stats(), Cache: db.store.CacheStats(),
	}
}

// noMetrics is the Metrics of a DB that has none.
type noMetrics struct{}

func (noMetrics) Applied(*mutation.Report, error) {}
func (noMetrics) Committed(time.Duration, error)  {}
func (noMetrics) Watch(func() Stats)              {}
