package report

import (
	"math"
	"strconv"
	"strings"
)

// scales are the prefixes of numbers from 1,000 up.
var scales = []struct {
	by     float64
	suffix string
}{{1e9, "G"}, {1e6, "M"}, {1e3, "k"}}

// number writes a value in three or four digits, with a prefix.
func number(v float64) string {
	for _, s := range scales {
		if math.Abs(v) >= s.by {
			return digits(v/s.by) + s.suffix
		}
	}
	return digits(v)
}

// digits writes a number in three significant digits, or as many as its whole
// part has.
func digits(v float64) string {
	if v == 0 {
		return "0"
	}
	decimals := max(0, 2-int(math.Floor(math.Log10(math.Abs(v)))))
	s := strconv.FormatFloat(v, 'f', min(decimals, 6), 64)
	if strings.Contains(s, ".") {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	if s == "-0" {
		return "0"
	}
	return s
}

// times are the units that nanoseconds are written in.
var times = []struct {
	by     float64
	suffix string
}{{1e9, "s"}, {1e6, "ms"}, {1e3, "µs"}, {1, "ns"}}

// valueText writes a value for a column that is headed by columnName.
func valueText(v float64, unit string) string {
	if unit != "ns/op" {
		return number(v)
	}
	for _, t := range times {
		if math.Abs(v) >= t.by {
			return digits(v/t.by) + t.suffix
		}
	}
	return digits(v) + "ns"
}

// columnName heads the values in a unit.
func columnName(unit string) string {
	if unit == "ns/op" {
		return "time/op"
	}
	return unit
}

// percent writes a share as whole percents, with a sign if asked for.
func percent(v float64, decimals int) string {
	return strconv.FormatFloat(100*v, 'f', decimals, 64) + "%"
}
