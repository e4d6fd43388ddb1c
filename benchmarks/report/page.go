package report

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"strings"
	"time"
)

//go:embed page.html
var pageText string

var pageTemplate = template.Must(template.New("page").Parse(pageText))

// page is what page.html shows.
type page struct {
	Title  string
	Facts  []fact
	Groups []pageGroup
}

type fact struct{ Name, Value string }

type pageGroup struct {
	Name  string
	Chart chart
	Table pageTable
}

type pageTable struct {
	Head []string
	Rows [][]string
}

// WritePage writes the file as one web page with a plot and a table for each
// group. It needs nothing beside itself to be shown: no script, no font, no
// network.
func (f *File) WritePage(w io.Writer, title string) error {
	p := page{Title: title, Facts: f.facts()}
	for _, g := range groupsOf(f.Runs) {
		p.Groups = append(p.Groups, pageGroup{Name: g.name, Chart: g.chart(), Table: g.pageTable()})
	}
	return pageTemplate.Execute(w, p)
}

// facts say on what the file was measured, and how.
func (f *File) facts() []fact {
	m := &f.Machine
	all := []fact{
		{"Command", strings.Join(f.Command, " ")},
		{"Processor", m.CPU}, {"Cores", positive("%d", m.Cores)}, {"GOMAXPROCS", positive("%d", m.Procs)},
		{"Memory", positive("%.1f GiB", float64(m.Memory)/(1<<30))},
		{"System", strings.TrimSpace(strings.Join([]string{m.OS, m.Kernel, m.Arch}, " "))},
		{"Go", m.Go}, {"Revision", m.Revision},
		{"Runs", f.runCount()}, {"Took", positive("%.0f s", f.Took)},
	}
	if !f.Began.IsZero() {
		all = append(all, fact{"Began", f.Began.UTC().Format(time.RFC3339)})
	}
	var known []fact
	for _, a := range all {
		if a.Value != "" {
			known = append(known, a)
		}
	}
	return known
}

// positive writes a number, "" for none.
func positive[T int | float64](format string, v T) string {
	if v <= 0 {
		return ""
	}
	return fmt.Sprintf(format, v)
}

// runCount says how many runs each benchmark has.
func (f *File) runCount() string {
	least, most, benchmarks := len(f.Runs), 0, 0
	for _, g := range groupsOf(f.Runs) {
		for _, s := range g.series {
			benchmarks++
			least, most = min(least, len(s.runs)), max(most, len(s.runs))
		}
	}
	if least == most {
		return fmt.Sprintf("%d of each of %d benchmarks", most, benchmarks)
	}
	return fmt.Sprintf("%d to %d of each of %d benchmarks", least, most, benchmarks)
}

func (g *group) pageTable() pageTable {
	units := unitsOf(g.runs())
	t := pageTable{Head: []string{"", "runs"}}
	for _, unit := range units {
		t.Head = append(t.Head, columnName(unit))
	}
	for _, s := range g.series {
		row := []string{s.name, fmt.Sprint(len(s.runs))}
		for _, unit := range units {
			sum := s.in(unit)
			text := ""
			if len(sum.values) > 0 {
				text = fmt.Sprintf("%s ±%s", valueText(sum.median, unit), percent(sum.spread(), 0))
			}
			row = append(row, text)
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}
