package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/edgemill/edgemill"
)

func newVerifyCommand() *cobra.Command {
	var store storeFlags
	cmd := &cobra.Command{
		Use:   "verify --dir DIR",
		Short: "Check the whole store",
		Long: `Verify reads the whole store, all namespaces, and checks that every index entry,
reverse edge and count is there if and only if the data asks for it, that no
single-valued predicate has two values, and that every stored value is well
formed. It prints counts by predicate, and then everything that is wrong, in which
case the exit code is 1.`,
		Example: `  edgemill verify --dir films`,
		Args:    between(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return store.existing(cmd, func(ctx context.Context, db *edgemill.DB) error {
				return verify(ctx, cmd, db)
			})
		},
	}
	store.add(cmd)
	return cmd
}

func verify(ctx context.Context, cmd *cobra.Command, db *edgemill.DB) error {
	status := newStatus(cmd.ErrOrStderr())
	found, err := db.Verify(ctx, edgemill.VerifyOptions{Progress: func(p edgemill.VerifyProgress) {
		status.tell(0, 0, fmt.Sprintf("%d keys read, %d violations", p.Keys, p.Violations))
	}})
	status.end()
	if err != nil {
		return err
	}
	if err := printReport(cmd.OutOrStdout(), &found); err != nil {
		return err
	}
	if !found.OK() {
		return fmt.Errorf("verify: %d violations", found.Found)
	}
	return nil
}

func printReport(w io.Writer, r *edgemill.VerifyReport) error {
	rows := [][]string{{"predicate", "subjects", "postings", "tokens", "index", "targets", "reverse", "count", "reverse count", ""}}
	for i := range r.Predicates {
		rows = append(rows, reportRow(&r.Predicates[i]))
	}
	if err := printTable(w, rows); err != nil {
		return err
	}
	for _, v := range r.Violations {
		if _, err := fmt.Fprintf(w, "violation: %s\n", v); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(w, "%d keys, %d violations\n", r.Keys, r.Found)
	return err
}

func reportRow(p *edgemill.PredicateReport) []string {
	name := fmt.Sprintf("%.60s", p.Predicate)
	if p.Namespace != 0 {
		name = fmt.Sprintf("%s in %#x", name, p.Namespace)
	}
	row := []string{name}
	for _, n := range [...]uint64{p.Subjects, p.Postings, p.Tokens, p.IndexEntries, p.Targets, p.ReverseEntries, p.CountEntries, p.ReverseCountEntries} {
		row = append(row, fmt.Sprint(n))
	}
	if p.Unchecked != "" {
		row = append(row, "unchecked: "+p.Unchecked)
	}
	return row
}
