package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/edgemill/edgemill"
)

func newAlterCommand() *cobra.Command {
	var store storeFlags
	var write writeFlags
	cmd := &cobra.Command{
		Use:   "alter --dir DIR FILE",
		Short: "Put a schema in force, on data that is there too",
		Long: `Alter reads a schema, - for standard input, and adds what it states to the
store's, or puts it in the place of what was stated under the same name. Indexes,
reverse edges and counts are built, or removed, before it returns. All of it
happens or nothing.`,
		Example: `  edgemill alter --dir films films.schema
  echo 'name: string @index(exact, term) @lang .' | edgemill alter --dir films -`,
		Args: between(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return store.writable(cmd, &write, nil, func(ctx context.Context, db *edgemill.DB) error {
				return alterFrom(ctx, cmd, db, args[0])
			})
		},
	}
	store.add(cmd)
	write.add(cmd)
	return cmd
}

// alterFrom puts the schema of a file in force.
func alterFrom(ctx context.Context, cmd *cobra.Command, db *edgemill.DB, path string) error {
	text, err := readFile(cmd, path)
	if err != nil {
		return fmt.Errorf("schema: %w", err)
	}
	if err := db.Alter(ctx, string(text)); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}
