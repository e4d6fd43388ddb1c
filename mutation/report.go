package mutation

import (
	"log/slog"
	"time"
)

// Report says how a batch was applied.
type Report struct {
	// Workers is the number of workers, and Bound the term that decided it.
	Workers int
	Bound   Bound
	// Asked is the number of workers that the options ask for, 1 where the serial
	// applier was chosen for all batches.
	Asked int
	// Grants are the parts that each predicate was cut into, by name; none
	// where the serial applier ran.
	Grants []Grant
	Edges  int
	// Keys and Bytes are the deltas written: their number, and the size of
	// keys and values.
	Keys, Bytes int
	// Reads is the number of lists read from the store.
	Reads int
	Took  time.Duration
	// Passes are the times of the parts of the work, in order.
	Passes []PassTime
}

// PassTime is how long one pass took, from its first worker's start to its
// last one's end.
type PassTime struct {
	Name string
	Took time.Duration
}

// NoFanOut reports whether the batch asked for more than one worker and got one:
// it was too small, or of a kind that only the serial applier takes. (Workers is
// what its work is cut for; how many help at a moment is not in it.)
func (r *Report) NoFanOut() bool { return r.Asked > 1 && r.Workers == 1 }

// LogValue groups the figures for one log line.
func (r *Report) LogValue() slog.Value {
	return slog.GroupValue(
		slog.Int("workers", r.Workers), slog.String("bound", r.Bound.String()),
		slog.Int("predicates", len(r.Grants)), slog.Int("edges", r.Edges),
		slog.Int("keys", r.Keys), slog.Int("bytes", r.Bytes), slog.Int("reads", r.Reads),
		slog.Duration("took", r.Took),
	)
}

// Metrics counts what an Applier does. Its method is called from any
// goroutine, once a batch.
type Metrics interface {
	Applied(r *Report, err error)
}

type noMetrics struct{}

func (noMetrics) Applied(*Report, error) {}
