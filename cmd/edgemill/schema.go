package main

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"github.com/edgemill/edgemill"
)

func newSchemaCommand() *cobra.Command {
	var store storeFlags
	cmd := &cobra.Command{
		Use:   "schema --dir DIR",
		Short: "Print the schema",
		Long: `Schema prints the predicates and types of all namespaces as text that alter and
load --schema read.`,
		Example: `  edgemill schema --dir films`,
		Args:    between(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return store.existing(cmd, func(_ context.Context, db *edgemill.DB) error {
				_, err := io.WriteString(cmd.OutOrStdout(), db.SchemaText())
				return err
			})
		},
	}
	store.add(cmd)
	return cmd
}
