package benchmarks

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/edgemill/edgemill/benchmarks/report"
)

// ErrNoCase: nothing was chosen.
var ErrNoCase = errors.New("no benchmark")

// Select picks the cases whose names match one of the regular expressions (all
// cases if there is none) and that have one of the modes, or no mode (all modes
// if there is none). An error names the expression or mode that nothing has.
func Select(cases []Case, patterns, modes []string) ([]Case, error) {
	chosen := cases
	if len(patterns) > 0 {
		chosen = nil
		for _, pattern := range patterns {
			matching, err := match(cases, pattern)
			if err != nil {
				return nil, err
			}
			chosen = append(chosen, matching...)
		}
	}
	for _, mode := range modes {
		if !slices.ContainsFunc(Modes(), func(m Mode) bool { return m.Name == mode }) {
			return nil, fmt.Errorf("%w has the mode %q; modes are %s", ErrNoCase, mode, modeNames())
		}
	}
	seen := make(map[string]bool)
	var picked []Case
	for _, c := range chosen {
		wanted := len(modes) == 0 || c.Mode == "" || slices.Contains(modes, c.Mode)
		if wanted && !seen[c.Name] {
			seen[c.Name] = true
			picked = append(picked, c)
		}
	}
	if len(picked) == 0 {
		return nil, fmt.Errorf("%w is of the modes %s", ErrNoCase, strings.Join(modes, ", "))
	}
	return picked, nil
}

func match(cases []Case, pattern string) ([]Case, error) {
	re, err := regexp.Compile(pattern)
	if err != nil {
		return nil, err
	}
	var matching []Case
	for _, c := range cases {
		if re.MatchString(c.Name) {
			matching = append(matching, c)
		}
	}
	if len(matching) == 0 {
		return nil, fmt.Errorf("%w matches %q", ErrNoCase, pattern)
	}
	return matching, nil
}

func modeNames() string {
	var names []string
	for _, m := range Modes() {
		names = append(names, m.Name)
	}
	return strings.Join(names, ", ")
}

// RunOptions say how cases are run.
type RunOptions struct {
	// Dir is where the folders of the runs are made, and removed again; "" is the
	// system's folder for such.
	Dir string
	// Count is how often each case is measured, at least once.
	Count int
	// Duration is how long the clock of one measurement runs at least; the number
	// of operations follows from it, once for all measurements of a case.
	// Operations, if not 0, is the number instead.
	Duration   time.Duration
	Operations int
	// Progress, if not nil, is told before each measurement which one it is (round
	// is from 0), and Skipped of each case that cannot be run here.
	Progress func(c *Case, round int)
	Skipped  func(c *Case, why error)
}

// Run measures the cases. They take turns, forwards and then backwards, so that
// what the machine does beside is not all at the expense of one of them. It
// stops when the context ends or a case fails, and returns what was measured
// until then with the error.
func Run(ctx context.Context, cases []Case, o RunOptions) ([]report.Run, error) {
	r := runner{RunOptions: o, operations: make(map[string]int)}
	order := slices.Clone(cases)
	for round := range max(1, o.Count) {
		for i := range order {
			if err := r.measure(ctx, &order[i], round); err != nil {
				return r.runs, fmt.Errorf("%s: %w", order[i].Name, err)
			}
		}
		slices.Reverse(order)
	}
	return r.runs, nil
}

// runner is the state of Run.
type runner struct {
	RunOptions
	// operations is how many a case does, once that is known; -1 if the case is
	// skipped.
	operations map[string]int
	runs       []report.Run
}

// measure adds one run of the case.
func (r *runner) measure(ctx context.Context, c *Case, round int) error {
	n := r.operations[c.Name]
	if n < 0 {
		return nil
	}
	if r.Progress != nil {
		r.Progress(c, round)
	}
	var m *meter
	var err error
	if n == 0 {
		m, n, err = r.calibrate(ctx, c)
	} else {
		m, err = r.once(ctx, c, n)
	}
	if errors.Is(err, ErrSkipped) {
		r.operations[c.Name] = -1
		if r.Skipped != nil {
			r.Skipped(c, err)
		}
		return nil
	}
	if err != nil {
		return err
	}
	r.operations[c.Name] = n
	r.runs = append(r.runs, m.run(c.Name, n))
	return nil
}

// calibrate runs the case with more and more operations until the clock has run
// for the Duration, and returns the last run, which is the first to count.
func (r *runner) calibrate(ctx context.Context, c *Case) (*meter, int, error) {
	n := max(1, r.Operations)
	for {
		m, err := r.once(ctx, c, n)
		if err != nil || r.Operations > 0 || m.elapsed >= r.Duration || n >= maxOperations {
			return m, n, err
		}
		n = nextCount(n, m.elapsed, r.Duration)
	}
}

// maxOperations bounds what a case is asked for.
const maxOperations = 1_000_000_000

// nextCount guesses how many operations take a while, from n that took too
// little time: a fifth more than that, but not above a hundred times n.
func nextCount(n int, took, want time.Duration) int {
	guess := float64(n) * float64(want) / float64(max(took, 1)) * 1.2
	return int(min(max(guess, float64(n+1)), float64(n)*100, maxOperations))
}

// once runs the case in a folder of its own, which is gone afterwards.
func (r *runner) once(ctx context.Context, c *Case, n int) (m *meter, err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp(r.Dir, "edgemill-bench-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	runtime.GC()
	m = newMeter(dir)
	m.StartTimer()
	err = c.Run(ctx, m, n)
	m.StopTimer()
	return m, err
}

// meter is the Meter of Run.
type meter struct {
	dir     string
	running bool
	elapsed time.Duration
	since   time.Time
	// allocs and bytes were allocated while the clock ran; the marks are the
	// counts when it started.
	allocs, bytes         uint64
	allocsMark, bytesMark uint64
	values                map[string]float64
}

func newMeter(dir string) *meter { return &meter{dir: dir, values: make(map[string]float64)} }

// Dir implements Meter. Where it cannot make a folder, whoever writes to it
// finds out.
func (m *meter) Dir() string {
	dir, err := os.MkdirTemp(m.dir, "")
	if err != nil {
		return m.dir
	}
	return dir
}

func (m *meter) ResetTimer() {
	running := m.running
	m.StopTimer()
	m.elapsed, m.allocs, m.bytes = 0, 0, 0
	clear(m.values)
	if running {
		m.StartTimer()
	}
}

func (m *meter) StartTimer() {
	if m.running {
		return
	}
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	m.allocsMark, m.bytesMark = s.Mallocs, s.TotalAlloc
	m.running, m.since = true, time.Now()
}

func (m *meter) StopTimer() {
	if !m.running {
		return
	}
	m.elapsed += time.Since(m.since)
	m.running = false
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	m.allocs += s.Mallocs - m.allocsMark
	m.bytes += s.TotalAlloc - m.bytesMark
}

func (m *meter) Elapsed() time.Duration {
	if m.running {
		return m.elapsed + time.Since(m.since)
	}
	return m.elapsed
}

func (m *meter) ReportMetric(v float64, unit string) {
	if !math.IsNaN(v) && !math.IsInf(v, 0) {
		m.values[unit] = v
	}
}

// run is the result of n operations.
func (m *meter) run(name string, n int) report.Run {
	m.values["ns/op"] = float64(m.elapsed.Nanoseconds()) / float64(n)
	m.values["allocs/op"] = float64(m.allocs / uint64(n))
	m.values["B/op"] = float64(m.bytes / uint64(n))
	return report.Run{Name: name, N: n, Values: m.values}
}
