package report

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// benchmark begins a result in the text of Go benchmarks.
const benchmark = "Benchmark"

// AppendText appends the file as go test -bench prints results, for benchstat
// and its like.
func (f *File) AppendText(dst []byte) []byte {
	for _, field := range []struct{ key, value string }{
		{"goos", f.Machine.OS}, {"goarch", f.Machine.Arch}, {"cpu", f.Machine.CPU},
	} {
		if field.value != "" {
			dst = fmt.Appendf(dst, "%s: %s\n", field.key, field.value)
		}
	}
	for i := range f.Runs {
		dst = f.Runs[i].appendText(dst, f.Machine.Procs)
	}
	return dst
}

func (r *Run) appendText(dst []byte, procs int) []byte {
	dst = fmt.Appendf(dst, "%s%s", benchmark, r.Name)
	if procs > 1 {
		dst = fmt.Appendf(dst, "-%d", procs)
	}
	dst = fmt.Appendf(dst, "\t%d", r.N)
	for _, unit := range unitsOf([]Run{*r}) {
		dst = fmt.Appendf(dst, "\t%s %s", strconv.FormatFloat(r.Values[unit], 'f', -1, 64), unit)
	}
	return append(dst, '\n')
}

// procsSuffix is what go test appends to names where GOMAXPROCS is not 1.
var procsSuffix = regexp.MustCompile(`-[0-9]+$`)

// readText reads what go test -bench printed; lines that are neither a result
// nor a word on the machine are passed over.
func readText(text string) (*File, error) {
	f := &File{Format: FormatVersion}
	number := 0
	for line := range strings.Lines(text) {
		number++
		f.Machine.readText(line)
		fields := strings.Fields(line)
		if len(fields) < 4 || !strings.HasPrefix(fields[0], benchmark) {
			continue
		}
		r, err := readRun(fields)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
		f.Runs = append(f.Runs, r)
	}
	f.cutProcs()
	return f, f.some()
}

func (m *Machine) readText(line string) {
	key, value, _ := strings.Cut(line, ":")
	value = strings.TrimSpace(value)
	switch key {
	case "goos":
		m.OS = value
	case "goarch":
		m.Arch = value
	case "cpu":
		m.CPU = value
	}
}

func readRun(fields []string) (Run, error) {
	r := Run{Name: strings.TrimPrefix(fields[0], benchmark), Values: make(map[string]float64)}
	n, err := strconv.Atoi(fields[1])
	if err != nil {
		return r, fmt.Errorf("%s: the number of operations is %q", r.Name, fields[1])
	}
	r.N = n
	for pair := range slices.Chunk(fields[2:], 2) {
		v, err := strconv.ParseFloat(pair[0], 64)
		if err != nil || len(pair) < 2 {
			return r, fmt.Errorf("%s: no value and unit in %q", r.Name, strings.Join(pair, " "))
		}
		r.Values[pair[1]] = v
	}
	return r, r.check()
}

// cutProcs takes GOMAXPROCS off the names: where every name has the same suffix
// behind something it is that, else it belongs to the names.
func (f *File) cutProcs() {
	if len(f.Runs) == 0 {
		return
	}
	suffix := procsSuffix.FindString(f.Runs[0].Name)
	for i := range f.Runs {
		name := f.Runs[i].Name
		if suffix == "" || name == suffix || !strings.HasSuffix(name, suffix) {
			return
		}
	}
	for i := range f.Runs {
		f.Runs[i].Name = strings.TrimSuffix(f.Runs[i].Name, suffix)
	}
	f.Machine.Procs, _ = strconv.Atoi(suffix[1:])
}
