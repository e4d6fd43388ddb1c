package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/edgemill/edgemill"
	"github.com/edgemill/edgemill/ingest/loader"
)

type loadCommand struct {
	store       storeFlags
	write       writeFlags
	apply       applyFlags
	schema      string
	edgesPerTxn atLeast
	scoped      bool
	names       string
	json        bool
}

func newLoadCommand() *cobra.Command {
	c := &loadCommand{edgesPerTxn: atLeast{least: 1, n: loader.DefaultEdgesPerTxn}}
	cmd := &cobra.Command{
		Use:   "load --dir DIR [--schema FILE] FILE...",
		Short: "Load N-Quads or JSON, a transaction for so many statements",
		Long: `Load reads the files in their order, - for standard input, and commits their
statements to the store, which is made if it is missing. Files are N-Quads or
JSON, plain or compressed with gzip or zstd; their content tells which. With
--schema, the schema is put in force before.

A name of a node, _:label or <IRI>, is one node within a load. With --names it
stays the same node over several loads.

A bad statement, or Ctrl-C, ends the load at the boundary of a transaction: what
was committed stays, and the last lines say how far that is.`,
		Example: `  edgemill load --dir films --schema films.schema films.nq.gz
  zcat part-*.nq.gz | edgemill load --dir films --names films.names -`,
		Args: between(1, -1),
		RunE: c.run,
	}
	c.store.add(cmd)
	c.write.add(cmd)
	c.apply.add(cmd)
	fs := cmd.Flags()
	fs.StringVar(&c.schema, "schema", "", "a `file` with the schema")
	fs.Var(&c.edgesPerTxn, "edges-per-txn", "statements that make a transaction")
	fs.BoolVar(&c.scoped, "file-scoped-blanks", false, "make a blank node label a node of its file")
	fs.StringVar(&c.names, "names", "", "a `file` that keeps names and their uids: read before, if it is there, and written after")
	fs.BoolVar(&c.json, "json", false, "print the summary as JSON")
	return cmd
}

func (c *loadCommand) run(cmd *cobra.Command, args []string) error {
	if c.schema == stdinArg && slices.Contains(args, stdinArg) {
		return errStdinTwice(cmd)
	}
	inputs, err := inputsOf(cmd, args)
	if err != nil {
		return err
	}
	return c.store.writable(cmd, &c.write, &c.apply, func(ctx context.Context, db *edgemill.DB) error {
		if c.schema != "" {
			if err := alterFrom(ctx, cmd, db, c.schema); err != nil {
				return err
			}
		}
		return c.load(ctx, cmd, db, inputs)
	})
}

// inputsOf makes inputs of arguments, of which one may be - for standard input.
func inputsOf(cmd *cobra.Command, args []string) ([]loader.Input, error) {
	inputs := loader.Files(args...)
	for i := range inputs {
		if inputs[i].Name != stdinArg {
			continue
		}
		if slices.Contains(args[i+1:], stdinArg) {
			return nil, errStdinTwice(cmd)
		}
		inputs[i] = loader.Input{Name: "standard input", Reader: untilDone(cmd.Context(), cmd.InOrStdin())}
	}
	return inputs, nil
}

func errStdinTwice(cmd *cobra.Command) error {
	return wrongUsage(cmd, "standard input can be read only once")
}

// stdinArg stands for standard input among files.
const stdinArg = "-"

func (c *loadCommand) load(ctx context.Context, cmd *cobra.Command, db *edgemill.DB, inputs []loader.Input) error {
	status := newStatus(cmd.ErrOrStderr())
	done, err := loader.Load(ctx, db, loader.Options{
		Inputs: inputs, EdgesPerTxn: c.edgesPerTxn.n, FileScopedBlanks: c.scoped, NamesFile: c.names,
		Progress: func(p loader.Progress) {
			status.tell(p.Bytes, p.Total, fmt.Sprintf("%d statements, %.0f/s", p.Statements, p.Rate()))
		},
	})
	status.end()
	if printed := printSummary(cmd.OutOrStdout(), c.json, &done); printed != nil {
		return printed
	}
	return err
}

// loadSummary is the JSON of what was loaded.
type loadSummary struct {
	Statements   uint64  `json:"statements"`
	Transactions uint64  `json:"transactions"`
	Nodes        uint64  `json:"nodes"`
	Keys         uint64  `json:"keys"`
	KeyBytes     uint64  `json:"key_bytes"`
	Seconds      float64 `json:"seconds"`
	Rate         float64 `json:"statements_per_second"`
	File         string  `json:"file,omitempty"`
	Line         int     `json:"line,omitempty"`
}

func printSummary(w io.Writer, asJSON bool, s *loader.Summary) error {
	if asJSON {
		return printJSON(w, loadSummary{
			Statements: s.Statements, Transactions: s.Transactions, Nodes: s.Nodes,
			Keys: s.Keys, KeyBytes: s.KeyBytes, Seconds: s.Took.Seconds(), Rate: s.Rate(), File: s.File, Line: s.Line,
		})
	}
	rows := [][]string{
		{"statements", fmt.Sprint(s.Statements)},
		{"transactions", fmt.Sprint(s.Transactions)},
		{"new nodes", fmt.Sprint(s.Nodes)},
		{"seconds", fmt.Sprintf("%.2f", s.Took.Seconds())},
		{"statements/s", fmt.Sprintf("%.0f", s.Rate())},
	}
	if s.File != "" {
		rows = append(rows, []string{"committed up to", fmt.Sprintf("%s:%d", s.File, s.Line)})
	}
	return printTable(w, rows)
}

// readFile reads a file that an argument names, - for standard input.
func readFile(cmd *cobra.Command, path string) ([]byte, error) {
	if path == stdinArg {
		return io.ReadAll(untilDone(cmd.Context(), cmd.InOrStdin()))
	}
	return os.ReadFile(path)
}
