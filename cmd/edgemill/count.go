package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/edgemill/edgemill"
)

type countCommand struct {
	store storeFlags
	of    uint32
	json  bool
}

func newCountCommand() *cobra.Command {
	c := &countCommand{}
	cmd := &cobra.Command{
		Use:   "count --dir DIR PREDICATE",
		Short: "Count a predicate's subjects and what they have",
		Long: `Count prints how many subjects a predicate has, and how many values or targets
they have in all. Where the schema says @count, a table follows: how many subjects
have so many of them; and --of N prints the uids of the subjects that have N.`,
		Example: `  edgemill count --dir films starring
  edgemill count --dir films starring --of 3`,
		Args: between(1, 1),
		RunE: c.run,
	}
	c.store.add(cmd)
	cmd.Flags().Uint32Var(&c.of, "of", 0, "print the subjects that have so `many`, from 1 on")
	cmd.Flags().BoolVar(&c.json, "json", false, "print a JSON object")
	return cmd
}

func (c *countCommand) run(cmd *cobra.Command, args []string) error {
	asked := cmd.Flags().Changed("of")
	if asked && c.of == 0 {
		return wrongUsage(cmd, "--of 0: counts begin at 1")
	}
	return c.store.viewed(cmd, func(v *edgemill.View) error {
		if asked {
			return printUIDs(cmd.OutOrStdout(), c.json, v.ByCountFrom(args[0], c.of, 0))
		}
		n, err := countOf(v, c.store.namespace, args[0])
		if err != nil {
			return err
		}
		return n.print(cmd.OutOrStdout(), c.json)
	})
}

// counts is what count prints, and its JSON.
type counts struct {
	Predicate string `json:"predicate"`
	Subjects  uint64 `json:"subjects"`
	Postings  uint64 `json:"postings"`
	// Buckets are the subjects by their number of postings, where @count is
	// kept.
	Buckets []bucket `json:"buckets,omitempty"`
}

type bucket struct {
	Count    int    `json:"count"`
	Subjects uint64 `json:"subjects"`
}

func countOf(v *edgemill.View, namespace uint64, pred string) (counts, error) {
	n := counts{Predicate: pred}
	by := make(map[int]uint64)
	for uid, err := range v.Has(pred, 0) {
		if err != nil {
			return n, err
		}
		k, err := v.Count(uid, pred)
		if err != nil {
			return n, err
		}
		n.Subjects++
		n.Postings += uint64(k)
		by[k]++
	}
	if p, ok := v.Schema().Predicate(namespace, pred); ok && p.Count {
		for _, k := range slices.Sorted(maps.Keys(by)) {
			n.Buckets = append(n.Buckets, bucket{k, by[k]})
		}
	}
	return n, nil
}

func (n *counts) print(w io.Writer, asJSON bool) error {
	if asJSON {
		return printJSON(w, n)
	}
	if _, err := fmt.Fprintf(w, "subjects %d\npostings %d\n", n.Subjects, n.Postings); err != nil {
		return err
	}
	if len(n.Buckets) == 0 {
		return nil
	}
	rows := [][]string{{"count", "subjects"}}
	for _, b := range n.Buckets {
		rows = append(rows, []string{strconv.Itoa(b.Count), strconv.FormatUint(b.Subjects, 10)})
	}
	return printTable(w, rows)
}
