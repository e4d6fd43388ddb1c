package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/edgemill/edgemill/benchmarks"
	"github.com/edgemill/edgemill/benchmarks/report"
)

// benchFlags are the flags of bench.
type benchFlags struct {
	modes []string
	data  string
	run   benchmarks.RunOptions
	// count and operations belong to run.
	count, operations atLeast
	list, quiet       bool
	// out, text and page are files to write, "" for none.
	out, text, page string
}

// newBenchCommand makes `edgemill bench`, which measures, and below it
// `compare` and `report`, which show what was measured.
func newBenchCommand() *cobra.Command {
	f := benchFlags{count: atLeast{1, 5}}
	cmd := &cobra.Command{
		Use:   "bench [REGEXP...]",
		Short: "Measure named workloads on this machine",
		Long: `Measures the benchmarks whose names match one of the regular expressions, or
all of them, which takes about an hour, and prints the medians as a table.

Each benchmark is measured --count times, in turns with the others. One
measurement takes at least --time, so a run takes about the number of benchmarks
times --count times --time. Stores are made in --tmp and removed again.`,
		Example: `  edgemill bench --list
  edgemill bench '^Apply/ReverseDominant/' --mode serial,off,2
  edgemill bench '^Mutate/' --count 10 --out mutate.json --report mutate.html
  edgemill bench compare before.json after.json`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, patterns []string) error { return f.bench(cmd, patterns) },
	}
	flags := cmd.Flags()
	flags.StringSliceVar(&f.modes, "mode", nil, "only these appliers: serial, off, 2, 8, 32, auto")
	flags.Var(&f.count, "count", "how often each benchmark is measured")
	flags.DurationVar(&f.run.Duration, "time", time.Second, "how long one measurement takes at least")
	flags.Var(&f.operations, "ops", "so many operations a measurement, instead of --time; 0 for as many as --time takes")
	flags.StringVar(&f.data, "data", ".", "the folder with wordnet.nq.gz and wordnet.schema, without which WordNet is left out")
	flags.StringVar(&f.run.Dir, "tmp", "", "where stores are made (default the system's folder for temporary files)")
	flags.StringVar(&f.out, "out", "", "write the results to this file, as JSON")
	flags.StringVar(&f.text, "text", "", "write the results to this file, as go test -bench prints them (for benchstat)")
	flags.StringVar(&f.page, "report", "", "write a web page with plots to this file")
	flags.BoolVar(&f.list, "list", false, "print the names of the benchmarks, and run none")
	flags.BoolVar(&f.quiet, "quiet", false, "do not say on standard error what is being measured")
	cmd.AddCommand(newBenchCompareCommand(), newBenchReportCommand())
	return cmd
}

func (f *benchFlags) bench(cmd *cobra.Command, patterns []string) error {
	cases, err := benchmarks.Select(benchmarks.Cases(benchmarks.Config{Data: f.data}), patterns, f.modes)
	if err != nil {
		return wrongUsage(cmd, "%w", err)
	}
	if f.run.Duration < 0 {
		return wrongUsage(cmd, "--time %v is negative", f.run.Duration)
	}
	if f.list {
		return printNames(cmd.OutOrStdout(), cases)
	}
	results := &report.File{Machine: report.Here(), Command: os.Args, Began: time.Now()}
	results.Runs, err = benchmarks.Run(cmd.Context(), cases, f.options(cmd.ErrOrStderr()))
	results.Took = time.Since(results.Began).Seconds()
	if len(results.Runs) == 0 {
		return err
	}
	// What was measured before an error is worth keeping.
	_, printed := io.WriteString(cmd.OutOrStdout(), results.Table())
	return errors.Join(err, printed, f.write(results))
}

// options are the flags' options, with progress told on w.
func (f *benchFlags) options(w io.Writer) benchmarks.RunOptions {
	o := f.run
	o.Count, o.Operations = f.count.n, f.operations.n
	o.Skipped = func(c *benchmarks.Case, why error) { fmt.Fprintf(w, "edgemill: %s: %v\n", c.Name, why) }
	if !f.quiet {
		o.Progress = func(c *benchmarks.Case, round int) {
			fmt.Fprintf(w, "edgemill: %d of %d: %s\n", round+1, o.Count, c.Name)
		}
	}
	return o
}

func printNames(w io.Writer, cases []benchmarks.Case) error {
	for _, c := range cases {
		if _, err := fmt.Fprintln(w, c.Name); err != nil {
			return err
		}
	}
	return nil
}

// write writes the files that were asked for.
func (f *benchFlags) write(results *report.File) error {
	var errs []error
	if f.out != "" {
		b, err := results.AppendJSON(nil)
		if err == nil {
			err = os.WriteFile(f.out, b, 0o644)
		}
		errs = append(errs, err)
	}
	if f.text != "" {
		errs = append(errs, os.WriteFile(f.text, results.AppendText(nil), 0o644))
	}
	if f.page != "" {
		errs = append(errs, writePage(f.page, results))
	}
	return errors.Join(errs...)
}

func writePage(path string, results *report.File) (err error) {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	return results.WritePage(file, "Edgemill benchmarks")
}

func newBenchCompareCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "compare BEFORE AFTER",
		Short: "Compare two result files",
		Long: `Compares the medians of two result files: the JSON that bench --out writes, or
what go test -bench prints.

p is the probability of such a difference, or a greater one, if nothing has
changed (the two-sided test of Mann and Whitney). Where it is below 0.05 the
last word says what the change is, else there is a ~. With fewer than four runs on
each side it always is a ~.`,
		Example: `  edgemill bench compare before.json after.json`,
		Args:    between(2, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return compareResults(cmd.OutOrStdout(), args[0], args[1])
		},
	}
}

func compareResults(w io.Writer, beforePath, afterPath string) error {
	before, err := readResults(beforePath)
	if err != nil {
		return err
	}
	after, err := readResults(afterPath)
	if err != nil {
		return err
	}
	changes, err := report.Compare(before, after)
	if err != nil {
		return fmt.Errorf("%s and %s: %w", beforePath, afterPath, err)
	}
	_, err = io.WriteString(w, report.ChangeTable(changes))
	return err
}

func newBenchReportCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "report RESULTS FILE",
		Short: "Write a web page with plots of a result file",
		Long: `Writes the web page that bench --report writes, from a result file: the JSON that
bench --out writes, or what go test -bench prints.`,
		Example: `  edgemill bench report mutate.json mutate.html`,
		Args:    between(2, 2),
		RunE: func(_ *cobra.Command, args []string) error {
			results, err := readResults(args[0])
			if err != nil {
				return err
			}
			return writePage(args[1], results)
		},
	}
}

func readResults(path string) (*report.File, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	results, err := report.Read(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return results, nil
}
