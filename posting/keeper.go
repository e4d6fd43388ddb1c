package posting

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"github.com/dgraph-io/badger/v4"
)

// CleanUpOptions say when what nobody can read any more is dropped. The zero
// value of each field is a sane default.
type CleanUpOptions struct {
	// Off drops nothing but what CleanUp is asked to.
	Off bool
	// Every is the time between two times; default a minute.
	Every time.Duration
	// DiscardRatio is which share of a file of the value log has to be dropped
	// before the rest is written elsewhere and the file removed; default 0.5.
	DiscardRatio float64
}

func (o CleanUpOptions) withDefaults() CleanUpOptions {
	if o.Every <= 0 {
		o.Every = time.Minute
	}
	if o.DiscardRatio <= 0 || o.DiscardRatio >= 1 {
		o.DiscardRatio = 0.5
	}
	return o
}

// Keeper drops what nobody can read any more: now and then it raises the store's
// horizon, below which Badger then drops the versions under complete lists as it
// compacts, and removes files of the value log that are mostly unused. One
// goroutine does that. The methods may be called from any goroutine.
type Keeper struct {
	store   *Store
	horizon func() uint64
	opts    CleanUpOptions

	stop    context.CancelFunc
	stopped sync.WaitGroup
}

// NewKeeper begins to keep the store clean. horizon returns the timestamp below
// which nobody reads, now or later, and nothing is committed that is not
// readable yet, as conflict.Timestamps has it. Close ends it, before the store.
func NewKeeper(store *Store, horizon func() uint64, opts CleanUpOptions) *Keeper {
	k := &Keeper{store: store, horizon: horizon, opts: opts.withDefaults()}
	ctx, cancel := context.WithCancel(context.Background())
	k.stop = cancel
	if k.opts.Off {
		return k
	}
	k.stopped.Add(1)
	go func() {
		defer k.stopped.Done()
		for sleep(ctx, k.opts.Every) {
			if _, err := k.CleanUp(ctx); err != nil {
				store.committer.warn(fmt.Errorf("clean-up: %w", err))
			}
		}
	}()
	return k
}

// CleanUp raises the horizon and goes over the value log at once, and returns
// how many of its files were removed.
func (k *Keeper) CleanUp(ctx context.Context) (files int, err error) {
	if err := k.store.RaiseHorizon(k.horizon()); err != nil {
		return 0, err
	}
	return k.store.CollectValues(ctx, k.opts.DiscardRatio)
}

// Close ends the background work; a file of the value log in hand is done with
// first. It may be repeated.
func (k *Keeper) Close() {
	k.stop()
	k.stopped.Wait()
}

// CollectValues removes files of Badger's value log of which at least the ratio
// (between 0 and 1) is unused, as far as compactions have found out, after
// writing what is used elsewhere. It returns how many; it ends between two files
// when the context does. In memory there is none.
func (s *Store) CollectValues(ctx context.Context, ratio float64) (files int, err error) {
	for ; !s.opts.InMemory && ctx.Err() == nil; files++ {
		err := s.collectFile(ratio)
		if errors.Is(err, badger.ErrNoRewrite) || errors.Is(err, badger.ErrRejected) {
			return files, nil
		}
		if err != nil {
			return files, fmt.Errorf("value log: %w", err)
		}
	}
	return files, ctx.Err()
}

// collectFile removes one file. Badger removes it when it has written what is
// used elsewhere but has not synced that, and a commit whose log segment is gone
// would be lost with the machine. While an iterator is open, Badger leaves the
// file; so it is held open until the copies are synced.
func (s *Store) collectFile(ratio float64) error {
	txn := s.db.NewTransactionAt(0, false)
	it := txn.NewIterator(badger.IteratorOptions{})
	err := s.db.RunValueLogGC(ratio)
	if err == nil {
		err = s.syncBadger()
	}
	if err != nil && !errors.Is(err, badger.ErrNoRewrite) && !errors.Is(err, badger.ErrRejected) {
		return err // Iterator and transaction stay open, and with them the file.
	}
	it.Close()
	txn.Discard()
	return err
}

// syncBadger makes durable all that Badger has been given.
func (s *Store) syncBadger() error {
	dir := s.db.Opts().Dir
	for _, suffix := range []string{valueSuffix, memSuffix} {
		names, err := filepath.Glob(filepath.Join(dir, "*"+suffix))
		if err != nil {
			return err
		}
		for _, name := range names {
			if err := syncFile(name); err != nil {
				return err
			}
		}
	}
	return syncDir(dir)
}
