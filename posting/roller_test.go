package posting

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/edgemill/edgemill/conflict"
)

// handClock hands out the timestamps that a test has made up.
type handClock struct{ next uint64 }

func (c *handClock) Timestamp(ctx context.Context) (uint64, func(), error) {
	c.next++
	return c.next - 1, func() {}, ctx.Err()
}

// deltasAt commits deltas of one key, each at its timestamp.
func deltasAt(t testing.TB, s *Store, key []byte, deltas map[uint64][]byte) {
	c := Commit{TS: 1}
	for ts, delta := range deltas {
		c.Entries = append(c.Entries, Entry{Key: key, Value: delta, Meta: MetaDelta, Version: ts})
	}
	mustCommit(t, s, c)
}

// sets is a delta that sets uids.
func sets(startTS uint64, uids ...uint64) (delta []byte) {
	for _, uid := range uids {
		delta = append(delta, refDelta(uid, startTS)...)
	}
	return delta
}

func TestRollUp(t *testing.T) {
	s := openStore(t, Options{InMemory: true})
	defer func() { require.NoError(t, s.Close()) }()
	roller := NewRoller(s, &handClock{next: 100}, nil, RollupOptions{Off: true})
	defer roller.Close()

	starred := append(AppendDeleteAll(nil, 7), refDelta(9, 7)...)
	deltasAt(t, s, testKey(1), map[uint64][]byte{10: sets(9, 3, 4), 20: sets(19, 5)})
	deltasAt(t, s, testKey(2), map[uint64][]byte{10: sets(9, 3, 4), 30: AppendDeleteAll(nil, 29)})
	deltasAt(t, s, testKey(3), map[uint64][]byte{10: sets(9, 3, 4), 30: starred})
	mustCommit(t, s, Commit{TS: 5, Entries: []Entry{{Key: testKey(4), Meta: MetaEmpty, Version: 5}}})

	stats, err := roller.RollUp(context.Background())
	require.NoError(t, err)
	require.EqualValues(t, 3, stats.Lists)
	require.Equal(t, stats, roller.Stats())
	newest := map[string]stored{}
	for _, v := range slices.Backward(dump(t, s.db)) {
		newest[v.Key] = v
	}
	require.Equal(t, uint64(21), newest[string(testKey(1))].Version)
	require.Equal(t, MetaComplete, newest[string(testKey(1))].Meta)
	require.True(t, newest[string(testKey(1))].Discard)
	require.Equal(t, MetaEmpty, newest[string(testKey(2))].Meta)
	require.Equal(t, uint64(31), newest[string(testKey(3))].Version)
	for ts, want := range map[uint64][]uint64{9: nil, 10: {3, 4}, 20: {3, 4, 5}, 21: {3, 4, 5}, 1000: {3, 4, 5}} {
		require.Equal(t, want, listAt(t, s, ts, testKey(1)), "at %d", ts)
	}
	require.Empty(t, listAt(t, s, 1000, testKey(2)))
	require.Equal(t, []uint64{9}, listAt(t, s, 1000, testKey(3)))

	before := dump(t, s.db)
	stats, err = roller.RollUp(context.Background())
	require.NoError(t, err)
	require.Zero(t, stats, "nothing is left to do")
	require.Equal(t, before, dump(t, s.db))
}

func TestRollUpAtItsTimestamp(t *testing.T) {
	s := openStore(t, Options{InMemory: true})
	defer func() { require.NoError(t, s.Close()) }()
	roller := NewRoller(s, &handClock{next: 25}, nil, RollupOptions{Off: true})
	defer roller.Close()
	deltasAt(t, s, testKey(1), map[uint64][]byte{10: sets(9, 3), 20: sets(19, 5), 26: sets(24, 7)})
	_, err := roller.RollUp(context.Background())
	require.NoError(t, err)
	require.Equal(t, []uint64{3, 5}, listAt(t, s, 25, testKey(1)))
	require.Equal(t, []uint64{3, 5, 7}, listAt(t, s, 26, testKey(1)), "what is above the rollup's own timestamp stays")
}

