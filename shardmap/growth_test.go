package shardmap

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestGrowthStorm has goroutines store, update and delete keys of their own in one
// shard, from its first table on; each always sees what it wrote last.
func TestGrowthStorm(t *testing.T) {
	const goroutines, each = 8, 3000
	for range 5 {
		m := New[uint64](0)
		keys := sameShard(m, goroutines*each, "k")
		var wg sync.WaitGroup
		for g := range goroutines {
			wg.Go(func() { storm(t, m, keys[g*each:(g+1)*each], rand.New(rand.NewPCG(uint64(g), 2))) })
		}
		wg.Wait()
		m.check(t)
		if testing.Short() || raceEnabled {
			break
		}
	}
}

func storm(t *testing.T, m *Map[uint64], keys []string, r *rand.Rand) {
	want := map[string]uint64{}
	for range 3 * len(keys) {
		key := keys[r.IntN(len(keys))]
		v, ok := want[key]
		switch r.IntN(4) {
		case 0, 1:
			want[key] = r.Uint64() // mostly too large for the entry
			m.Store(key, want[key])
		case 2:
			want[key] = v + 1
			m.Update(key, func(old uint64, _ bool) (uint64, bool) { return old + 1, true })
		default:
			delete(want, key)
			if got, there := m.Delete(key); there != ok || got != v {
				t.Errorf("delete of %q: %d, %v; want %d, %v", key, got, there, v, ok)
			}
		}
		key = keys[r.IntN(len(keys))]
		v, ok = want[key]
		if got, there := m.Load(key); there != ok || got != v {
			t.Errorf("load of %q: %d, %v; want %d, %v", key, got, there, v, ok)
		}
	}
}

// TestCounters adds to a few counters from many goroutines while their shard grows
// around them: no addition is lost.
func TestCounters(t *testing.T) {
	const goroutines, rounds = 8, 4000
	m := New[int](0)
	keys := sameShard(m, 3, "hot")
	cold := sameShard(m, goroutines*rounds/8, "cold", m.shardOf(keys[0]))
	var wg sync.WaitGroup
	for g := range goroutines {
		wg.Go(func() {
			for i := range rounds {
				m.Update(keys[i%len(keys)], func(old int, _ bool) (int, bool) { return old + 1, true })
				if i%8 == 0 {
					m.Store(cold[(g*rounds+i)/8], 0)
				}
			}
		})
	}
	wg.Wait()
	sum := 0
	for _, key := range keys {
		v, _ := m.Load(key)
		sum += v
	}
	require.Equal(t, goroutines*rounds, sum)
	require.Equal(t, len(keys)+len(cold), m.Len())
	m.check(t)
}

// TestOneWinner has goroutines store, and delete, the same new keys at the same time:
// each key is stored by one and deleted by one.
func TestOneWinner(t *testing.T) {
	const goroutines, n = 8, 4000
	m := New[int](0)
	keys := sameShard(m, n, "k")
	var stored, deleted atomic.Int64
	race := func(do func(key string)) {
		var wg sync.WaitGroup
		for range goroutines {
			wg.Go(func() {
				for _, key := range keys {
					do(key)
				}
			})
		}
		wg.Wait()
		m.check(t)
	}
	race(func(key string) {
		if _, loaded := m.LoadOrStore(key, 1); !loaded {
			stored.Add(1)
		}
	})
	require.EqualValues(t, n, stored.Load())
	require.Equal(t, n, m.Len())
	race(func(key string) {
		if _, ok := m.Delete(key); ok {
			deleted.Add(1)
		}
	})
	require.EqualValues(t, n, deleted.Load())
	require.Zero(t, m.Len())
}

// TestStalledCopiers leaves chunks of tables that are being copied to goroutines that
// never come back: nobody needs them.
func TestStalledCopiers(t *testing.T) {
	m := New[int](0)
	keys := sameShard(m, 20_000, "k")
	s := m.shardOf(keys[0])
	var stalled []*table
	for i, key := range keys {
		m.Store(key, i)
		if tab := s.table.Load(); tab.next.Load() != nil && tab.done.Load() == 0 && tab.given.Load() < tab.chunks() {
			tab.given.Store(tab.chunks()) // someone has them all
			stalled = append(stalled, tab)
		}
		if i%100 == 0 {
			v, ok := m.Load(keys[i/2])
			require.True(t, ok)
			require.Equal(t, i/2, v)
		}
	}
	m.check(t)
	require.Equal(t, len(keys), m.Len())
	for i, key := range keys {
		if i%2 == 0 {
			_, ok := m.Delete(key)
			require.True(t, ok)
		}
	}
	// They come back after all, far too late.
	for _, tab := range stalled {
		for c := range tab.chunks() {
			s.copyChunk(tab, c)
		}
	}
	m.check(t)
	require.Equal(t, len(keys)/2, m.Len())
}

