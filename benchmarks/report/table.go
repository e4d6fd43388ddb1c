package report

import (
	"fmt"
	"strings"
	"text/tabwriter"
)

// Table is the medians of all benchmarks, group by group. Behind the time stands
// how far the runs lie from it at most.
func (f *File) Table() string {
	var b strings.Builder
	for i, g := range groupsOf(f.Runs) {
		if i > 0 {
			b.WriteByte('\n')
		}
		g.table(&b)
	}
	return b.String()
}

func (g *group) table(b *strings.Builder) {
	units := unitsOf(g.runs())
	if g.name != "" {
		fmt.Fprintln(b, g.name)
	}
	w := tabwriter.NewWriter(b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(w, "\t\truns\t")
	for _, unit := range units {
		fmt.Fprintf(w, "%s\t", columnName(unit))
		if unit == "ns/op" {
			fmt.Fprint(w, "±\t")
		}
	}
	fmt.Fprintln(w)
	width := g.widestName()
	for _, s := range g.series {
		fmt.Fprintf(w, "\t%-*s\t%d\t", width, s.name, len(s.runs))
		for _, unit := range units {
			s.cell(w, unit)
		}
		fmt.Fprintln(w)
	}
	_ = w.Flush() // a strings.Builder takes everything
}

func (s *series) cell(w *tabwriter.Writer, unit string) {
	sum := s.in(unit)
	if len(sum.values) == 0 {
		fmt.Fprint(w, "\t")
	} else {
		fmt.Fprintf(w, "%s\t", valueText(sum.median, unit))
	}
	if unit == "ns/op" {
		fmt.Fprintf(w, "%s\t", percent(sum.spread(), 0))
	}
}

func (g *group) widestName() int {
	width := 0
	for _, s := range g.series {
		width = max(width, len(s.name))
	}
	return width
}
