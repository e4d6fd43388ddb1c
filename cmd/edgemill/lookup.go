package main

import (
	"fmt"
	"iter"

	"github.com/spf13/cobra"

	"github.com/edgemill/edgemill"
)

type lookupCommand struct {
	store storeFlags
	lang  string
	json  bool
}

func newLookupCommand() *cobra.Command {
	c := &lookupCommand{}
	cmd := &cobra.Command{
		Use:   "lookup --dir DIR PREDICATE TOKENIZER TEXT",
		Short: "Find nodes by an index",
		Long: `Lookup prints the uids, ascending, of the nodes that the index has under every
token that the tokenizer makes of the text. The predicate's @index has to name
the tokenizer.`,
		Example: `  edgemill lookup --dir films name exact "Seven Samurai"
  edgemill lookup --dir films name term samurai --json
  edgemill lookup --dir films name exact "Les Sept Samouraïs" --lang fr`,
		Args: between(3, 3),
		RunE: c.run,
	}
	c.store.add(cmd)
	cmd.Flags().StringVar(&c.lang, "lang", "", "the `language` of the text")
	cmd.Flags().BoolVar(&c.json, "json", false, "print a JSON object")
	return cmd
}

func (c *lookupCommand) run(cmd *cobra.Command, args []string) error {
	return c.store.viewed(cmd, func(v *edgemill.View) error {
		return printUIDs(cmd.OutOrStdout(), c.json, v.LookupFrom(args[0], args[1], args[2], c.lang, 0))
	})
}

// collectHex takes all uids of a sequence.
func collectHex(uids iter.Seq2[uint64, error]) ([]string, error) {
	found := []string{}
	for uid, err := range uids {
		if err != nil {
			return nil, err
		}
		found = append(found, hexUID(uid))
	}
	return found, nil
}

func hexUID(uid uint64) string { return fmt.Sprintf("%#x", uid) }