func TestRollUpWhatItCan(t *testing.T) {
	s := openStore(t, Options{InMemory: true})
	defer func() { require.NoError(t, s.Close()) }()
	barred := func() (func(*Key) bool, func()) {
		return func(k *Key) bool { return k.UID == 1 }, func() {}
	}
	roller := NewRoller(s, &handClock{next: 100}, barred, RollupOptions{Off: true})
	defer roller.Close()
	value := func(uid uint64, size int) []byte {
		return AppendPosting(nil, &Posting{UID: uid, Value: make([]byte, size), Op: OpSet, StartTS: 1, Type: PostingValue})
	}
	deltasAt(t, s, testKey(1), map[uint64][]byte{10: sets(9, 3)})
	deltasAt(t, s, testKey(2), map[uint64][]byte{10: {0xff}})
	deltasAt(t, s, testKey(3), map[uint64][]byte{10: value(1, 80<<10), 20: value(2, 80<<10)})
	deltasAt(t, s, testKey(4), map[uint64][]byte{10: sets(9, 3)})

	stats, err := roller.RollUp(context.Background())
	require.ErrorIs(t, err, ErrBadValue)
	require.ErrorContains(t, err, "1 lists were not rolled up, the first: data pal 0x2")
	require.Equal(t, RollupStats{Lists: 1, Entries: 1, Bytes: stats.Bytes, Skipped: 2, Failed: 1}, stats)
}

// TestRollerIsTold has lists rolled up in the background that somebody notices.
func TestRollerIsTold(t *testing.T) {
	oracle := conflict.NewOracle(1000)
	tests := []struct {
		name   string
		opts   RollupOptions
		notice func(t *testing.T, s *Store)
	}{
		{"by a reader", RollupOptions{MinDeltas: 3}, func(t *testing.T, s *Store) {
			deltasAt(t, s, testKey(1), map[uint64][]byte{10: sets(9, 3), 20: sets(9, 4), 30: sets(9, 5)})
			listAt(t, s, 100, testKey(1))
		}},
		{"by a reader of bytes", RollupOptions{MinBytes: 100}, func(t *testing.T, s *Store) {
			deltasAt(t, s, testKey(1), map[uint64][]byte{10: sets(9, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12)})
			listAt(t, s, 100, testKey(1))
		}},
		{"by a sweep", RollupOptions{MinDeltas: 3}, func(t *testing.T, s *Store) {
			deltasAt(t, s, testKey(1), map[uint64][]byte{10: sets(9, 3), 20: sets(9, 4), 30: sets(9, 5)})
			r := s.Reader(100)
			defer r.Release()
			sweep := r.Sweep(nil)
			defer sweep.Close()
			sweep.asked = sweepPoints
			_, err := sweep.List(testKey(1))
			require.NoError(t, err)
		}},
		{"by the writer", RollupOptions{}, func(t *testing.T, s *Store) {
			for ts := uint64(2); ts < 2+2*deltasATell; ts++ {
				var run Run
				run.Add(testKey(1), sets(1, ts))
				c := Commit{TS: ts, Deltas: &Deltas{}}
				c.Deltas.Publish(&run)
				mustCommit(t, s, c)
			}
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := openStore(t, Options{InMemory: true})
			roller := NewRoller(s, oracle, nil, tt.opts)
			tt.notice(t, s)
			require.Eventually(t, func() bool { return roller.Stats().Lists > 0 }, 10*time.Second, time.Millisecond)
			roller.Close()
			roller.Close()
			require.NoError(t, s.Close())
		})
	}
}

