package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/edgemill/edgemill"
	"github.com/edgemill/edgemill/ingest/dump"
)

func newDumpCommand() *cobra.Command {
	var store storeFlags
	var keys bool
	cmd := &cobra.Command{
		Use:   "dump --dir DIR",
		Short: "Print the whole graph as N-Quads",
		Long: `Dump prints every statement of all namespaces, or of the one that --namespace
names, so that loading them gives the same graph. The schema is not part of it:
see schema. A statement of a namespace other than 0 has it as its graph label,
which load passes over: dump and load such a namespace by itself.

With --keys it prints every list of the store instead, a line of JSON each: data,
indexes, reverse edges and counts, by their keys.`,
		Example: `  edgemill schema --dir films > films.schema
  edgemill dump --dir films | gzip > films.nq.gz
  edgemill dump --dir films --namespace 0x2 | edgemill load --dir copy --namespace 0x2 -`,
		Args: between(0, 0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			var o dump.Options
			if cmd.Flags().Changed("namespace") {
				o.Namespaces = []uint64{store.namespace}
			}
			write := dump.NQuads
			if keys {
				write = dump.Lists
			}
			return store.existing(cmd, func(ctx context.Context, db *edgemill.DB) error {
				return write(ctx, db, cmd.OutOrStdout(), o)
			})
		},
	}
	store.add(cmd)
	cmd.Flags().BoolVar(&keys, "keys", false, "print every list by its key, as JSON")
	return cmd
}