// TestLateCopier has a copier publish an entry that it saw live long ago, and that was
// deleted and stored again since, in each of the tables that came after.
func TestLateCopier(t *testing.T) {
	for _, again := range []bool{false, true} {
		m := New[int](0)
		keys := sameShard(m, 5000, "k")
		s := m.shardOf(keys[0])
		m.Store(keys[0], 1)
		first := s.table.Load()
		old := s.peek(identity(m.hasher.hash(keys[0]), keys[0]), keys[0])
		require.NotNil(t, old)
		for i, key := range keys[1:] {
			m.Store(key, i)
		}
		m.Delete(keys[0])
		if again {
			m.Store(keys[0], 2)
		}
		for tab := first; tab != nil; tab = tab.next.Load() {
			s.place(tab, old)
			v, ok := m.Load(keys[0])
			require.Equal(t, again, ok)
			if again {
				require.Equal(t, 2, v)
			}
		}
		for i := range 20_000 {
			m.Store(fmt.Sprint("more", i), i)
		}
		_, ok := m.Load(keys[0])
		require.Equal(t, again, ok)
		m.check(t)
	}
}

// TestChurn stores and deletes ever new keys, few at a time: tables are rebuilt, but
// do not grow, and what was deleted is let go.
func TestChurn(t *testing.T) {
	m := New[int](0)
	const alive = 5000
	for i := range 50 * alive {
		m.Store(fmt.Sprint(i), i)
		if i >= alive {
			_, ok := m.Delete(fmt.Sprint(i - alive))
			require.True(t, ok)
		}
	}
	m.check(t)
	require.Equal(t, alive, m.Len())
	for i := range m.shards {
		require.LessOrEqual(t, m.shards[i].newest().buckets(), 256)
	}
}

// TestEmptied sees that what was deleted can be collected, its table being as it was.
func TestEmptied(t *testing.T) {
	m := New[*[1 << 20]byte](0)
	for i := range 100 {
		m.Store(fmt.Sprint(i), new([1 << 20]byte))
	}
	require.Greater(t, heap(), uint64(100<<20))
	for i := range 100 {
		m.Delete(fmt.Sprint(i))
	}
	require.Less(t, heap(), uint64(50<<20))
	runtime.KeepAlive(m)
}

func heap() uint64 {
	var s runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&s)
	return s.HeapAlloc
}

// TestWiden sees that a table is widened or closed only from the reach that was walked,
// however full it has become meanwhile.
func TestWiden(t *testing.T) {
	s := &shard{counts: new(counts)}
	tab := newTable(pointers, 16, 0)
	for _, step := range []struct {
		inserted uint64
		walked   uint32
		want     uint32
	}{
		{0, 8, 16},              // far from full: keys may go farther
		{1000, 8, 16},           // who walked less does not close it
		{1000, 16, 16 | closed}, // who walked all of it does
		{0, 16, 16 | closed},    // and it stays closed
		{0, 8, 16 | closed},
	} {
		s.inserted.Store(step.inserted)
		s.widen(tab, step.walked)
		require.Equal(t, step.want, tab.reach.Load(), "%+v", step)
	}
}

// TestCollisions gives many keys one home and one fingerprint, far from filling a
// table: they go farther and farther from home, and are all found.
func TestCollisions(t *testing.T) {
	s := &shard{counts: new(counts)}
	const n = 500
	entries := make([]entry, n)
	for i := range entries {
		e := &entries[i]
		e.setKey(identity(7<<57|5<<32, "xxx"), fmt.Sprintf("%03d", i))
		at := s.seek(s.root(pointers), e.id, e.key())
		require.Nil(t, at.e)
		require.True(t, at.b.claim(at.j, e))
		s.inserted.Add(1)
	}
	for i := range entries {
		e := &entries[i]
		require.True(t, s.seek(s.root(pointers), e.id, e.key()).e == e)
	}
	require.LessOrEqual(t, s.newest().buckets(), 1024)
}

// TestRangeMeanwhile ranges while others store and delete: what is there all the time
// is seen once.
func TestRangeMeanwhile(t *testing.T) {
	m := New[int](0)
	stay := sameShard(m, 500, "stay")
	come := sameShard(m, 5000, "come", m.shardOf(stay[0]))
	for i, key := range stay {
		m.Store(key, i)
	}
	var stop atomic.Bool
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() { churnKeys(m, come, -1, &stop) })
	}
	for range 100 {
		seen := map[string]int{}
		for key, v := range m.All() {
			if v >= 0 {
				seen[key]++
			}
		}
		for _, key := range stay {
			require.Equal(t, 1, seen[key], key)
		}
		runtime.Gosched()
	}
	stop.Store(true)
	wg.Wait()
	m.check(t)
}
