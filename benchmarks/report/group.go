package report

import (
	"slices"
	"strings"
)

// series is all values of one benchmark, by unit.
type series struct {
	// name is the last part of the benchmark's.
	name string
	full string
	runs []Run
}

func (s *series) in(unit string) summary {
	var values []float64
	for i := range s.runs {
		if v, ok := s.runs[i].Values[unit]; ok {
			values = append(values, v)
		}
	}
	return summarize(values)
}

// group is benchmarks whose names differ in the last part.
type group struct {
	name   string
	series []*series
}

// groupsOf puts runs together, groups and series in the order in which they are
// met first.
func groupsOf(runs []Run) []*group {
	var groups []*group
	byName := make(map[string]*group)
	all := make(map[string]*series)
	for _, r := range runs {
		s := all[r.Name]
		if s == nil {
			dir, base := splitName(r.Name)
			s = &series{name: base, full: r.Name}
			all[r.Name] = s
			g := byName[dir]
			if g == nil {
				g = &group{name: dir}
				byName[dir] = g
				groups = append(groups, g)
			}
			g.series = append(g.series, s)
		}
		s.runs = append(s.runs, r)
	}
	return groups
}

func splitName(name string) (dir, base string) {
	i := strings.LastIndexByte(name, '/')
	if i < 0 {
		return "", name
	}
	return name[:i], name[i+1:]
}

func (g *group) runs() []Run {
	var runs []Run
	for _, s := range g.series {
		runs = append(runs, s.runs...)
	}
	return runs
}

// firstUnits is the order in which well-known units are shown; others come
// behind, by name, and memory at the end.
var firstUnits = []string{"ns/op", "edges/s", "txn/s"}

var lastUnits = []string{"B/op", "allocs/op"}

// unitsOf are the units of the runs, in the order in which they are shown.
func unitsOf(runs []Run) []string {
	seen := make(map[string]bool)
	for i := range runs {
		for unit := range runs[i].Values {
			seen[unit] = true
		}
	}
	var units, others []string
	for unit := range seen {
		if !slices.Contains(firstUnits, unit) && !slices.Contains(lastUnits, unit) {
			others = append(others, unit)
		}
	}
	slices.Sort(others)
	for _, unit := range slices.Concat(firstUnits, others, lastUnits) {
		if seen[unit] {
			units = append(units, unit)
		}
	}
	return units
}

// higherIsBetter reports it of a unit: it is so for rates.
func higherIsBetter(unit string) bool { return strings.HasSuffix(unit, "/s") }