// TestRollupRule: few deltas, and many above a long list, are left.
func TestRollupRule(t *testing.T) {
	rule := rollupRule{minDeltas: 10, minBytes: 1000}
	for _, tt := range []struct {
		list *List
		due  bool
	}{
		{nil, false},
		{&List{size: 1 << 20}, false},
		{&List{deltas: 9, deltaBytes: 999}, false},
		{&List{deltas: 10}, true},
		{&List{deltas: 1, deltaBytes: 1000}, true},
		{&List{deltas: 10, size: bytesADelta}, false},
		{&List{deltas: 11, size: bytesADelta}, true},
		{&List{deltas: 1, deltaBytes: 1000, size: 4}, false},
		{&List{deltas: 1, deltaBytes: 1001, size: 4}, true},
	} {
		require.Equal(t, tt.due, rule.due(tt.list), "%+v", tt.list)
	}
}

// TestHotKeysAreLossy: a key is queued once, and a full queue takes no more.
func TestHotKeysAreLossy(t *testing.T) {
	h := newHotKeys(rollupRule{})
	h.tell(1, []byte("a"))
	h.tell(1, []byte("a"))
	require.Len(t, h.queue, 1)
	h.taken(1)
	h.tell(1, []byte("a"))
	require.Len(t, h.queue, 2)
	for i := range uint64(2 * hotQueue) {
		h.tell(i<<40, []byte("b"))
	}
	require.Len(t, h.queue, hotQueue)
}

// TestSplitListWhileRolledUp reads a list in parts, and in more and more of
// them, while it is rolled up again and again.
func TestSplitListWhileRolledUp(t *testing.T) {
	s := openStore(t, Options{Dir: t.TempDir(), MemTableSize: 8 << 20, Commit: CommitOptions{NoSync: true}})
	defer func() { require.NoError(t, s.Close()) }()
	oracle := conflict.NewOracle(0)
	roller := NewRoller(s, oracle, nil, RollupOptions{Off: true})
	defer roller.Close()
	key := testKey(1)
	var wg sync.WaitGroup
	stop := make(chan struct{})
	for range 2 {
		wg.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				ts, err := oracle.BeginRead(context.Background())
				require.NoError(t, err)
				r := s.Reader(ts)
				l, err := r.List(key)
				if err != nil || l.Len()%wholeBatch != 0 {
					t.Errorf("%d uids at %d: %v", l.Len(), ts, err)
				}
				err = r.WalkLists(context.Background(), key, nil, func(_ []byte, walked *List) error {
					if walked.Len() != l.Len() {
						t.Errorf("%d uids in a walk, %d by key", walked.Len(), l.Len())
					}
					return nil
				})
				if err != nil {
					t.Error(err)
				}
				r.Release()
				oracle.DoneRead(ts)
			}
		})
	}
	for n := range uint64(16) {
		growList(t, s, oracle, key, n)
		_, err := roller.RollUp(context.Background())
		require.NoError(t, err)
	}
	close(stop)
	wg.Wait()
	r := s.Reader(^uint64(0))
	defer r.Release()
	splits, err := r.Splits(key)
	require.NoError(t, err)
	require.Greater(t, len(splits), 2)
}

// wholeBatch is how many uids growList adds.
const wholeBatch = 30_000

func growList(t *testing.T, s *Store, oracle *conflict.Oracle, key []byte, n uint64) {
	ctx := context.Background()
	start, err := oracle.Begin(ctx, 0, conflict.Set{})
	require.NoError(t, err)
	defer oracle.Done(start)
	ts, err := oracle.Commit(ctx, start, conflict.Set{})
	require.NoError(t, err)
	var delta []byte
	for i := range uint64(wholeBatch) {
		delta = append(delta, refDelta(i*50_000_000+n*1_993_001+1, start)...)
	}
	var run Run
	run.Add(key, delta)
	c := Commit{TS: ts, Deltas: &Deltas{}, Readable: func(error) { oracle.Visible(ts) }}
	c.Deltas.Publish(&run)
	require.NoError(t, s.Commit(ctx, c))
}
