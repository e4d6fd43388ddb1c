package posting

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/edgemill/edgemill/conflict"
)

// pastLists is a store that is committed to at random, and what each key's list is
// to be from each commit on.
type pastLists struct {
	t      testing.TB
	s      *Store
	oracle *conflict.Oracle
	mu     struct {
		sync.Mutex
		lists map[string][]listFrom
	}
}

// listFrom is the uids of a list from a commit on, until the next one.
type listFrom struct {
	ts   uint64
	uids map[uint64]bool
	// delta is what the commit wrote.
	delta []byte
}

func newPastLists(t testing.TB, opts Options) *pastLists {
	h := &pastLists{t: t, s: openStore(t, opts), oracle: conflict.NewOracle(0)}
	h.mu.lists = make(map[string][]listFrom)
	return h
}

func (h *pastLists) close() {
	h.oracle.Close()
	require.NoError(h.t, h.s.Close())
}

// uidsOfKey are how many different uids a list has.
const uidsOfKey = 40

// commit commits a random change of the key: some sets and deletes, or a star
// and some sets. One goroutine at a time commits to a key. The value makes the
// delta of size bytes.
func (h *pastLists) commit(rnd *rand.Rand, key []byte, size int) {
	ctx := context.Background()
	start, err := h.oracle.Begin(ctx, 0, conflict.Set{})
	require.NoError(h.t, err)
	defer h.oracle.Done(start)
	ts, err := h.oracle.Commit(ctx, start, conflict.Set{})
	require.NoError(h.t, err)
	delta := h.change(rnd, key, ts, start, size)
	var run Run
	run.Add(key, delta)
	c := Commit{TS: ts, Deltas: &Deltas{}, Readable: func(error) { h.oracle.Visible(ts) }}
	c.Deltas.Publish(&run)
	require.NoError(h.t, h.s.Commit(ctx, c))
}

// change makes up a delta and notes what the list is from it on.
func (h *pastLists) change(rnd *rand.Rand, key []byte, ts, start uint64, size int) []byte {
	h.mu.Lock()
	defer h.mu.Unlock()
	lists := h.mu.lists[string(key)]
	uids := map[uint64]bool{}
	if len(lists) > 0 {
		uids = maps.Clone(lists[len(lists)-1].uids)
	}
	var d Delta
	d.Reset(nil, false)
	if rnd.IntN(20) == 0 {
		d.DeleteAll()
		clear(uids)
	}
	for range 1 + rnd.IntN(3) {
		p := Posting{UID: 1 + rnd.Uint64N(uidsOfKey), StartTS: start}
		if uids[p.UID] && rnd.IntN(3) == 0 {
			d.Delete(p)
			delete(uids, p.UID)
			continue
		}
		p.Value = make([]byte, size)
		d.Set(p)
		uids[p.UID] = true
	}
	if d.Empty() {
		d.Set(Posting{UID: 1, StartTS: start})
		uids[1] = true
	}
	delta := d.AppendTo(nil, start)
	h.mu.lists[string(key)] = append(lists, listFrom{ts: ts, uids: uids, delta: delta})
	return delta
}

// want is the list of the key at a timestamp.
func (h *pastLists) want(key []byte, ts uint64) []uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	lists := h.mu.lists[string(key)]
	i, _ := slices.BinarySearchFunc(lists, ts+1, func(l listFrom, ts uint64) int {
		return int(int64(l.ts - ts))
	})
	if i == 0 {
		return nil
	}
	return slices.Sorted(maps.Keys(lists[i-1].uids))
}

// check reads the list and holds it against the history.
func (h *pastLists) check(read func(key []byte) (*List, error), key []byte, ts uint64, what string) bool {
	l, err := read(key)
	if err != nil {
		h.t.Errorf("%s at %d: %v", what, ts, err)
		return false
	}
	if got, want := slices.Collect(l.UIDs(0)), h.want(key, ts); !slices.Equal(got, want) {
		h.t.Errorf("%s of %x at %d: %v, not %v", what, key, ts, got, want)
		return false
	}
	return true
}

// stress commits with several goroutines and reads with several others, at new
// and at old timestamps, until all have done their part.
func (h *pastLists) stress(commits, size int) {
	const writers, readers, keysEach = 3, 3, 4
	key := func(writer, n int) []byte { return testKey(uint64(100*writer + n + 1)) }
	var writing, reading sync.WaitGroup
	var written atomic.Bool
	for w := range writers {
		writing.Go(func() {
			rnd := rand.New(rand.NewPCG(uint64(w), 1))
			for range commits {
				h.commit(rnd, key(w, rnd.IntN(keysEach)), size)
			}
		})
	}
	for n := range readers {
		reading.Go(func() {
			rnd := rand.New(rand.NewPCG(uint64(n), 2))
			held := heldReads{h: h}
			for ok := true; ok && !written.Load(); {
				ok = held.read(rnd, key(rnd.IntN(writers), rnd.IntN(keysEach)))
			}
			held.release()
		})
	}
	writing.Wait()
	written.Store(true)
	reading.Wait()
}

