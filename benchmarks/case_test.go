package benchmarks

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func BenchmarkApply(b *testing.B)   { benchCases(b, applyCases()) }
func BenchmarkSkew(b *testing.B)    { benchCases(b, skewCases()) }
func BenchmarkMutex(b *testing.B)   { benchCases(b, mutexCases()) }
func BenchmarkMutate(b *testing.B)  { benchCases(b, mutateCases()) }
func BenchmarkWordNet(b *testing.B) { benchCases(b, wordNetCases(dataDir(b))) }
func BenchmarkTxns(b *testing.B)    { benchCases(b, txnCases()) }
func BenchmarkAged(b *testing.B)    { benchCases(b, agedCases()) }

// goMeter measures with the clock of a Go benchmark.
type goMeter struct{ *testing.B }

// Dir implements Meter.
func (m goMeter) Dir() string { return m.TempDir() }

// benchCases runs cases, whose names begin with the benchmark's.
func benchCases(b *testing.B, cases []Case) {
	for _, c := range cases {
		_, name, _ := strings.Cut(c.Name, "/")
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			err := c.Run(context.Background(), goMeter{b}, b.N)
			if errors.Is(err, ErrSkipped) {
				b.Skip(err)
			}
			check(b, err)
		})
	}
}

// dataDir is the folder of the shared data, beside the repository.
func dataDir(tb testing.TB) string {
	dir, err := os.Getwd()
	check(tb, err)
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return filepath.Join(dir, "..", "shared", "data")
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			tb.Fatal("no go.mod above the test")
		}
		dir = parent
	}
}

func check(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}
