package loader

import (
	"errors"
	"io"
	"os"
	"time"

	"github.com/edgemill/edgemill/ingest"
)

// Options say what is loaded and how. The zero value of each field but Inputs
// is a sane default.
type Options struct {
	// Inputs are read in their order, as one stream of statements.
	Inputs []Input
	// EdgesPerTxn is how many statements make a transaction; 0 is
	// DefaultEdgesPerTxn. Statements with very long literals make smaller
	// ones.
	EdgesPerTxn int
	// FileScopedBlanks makes a blank node label a node of its input, and not of
	// the whole load.
	FileScopedBlanks bool
	// Names keeps the uids of node names; nil for new ones that are forgotten
	// afterwards. *ingest.Names of an earlier load let this one go on with its
	// nodes: the uids that they hold are not handed out again.
	Names ingest.Namer
	// NamesFile, where it is not "", takes the place of Names: the names are
	// read from there before, if the file exists, and written there afterwards,
	// also when the load ends early.
	NamesFile string
	// Retries is how often a transaction is begun again after a conflict; 0 is
	// DefaultRetries.
	Retries int
	// Progress, if not nil, is told after each transaction. It is called by
	// Load's own goroutine.
	Progress func(Progress)
}

const (
	// DefaultEdgesPerTxn is how many statements make a transaction. WordNet's 1.15
	// million took 12.9 s of processor time in transactions of 5,000, 9.9 s of
	// 20,000, 9.2 s of 50,000 and of 100,000 (2 cores, busy); larger ones keep
	// more in memory, and more is lost where one fails.
	DefaultEdgesPerTxn = 20_000
	// DefaultRetries is how often a transaction is begun again.
	DefaultRetries = 10
)

// Input is one of a load's inputs, N-Quads or JSON, plain or compressed.
type Input struct {
	// Name is what errors call the input, and the path that is opened where
	// Reader is nil.
	Name string
	// Reader is read to its end and not closed. A load that is given up waits for
	// the Read that is under way.
	Reader io.Reader
}

// Files are the inputs of these paths.
func Files(paths ...string) []Input {
	inputs := make([]Input, len(paths))
	for i, p := range paths {
		inputs[i].Name = p
	}
	return inputs
}

// check refuses an input that can't be opened, before anything is loaded, and
// sums up the sizes; total is 0 where one is not known.
func check(inputs []Input) (total int64, err error) {
	known := true
	for _, in := range inputs {
		size, err := in.size()
		if err != nil {
			return 0, err
		}
		known = known && size >= 0
		total += size
	}
	if !known {
		total = 0
	}
	return total, nil
}

// size is the size of a file, and -1 for what is none. A pipe is not opened,
// because it can be read only once.
func (in Input) size() (int64, error) {
	if in.Reader != nil {
		return -1, nil
	}
	info, err := os.Stat(in.Name)
	if err != nil || !info.Mode().IsRegular() && !info.IsDir() {
		return -1, in.fault(err)
	}
	f, err := os.Open(in.Name)
	if err != nil {
		return -1, in.fault(err)
	}
	if err := f.Close(); err != nil || !info.IsDir() {
		return info.Size(), in.fault(err)
	}
	return -1, in.fault(errors.New("it is a directory"))
}

func (in Input) fault(err error) error {
	if err == nil {
		return nil
	}
	var p *os.PathError
	if errors.As(err, &p) {
		err = p.Err
	}
	return &ingest.Error{File: in.Name, Msg: "can't open", Err: err}
}

// Open opens the input for reading from its beginning. The caller closes it.
func (in Input) Open() (*ingest.Source, error) {
	if in.Reader != nil {
		return ingest.NewSource(in.Name, in.Reader)
	}
	return ingest.Open(in.Name)
}

// Progress is how far a load is.
type Progress struct {
	Summary
	// Total is the size of all inputs in bytes, as Summary.Bytes counts them; 0
	// where it isn't known.
	Total int64
}

// Share is how much of the inputs is loaded, from 0 to 1; 0 where that isn't
// known.
func (p Progress) Share() float64 {
	if p.Total == 0 {
		return 0
	}
	return min(1, float64(p.Bytes)/float64(p.Total))
}

// Summary is what a load has committed.
type Summary struct {
	// Statements were committed in so many Transactions.
	Statements, Transactions uint64
	// Nodes is the number of names that got a uid; a few of them may belong to a
	// transaction that was not committed.
	Nodes uint64
	// Retries is how often a transaction had to be begun again.
	Retries uint64
	// Keys and KeyBytes are the deltas that the transactions wrote: their
	// number, and the size of keys and values.
	Keys, KeyBytes uint64
	// Bytes of the inputs, as they lie on disk, were read for what is committed.
	Bytes int64
	// File and Line are where the last committed statement stands; "" if none
	// is.
	File string
	Line int
	// Took is the time since the load began.
	Took time.Duration
}

// Rate is how many statements a second were committed.
func (s *Summary) Rate() float64 {
	if s.Took <= 0 {
		return 0
	}
	return float64(s.Statements) / s.Took.Seconds()
}
