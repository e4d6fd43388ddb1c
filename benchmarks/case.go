package benchmarks

import (
	"context"
	"errors"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/edgemill/edgemill/mutation"
)

// Case is one benchmark: a workload, and the way in which it is run.
type Case struct {
	// Name is the parts of the name, most general first, with slashes between.
	Name string
	// Mode names the applier, "" where there is no choice.
	Mode string
	// Run does n operations, makes ready beforehand what they need, and reports
	// what there is to say beside their time. An error wraps ErrSkipped where the
	// case cannot be run here. Nothing of a run is left in memory for the next.
	Run func(ctx context.Context, m Meter, n int) error
}

// ErrSkipped: something that the case needs is missing.
var ErrSkipped = errors.New("skipped")

// Meter is what a Case is measured with. Its clock runs when Run is called.
// It is for the goroutine that Run was called in.
type Meter interface {
	// Dir makes another empty folder for the run's files.
	Dir() string
	// ResetTimer begins the measurement anew, StopTimer and StartTimer take
	// what lies between them out of it.
	ResetTimer()
	StopTimer()
	StartTimer()
	// Elapsed is the time measured so far.
	Elapsed() time.Duration
	// ReportMetric reports a figure; units are written as in Go benchmarks.
	ReportMetric(v float64, unit string)
}

// offClock is a Meter whose clock never runs.
type offClock struct{ Meter }

func (offClock) ResetTimer() {}
func (offClock) StartTimer() {}

// Mode is a named way to apply batches.
type Mode struct {
	Name    string
	Options mutation.Options
}

// Modes are the appliers that workloads are run with: the serial one, and the
// parallel one with one worker (off), so many workers, or as many as
// processors (auto).
func Modes() []Mode {
	return []Mode{
		{"serial", mutation.Options{}},
		{"off", mutation.Options{Parallelism: mutation.Off, MinEdges: 1}},
		{"2", mutation.Options{Parallelism: mutation.Workers(2), MinEdges: 1}},
		{"8", mutation.Options{Parallelism: mutation.Workers(8), MinEdges: 1}},
		{"32", mutation.Options{Parallelism: mutation.Workers(32), MinEdges: 1}},
		{"auto", mutation.DefaultOptions()},
	}
}

// inModes makes a case of each mode.
func inModes(name string, run func(Mode) func(context.Context, Meter, int) error) []Case {
	var cases []Case
	for _, mode := range Modes() {
		cases = append(cases, Case{Name: name + "/" + mode.Name, Mode: mode.Name, Run: run(mode)})
	}
	return cases
}

// Config says where the cases find what they need.
type Config struct {
	// Data is the folder with the WordNet files; cases that read them are
	// skipped where it is missing.
	Data string
}

// Cases returns all cases.
func Cases(c Config) []Case {
	return slices.Concat(
		applyCases(), skewCases(), mutexCases(), mutateCases(), wordNetCases(c.Data), txnCases(), agedCases(),
	)
}

// prepared does n operations of which each needs something that is made
// outside the clock, some at a time, since stopping a clock costs as much as a
// small operation. prepare makes what the operations from a number on need, for
// one at least.
func prepared[T any](m Meter, n int, prepare func(from int) ([]T, error), do func(i int, with T) error) error {
	m.ResetTimer()
	for done := 0; done < n; {
		m.StopTimer()
		batch, err := prepare(done)
		if err != nil {
			return err
		}
		m.StartTimer()
		for i := range batch {
			if err := do(done+i, batch[i]); err != nil {
				return err
			}
		}
		done += len(batch)
	}
	m.StopTimer()
	return nil
}

// reportEdges reports the rate of edges, of so many an operation.
func reportEdges(m Meter, n, edges int) {
	m.ReportMetric(float64(n)*float64(edges)/m.Elapsed().Seconds(), "edges/s")
}

// processorTime is the processor time that the process has used.
func processorTime() time.Duration {
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
