// Command edgemill loads, changes, reads and checks graph stores.
//
// It is flags and printing: what it does is done by the packages edgemill,
// ingest/loader and ingest/dump. Each subcommand has a file of its own with a
// constructor, which newRootCommand names; a subcommand finds its streams and its
// context in the cobra.Command. Results go to standard output, all else to
// standard error.
package main
