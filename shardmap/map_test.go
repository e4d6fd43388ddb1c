package shardmap

import (
	"fmt"
	"math"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// check fails the test unless m, which nobody changes, is sound: no key has two live
// entries, every live entry is found, and the counts are right.
func (m *Map[V]) check(t require.TestingT) {
	live := map[string]*entry{}
	for i := range m.shards {
		for tab := m.shards[i].table.Load(); tab != nil; tab = tab.next.Load() {
			tab.each(func(e *entry) bool {
				if !e.live(m.kind) {
					return true
				}
				if have := live[e.key()]; have != nil && have != e {
					require.Fail(t, "two live entries", "%q", e.key())
				}
				live[e.key()] = e
				return true
			})
		}
	}
	for key, e := range live {
		h := m.hasher.hash(key)
		at, _ := m.see(m.shard(h), identity(h, key), key)
		if at.e != e {
			require.Fail(t, "an entry is not found", "%q", key)
		}
	}
	require.Equal(t, len(live), m.Len())
	seen := 0
	m.Range(func(key string, _ V) bool {
		if live[key] != nil {
			seen++
		}
		return true
	})
	require.Equal(t, len(live), seen)
}

func TestShards(t *testing.T) {
	old := runtime.GOMAXPROCS(0)
	defer runtime.GOMAXPROCS(old)
	for _, c := range []struct{ procs, shards, want int }{
		{2, 0, 64}, {2, -1, 64}, {2, 1, 64}, {2, 63, 64}, {2, 64, 64}, {2, 65, 128},
		{2, 512, 512}, {2, 513, 1024}, {2, 1024, 1024}, {2, 1025, 1024}, {2, math.MaxInt, 1024},
		{16, 0, 64}, {17, 0, 128}, {48, 0, 256}, {200, 0, 1024}, {1000, 0, 1024},
	} {
		runtime.GOMAXPROCS(c.procs)
		require.Equal(t, c.want, New[int](c.shards).Shards(), "%+v", c)
		require.Equal(t, c.want, NewSized[int](c.shards, 10).Shards(), "%+v", c)
	}
}

type pair struct {
	a int
	b string
}

// TestValues has every method work on values of each kind, extreme ones included.
func TestValues(t *testing.T) {
	one, two := 1, 2
	t.Run("int", func(t *testing.T) {
		testValues(t, numbers, 0, 1, -1, math.MaxInt64, math.MinInt64, 1<<61-1, 1<<61, -1<<61, -1<<61-1)
	})
	t.Run("uint64", func(t *testing.T) { testValues[uint64](t, numbers, 0, 1, 1<<61, 1<<62, 1<<63, math.MaxUint64) })
	t.Run("int8", func(t *testing.T) { testValues[int8](t, numbers, 0, 1, -1, 127, -128) })
	t.Run("bool", func(t *testing.T) { testValues(t, numbers, false, true) })
	t.Run("float64", func(t *testing.T) {
		testValues(t, numbers, 0, 1.5, -1, math.Inf(1), math.MaxFloat64, math.SmallestNonzeroFloat64)
	})
	t.Run("complex64", func(t *testing.T) { testValues[complex64](t, numbers, 0, 1i, -1+2i) })
	t.Run("array", func(t *testing.T) { testValues(t, numbers, [3]byte{}, [3]byte{1, 2, 255}) })
	t.Run("struct", func(t *testing.T) {
		type small struct {
			a bool
			b int32
		}
		testValues(t, numbers, small{}, small{true, -1}, small{false, math.MinInt32})
	})
	t.Run("nothing", func(t *testing.T) { testValues(t, numbers, struct{}{}) })
	t.Run("no pointers", func(t *testing.T) { testValues(t, numbers, [0]*int{}) })
	t.Run("pointer", func(t *testing.T) { testValues(t, pointers, &one, nil, &two) })
	t.Run("unsafe pointer", func(t *testing.T) {
		testValues(t, cells, unsafe.Pointer(&one), nil, unsafe.Pointer(&two))
	})
	t.Run("string", func(t *testing.T) { testValues(t, cells, "", "a", strings.Repeat("x", 1000)) })
	t.Run("bytes", func(t *testing.T) { testValues(t, cells, []byte("abc"), nil, []byte{}) })
	t.Run("any", func(t *testing.T) { testValues[any](t, cells, 1, nil, "x", &one) })
	t.Run("large", func(t *testing.T) { testValues(t, cells, [3]int{1, 2, 3}, [3]int{}) })
	t.Run("mixed", func(t *testing.T) { testValues(t, cells, pair{1, "x"}, pair{}) })
}

func testValues[V any](t *testing.T, k kind, values ...V) {
	m := New[V](0)
	require.Equal(t, k, m.kind)
	var none V
	for _, v := range values {
		for _, w := range values {
			testKey(t, m, "key", v, w)
			require.Zero(t, m.Len())
		}
	}
	_, ok := m.Load("key")
	require.False(t, ok)
	got, ok := m.Delete("key")
	require.False(t, ok)
	require.Equal(t, none, got)
}

// testKey brings key, which is absent, through all that can happen to it.
func testKey[V any](t *testing.T, m *Map[V], key string, v, w V) {
	has := func(want V) {
		t.Helper()
		got, ok := m.Load(key)
		require.True(t, ok)
		require.Equal(t, want, got)
		got, ok = m.LoadBytes([]byte(key))
		require.True(t, ok)
		require.Equal(t, want, got)
		m.check(t)
	}
	actual, loaded := m.LoadOrStore(key, v)
	require.False(t, loaded)
	require.Equal(t, v, actual)
	has(v)
	actual, loaded = m.LoadOrStore(key, w)
	require.True(t, loaded)
	require.Equal(t, v, actual)
	m.Store(key, w)
	has(w)
	m.Store(key, v)
	has(v)
	m.Update(key, func(old V, ok bool) (V, bool) {
		require.True(t, ok)
		require.Equal(t, v, old)
		return w, true
	})
	has(w)
	got, ok := m.Delete(key)
	require.True(t, ok)
	require.Equal(t, w, got)
	m.Update(key, func(_ V, ok bool) (V, bool) {
		require.False(t, ok)
		return v, false
	})
	_, ok = m.Load(key)
	require.False(t, ok)
	m.UpdateBytes([]byte(key), func(_ V, ok bool) (V, bool) { return w, !ok })
	has(w)
	m.StoreBytes([]byte(key), v)
	has(v)
	m.Update(key, func(old V, ok bool) (V, bool) { return old, false })
	_, ok = m.Load(key)
	require.False(t, ok)
	m.check(t)
}

func TestKeys(t *testing.T) {
	m := New[int](0)
	keys := []string{"", "\x00", "\x00\x00", "a", "a\x00", "\xff", "é"}
	for n := range 300 {
		keys = append(keys, strings.Repeat("k", n+2), strings.Repeat("k", n)+"\x00\xff")
	}
	for i, key := range keys {
		_, loaded := m.LoadOrStore(key, i)
		require.False(t, loaded, "%q", key)
	}
	for i, key := range keys {
		v, ok := m.Load(key)
		require.True(t, ok)
		require.Equal(t, i, v)
		v, ok = m.LoadBytes([]byte(key))
		require.True(t, ok)
		require.Equal(t, i, v)
	}
	m.check(t)
	_, ok := m.LoadBytes(nil)
	require.True(t, ok, "nil is the empty key")
}

// TestBorrowedKeys stores keys from a buffer that is used again.
func TestBorrowedKeys(t *testing.T) {
	m := New[int](0)
	w := m.Writer(16)
	buf := make([]byte, 0, 32)
	for i := range 3000 {
		buf = fmt.Appendf(buf[:0], "key-%d", i)
		switch i % 3 {
		case 0:
			m.StoreBytes(buf, i)
		case 1:
			m.UpdateBytes(buf, func(int, bool) (int, bool) { return i, true })
		default:
			w.StoreBytes(buf, i)
		}
	}
	clear(buf[:cap(buf)])
	for i := range 3000 {
		v, ok := m.Load(fmt.Sprintf("key-%d", i))
		require.True(t, ok)
		require.Equal(t, i, v)
	}
	m.check(t)
}

func TestUpdatePanics(t *testing.T) {
	m := New[int](0)
	m.Store("a", 1)
	for _, key := range []string{"a", "b"} {
		require.Panics(t, func() { m.Update(key, func(int, bool) (int, bool) { panic("no") }) })
	}
	v, ok := m.Load("a")
	require.True(t, ok)
	require.Equal(t, 1, v)
	require.Equal(t, 1, m.Len())
	m.check(t)
}

// TestUpdateNests has an update's function use the map, the same key included.
func TestUpdateNests(t *testing.T) {
	m := New[int](0)
	m.Store("a", 1)
	runs := 0
	m.Update("a", func(old int, _ bool) (int, bool) {
		if runs++; runs == 1 {
			m.Store("a", 10)
			m.Store("b", 20)
		}
		return old + 1, true
	})
	require.Equal(t, 2, runs)
	v, _ := m.Load("a")
	require.Equal(t, 11, v)
	require.Equal(t, 2, m.Len())
}

func TestNewSized(t *testing.T) {
	for _, n := range []int{-1, 0, 1, 64, 1000, 100_000} {
		m := NewSized[int](0, n)
		for i := range max(n, 10) {
			m.Store(fmt.Sprint(i), i)
		}
		require.Equal(t, max(n, 10), m.Len())
		m.check(t)
		if n >= 100_000 {
			for i := range m.shards {
				require.Nil(t, m.shards[i].table.Load().next.Load(), "a table that was made large enough has grown")
			}
		}
	}
}

func TestAllocations(t *testing.T) {
	type value struct{ a, b int }
	t.Run("numbers", func(t *testing.T) { testAllocations(t, 7, 0) })
	t.Run("pointers", func(t *testing.T) { testAllocations(t, &value{}, 0) })
	t.Run("cells", func(t *testing.T) { testAllocations(t, value{1, 2}, 1) })
	t.Run("bytes", func(t *testing.T) { testAllocations(t, []byte("v"), 1) })
}

// testAllocations counts allocations; replacing is how many it takes to replace a value.
func testAllocations[V any](t *testing.T, v V, replacing float64) {
	const n = 2000
	keys := make([]string, n)
	for i := range keys {
		keys[i] = fmt.Sprintf("a key of some length %5d", i)
	}
	m := NewSized[V](0, 100*n)
	i := 0
	each := func(what string, want float64, do func(key string)) {
		i = 0
		got := testing.AllocsPerRun(n-1, func() { do(keys[i]); i++ })
		require.Equal(t, want, got, what)
	}
	each("load, absent", 0, func(key string) { m.Load(key) })
	each("store, absent", 1, func(key string) { m.Store(key, v) })
	each("store", replacing, func(key string) { m.Store(key, v) })
	each("load", 0, func(key string) { m.Load(key) })
	each("load or store", 0, func(key string) { m.LoadOrStore(key, v) })
	update := func(V, bool) (V, bool) { return v, true }
	each("update", replacing, func(key string) { m.Update(key, update) })
	b := []byte(keys[5])
	each("load bytes", 0, func(string) { m.LoadBytes(b) })
	each("store bytes", replacing, func(string) { m.StoreBytes(b, v) })
	each("delete", 0, func(key string) { m.Delete(key) })
	each("load or store, absent", 1, func(key string) { m.LoadOrStore(key, v) })
	each("delete", 0, func(key string) { m.Delete(key) })
	each("update, absent", 1, func(key string) { m.Update(key, update) })
	each("delete", 0, func(key string) { m.Delete(key) })
	w := m.Writer(n)
	each("writer's store, absent", 0, func(key string) { w.Store(key, v) })
}
