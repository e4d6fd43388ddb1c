package posting

import (
	"errors"
	"math"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/pb"
)

// badgerWriter puts encoded commits into Badger and keeps account of what
// Badger has taken since. It belongs to one goroutine.
type badgerWriter struct {
	db *badger.DB
	// threshold is the size in bytes from which Badger keeps a value in its
	// value log.
	threshold int64
	// taken is how many bytes its memory tables have been given: keys and the
	// values in them.
	taken int64
	// spilled is how many values have gone to the value log.
	spilled int64
}

func newBadgerWriter(db *badger.DB) *badgerWriter {
	return &badgerWriter{db: db, threshold: db.Opts().ValueThreshold}
}

// limits are those of the store: in memory Badger has no value log, and ends
// where a value would have to go there.
func (w *badgerWriter) limits() limits {
	opts := w.db.Opts()
	lim := limits{
		value:  min(opts.ValueLogFileSize, math.MaxUint32/4),
		inline: w.threshold,
		entry:  w.db.MaxBatchSize() - entryMargin,
	}
	if opts.InMemory {
		lim.value = w.threshold - 1
	}
	return lim
}

const (
	// batchMax is the most entries that go through a WriteBatch, whose map costs
	// more an entry, rather than through a KVLoader, which allocates for the
	// largest of batches each time.
	batchMax = 1000
	// pendingBatches is how many batches of a loader Badger may be working on.
	pendingBatches = 16
)

// discardEarlier is the meta byte by which Badger may drop a key's earlier
// versions (what Entry.WithDiscard sets), as a KVLoader takes it.
var discardEarlier = []byte{1 << 2}

// deleted is the meta byte of a deletion, as a KVLoader takes it.
var deleted = []byte{1 << 0}

// put writes the commits in the order given and returns when a reader finds
// them. Writing them again is harmless: they have the same versions and
// values.
func (w *badgerWriter) put(commits []encodedCommit) error {
	var entries, size int
	for i := range commits {
		entries += int(commits[i].entries)
		size += len(commits[i].data)
	}
	if entries == 0 {
		return nil
	}
	before, put := w.taken, w.load
	if entries <= batchMax && int64(size) < w.db.MaxBatchSize()/2 {
		put = w.putBatch
	}
	err := put(commits)
	if err != nil {
		w.taken = before // What may have been written counts for nothing.
	}
	return err
}

func (w *badgerWriter) putBatch(commits []encodedCommit) error {
	batch := w.db.NewManagedWriteBatch()
	defer batch.Cancel()
	err := w.each(commits, func(e Entry) error {
		if e.Delete {
			return batch.DeleteAt(e.Key, e.Version)
		}
		b := &badger.Entry{Key: e.Key, Value: e.Value, UserMeta: e.Meta}
		if e.Meta != MetaDelta {
			b.WithDiscard()
		}
		return batch.SetEntryAt(b, e.Version)
	})
	if err != nil {
		return err
	}
	return batch.Flush()
}

func (w *badgerWriter) load(commits []encodedCommit) error {
	loader := w.db.NewKVLoader(pendingBatches)
	var kv pb.KV
	var meta [1]byte
	err := w.each(commits, func(e Entry) error {
		meta[0] = e.Meta
		kv.Key, kv.Value, kv.Version, kv.UserMeta, kv.Meta = e.Key, e.Value, e.Version, meta[:], nil
		switch {
		case e.Delete:
			kv.Meta = deleted
		case e.Meta != MetaDelta:
			kv.Meta = discardEarlier
		}
		return loader.Set(&kv)
	})
	// Finish waits for what is under way also after an error.
	return errors.Join(err, loader.Finish())
}

// each calls f with every entry, and counts what Badger takes.
func (w *badgerWriter) each(commits []encodedCommit, f func(Entry) error) error {
	for i := range commits {
		r, err := readCommit(commits[i].data)
		for err == nil && r.more() {
			var e Entry
			if e, err = r.next(); err == nil {
				w.count(e)
				err = f(e)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (w *badgerWriter) count(e Entry) {
	w.taken += tableSize(e, w.threshold)
	if int64(len(e.Value)) >= w.threshold {
		w.spilled++
	}
}
