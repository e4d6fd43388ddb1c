package posting

import (
	"errors"
	"math"
	"sync/atomic"

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
	// greatest is the greatest version that went by.
	greatest uint64
	// sought is a version that is looked for among those that go by, and found
	// is set where it was there.
	sought uint64
	found  bool
	// newest is told of it once Badger has it. Anybody may read it, while
	// Badger's own look at its versions must not meet a write.
	newest *atomic.Uint64

	// marks are told of every entry before Badger has it; nil for nobody to
	// tell.
	marks *marks
	// rewritten are the rewrites that end when what is being put is in Badger.
	rewritten []*rewrites
	// hot is told of keys that are written often, if somebody listens.
	hot *atomic.Pointer[hotKeys]
}

// newBadgerWriter takes the threshold that Badger was opened with: in memory its
// options name another one than it goes by.
func newBadgerWriter(db *badger.DB, threshold int64) *badgerWriter {
	return &badgerWriter{db: db, threshold: threshold, newest: new(atomic.Uint64)}
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
//
// Badger does not show what one call wrote all at once. A transaction's reader
// does not notice, since it waits for all of it; but a rollup has a version
// that is read at already. So its parts are there before the list that names
// them.
func (w *badgerWriter) put(commits []encodedCommit) error {
	defer w.endRewrites()
	var parts uint32
	for i := range commits {
		parts += commits[i].parts
	}
	if parts == 0 {
		return w.putThose(commits, func(Entry) bool { return true })
	}
	err := w.putThose(commits, func(e Entry) bool { return isPart(e.Key) })
	if err != nil {
		return err
	}
	return w.putThose(commits, func(e Entry) bool { return !isPart(e.Key) })
}

// endRewrites lets readers know that what put wrote is there, or will not be.
func (w *badgerWriter) endRewrites() {
	for _, r := range w.rewritten {
		r.end()
	}
	clear(w.rewritten)
	w.rewritten = w.rewritten[:0]
}

// putThose writes the entries that are wanted.
func (w *badgerWriter) putThose(commits []encodedCommit, wanted func(Entry) bool) error {
	var entries, size int
	for i := range commits {
		entries += int(commits[i].entries)
		size += len(commits[i].data)
	}
	if entries == 0 {
		return nil
	}
	before, put := w.taken, w.load
	small := int64(entries) <= min(batchMax, w.db.MaxBatchCount()/2) && int64(size) < w.db.MaxBatchSize()/2
	if small {
		put = w.putBatch
		if len(commits) == 1 && commits[0].deltas == commits[0].entries {
			put = w.putTxn
		}
	}
	err := put(commits, wanted)
	if w.greatest > w.newest.Load() {
		w.newest.Store(w.greatest)
	}
	if err != nil {
		w.taken = before // What may have been written counts for nothing.
	}
	return err
}

// putTxn writes one transaction's deltas, which all have its commit timestamp,
// as Badger's own transaction: a WriteBatch hands its work to other goroutines.
func (w *badgerWriter) putTxn(commits []encodedCommit, wanted func(Entry) bool) error {
	txn := w.db.NewTransactionAt(math.MaxUint64, true)
	defer txn.Discard()
	var version uint64
	err := w.each(commits, wanted, func(e Entry) error {
		version = e.Version
		return txn.SetEntry(&badger.Entry{Key: e.Key, Value: e.Value, UserMeta: e.Meta})
	})
	if err != nil || version == 0 {
		return err
	}
	return txn.CommitAt(version, nil)
}

func (w *badgerWriter) putBatch(commits []encodedCommit, wanted func(Entry) bool) error {
	batch := w.db.NewManagedWriteBatch()
	defer batch.Cancel()
	err := w.each(commits, wanted, func(e Entry) error {
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

func (w *badgerWriter) load(commits []encodedCommit, wanted func(Entry) bool) error {
	loader := w.db.NewKVLoader(pendingBatches)
	var kv pb.KV
	var meta [1]byte
	err := w.each(commits, wanted, func(e Entry) error {
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

// each calls f with every wanted entry, marks its key and counts what Badger
// takes.
func (w *badgerWriter) each(commits []encodedCommit, wanted func(Entry) bool, f func(Entry) error) error {
	for i := range commits {
		c := &commits[i]
		r, err := readCommit(c.data)
		for n := uint32(0); err == nil && r.more(); n++ {
			var e Entry
			if e, err = r.next(); err == nil && wanted(e) {
				w.count(e)
				w.mark(e, n < c.deltas)
				err = f(e)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// mark tells the readers of an entry that is about to be given to Badger.
func (w *badgerWriter) mark(e Entry, transactions bool) {
	if w.marks == nil {
		return
	}
	hash := w.marks.hash(e.Key)
	k := w.marks.at(hash)
	k.note(e.Version)
	if !transactions {
		for _, r := range []*rewrites{&w.marks.rewrites, &k.rewrites} {
			if r.begin() {
				w.rewritten = append(w.rewritten, r)
			}
		}
		return
	}
	if k.deltas++; k.deltas < deltasATell {
		return
	}
	k.deltas = 0
	if hot := w.hot.Load(); hot != nil {
		hot.tell(hash, e.Key)
	}
}

func (w *badgerWriter) count(e Entry) {
	w.taken += tableSize(e, w.threshold)
	if int64(len(e.Value)) >= w.threshold {
		w.spilled++
	}
	w.greatest = max(w.greatest, e.Version)
	w.found = w.found || e.Version == w.sought
}
