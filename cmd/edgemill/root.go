package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// newRootCommand puts the subcommands together.
func newRootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "edgemill COMMAND",
		Short: "Load, change, read and check graph stores",
		Long: `Edgemill keeps a graph in a folder: values and edges, with the indexes, reverse
edges and counts that its schema asks for. What it stores opens in Dgraph v25,
and the other way round.

Exit codes: 0; 1 for a failure in the data or the store; 2 for wrong usage.`,
		Example: `  edgemill load --dir films --schema films.schema films.nq.gz
  edgemill lookup --dir films name exact "Rashomon"
  edgemill verify --dir films`,
		SilenceErrors:              true,
		SilenceUsage:               true,
		CompletionOptions:          cobra.CompletionOptions{HiddenDefaultCmd: true},
		SuggestionsMinimumDistance: 2,
		Args:                       cobra.ArbitraryArgs,
		RunE:                       noCommand,
	}
	root.SetFlagErrorFunc(wrongFlag)
	root.SetHelpCommand(newHelpCommand())
	root.AddCommand(
		newLoadCommand(),
		newMutateCommand(),
		newAlterCommand(),
		newSchemaCommand(),
		newGetCommand(),
		newLookupCommand(),
		newCountCommand(),
		newDumpCommand(),
		newVerifyCommand(),
		newBenchCommand(),
		newBenchCommand(),
		newVersionCommand(),
	)
	plainUseLines(root)
	return root
}

// newHelpCommand is cobra's, but for an unknown subcommand, which is wrong
// usage.
func newHelpCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Print help about a command",
		RunE: func(cmd *cobra.Command, args []string) error {
			about, rest, err := cmd.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return noCommand(cmd.Root(), rest)
			}
			return about.Help()
		},
	}
}

// plainUseLines leaves the use lines as they are: they say which flags are
// needed.
func plainUseLines(cmd *cobra.Command) {
	cmd.DisableFlagsInUseLine = true
	for _, sub := range cmd.Commands() {
		plainUseLines(sub)
	}
}

// wrongFlag is about a flag, unless the trouble is that there is no such
// subcommand, which then has no flags.
func wrongFlag(cmd *cobra.Command, err error) error {
	if args := cmd.Flags().Args(); !cmd.HasParent() && len(args) > 0 {
		return noCommand(cmd, args)
	}
	return &usageError{cmd, err}
}

// noCommand is what runs where the arguments name no subcommand.
func noCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return wrongUsage(cmd, "no command given")
	}
	if like := cmd.SuggestionsFor(args[0]); len(like) > 0 {
		return wrongUsage(cmd, "unknown command %q; did you mean %s?", args[0], strings.Join(like, " or "))
	}
	return wrongUsage(cmd, "unknown command %q", args[0])
}

// usageError is about the command line.
type usageError struct {
	cmd *cobra.Command
	err error
}

// Error gives the reason, behind the subcommand's name.
func (e *usageError) Error() string {
	if !e.cmd.HasParent() {
		return e.err.Error()
	}
	return e.cmd.Name() + ": " + e.err.Error()
}

// Unwrap returns the reason.
func (e *usageError) Unwrap() error { return e.err }

func wrongUsage(cmd *cobra.Command, format string, args ...any) error {
	return &usageError{cmd, fmt.Errorf(format, args...)}
}

// between refuses fewer arguments than least or more than most; -1 is no bound.
func between(least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < least:
			return wrongUsage(cmd, "%d arguments, and it takes %d or more", len(args), least)
		case most >= 0 && len(args) > most:
			return wrongUsage(cmd, "%d arguments, and it takes %d at most", len(args), most)
		}
		return nil
	}
}
