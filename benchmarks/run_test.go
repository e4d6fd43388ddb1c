package benchmarks

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func namesOf(cases []Case) []string {
	var names []string
	for _, c := range cases {
		names = append(names, c.Name)
	}
	return names
}

func TestSelect(t *testing.T) {
	cases := []Case{{Name: "A/x/serial", Mode: "serial"}, {Name: "A/x/2", Mode: "2"}, {Name: "A/x/badger"}, {Name: "B/y"}}
	for name, c := range map[string]struct {
		patterns, modes, want []string
		wantErr               string
	}{
		"all":                {want: namesOf(cases)},
		"by name":            {patterns: []string{"^A/"}, want: []string{"A/x/serial", "A/x/2", "A/x/badger"}},
		"in the order asked": {patterns: []string{"B", "badger", "y"}, want: []string{"B/y", "A/x/badger"}},
		"by mode":            {modes: []string{"2"}, want: []string{"A/x/2", "A/x/badger", "B/y"}},
		"by both":            {patterns: []string{"x/(2|s)"}, modes: []string{"2"}, want: []string{"A/x/2"}},
		"no such name":       {patterns: []string{"A", "C"}, wantErr: `no benchmark matches "C"`},
		"no such mode":       {modes: []string{"3"}, wantErr: `no benchmark has the mode "3"; modes are serial, off, 2, 8, 32, auto`},
		"none of the mode":   {patterns: []string{"x/2"}, modes: []string{"8"}, wantErr: "no benchmark is of the modes 8"},
		"a bad expression":   {patterns: []string{"("}, wantErr: "missing closing )"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Select(cases, c.patterns, c.modes)
			if c.wantErr != "" {
				require.ErrorContains(t, err, c.wantErr)
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.want, namesOf(got))
		})
	}
}

// recorded is cases that note their runs.
type recorded struct{ ran []string }

func (r *recorded) add(name string, each time.Duration) Case {
	return Case{Name: name, Run: func(_ context.Context, m Meter, n int) error {
		r.ran = append(r.ran, fmt.Sprintf("%s*%d", name, n))
		m.ResetTimer()
		time.Sleep(each * time.Duration(n))
		return nil
	}}
}

func TestRunTakesTurns(t *testing.T) {
	var r recorded
	cases := []Case{r.add("a", 0), r.add("b", 0), r.add("c", 0)}
	runs, err := Run(context.Background(), cases, RunOptions{Dir: t.TempDir(), Count: 3, Operations: 2})
	require.NoError(t, err)
	require.Equal(t, "a*2 b*2 c*2 c*2 b*2 a*2 a*2 b*2 c*2", strings.Join(r.ran, " "))
	require.Len(t, runs, 9)
	require.Equal(t, "a", runs[0].Name)
	require.Equal(t, 2, runs[0].N)
	require.Contains(t, runs[0].Values, "ns/op")
	require.Contains(t, runs[0].Values, "allocs/op")
}

func TestRunFindsTheNumberOnce(t *testing.T) {
	var r recorded
	runs, err := Run(context.Background(), []Case{r.add("a", time.Millisecond)},
		RunOptions{Dir: t.TempDir(), Count: 2, Duration: 20 * time.Millisecond})
	require.NoError(t, err)
	require.Len(t, runs, 2)
	require.Equal(t, runs[0].N, runs[1].N)
	for _, run := range runs {
		require.GreaterOrEqual(t, run.Values["ns/op"]*float64(run.N), 20e6)
	}
}

func TestNextCount(t *testing.T) {
	for _, c := range []struct {
		n          int
		took, want time.Duration
		next       int
	}{
		{1, time.Millisecond, time.Second, 100},
		{1, 100 * time.Millisecond, time.Second, 12},
		{100, 999 * time.Millisecond, time.Second, 120},
		{1, 999 * time.Millisecond, time.Second, 2},
		{5, 0, time.Second, 500},
		{maxOperations - 1, 1, time.Hour, maxOperations},
	} {
		require.Equal(t, c.next, nextCount(c.n, c.took, c.want), c)
	}
}

func TestRunSkips(t *testing.T) {
	var r recorded
	var told []string
	missing := Case{Name: "missing", Run: func(context.Context, Meter, int) error {
		return fmt.Errorf("%w: no file", ErrSkipped)
	}}
	runs, err := Run(context.Background(), []Case{missing, r.add("a", 0)}, RunOptions{
		Dir: t.TempDir(), Count: 2, Operations: 1,
		Skipped: func(c *Case, why error) { told = append(told, c.Name+": "+why.Error()) },
	})
	require.NoError(t, err)
	require.Len(t, runs, 2)
	require.Equal(t, []string{"missing: skipped: no file"}, told)
}

func TestRunKeepsWhatWasMeasured(t *testing.T) {
	var r recorded
	dir := t.TempDir()
	wrong := Case{Name: "wrong", Run: func(_ context.Context, m Meter, _ int) error {
		require.NoError(t, os.WriteFile(m.Dir()+"/file", nil, 0o600))
		return errors.New("no good")
	}}
	runs, err := Run(context.Background(), []Case{r.add("a", 0), wrong, r.add("b", 0)}, RunOptions{Dir: dir, Operations: 1})
	require.EqualError(t, err, "wrong: no good")
	require.Len(t, runs, 1)
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, left, "folders are removed")
}

func TestRunStopsWithTheContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var r recorded
	last := Case{Name: "last", Run: func(context.Context, Meter, int) error { cancel(); return nil }}
	runs, err := Run(ctx, []Case{last, r.add("a", 0)}, RunOptions{Dir: t.TempDir(), Operations: 1})
	require.ErrorIs(t, err, context.Canceled)
	require.Len(t, runs, 1)
	require.Empty(t, r.ran)
}

func TestRunWithoutAFolder(t *testing.T) {
	var r recorded
	_, err := Run(context.Background(), []Case{r.add("a", 0)}, RunOptions{Dir: t.TempDir() + "/none", Operations: 1})
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestMeter(t *testing.T) {
	m := newMeter(t.TempDir())
	require.NotEqual(t, m.Dir(), m.Dir())
	const nap = 5 * time.Millisecond
	m.StartTimer()
	time.Sleep(nap)
	m.ReportMetric(1, "before the reset")
	m.ResetTimer()
	time.Sleep(nap)
	m.StopTimer()
	measured := m.Elapsed()
	require.GreaterOrEqual(t, measured, nap)
	kept := make([][]byte, 100)
	for i := range kept {
		kept[i] = make([]byte, 1000)
	}
	time.Sleep(nap)
	require.Equal(t, measured, m.Elapsed(), "the clock stands")
	m.ReportMetric(2, "x")
	m.ReportMetric(math.Inf(1), "infinite")
	run := m.run("name", 2)
	require.Equal(t, float64(measured.Nanoseconds())/2, run.Values["ns/op"])
	require.Less(t, run.Values["B/op"], 50_000.0, "what is allocated while the clock stands does not count")
	require.Equal(t, 2.0, run.Values["x"])
	require.NotContains(t, run.Values, "infinite")
	require.NotContains(t, run.Values, "before the reset")
}
