package mutation

import (
	"fmt"
	"log/slog"
	"math"
	"runtime"
	"strconv"
	"strings"
)

// Parallelism says how many workers a batch may have. The zero value is auto.
type Parallelism struct {
	mode   parallelismMode
	count  int
	factor float64
}

type parallelismMode uint8

const (
	modeAuto parallelismMode = iota
	modeOff
	modeCount
	modeFactor
)

// Auto is as many workers as GOMAXPROCS; Off is one.
var (
	Auto = Parallelism{}
	Off  = Parallelism{mode: modeOff}
)

// MaxWorkers is the greatest number of workers that can be asked for.
const MaxWorkers = 1 << 16

// Workers is a fixed number of workers, from 1 to MaxWorkers.
func Workers(n int) Parallelism { return Parallelism{mode: modeCount, count: n} }

// Factor is so many times GOMAXPROCS, rounded down, but never below one.
func Factor(f float64) Parallelism { return Parallelism{mode: modeFactor, factor: f} }

// ParallelismForms are the forms that ParseParallelism reads, for a message.
const ParallelismForms = `"off", "auto" (as many as processors), a number of workers such as "8", or a multiple of the processors such as "2x"`

// ParseParallelism reads off, auto, N or Fx.
func ParseParallelism(s string) (Parallelism, error) {
	bad := fmt.Errorf("parallelism %q is none of: %s", s, ParallelismForms)
	var p Parallelism
	switch number, isFactor := strings.CutSuffix(s, "x"); {
	case s == "off":
		return Off, nil
	case s == "auto":
		return Auto, nil
	case isFactor:
		f, err := strconv.ParseFloat(number, 64)
		if err != nil || strings.ContainsAny(number, "xXpP_") {
			return Parallelism{}, bad
		}
		p = Factor(f)
	default:
		n, err := strconv.Atoi(s)
		if err != nil {
			return Parallelism{}, bad
		}
		p = Workers(n)
	}
	if p.validate() != nil {
		return Parallelism{}, bad
	}
	return p, nil
}

func (p Parallelism) validate() error {
	switch {
	case p.mode == modeCount && (p.count < 1 || p.count > MaxWorkers):
		return fmt.Errorf("parallelism: %d workers, and it takes 1 to %d", p.count, MaxWorkers)
	case p.mode == modeFactor && !(p.factor > 0 && p.factor <= MaxWorkers): // also NaN
		return fmt.Errorf("parallelism: factor %v, and it takes more than 0 and up to %d", p.factor, MaxWorkers)
	}
	return nil
}

// String prints the form that ParseParallelism reads back.
func (p Parallelism) String() string {
	switch p.mode {
	case modeOff:
		return "off"
	case modeCount:
		return strconv.Itoa(p.count)
	case modeFactor:
		return strconv.FormatFloat(p.factor, 'f', -1, 64) + "x"
	}
	return "auto"
}

// sizing is the number of workers asked for on a machine of so many
// processors.
func (p Parallelism) sizing(procs int) int {
	switch p.mode {
	case modeOff:
		return 1
	case modeCount:
		return p.count
	case modeFactor:
		return int(max(1, min(math.Floor(p.factor*float64(procs)), MaxWorkers)))
	}
	return procs
}

// DefaultEdgesPerWorker is how many edges make another worker worth while.
const DefaultEdgesPerWorker = 256

// Options say how an Applier works. They never change what it gives (I4).
type Options struct {
	// Parallelism bounds a batch's workers; the zero value is auto.
	Parallelism Parallelism
	// EdgesPerWorker: a batch has at most one worker for so many edges; 0 is
	// DefaultEdgesPerWorker.
	EdgesPerWorker int
	// MinEdges: smaller batches take the serial applier; with 0 all do.
	MinEdges int
	// Logger gets a line a batch at debug level; nil for none.
	Logger *slog.Logger
	// Metrics counts batches; nil for none.
	Metrics Metrics
}

// DefaultOptions are the options that New callers start from: parallel from
// the first edge, as many workers as processors.
func DefaultOptions() Options {
	return Options{Parallelism: Auto, EdgesPerWorker: DefaultEdgesPerWorker, MinEdges: 1}
}

// String prints the options whole, as a server's flags.
func (o Options) String() string {
	return fmt.Sprintf("intra-mutation-parallelism=%s intra-mutation-edges-per-worker=%d intra-mutation-min-edges=%d",
		o.Parallelism, o.EdgesPerWorker, o.MinEdges)
}

// validate fills in defaults and refuses what makes no sense.
func (o Options) validate() (Options, error) {
	if o.EdgesPerWorker == 0 {
		o.EdgesPerWorker = DefaultEdgesPerWorker
	}
	if o.EdgesPerWorker < 0 {
		return o, fmt.Errorf("edges per worker: %d, and it takes 1 or more", o.EdgesPerWorker)
	}
	if o.MinEdges < 0 {
		return o, fmt.Errorf("min edges: %d, and it takes 0 or more", o.MinEdges)
	}
	return o, o.Parallelism.validate()
}

// asked is how many workers the options want for a batch that has work for
// them.
func (o Options) asked(procs int) int {
	if o.MinEdges == 0 {
		return 1
	}
	return o.Parallelism.sizing(procs)
}

func procs() int { return runtime.GOMAXPROCS(0) }
