package mutation_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/edgemill/edgemill/mutation"
)

func TestParseParallelism(t *testing.T) {
	for _, c := range []struct {
		text string
		want mutation.Parallelism
	}{
		{"off", mutation.Off},
		{"auto", mutation.Auto},
		{"1", mutation.Workers(1)},
		{"8", mutation.Workers(8)},
		{"65536", mutation.Workers(mutation.MaxWorkers)},
		{"2x", mutation.Factor(2)},
		{"0.5x", mutation.Factor(0.5)},
		{"65536x", mutation.Factor(mutation.MaxWorkers)},
	} {
		got, err := mutation.ParseParallelism(c.text)
		require.NoError(t, err, c.text)
		require.Equal(t, c.want, got, c.text)
		require.Equal(t, c.text, got.String())
	}
	require.Equal(t, "auto", mutation.Parallelism{}.String(), "the zero value")
}

func TestParseParallelismRefuses(t *testing.T) {
	for _, text := range []string{
		"", " ", "on", "Auto", "OFF", " 2", "2 ", "0", "-1", "-8", "1.5", "65537", "99999999999999999999", "0x10", "1_0", "eight", "1e3",
		"x", "0x", "-1x", "-0x", "NaNx", "nanx", "Infx", "+Infx", "1e9x", "65537x", "0x2x", "0x1p2x", "1_0x", "2xx", "2X", "x2", "2 x", "0.0x",
	} {
		got, err := mutation.ParseParallelism(text)
		require.ErrorContains(t, err, mutation.ParallelismForms, text)
		require.ErrorContains(t, err, `"`+text+`"`)
		require.Equal(t, mutation.Parallelism{}, got, text)
	}
}

// FuzzParseParallelism checks that what is read prints as what reads back, and
// makes an Applier.
func FuzzParseParallelism(f *testing.F) {
	for _, text := range []string{"off", "auto", "8", "2x", "0.25x", "NaNx", "0x", "-1", "1e9x", "1e-9x"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := mutation.ParseParallelism(text)
		if err != nil {
			return
		}
		again, err := mutation.ParseParallelism(p.String())
		require.NoError(t, err)
		require.Equal(t, p, again)
		a, err := mutation.New(mutation.Options{Parallelism: p})
		require.NoError(t, err)
		workers, _ := mutation.WorkersFor(a.Options(), math.MaxInt, 4)
		require.True(t, workers >= 1 && workers <= mutation.MaxWorkers)
	})
}

func TestOptionsRefused(t *testing.T) {
	for name, o := range map[string]mutation.Options{
		"no workers":       {Parallelism: mutation.Workers(0)},
		"fewer than none":  {Parallelism: mutation.Workers(-1)},
		"too many workers": {Parallelism: mutation.Workers(mutation.MaxWorkers + 1)},
		"factor 0":         {Parallelism: mutation.Factor(0)},
		"factor -1":        {Parallelism: mutation.Factor(-1)},
		"factor NaN":       {Parallelism: mutation.Factor(math.NaN())},
		"factor Inf":       {Parallelism: mutation.Factor(math.Inf(1))},
		"edges per worker": {EdgesPerWorker: -1},
		"min edges":        {MinEdges: -1},
	} {
		_, err := mutation.New(o)
		require.Error(t, err, name)
	}
}

func TestOptionsString(t *testing.T) {
	for _, c := range []struct {
		opts mutation.Options
		want string
	}{
		{mutation.DefaultOptions(), "intra-mutation-parallelism=auto intra-mutation-edges-per-worker=256 intra-mutation-min-edges=1"},
		{mutation.Options{}, "intra-mutation-parallelism=auto intra-mutation-edges-per-worker=256 intra-mutation-min-edges=0"},
		{
			mutation.Options{Parallelism: mutation.Factor(1.5), EdgesPerWorker: 7, MinEdges: 100},
			"intra-mutation-parallelism=1.5x intra-mutation-edges-per-worker=7 intra-mutation-min-edges=100",
		},
		{
			mutation.Options{Parallelism: mutation.Off, EdgesPerWorker: 1, MinEdges: 2},
			"intra-mutation-parallelism=off intra-mutation-edges-per-worker=1 intra-mutation-min-edges=2",
		},
	} {
		a, err := mutation.New(c.opts)
		require.NoError(t, err)
		require.Equal(t, c.want, a.Options().String())
	}
}
