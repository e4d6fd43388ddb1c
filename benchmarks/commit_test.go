package benchmarks

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/dgraph-io/badger/v4"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/edgemill/edgemill/posting"
)

// BenchmarkCommit measures commits. An operation is one transaction, and with
// several clients the making of its deltas too, in Badger's cases as in the
// others: made beforehand, a hundred thousand of them are read out of cold memory,
// at more than the cost of a commit. What to compare:
//
//	Synced/Append       a plain append of as many bytes, and a sync: the floor of
//	                    Synced/Clients=1
//	Synced/Badger       Badger's own commits with SyncWrites, as many clients
//	Unsynced/Badger...  Badger's own writes, for Unsynced of as many entries,
//	                    which wait until the commit can be read
func BenchmarkCommit(b *testing.B) {
	b.Run("Synced/Append", benchAppend)
	for _, clients := range []int{1, 8, 64} {
		b.Run(fmt.Sprintf("Synced/Clients=%d", clients), func(b *testing.B) {
			benchClients(b, posting.CommitOptions{}, clients)
		})
	}
	for _, clients := range []int{1, 64} {
		b.Run(fmt.Sprintf("Synced/Badger/Clients=%d", clients), func(b *testing.B) { benchBadgerSynced(b, clients) })
	}
	for _, n := range []int{1, 10, 100, 1000, 10_000, 100_000} {
		b.Run(fmt.Sprintf("Unsynced/Entries=%d", n), func(b *testing.B) { benchUnsynced(b, n) })
		b.Run(fmt.Sprintf("Unsynced/Badger/Entries=%d", n), func(b *testing.B) { benchBadgerBatch(b, n) })
	}
}

const (
	// oneEdge is the entries of one edge: its data key and its reverse key.
	oneEdge = 2
	// valueLen is the usual length of a delta of one posting.
	valueLen = 24
)

// commitKV is a key and a value of the benchmark.
type commitKV struct{ key, value []byte }

// commitKVs are the n entries of transaction ts, of keys that no other has.
func commitKVs(ts uint64, n int) []commitKV {
	kvs := make([]commitKV, n)
	for i := range kvs {
		value := make([]byte, valueLen)
		binary.BigEndian.PutUint64(value, ts)
		kvs[i] = commitKV{posting.AppendDataKey(nil, 0, "knows", ts<<20|uint64(i)), value}
	}
	return kvs
}

// commitDeltas are the same entries as a transaction holds them.
func commitDeltas(ts uint64, n int) *posting.Deltas {
	var run posting.Run
	for _, kv := range commitKVs(ts, n) {
		run.Add(kv.key, kv.value)
	}
	d := &posting.Deltas{}
	d.Publish(&run)
	return d
}

func benchStore(b *testing.B, opts posting.CommitOptions) *posting.Store {
	s, err := posting.Open(posting.Options{Dir: b.TempDir(), Commit: opts})
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, s.Close()) })
	return s
}

// eachOf runs b.N operations on a number of clients.
func eachOf(b *testing.B, clients int, op func(n int) error) {
	var next atomic.Int64
	var wg sync.WaitGroup
	b.ReportAllocs()
	b.ResetTimer()
	before := processorTime()
	for range clients {
		wg.Go(func() {
			for n := next.Add(1); n <= int64(b.N); n = next.Add(1) {
				if err := op(int(n)); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	b.StopTimer()
	b.ReportMetric(float64((processorTime()-before).Nanoseconds())/float64(b.N), "cpu-ns/op")
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "txn/s")
}

func benchClients(b *testing.B, opts posting.CommitOptions, clients int) {
	s := benchStore(b, opts)
	eachOf(b, clients, func(n int) error {
		return s.Commit(context.Background(), posting.Commit{TS: uint64(n), Deltas: commitDeltas(uint64(n), oneEdge)})
	})
	b.ReportMetric(s.CommitStats().MeanGroup(), "txn/group")
}

func benchAppend(b *testing.B) {
	f, err := os.Create(filepath.Join(b.TempDir(), "log"))
	require.NoError(b, err)
	defer f.Close()
	require.NoError(b, unix.Fallocate(int(f.Fd()), 0, 0, 64<<20))
	require.NoError(b, f.Sync())
	buf := make([]byte, 64+oneEdge*(32+valueLen))
	eachOf(b, 1, func(n int) error {
		if _, err := f.Write(buf); err != nil {
			return err
		}
		return unix.Fdatasync(int(f.Fd()))
	})
}

func benchBadger(b *testing.B, sync bool) *badger.DB {
	db, err := badger.OpenManaged(badger.DefaultOptions(b.TempDir()).WithLogger(nil).WithSyncWrites(sync).
		WithMetricsEnabled(false).WithDetectConflicts(false).WithNumVersionsToKeep(math.MaxInt32))
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, db.Close()) })
	return db
}

func benchBadgerSynced(b *testing.B, clients int) {
	db := benchBadger(b, true)
	eachOf(b, clients, func(n int) error { return badgerTxn(db, uint64(n), commitKVs(uint64(n), oneEdge)) })
}

func badgerTxn(db *badger.DB, ts uint64, kvs []commitKV) error {
	txn := db.NewTransactionAt(ts, true)
	defer txn.Discard()
	for _, kv := range kvs {
		if err := txn.SetEntry(badger.NewEntry(kv.key, kv.value).WithMeta(posting.MetaDelta)); err != nil {
			return err
		}
	}
	return txn.CommitAt(ts, nil)
}

// made is how many transactions are made at a time outside the clock.
func made(n int) int { return max(1, 10_000/n) }

func benchUnsynced(b *testing.B, n int) {
	s := benchStore(b, posting.CommitOptions{NoSync: true})
	readable := make(chan error, 1)
	var deltas []*posting.Deltas
	first := 1
	eachOf(b, 1, func(ts int) error {
		if ts == first+len(deltas) {
			b.StopTimer()
			first, deltas = ts, nil
			for i := range min(made(n), b.N) {
				deltas = append(deltas, commitDeltas(uint64(ts+i), n))
			}
			b.StartTimer()
		}
		c := posting.Commit{TS: uint64(ts), Deltas: deltas[ts-first], Readable: func(err error) { readable <- err }}
		if err := s.Commit(context.Background(), c); err != nil {
			return err
		}
		return <-readable
	})
}

func benchBadgerBatch(b *testing.B, n int) {
	db := benchBadger(b, false)
	var kvs [][]commitKV
	first := 1
	eachOf(b, 1, func(ts int) error {
		if ts == first+len(kvs) {
			b.StopTimer()
			first, kvs = ts, nil
			for i := range min(made(n), b.N) {
				kvs = append(kvs, commitKVs(uint64(ts+i), n))
			}
			b.StartTimer()
		}
		batch := db.NewWriteBatchAt(uint64(ts))
		for _, kv := range kvs[ts-first] {
			if err := batch.SetEntry(badger.NewEntry(kv.key, kv.value).WithMeta(posting.MetaDelta)); err != nil {
				return err
			}
		}
		return batch.Flush()
	})
}
