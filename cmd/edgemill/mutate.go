package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/edgemill/edgemill"
	"github.com/edgemill/edgemill/ingest"
	"github.com/edgemill/edgemill/ingest/loader"
)

type mutateCommand struct {
	store storeFlags
	write writeFlags
	apply applyFlags
	json  bool
}

func newMutateCommand() *cobra.Command {
	c := &mutateCommand{}
	cmd := &cobra.Command{
		Use:   "mutate --dir DIR FILE...",
		Short: "Apply mutation files, each as one transaction",
		Long: `Mutate applies each file, - for standard input, as one transaction: blocks of
N-Quads, set { ... } and delete { ... }, in the order given, or JSON,
{"set": [...], "delete": [...]}. All of a file is applied or nothing, and the
first failure ends the command.

Printed are the names of nodes, _:label or <IRI>, with the uids that they got. A
name is one node over all files of the command.`,
		Example: `  echo 'set { _:a <name> "Ann" . }' | edgemill mutate --dir people -
  edgemill mutate --dir people monday.rdf tuesday.json`,
		Args: between(1, -1),
		RunE: c.run,
	}
	c.store.add(cmd)
	c.write.add(cmd)
	c.apply.add(cmd)
	cmd.Flags().BoolVar(&c.json, "json", false, "print a JSON object for each file")
	return cmd
}

func (c *mutateCommand) run(cmd *cobra.Command, args []string) error {
	inputs, err := inputsOf(cmd, args)
	if err != nil {
		return err
	}
	return c.store.writable(cmd, &c.write, &c.apply, func(ctx context.Context, db *edgemill.DB) error {
		names := ingest.NewNames()
		for _, in := range inputs {
			m, err := mutateInput(ctx, db, in, names)
			if err != nil {
				return err
			}
			if err := c.print(cmd.OutOrStdout(), in.Name, &m); err != nil {
				return err
			}
		}
		return db.Store().Flush(context.WithoutCancel(ctx))
	})
}

// mutateInput applies one file.
func mutateInput(ctx context.Context, db *edgemill.DB, in loader.Input, names *ingest.Names) (_ loader.Mutation, err error) {
	src, err := in.Open()
	if err != nil {
		return loader.Mutation{}, err
	}
	defer func() { err = errors.Join(err, src.Close()) }()
	return loader.Mutate(ctx, db, src, loader.MutateOptions{Names: names})
}

// mutationResult is the JSON of one file's transaction.
type mutationResult struct {
	File       string            `json:"file"`
	CommitTS   uint64            `json:"commit_ts"`
	Statements int               `json:"statements"`
	UIDs       map[string]string `json:"uids"`
}

func (c *mutateCommand) print(w io.Writer, file string, m *loader.Mutation) error {
	if !c.json {
		for _, n := range m.Named {
			if _, err := fmt.Fprintf(w, "%s %#x\n", n.Name, n.UID); err != nil {
				return err
			}
		}
		return nil
	}
	r := mutationResult{File: file, CommitTS: m.CommitTS, Statements: m.Statements, UIDs: make(map[string]string)}
	for _, n := range m.Named {
		r.UIDs[n.Name] = hexUID(n.UID)
	}
	return printJSON(w, r)
}