// heldReads are timestamps that one goroutine goes on reading at.
type heldReads struct {
	h     *pastLists
	times []uint64
}

const maxHeld = 4

// read reads the key in several ways at one of the timestamps.
func (r *heldReads) read(rnd *rand.Rand, key []byte) bool {
	if len(r.times) < maxHeld || rnd.IntN(10) == 0 {
		r.next(rnd)
	}
	ts := r.times[rnd.IntN(len(r.times))]
	snapshot, plain := r.h.s.Snapshot(ts), r.h.s.Reader(ts)
	defer snapshot.Release()
	defer plain.Release()
	sweep := snapshot.Sweep(AppendPrefix(nil, 0, "pal", KindData))
	defer sweep.Close()
	sweep.asked = sweepPoints
	return r.h.check(snapshot.List, key, ts, "snapshot") &&
		r.h.check(plain.List, key, ts, "reader") &&
		r.h.check(sweep.List, key, ts, "sweep") &&
		r.h.check(snapshot.List, key, ts, "snapshot again")
}

// next takes a new timestamp, in the place of another one.
func (r *heldReads) next(rnd *rand.Rand) {
	ts, err := r.h.oracle.BeginRead(context.Background())
	require.NoError(r.h.t, err)
	if len(r.times) < maxHeld {
		r.times = append(r.times, ts)
		return
	}
	i := rnd.IntN(maxHeld)
	r.h.oracle.DoneRead(r.times[i])
	r.times[i] = ts
}

func (r *heldReads) release() {
	for _, ts := range r.times {
		r.h.oracle.DoneRead(ts)
	}
}

// eager rolls up nearly everything at once.
var eager = RollupOptions{MinDeltas: 2, MinBytes: 1 << 10, Rate: -1}

// TestRollupHistory commits, stars and reads at random with rollups in the
// background and on demand and a cache. Every read at every timestamp is right,
// and at the end every delta that was committed is there as it was, and a replay
// of the log gives the same versions.
func TestRollupHistory(t *testing.T) {
	dir := t.TempDir()
	h := newPastLists(t, Options{Dir: dir, CacheBytes: 1 << 20, Commit: CommitOptions{NoSync: true}})
	roller := NewRoller(h.s, h.oracle, nil, eager)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range 20 {
			_, err := roller.RollUp(context.Background())
			require.NoError(t, err)
			time.Sleep(10 * time.Millisecond)
		}
	}()
	h.stress(400, 0)
	<-done
	roller.Close()
	require.NotZero(t, roller.Stats().Lists)
	require.NotZero(t, h.s.CacheStats().Hits)

	require.NoError(t, h.s.Flush(context.Background()))
	h.allDeltasThere()
	before := dump(t, h.s.db)
	abandon(t, h.s)
	loseBadger(t, dir)
	h.s = openStore(t, Options{Dir: dir})
	require.Equal(t, before, dump(t, h.s.db))
	h.close()
}

// allDeltasThere looks for every delta that was committed.
func (h *pastLists) allDeltasThere() {
	deltas := map[string]string{}
	for _, v := range dump(h.t, h.s.db) {
		if v.Meta == MetaDelta {
			deltas[fmt.Sprintf("%s %d", v.Key, v.Version)] = v.Value
		}
	}
	n := 0
	for key, lists := range h.mu.lists {
		for _, l := range lists {
			require.Equal(h.t, string(l.delta), deltas[fmt.Sprintf("%s %d", key, l.ts)], "%x at %d", key, l.ts)
			n++
		}
	}
	require.Len(h.t, deltas, n)
}

// TestRollupHistoryDropped is TestRollupHistory with memory tables that fill,
// compactions, and a horizon that follows the readers, so that versions go
// while they are read above.
func TestRollupHistoryDropped(t *testing.T) {
	h := newPastLists(t, Options{Dir: t.TempDir(), CacheBytes: 1 << 20, Commit: CommitOptions{NoSync: true}})
	roller := NewRoller(h.s, h.oracle, nil, eager)
	keeper := NewKeeper(h.s, h.oracle.Horizon, CleanUpOptions{Every: time.Millisecond})
	var compacting sync.WaitGroup
	stop := make(chan struct{})
	compacting.Go(func() {
		for {
			select {
			case <-stop:
				return
			case <-time.After(20 * time.Millisecond):
				_ = h.s.db.Flatten(1)
			}
		}
	})
	h.stress(700, 2<<10)
	close(stop)
	compacting.Wait()
	keeper.Close()
	roller.Close()
	require.NotZero(t, h.s.Horizon())
	require.Less(t, len(dump(t, h.s.db)), 2100, "old versions went")
	h.close()
}
