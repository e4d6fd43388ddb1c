package edgemill

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/edgemill/edgemill/conflict"
	"github.com/edgemill/edgemill/mutation"
	"github.com/edgemill/edgemill/posting"
	"github.com/edgemill/edgemill/schema"
)

// Options say where a DB is and how it works. The zero value of each field but
// Dir is a sane default.
type Options struct {
	// Dir is the store's directory. The Badger directory is Dir/p and the
	// engine's own state Dir/edgemill; where Dir itself is a Badger directory,
	// as Dgraph's p is, it is opened in place with the state in Dir.edgemill.
	Dir string
	// InMemory keeps everything in memory; Dir is not looked at.
	InMemory bool
	// MustExist refuses to make a new store.
	MustExist bool
	// Namespace is where edges and schemas go and reads look, 0 for the root.
	Namespace uint64
	// Mutation says how batches are applied; nil is mutation.DefaultOptions.
	Mutation *mutation.Options
	// MemTableSize is Badger's, in bytes; 0 is posting.DefaultMemTableSize.
	MemTableSize int64
	// Commit bounds groups of commits and says how safe an answer is.
	Commit posting.CommitOptions
	// Rollup says when lists are rolled up in the background, CleanUp when what
	// nobody reads any more is dropped.
	Rollup  posting.RollupOptions
	CleanUp posting.CleanUpOptions
	// CacheBytes is how many bytes of decoded lists a cache keeps; 0 for no cache.
	// DefaultCacheBytes suits a store that is read a lot.
	CacheBytes int64
	// MaxWaiting is how many transactions of RunTxn may wait at the gate; 0 for
	// any number.
	MaxWaiting int
	// Metrics is told what the DB does; nil for none. Where Mutation has a Metrics
	// of its own, that one is told of batches.
	Metrics Metrics
	// Logger takes what there is to tell; nil for none.
	Logger *slog.Logger
}

// DefaultCacheBytes is a size in bytes for Options.CacheBytes.
const DefaultCacheBytes = 64 << 20

// ErrClosed is the answer of a DB or a transaction that is over.
var ErrClosed = errors.New("closed")

// DB is an open store. Any number of goroutines may use it.
type DB struct {
	opts    Options
	store   *posting.Store
	oracle  *conflict.Oracle
	gate    *conflict.Gate
	applier *mutation.Applier
	uids    *uidLease
	calls   *calls

	// altering is held by the one Alter that runs.
	altering    alterLock
	alterLimits alterLimits
	schema      schemaState
	upkeep      upkeep
}

// Open opens the store, or makes it. What a crash left unfinished is finished
// or undone before Open returns; but where the disk has no space to undo an Alter, what
// that built stays, and Verify shows it, until an Open or an Alter that has.
func Open(ctx context.Context, opts Options) (*DB, error) {
	mo := mutation.DefaultOptions()
	if opts.Mutation != nil {
		mo = *opts.Mutation
	}
	if mo.Logger == nil {
		mo.Logger = opts.Logger
	}
	if opts.Metrics == nil {
		opts.Metrics = noMetrics{}
	}
	if mo.Metrics == nil {
		mo.Metrics = opts.Metrics
	}
	applier, err := mutation.New(mo)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrBadOptions, err)
	}
	store, err := posting.Open(posting.Options{
		Dir: opts.Dir, InMemory: opts.InMemory, MustExist: opts.MustExist,
		MemTableSize: opts.MemTableSize, Commit: opts.Commit, CacheBytes: opts.CacheBytes, Logger: opts.Logger,
	})
	if err != nil {
		return nil, fmt.Errorf("open: %w", err)
	}
	db := &DB{
		opts: opts, store: store, applier: applier, calls: newCalls(), gate: conflict.NewGate(opts.MaxWaiting),
		altering: newAlterLock(), alterLimits: defaultAlterLimits(),
	}
	if err := db.start(ctx); err != nil {
		return nil, fmt.Errorf("open: %w", errors.Join(err, store.Close()))
	}
	db.startUpkeep()
	opts.Metrics.Watch(db.Stats)
	return db, nil
}

// ErrBadOptions: the options cannot be used as they are.
var ErrBadOptions = errors.New("bad options")

// start brings up what depends on what the store holds.
func (db *DB) start(ctx context.Context) error {
	// After a crash the horizon can be above every version: a timestamp at which
	// nothing was written raised it.
	last := max(db.store.State().LastTS, db.store.MaxVersion(), db.store.Horizon())
	db.oracle = conflict.NewOracle(last)
	if err := db.loadSchema(); err != nil {
		return err
	}
	var err error
	if db.uids, err = openUIDs(ctx, db.store); err != nil {
		return err
	}
	return db.recoverAtOpen(ctx)
}

// Close ends the DB. It may come at any moment: calls that wait end with
// ErrClosed, batches that are being applied are broken off, commits that have
// been decided are answered, and Close waits for all of that. Transactions and
// views that are open fail from then on. What was acknowledged is kept. A second
// Close is ErrClosed.
func (db *DB) Close() error {
	if !db.calls.close() {
		return ErrClosed
	}
	db.stopUpkeep()
	db.oracle.Close()
	db.calls.wait()
	flushed := db.store.Flush(context.Background())
	saved := db.store.UpdateState(func(s *posting.State) {
		s.LastTS = max(s.LastTS, db.store.MaxVersion())
		s.NextUID, s.Leasing = db.uids.unused(), false
	})
	return errors.Join(flushed, saved, db.store.Close())
}

// Namespace returns the namespace that the DB works in.
func (db *DB) Namespace() uint64 { return db.opts.Namespace }

// Store returns the store below, for what this package does not cover.
func (db *DB) Store() *posting.Store { return db.store }

// Schema returns the schema in force.
func (db *DB) Schema() *schema.Snapshot {
	db.schema.RLock()
	defer db.schema.RUnlock()
	return db.schema.snap
}
