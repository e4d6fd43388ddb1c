package report

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
)

// ErrNothingInCommon: the files that are compared have no benchmark in common.
var ErrNothingInCommon = errors.New("no benchmark is in both files")

// Change is what became of one benchmark in one unit between two files.
type Change struct {
	Name, Unit string
	// Before and After are medians, of so many runs.
	Before, After         float64
	BeforeRuns, AfterRuns int
	// P is the probability of such a difference, or a greater one, if nothing has
	// changed (the two-sided test of Mann and Whitney).
	P float64

	spreadBefore, spreadAfter float64
}

// Significant reports whether P is below 0.05. It never is with fewer than four
// runs on each side.
func (c *Change) Significant() bool { return c.P < significant }

// Delta is the change as a share of what was before, 0 where that was 0.
func (c *Change) Delta() float64 {
	if c.Before == 0 {
		return 0
	}
	return c.After/c.Before - 1
}

// verdict is a word on a change.
func (c *Change) verdict() string {
	switch {
	case !c.Significant() || c.Before == c.After:
		return "~"
	case (c.After > c.Before) == higherIsBetter(c.Unit):
		return "better"
	}
	return "worse"
}

// Compare gives the changes from one file to another, by unit and then in the
// order of the benchmarks in the first. An error wraps ErrNothingInCommon.
func Compare(before, after *File) ([]Change, error) {
	later := make(map[string]*series)
	for _, g := range groupsOf(after.Runs) {
		for _, s := range g.series {
			later[s.full] = s
		}
	}
	var changes []Change
	for _, unit := range unitsOf(before.Runs) {
		for _, g := range groupsOf(before.Runs) {
			for _, s := range g.series {
				if l := later[s.full]; l != nil {
					changes = appendChange(changes, s, l, unit)
				}
			}
		}
	}
	if len(changes) == 0 {
		return nil, ErrNothingInCommon
	}
	return changes, nil
}

func appendChange(changes []Change, before, after *series, unit string) []Change {
	a, b := before.in(unit), after.in(unit)
	if len(a.values) == 0 || len(b.values) == 0 {
		return changes
	}
	return append(changes, Change{
		Name: before.full, Unit: unit,
		Before: a.median, After: b.median,
		BeforeRuns: len(a.values), AfterRuns: len(b.values),
		P:            mannWhitney(a.values, b.values),
		spreadBefore: a.spread(), spreadAfter: b.spread(),
	})
}

// ChangeTable shows changes, unit by unit. A change that is not significant has
// a ~ in place of a word.
func ChangeTable(changes []Change) string {
	var b strings.Builder
	for i := 0; i < len(changes); {
		end := i + 1
		for end < len(changes) && changes[end].Unit == changes[i].Unit {
			end++
		}
		if i > 0 {
			b.WriteByte('\n')
		}
		unitTable(&b, changes[i:end])
		i = end
	}
	return b.String()
}

func unitTable(b *strings.Builder, changes []Change) {
	width := len(slices.MaxFunc(changes, func(a, b Change) int { return len(a.Name) - len(b.Name) }).Name)
	unit := changes[0].Unit
	w := tabwriter.NewWriter(b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "%-*s\tbefore\t±\tafter\t±\tchange\tp\truns\t\t\n", width, columnName(unit))
	for i := range changes {
		c := &changes[i]
		fmt.Fprintf(w, "%-*s\t%s\t%s\t%s\t%s\t%+.1f%%\t%.3f\t%d+%d\t%-6s\t\n", width, c.Name,
			valueText(c.Before, unit), percent(c.spreadBefore, 0), valueText(c.After, unit), percent(c.spreadAfter, 0),
			100*c.Delta(), c.P, c.BeforeRuns, c.AfterRuns, c.verdict())
	}
	_ = w.Flush() // a strings.Builder takes everything
}
