package main

import (
	"context"
	"errors"
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/edgemill/edgemill"
	"github.com/edgemill/edgemill/mutation"
	"github.com/edgemill/edgemill/posting"
)

// storeFlags say which store a subcommand works on. All have them.
type storeFlags struct {
	dir       string
	namespace uint64
	verbose   bool
}

func (f *storeFlags) add(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringVar(&f.dir, "dir", "", "the store's `folder` (needed)")
	fs.Uint64Var(&f.namespace, "namespace", 0, "the `namespace` to work in")
	fs.BoolVarP(&f.verbose, "verbose", "v", false, "log what the engine does to standard error")
}

// writeFlags are those of subcommands that write.
type writeFlags struct {
	noSync       bool
	memTableSize size
}

func (f *writeFlags) add(cmd *cobra.Command) {
	f.memTableSize = posting.DefaultMemTableSize
	fs := cmd.Flags()
	fs.BoolVar(&f.noSync, "no-sync", false, "make commits safe against a crash of the machine only at the end")
	fs.Var(&f.memTableSize, "memtable-size", "Badger's memory table, such as 16MiB")
}

// applyFlags say how a batch is applied inside a transaction.
type applyFlags struct {
	parallelism    parallelism
	edgesPerWorker atLeast
	minEdges       atLeast
}

func (f *applyFlags) add(cmd *cobra.Command) {
	o := mutation.DefaultOptions()
	f.parallelism = parallelism(o.Parallelism)
	f.edgesPerWorker = atLeast{least: 1, n: o.EdgesPerWorker}
	f.minEdges = atLeast{least: 0, n: o.MinEdges}
	fs := cmd.Flags()
	fs.Var(&f.parallelism, "intra-mutation-parallelism", "workers of a batch: "+mutation.ParallelismForms)
	fs.Var(&f.edgesPerWorker, "intra-mutation-edges-per-worker", "edges that make another worker worth while")
	fs.Var(&f.minEdges, "intra-mutation-min-edges", "smaller batches are applied serially; 0: all are")
}

func (f *applyFlags) options() *mutation.Options {
	return &mutation.Options{
		Parallelism: mutation.Parallelism(f.parallelism), EdgesPerWorker: f.edgesPerWorker.n, MinEdges: f.minEdges.n,
	}
}

// existing opens a store that is there, and calls use with it.
func (f *storeFlags) existing(cmd *cobra.Command, use func(ctx context.Context, db *edgemill.DB) error) error {
	return f.with(cmd, edgemill.Options{MustExist: true}, use)
}

// writable opens a store, or makes it, and calls use with it.
func (f *storeFlags) writable(cmd *cobra.Command, w *writeFlags, a *applyFlags, use func(ctx context.Context, db *edgemill.DB) error) error {
	o := edgemill.Options{
		MemTableSize: int64(w.memTableSize), Commit: posting.CommitOptions{NoSync: w.noSync},
	}
	if a != nil {
		o.Mutation = a.options()
	}
	return f.with(cmd, o, use)
}

// with opens the store, calls use, and closes the store whatever use says.
func (f *storeFlags) with(cmd *cobra.Command, o edgemill.Options, use func(ctx context.Context, db *edgemill.DB) error) error {
	if f.dir == "" {
		return wrongUsage(cmd, "the flag --dir is needed")
	}
	o.Dir, o.Namespace = f.dir, f.namespace
	if f.verbose {
		o.Logger = slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	ctx := cmd.Context()
	db, err := edgemill.Open(ctx, o)
	if err != nil {
		return err
	}
	return errors.Join(use(ctx, db), db.Close())
}

// viewed is existing with a view of all that is committed.
func (f *storeFlags) viewed(cmd *cobra.Command, use func(v *edgemill.View) error) error {
	return f.existing(cmd, func(ctx context.Context, db *edgemill.DB) error {
		v, err := db.View(ctx, 0)
		if err != nil {
			return err
		}
		defer v.Close()
		return use(v)
	})
}
