package report

import (
	"fmt"
	"slices"
	"unicode/utf8"
)

// chart is a plot of a group in one unit: for each series a bar up to the median,
// and a dot for each run. Lengths are in the units of the SVG picture.
type chart struct {
	Unit          string
	Better        string
	Width, Height int
	// Left is where the bars begin.
	Left int
	Bars []bar
}

type bar struct {
	Name string
	// Y is the upper edge of the bar's row, Middle its middle.
	Y, Middle int
	Length    float64
	Dots      []float64
	// Label stands behind the bar, at LabelX.
	Label  string
	LabelX float64
}

const (
	chartWidth = 860
	labelWidth = 190
	rowHeight  = 26
	barHeight  = 18
	charWidth  = 7
)

// chartUnits are what is plotted: the first that all of a group have, else
// another such.
var chartUnits = []string{"%mutex", "edges/s", "txn/s", "ns/op"}

func (g *group) chartUnit() string {
	units := unitsOf(g.runs())
	for _, want := range slices.Concat(chartUnits, units) {
		if slices.Contains(units, want) && g.allHave(want) {
			return want
		}
	}
	return "ns/op"
}

func (g *group) allHave(unit string) bool {
	for _, s := range g.series {
		if sum := s.in(unit); len(sum.values) == 0 {
			return false
		}
	}
	return true
}

func (g *group) chart() chart {
	unit := g.chartUnit()
	left := 16
	for _, s := range g.series {
		left = max(left, 16+charWidth*utf8.RuneCountInString(s.name))
	}
	c := chart{Unit: columnName(unit), Better: "less is better", Width: chartWidth, Left: left}
	if higherIsBetter(unit) {
		c.Better = "more is better"
	}
	scale := float64(chartWidth-left-labelWidth) / g.greatest(unit)
	first := 0.0
	for i, s := range g.series {
		sum := s.in(unit)
		if i == 0 {
			first = sum.median
		}
		c.Bars = append(c.Bars, newBar(s.name, sum, unit, i*rowHeight, left, scale, first))
	}
	c.Height = len(c.Bars) * rowHeight
	return c
}

// greatest is the greatest value in the unit, and above 0.
func (g *group) greatest(unit string) float64 {
	top := 0.0
	for _, s := range g.series {
		sum := s.in(unit)
		top = max(top, sum.max)
	}
	if top == 0 {
		return 1
	}
	return top
}

func newBar(name string, sum summary, unit string, y, left int, scale, first float64) bar {
	b := bar{Name: name, Y: y + (rowHeight-barHeight)/2, Middle: y + rowHeight/2, Length: max(0, sum.median*scale)}
	for _, v := range sum.values {
		b.Dots = append(b.Dots, float64(left)+v*scale)
	}
	b.LabelX = float64(left) + max(0, sum.max*scale) + 8
	if len(sum.values) == 0 {
		return b
	}
	b.Label = valueText(sum.median, unit)
	if y > 0 && first > 0 {
		b.Label += fmt.Sprintf(" (×%s)", digits(sum.median/first))
	}
	return b
}
