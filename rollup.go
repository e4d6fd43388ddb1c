package edgemill

import (
	"context"
	"fmt"
	"maps"
	"sync"

	"github.com/edgemill/edgemill/mutation"
	"github.com/edgemill/edgemill/posting"
)

// upkeep is what goes on in the background: rolling up lists, and dropping what
// nobody reads any more.
type upkeep struct {
	roller *posting.Roller
	keeper *posting.Keeper
	bars   rollupBars
}

// startUpkeep begins with it. The store is as it should be by now.
func (db *DB) startUpkeep() {
	db.upkeep.roller = posting.NewRoller(db.store, db.oracle, db.guardRollups, db.opts.Rollup)
	db.upkeep.keeper = posting.NewKeeper(db.store, db.horizon, db.opts.CleanUp)
}

func (db *DB) stopUpkeep() {
	db.upkeep.roller.Close()
	db.upkeep.keeper.Close()
}

// RollUp puts a complete list in the place of every list's deltas, as the
// background does for those that are worth it, and returns when that is durable
// and can be read. Other work goes on meanwhile, and what it writes may be left.
// So are lists of predicates that are being altered, which are counted. A list
// that cannot be read is left too; the error is about the first one.
func (db *DB) RollUp(ctx context.Context) (posting.RollupStats, error) {
	ctx, leave, err := db.calls.enterLong(ctx)
	if err != nil {
		return posting.RollupStats{}, fmt.Errorf("roll up: %w", err)
	}
	defer leave()
	stats, err := db.upkeep.roller.RollUp(ctx)
	if err != nil {
		return stats, fmt.Errorf("roll up: %w", db.calls.closedError(ctx, err))
	}
	return stats, nil
}

// CleanUp drops at once what the background drops now and then: versions that no
// open transaction or view can see, which Badger lets go as it compacts, and
// files of the value log that are mostly unused, of which it returns the number.
// Views of timestamps below are conflict.ErrTooOld from then on.
func (db *DB) CleanUp(ctx context.Context) (files int, err error) {
	ctx, leave, err := db.calls.enterLong(ctx)
	if err != nil {
		return 0, fmt.Errorf("clean up: %w", err)
	}
	defer leave()
	if files, err = db.cleanUp(ctx); err != nil {
		return files, fmt.Errorf("clean up: %w", db.calls.closedError(ctx, err))
	}
	return files, nil
}

// cleanUp waits for what was acknowledged, which holds the horizon until it can
// be read.
func (db *DB) cleanUp(ctx context.Context) (files int, err error) {
	ts, err := db.oracle.BeginRead(ctx)
	if err != nil {
		return 0, err
	}
	db.oracle.DoneRead(ts)
	return db.upkeep.keeper.CleanUp(ctx)
}

// horizon is the timestamp below which nobody reads any more. An Alter that
// could not be undone will read below the timestamp at which it converted
// values.
func (db *DB) horizon() uint64 {
	h := db.oracle.Horizon()
	if n := db.note(); n.ConvertTS > 0 {
		h = min(h, n.ConvertTS-1)
	}
	return h
}

// rollupBars are the predicates whose lists are not rolled up for a while. A
// batch of rollups holds it shared; who bars takes it exclusively, so that no
// rollup of before is under way any more when it has it.
type rollupBars struct {
	sync.RWMutex
	preds map[mutation.Name]int
	all   int
}

// bar keeps rollups off the predicates until release.
func (b *rollupBars) bar(preds ...mutation.Name) (release func()) {
	b.change(func() {
		if b.preds == nil {
			b.preds = make(map[mutation.Name]int)
		}
		for _, p := range preds {
			b.preds[p]++
		}
	})
	return func() {
		b.change(func() {
			for _, p := range preds {
				b.preds[p]--
			}
			maps.DeleteFunc(b.preds, func(_ mutation.Name, n int) bool { return n == 0 })
		})
	}
}

// barAll keeps rollups off everything until release.
func (b *rollupBars) barAll() (release func()) {
	b.change(func() { b.all++ })
	return func() { b.change(func() { b.all-- }) }
}

func (b *rollupBars) change(f func()) {
	b.Lock()
	defer b.Unlock()
	f()
}

// guardRollups is the posting.RollupGuard. Predicates that an Alter left half
// converted are barred by the schema state, also after the Alter.
func (db *DB) guardRollups() (barred func(*posting.Key) bool, release func()) {
	b := &db.upkeep.bars
	b.RLock()
	db.schema.RLock()
	altering := maps.Clone(db.schema.altering)
	db.schema.RUnlock()
	return func(k *posting.Key) bool {
		name := mutation.Name{Namespace: k.Namespace, Predicate: k.Predicate}
		return b.all > 0 || b.preds[name] > 0 || altering[name]
	}, b.RUnlock
}
