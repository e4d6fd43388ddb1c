package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"
)

// FormatVersion is the version of the JSON form of a File that is written, and
// the newest that is read.
const FormatVersion = 1

// ErrBadFile: the content is no result file.
var ErrBadFile = errors.New("no result file")

// File is the runs of one time.
type File struct {
	Format  int     `json:"format"`
	Machine Machine `json:"machine"`
	// Command is what was run, word by word.
	Command []string `json:"command,omitempty"`
	// Began is when the first run began; the zero time where that is not known.
	Began time.Time `json:"began,omitzero"`
	// Took is how many seconds all of it took.
	Took float64 `json:"took_seconds,omitempty"`
	// Runs are in the order in which they were made.
	Runs []Run `json:"runs"`
}

// Run is one measurement of one benchmark.
type Run struct {
	Name string `json:"name"`
	// N is the number of operations.
	N int `json:"n"`
	// Values by unit.
	Values map[string]float64 `json:"values"`
}

// AppendJSON appends the file as indented JSON, with a line end.
func (f *File) AppendJSON(dst []byte) ([]byte, error) {
	f.Format = FormatVersion
	b, err := json.MarshalIndent(f, "", "  ")
	if err != nil {
		return dst, fmt.Errorf("results: %w", err)
	}
	return append(append(dst, b...), '\n'), nil
}

// Read reads a result file: the JSON form, or the text that go test -bench
// prints. An error wraps ErrBadFile.
func Read(data []byte) (*File, error) {
	var f *File
	var err error
	if trimmed := bytes.TrimSpace(data); len(trimmed) > 0 && trimmed[0] == '{' {
		f, err = readJSON(data)
	} else {
		f, err = readText(string(data))
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrBadFile, err)
	}
	return f, nil
}

func readJSON(data []byte) (*File, error) {
	f := &File{}
	if err := json.Unmarshal(data, f); err != nil {
		return nil, err
	}
	if f.Format < 1 || f.Format > FormatVersion {
		return nil, fmt.Errorf("format %d, and this program reads 1 to %d", f.Format, FormatVersion)
	}
	for i := range f.Runs {
		if err := f.Runs[i].check(); err != nil {
			return nil, fmt.Errorf("run %d: %w", i, err)
		}
	}
	return f, f.some()
}

// some is an error where there is no run.
func (f *File) some() error {
	if len(f.Runs) == 0 {
		return errors.New("there are no runs in it")
	}
	return nil
}

func (r *Run) check() error {
	if r.Name == "" || strings.ContainsAny(r.Name, " \t\r\n") {
		return fmt.Errorf("the name %q", r.Name)
	}
	if r.N < 1 {
		return fmt.Errorf("%s: %d operations", r.Name, r.N)
	}
	for unit, v := range r.Values {
		if unit == "" || strings.ContainsAny(unit, " \t\r\n") {
			return fmt.Errorf("%s: the unit %q", r.Name, unit)
		}
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Errorf("%s: %v %s", r.Name, v, unit)
		}
	}
	return nil
}
