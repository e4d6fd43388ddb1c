package report

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
)

// sample has two groups of two benchmarks each, three runs of each but one.
func sample() *File {
	f := &File{
		Format: FormatVersion,
		Machine: Machine{
			OS: "linux", Arch: "amd64", CPU: "Some Processor", Cores: 2, Procs: 2,
			Memory: 8 << 30, Kernel: "6.1", Go: "go1.26", Revision: "abc+",
		},
		Command: []string{"edgemill", "bench", "<Apply>"},
		Began:   time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC),
		Took:    61.2,
	}
	add := func(name string, n int, values ...float64) {
		for _, v := range values {
			f.Runs = append(f.Runs, Run{Name: name, N: n, Values: map[string]float64{
				"ns/op": v, "edges/s": 2e13 / v, "allocs/op": float64(len(name)),
			}})
		}
	}
	add("Apply/Many/serial", 20, 31_764_818, 29_900_000, 30_100_000)
	add("Apply/Many/2", 300, 4_032_714, 3_900_000, 4_100_000)
	add("Mutate/1x1/serial", 18_037, 28_053, 28_100, 27_000)
	f.Runs = append(f.Runs, Run{Name: "Mutate/1x1/badger", N: 79_642, Values: map[string]float64{"ns/op": 8083, "entries/op": 2}})
	return f
}

func TestJSONRoundTrip(t *testing.T) {
	f := sample()
	b, err := f.AppendJSON(nil)
	require.NoError(t, err)
	got, err := Read(b)
	require.NoError(t, err)
	require.Empty(t, cmp.Diff(f, got))
}

func TestTextRoundTrip(t *testing.T) {
	f := sample()
	got, err := Read(f.AppendText(nil))
	require.NoError(t, err)
	require.Empty(t, cmp.Diff(f.Runs, got.Runs))
	require.Equal(t, Machine{OS: "linux", Arch: "amd64", CPU: "Some Processor", Procs: 2}, got.Machine)
}

func TestText(t *testing.T) {
	f := &File{Machine: Machine{OS: "linux", Procs: 2}, Runs: []Run{
		{Name: "A/b", N: 3, Values: map[string]float64{"allocs/op": 0, "ns/op": 12.5, "x": 1e9, "edges/s": 7}},
	}}
	require.Equal(t, "goos: linux\nBenchmarkA/b-2\t3\t12.5 ns/op\t7 edges/s\t1000000000 x\t0 allocs/op\n", string(f.AppendText(nil)))
}

func TestReadGoOutput(t *testing.T) {
	text := "goos: linux\ngoarch: amd64\npkg: example.org/x\ncpu: Some Processor\n" +
		"BenchmarkA/one-2         \t      20\t  49447345 ns/op\t 201660 allocs/op\n" +
		"BenchmarkA/two\nsomething that the benchmark printed\n" +
		"BenchmarkA/two-2         \t       1\t       1.5 ns/op\n" +
		"PASS\nok  \texample.org/x\t18.2s\n"
	f, err := Read([]byte(text))
	require.NoError(t, err)
	require.Equal(t, []Run{
		{Name: "A/one", N: 20, Values: map[string]float64{"ns/op": 49447345, "allocs/op": 201660}},
		{Name: "A/two", N: 1, Values: map[string]float64{"ns/op": 1.5}},
	}, f.Runs)
	require.Equal(t, 2, f.Machine.Procs)
}

func TestNamesThatEndInNumbers(t *testing.T) {
	f, err := Read([]byte("BenchmarkA-1 1 1 ns/op\nBenchmarkA-2 1 1 ns/op\n"))
	require.NoError(t, err)
	require.Equal(t, "A-1", f.Runs[0].Name)
	require.Zero(t, f.Machine.Procs)
}

func TestReadRefuses(t *testing.T) {
	for name, c := range map[string]struct{ content, want string }{
		"nothing":          {"", "no runs"},
		"other text":       {"PASS\nok\n", "no runs"},
		"no number":        {"PASS\nBenchmarkA x 1 ns/op", `line 2: A: the number of operations is "x"`},
		"no operations":    {"BenchmarkA 0 1 ns/op", "A: 0 operations"},
		"no value":         {"BenchmarkA 1 y ns/op", `A: no value and unit in "y ns/op"`},
		"no unit":          {"BenchmarkA 1 1 ns/op 2", `A: no value and unit in "2"`},
		"an infinite rate": {"BenchmarkA 1 1 ns/op +Inf edges/s", "A: +Inf edges/s"},
		"half of JSON":     {`{"format": 1, "runs": [`, "unexpected end"},
		"no format":        {`{"runs": [{"name": "A", "n": 1}]}`, "format 0"},
		"a newer format":   {`{"format": 2, "runs": []}`, "format 2, and this program reads 1 to 1"},
		"JSON without":     {`{"format": 1, "runs": []}`, "no runs"},
		"no name":          {`{"format": 1, "runs": [{"n": 1}]}`, `run 0: the name ""`},
		"a name in two":    {`{"format": 1, "runs": [{"name": "A b", "n": 1}]}`, `run 0: the name "A b"`},
		"a unit in two":    {`{"format": 1, "runs": [{"name": "A", "n": 1, "values": {"x y": 1}}]}`, `the unit "x y"`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Read([]byte(c.content))
			require.ErrorIs(t, err, ErrBadFile)
			require.ErrorContains(t, err, c.want)
		})
	}
}

// FuzzRead: nothing panics, and what is read is written to the same again.
func FuzzRead(f *testing.F) {
	b, err := sample().AppendJSON(nil)
	require.NoError(f, err)
	f.Add(b)
	f.Add(sample().AppendText(nil))
	f.Add([]byte("cpu: x\nBenchmarkA-2 1 1 ns/op\n"))
	f.Add([]byte("Benchmark-0 1 0 0"))
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := Read(data)
		if err != nil {
			return
		}
		var page strings.Builder
		require.NoError(t, file.WritePage(&page, "x"))
		file.Table()
		b, err := file.AppendJSON(nil)
		require.NoError(t, err)
		again, err := Read(b)
		require.NoError(t, err)
		require.Equal(t, len(file.Runs), len(again.Runs))
		file.AppendText(nil)
	})
}
