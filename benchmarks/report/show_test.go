package report

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the golden files anew")

// golden holds got against a file of testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(got), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), got)
}

func TestTable(t *testing.T) { golden(t, "table.txt", sample().Table()) }

// faster is the sample with the first benchmark at half of its time, the second
// a little off and the last two gone.
func faster() *File {
	f := &File{}
	for i, r := range sample().Runs[:6] {
		by := 0.5
		if i >= 3 {
			by = 0.9 + float64(i%3)/10
		}
		values := map[string]float64{"ns/op": r.Values["ns/op"] * by, "edges/s": r.Values["edges/s"] / by}
		f.Runs = append(f.Runs, Run{Name: r.Name, N: r.N, Values: values})
	}
	return f
}

func TestChangeTable(t *testing.T) {
	before, after := sample(), faster()
	// Three runs a side can't be told apart, six can.
	for _, f := range []*File{before, after} {
		f.Runs = append(f.Runs, f.Runs...)
	}
	changes, err := Compare(before, after)
	require.NoError(t, err)
	golden(t, "changes.txt", ChangeTable(changes))
}

func TestFewRunsAreNotSignificant(t *testing.T) {
	changes, err := Compare(sample(), faster())
	require.NoError(t, err)
	for _, c := range changes {
		require.False(t, c.Significant(), c.Name)
	}
}

func TestCompareNothingInCommon(t *testing.T) {
	other := &File{Runs: []Run{{Name: "Other", N: 1, Values: map[string]float64{"ns/op": 1}}}}
	_, err := Compare(sample(), other)
	require.ErrorIs(t, err, ErrNothingInCommon)
	other.Runs[0] = Run{Name: sample().Runs[0].Name, N: 1, Values: map[string]float64{"another unit": 1}}
	_, err = Compare(sample(), other)
	require.ErrorIs(t, err, ErrNothingInCommon)
}

func TestVerdict(t *testing.T) {
	for _, c := range []struct {
		change Change
		want   string
	}{
		{Change{Unit: "ns/op", Before: 2, After: 1, P: 0.01}, "better"},
		{Change{Unit: "ns/op", Before: 1, After: 2, P: 0.01}, "worse"},
		{Change{Unit: "edges/s", Before: 1, After: 2, P: 0.01}, "better"},
		{Change{Unit: "edges/s", Before: 2, After: 1, P: 0.01}, "worse"},
		{Change{Unit: "ns/op", Before: 2, After: 1, P: 0.05}, "~"},
		{Change{Unit: "allocs/op", Before: 2, After: 2, P: 0.01}, "~"},
	} {
		require.Equal(t, c.want, c.change.verdict(), c.change)
	}
}

func TestPage(t *testing.T) {
	var b strings.Builder
	require.NoError(t, sample().WritePage(&b, "A & B"))
	golden(t, "page.html", b.String())
	// It opens offline, and names are text, not markup.
	require.NotRegexp(t, regexp.MustCompile(`(?i)<script|<link|src=|href=|url\(|https?:`), b.String())
	require.Contains(t, b.String(), "&lt;Apply&gt;")
}

func TestPageOfZeros(t *testing.T) {
	f := &File{Runs: []Run{
		{Name: "A", N: 1, Values: map[string]float64{"ns/op": 0}}, {Name: "B", N: 1, Values: map[string]float64{"x": 1}},
		{Name: "C", N: 1, Values: map[string]float64{"x": -1}},
	}}
	var b strings.Builder
	require.NoError(t, f.WritePage(&b, "zeros"))
	require.NotRegexp(t, regexp.MustCompile(`NaN|Inf`), b.String())
}

func TestValueText(t *testing.T) {
	for _, c := range []struct {
		v          float64
		unit, want string
	}{
		{0, "ns/op", "0ns"}, {0.5, "ns/op", "0.5ns"}, {12.34, "ns/op", "12.3ns"}, {999, "ns/op", "999ns"},
		{1000, "ns/op", "1µs"}, {21_108, "ns/op", "21.1µs"}, {4_032_714, "ns/op", "4.03ms"}, {5.5e9, "ns/op", "5.5s"},
		{123e9, "ns/op", "123s"}, {4_304_104, "edges/s", "4.3M"}, {46_000, "edges/s", "46k"}, {1_957_963, "entries/op", "1.96M"},
		{0, "reads/edge", "0"}, {1, "reads/edge", "1"}, {0.0001354, "%mutex", "0.000135"}, {1e-9, "%mutex", "0"}, {-3, "x", "-3"},
		{2e12, "B/op", "2000G"},
	} {
		require.Equal(t, c.want, valueText(c.v, c.unit), "%v %s", c.v, c.unit)
	}
}
