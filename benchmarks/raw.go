package benchmarks

import (
	"context"
	"math"

	"github.com/dgraph-io/badger/v4"

	"github.com/edgemill/edgemill/mutation"
	"github.com/edgemill/edgemill/posting"
)

// entryOrder is the order in which entries are given to Badger.
type entryOrder uint8

const (
	// asGiven is the order in which the transaction holds them.
	asGiven entryOrder = iota
	// byKey is the order of their keys.
	byKey
)

// String is how the order is called in names of cases.
func (o entryOrder) String() string {
	if o == byKey {
		return "badger-sorted"
	}
	return "badger"
}

// entries are the key-values that the batch leads to, in a store that has
// nothing of it.
func (a *applying) entries(ctx context.Context, b mutation.Batch, order entryOrder) ([]posting.KeyValue, error) {
	txn := mutation.NewTxn(a.store, startTS)
	defer txn.Release()
	if _, err := a.applier.Apply(ctx, txn, a.snap, b); err != nil {
		return nil, err
	}
	return entriesOf(txn.Deltas(), order), nil
}

func entriesOf(deltas *posting.Deltas, order entryOrder) []posting.KeyValue {
	if order == byKey {
		return deltas.Sorted()
	}
	var kvs []posting.KeyValue
	for key, value := range deltas.All() {
		kvs = append(kvs, posting.KeyValue{Key: key, Value: value})
	}
	return kvs
}

// openRaw opens Badger alone, with the options that posting gives it.
func openRaw(dir string) (*badger.DB, error) {
	return badger.OpenManaged(badger.DefaultOptions(dir).
		WithNumVersionsToKeep(math.MaxInt32).
		WithDetectConflicts(false).
		WithMetricsEnabled(false).
		WithMemTableSize(posting.DefaultMemTableSize).
		WithValueThreshold(1 << 20).
		WithLogger(nil))
}

// writeRaw writes entries at a timestamp in Badger's plainest way: in one
// transaction, or in a write batch where that would be too big.
func writeRaw(db *badger.DB, ts uint64, kvs []posting.KeyValue) error {
	// What Badger counts for an entry beside its key and value is below this.
	const overhead = 16
	size := int64(0)
	for i := range kvs {
		size += int64(len(kvs[i].Key)+len(kvs[i].Value)) + overhead
	}
	if int64(len(kvs)) < db.MaxBatchCount() && size < db.MaxBatchSize() {
		return writeRawTxn(db, ts, kvs)
	}
	return writeRawBatch(db, []rawTxn{{ts, kvs}})
}

// rawTxn is entries and the timestamp that they are to be written at.
type rawTxn struct {
	ts  uint64
	kvs []posting.KeyValue
}

// writeRawBatch writes transactions in one write batch.
func writeRawBatch(db *badger.DB, txns []rawTxn) error {
	batch := db.NewManagedWriteBatch()
	defer batch.Cancel()
	for _, t := range txns {
		for i := range t.kvs {
			if err := batch.SetEntryAt(rawEntry(&t.kvs[i]), t.ts); err != nil {
				return err
			}
		}
	}
	return batch.Flush()
}

func writeRawTxn(db *badger.DB, ts uint64, kvs []posting.KeyValue) error {
	txn := db.NewTransactionAt(ts, true)
	defer txn.Discard()
	for i := range kvs {
		if err := txn.SetEntry(rawEntry(&kvs[i])); err != nil {
			return err
		}
	}
	return txn.CommitAt(ts, nil)
}

func rawEntry(kv *posting.KeyValue) *badger.Entry {
	return badger.NewEntry(kv.Key, kv.Value).WithMeta(posting.MetaDelta)
}
