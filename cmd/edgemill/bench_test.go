package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// benchRun runs `edgemill bench` with arguments.
func benchRun(args ...string) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	code = run(append([]string{"bench"}, args...), strings.NewReader(""), &out, &errs)
	return code, out.String(), errs.String()
}

func TestBench(t *testing.T) {
	dir := t.TempDir()
	file := func(name string) string { return filepath.Join(dir, name) }
	code, table, progress := benchRun("^Skew/1x1/", "^WordNet/apply/off", "--mode", "off,2", "--ops", "2", "--count", "4", "--data", dir,
		"--tmp", dir, "--out", file("a.json"), "--text", file("a.txt"), "--report", file("a.html"))
	require.Equal(t, exitOK, code, progress)
	require.Regexp(t, `(?s)^Skew/1x1\n +runs +time/op +± .*\n +off +4 .*\n +2 +4 .*\n$`, table)
	require.Contains(t, progress, "edgemill: 4 of 4: Skew/1x1/2\n")
	require.Contains(t, progress, "edgemill: WordNet/apply/off: skipped: ")
	text, err := os.ReadFile(file("a.txt"))
	require.NoError(t, err)
	require.Equal(t, 8, strings.Count(string(text), "\nBenchmarkSkew/1x1/"))
	page, err := os.ReadFile(file("a.html"))
	require.NoError(t, err)
	require.Contains(t, string(page), "<svg")
	for _, before := range []string{"a.json", "a.txt"} {
		code, changes, stderr := benchRun("compare", file(before), file("a.json"))
		require.Equal(t, exitOK, code, stderr)
		require.Regexp(t, `(?m)^ +Skew/1x1/off .* \+0\.0%  1\.000   4\+4  ~ *$`, changes)
	}
	code, _, stderr := benchRun("report", file("a.txt"), file("b.html"))
	require.Equal(t, exitOK, code, stderr)
	require.FileExists(t, file("b.html"))
}

func TestBenchList(t *testing.T) {
	code, names, stderr := benchRun("--list", "--mode", "serial", "^Apply/FiftyFifty", "^Aged/fresh")
	require.Equal(t, exitOK, code, stderr)
	require.Equal(t, "Apply/FiftyFifty/serial\nApply/FiftyFifty/Existing/serial\nAged/fresh\n", names)
}

func TestBenchRefuses(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a.txt", "b.txt"} {
		text := "Benchmark" + name + " 1 1 ns/op\n"
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	empty := filepath.Join(dir, "empty")
	require.NoError(t, os.WriteFile(empty, nil, 0o600))
	for name, c := range map[string]struct {
		args []string
		code int
		want string
	}{
		"an expression that is none": {[]string{"("}, exitUsage, "missing closing )"},
		"no such benchmark":          {[]string{"Nothing"}, exitUsage, `no benchmark matches "Nothing"`},
		"no such mode":               {[]string{"--mode", "3"}, exitUsage, `no benchmark has the mode "3"`},
		"no runs":                    {[]string{"--count", "0"}, exitUsage, "--count"},
		"a negative time":            {[]string{"--time", "-1s"}, exitUsage, "--time -1s is negative"},
		"one file to compare":        {[]string{"compare", empty}, exitUsage, "1 arguments"},
		"no such file":               {[]string{"compare", dir + "/none", empty}, exitFailure, "none: no such file"},
		"no result file":             {[]string{"compare", empty, empty}, exitFailure, "empty: no result file"},
		"nothing in common": {
			[]string{"compare", dir + "/a.txt", dir + "/b.txt"}, exitFailure, "b.txt: no benchmark is in both files",
		},
		"a page that can't be": {[]string{"report", dir + "/a.txt", dir + "/none/x.html"}, exitFailure, "no such file"},
		"no place for stores":  {[]string{"^Aged/fresh", "--tmp", dir + "/none"}, exitFailure, "Aged/fresh: "},
	} {
		t.Run(name, func(t *testing.T) {
			code, stdout, stderr := benchRun(c.args...)
			require.Equal(t, c.code, code, stderr)
			require.Contains(t, stderr, c.want)
			require.Empty(t, stdout)
		})
	}
}
