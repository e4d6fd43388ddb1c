package shardmap

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSortedOrder(t *testing.T) {
	for _, c := range []struct {
		name string
		keys []string
	}{
		{"none", nil},
		{"one", []string{"a"}},
		{"the empty key", []string{"", "\x00", "\x00\x00", "a"}},
		{"zeros at the end", []string{"a", "a\x00", "a\x00\x00", "a\x00b", "b"}},
		{"high bytes", []string{"\x00", "\x7f", "\x80", "\xff", "\xff\xff"}},
		{"prefixes", []string{"abcdefgh", "abcdefghi", "abcdefghij", "abcdefgi"}},
		{"a long common prefix", []string{
			strings.Repeat("p", 50), strings.Repeat("p", 50) + "1234567", strings.Repeat("p", 50) + "12345678",
			strings.Repeat("p", 50) + "123456789", strings.Repeat("p", 50) + "2",
		}},
	} {
		require.True(t, slices.IsSorted(c.keys), c.name)
		m := New[int](0)
		for _, i := range []int{0, 2, 4, 3, 1} {
			if i < len(c.keys) {
				m.Store(c.keys[i], i)
			}
		}
		var keys []string
		for key, v := range m.Sorted() {
			require.Equal(t, len(keys), v, c.name)
			keys = append(keys, key)
		}
		require.Equal(t, c.keys, keys, c.name)
		require.Equal(t, len(c.keys), m.Len())
		keys = nil
		for key := range m.Drain() {
			keys = append(keys, key)
		}
		require.Equal(t, c.keys, keys, c.name)
		require.Zero(t, m.Len())
	}
}

// TestSortedMeanwhile changes the map while it is yielded.
func TestSortedMeanwhile(t *testing.T) {
	m := New[int](0)
	for i := range 5 {
		m.Store(fmt.Sprint(i), i)
	}
	var got []string
	for key, v := range m.Sorted() {
		got = append(got, fmt.Sprint(key, "=", v))
		m.Delete("1")
		m.Store("1", 11)
		m.Delete("2")
		m.Store("3", 33)
		m.Store("9", 9)
		if key == "3" {
			break
		}
	}
	require.Equal(t, []string{"0=0", "3=33"}, got)
}

func TestRangeStops(t *testing.T) {
	m := New[int](0)
	for i := range 1000 {
		m.Store(fmt.Sprint(i), i)
	}
	n := 0
	m.Range(func(string, int) bool { n++; return n < 7 })
	require.Equal(t, 7, n)
	n = 0
	for range m.Drain() {
		if n++; n == 10 {
			break
		}
	}
	require.Equal(t, 990, m.Len())
}

// TestDrainTogether drains a map from several goroutines while another stores.
func TestDrainTogether(t *testing.T) {
	const n = 20_000
	m := New[int](0)
	store := func(from int) {
		for i := from; i < from+n; i++ {
			m.Store(fmt.Sprintf("%06d", i), i)
		}
	}
	store(0)
	got := make([]map[string]int, 4)
	var wg sync.WaitGroup
	wg.Go(func() { store(n) })
	for g := range got {
		got[g] = map[string]int{}
		wg.Go(func() {
			last := ""
			for key, v := range m.Drain() {
				if cmp.Compare(last, key) >= 0 {
					t.Errorf("%q after %q", key, last)
				}
				last = key
				got[g][key] = v
			}
		})
	}
	wg.Wait()
	all := maps.Collect(m.All())
	for _, part := range got {
		for key, v := range part {
			if _, twice := all[key]; twice {
				require.Fail(t, "two got it", "%q", key)
			}
			all[key] = v
		}
	}
	require.Len(t, all, 2*n)
}

func TestMerge(t *testing.T) {
	const n = 3000
	for _, mine := range []int{64, 128, 1024} {
		for _, theirs := range []int{64, 256, 1024} {
			m, other := New[int](mine), New[int](theirs)
			for i := range n {
				m.Store(fmt.Sprint("m", i), i)
				m.Store(fmt.Sprint("both", i), i)
				other.Store(fmt.Sprint("both", i), 10*i)
				other.Store(fmt.Sprint("o", i), -i)
			}
			m.Merge(other, func(mine, theirs int) int { return mine + theirs })
			require.Equal(t, 3*n, m.Len())
			require.Equal(t, 2*n, other.Len())
			for i := range n {
				for prefix, want := range map[string]int{"m": i, "both": 11 * i, "o": -i} {
					v, ok := m.Load(fmt.Sprint(prefix, i))
					require.True(t, ok)
					require.Equal(t, want, v)
				}
			}
			m.check(t)
		}
	}
}

// TestMergeTogether merges several maps into one at the same time, while others add
// to it.
func TestMergeTogether(t *testing.T) {
	const parts, n = 6, 4000
	add := func(a, b int) int { return a + b }
	m := New[int](128)
	var wg sync.WaitGroup
	for p := range parts {
		wg.Go(func() {
			other := New[int](64 << (p % 3))
			for i := range n {
				other.Store(fmt.Sprint(i+p*n/2), 1)
			}
			if p%2 == 0 {
				m.Merge(other, add)
			} else {
				m.Writer(100).Merge(other, add)
			}
		})
		wg.Go(func() {
			for i := range n {
				m.Update(fmt.Sprint(i), func(old int, _ bool) (int, bool) { return old + 1, true })
			}
		})
	}
	wg.Wait()
	sum := 0
	for _, v := range m.All() {
		sum += v
	}
	require.Equal(t, 2*parts*n, sum)
	require.Equal(t, n/2*(parts-1)+n, m.Len())
	m.check(t)
}

func TestMergeItself(t *testing.T) {
	m := New[int](0)
	for i := range 1000 {
		m.Store(fmt.Sprint(i), i)
	}
	m.Merge(m, func(mine, theirs int) int { return mine + theirs })
	require.Equal(t, 1000, m.Len())
	v, _ := m.Load("7")
	require.Equal(t, 14, v)
}
