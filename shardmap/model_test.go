package shardmap

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// TestModel compares a map with a Go map through random operations of one goroutine.
func TestModel(t *testing.T) {
	t.Run("numbers", func(t *testing.T) {
		rapid.Check(t, func(r *rapid.T) { runModel(r, rapid.Uint64()) })
	})
	t.Run("pointers", func(t *testing.T) {
		values := rapid.Custom(func(r *rapid.T) *int {
			n := rapid.Int().Draw(r, "n")
			if n%5 == 0 {
				return nil
			}
			return &n
		})
		rapid.Check(t, func(r *rapid.T) { runModel(r, values) })
	})
	t.Run("cells", func(t *testing.T) {
		rapid.Check(t, func(r *rapid.T) { runModel(r, rapid.String()) })
	})
}

// modelRun is a map and what it should hold.
type modelRun[V any] struct {
	m      *Map[V]
	w      *Writer[V]
	want   map[string]V
	values *rapid.Generator[V]
}

// modelKeys draws few keys, so that they meet, many of them of one shard's worth of
// keys as the number of shards does not matter to what the map holds.
func modelKeys() *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.SampledFrom([]string{"", "\x00", "a", "ab", "a longer key, of more than thirty-two bytes"}),
		rapid.Custom(func(r *rapid.T) string { return fmt.Sprint("k", rapid.IntRange(0, 3000).Draw(r, "k")) }),
	)
}

func runModel[V any](r *rapid.T, values *rapid.Generator[V]) {
	m := NewSized[V](rapid.IntRange(0, 300).Draw(r, "shards"), rapid.SampledFrom([]int{0, 100, 5000}).Draw(r, "size"))
	run := &modelRun[V]{m, m.Writer(rapid.IntRange(0, 20).Draw(r, "slab")), map[string]V{}, values}
	r.Repeat(map[string]func(*rapid.T){
		"":            func(r *rapid.T) { require.Equal(r, len(run.want), run.m.Len()) },
		"iterate":     run.iterate,
		"store":       run.store,
		"storeMany":   run.storeMany,
		"loadOrStore": run.loadOrStore,
		"update":      run.update,
		"delete":      run.delete,
		"deleteMany":  run.deleteMany,
		"merge":       run.merge,
		"drain":       run.drain,
	})
	run.iterate(r)
	m.check(r)
}

func (run *modelRun[V]) store(r *rapid.T) {
	key, v := modelKeys().Draw(r, "key"), run.values.Draw(r, "v")
	switch rapid.IntRange(0, 2).Draw(r, "how") {
	case 0:
		run.m.Store(key, v)
	case 1:
		run.m.StoreBytes([]byte(key), v)
	default:
		run.w.Store(key, v)
	}
	run.want[key] = v
}

// storeMany makes tables grow.
func (run *modelRun[V]) storeMany(r *rapid.T) {
	v, from := run.values.Draw(r, "v"), rapid.IntRange(0, 2500).Draw(r, "from")
	for i := from; i < from+500; i++ {
		key := fmt.Sprint("k", i)
		run.m.Store(key, v)
		run.want[key] = v
	}
}

func (run *modelRun[V]) loadOrStore(r *rapid.T) {
	key, v := modelKeys().Draw(r, "key"), run.values.Draw(r, "v")
	actual, loaded := run.m.LoadOrStore(key, v)
	want, ok := run.want[key]
	if !ok {
		run.want[key], want = v, v
	}
	require.Equal(r, ok, loaded)
	require.Equal(r, want, actual)
}

func (run *modelRun[V]) update(r *rapid.T) {
	key, v, keep := modelKeys().Draw(r, "key"), run.values.Draw(r, "v"), rapid.Bool().Draw(r, "keep")
	f := func(old V, ok bool) (V, bool) {
		want, there := run.want[key]
		require.Equal(r, there, ok)
		require.Equal(r, want, old)
		return v, keep
	}
	switch rapid.IntRange(0, 2).Draw(r, "how") {
	case 0:
		run.m.Update(key, f)
	case 1:
		run.m.UpdateBytes([]byte(key), f)
	default:
		run.w.Update(key, f)
	}
	delete(run.want, key)
	if keep {
		run.want[key] = v
	}
}

func (run *modelRun[V]) delete(r *rapid.T) {
	key := modelKeys().Draw(r, "key")
	got, ok := run.m.Delete(key)
	want, there := run.want[key]
	require.Equal(r, there, ok)
	require.Equal(r, want, got)
	delete(run.want, key)
}

func (run *modelRun[V]) deleteMany(r *rapid.T) {
	every := rapid.IntRange(1, 3).Draw(r, "every")
	for i := 0; i < 3000; i += every {
		key := fmt.Sprint("k", i)
		_, ok := run.m.Delete(key)
		_, there := run.want[key]
		require.Equal(r, there, ok)
		delete(run.want, key)
	}
}

// merge merges a map of another shard count, keeping mine or theirs.
func (run *modelRun[V]) merge(r *rapid.T) {
	other := New[V](rapid.IntRange(0, 300).Draw(r, "shards"))
	theirs := rapid.MapOfN(modelKeys(), run.values, 0, 20).Draw(r, "theirs")
	keep := rapid.Bool().Draw(r, "keep")
	for key, v := range theirs {
		other.Store(key, v)
		if _, ok := run.want[key]; !ok || !keep {
			run.want[key] = v
		}
	}
	resolve := func(mine, theirs V) V {
		if keep {
			return mine
		}
		return theirs
	}
	if rapid.Bool().Draw(r, "writer") {
		run.w.Merge(other, resolve)
	} else {
		run.m.Merge(other, resolve)
	}
	require.Equal(r, len(theirs), other.Len())
}

// drain takes some or all entries out, in order.
func (run *modelRun[V]) drain(r *rapid.T) {
	n := rapid.SampledFrom([]int{1, 10, 1 << 30}).Draw(r, "n")
	keys := slices.Sorted(maps.Keys(run.want))
	i := 0
	for key, v := range run.m.Drain() {
		require.Equal(r, keys[i], key)
		require.Equal(r, run.want[key], v)
		delete(run.want, key)
		if i++; i == n {
			break
		}
	}
	require.Equal(r, min(n, len(keys)), i)
}

// iterate compares all that is in the map.
func (run *modelRun[V]) iterate(r *rapid.T) {
	got := maps.Collect(run.m.All())
	if d := cmp.Diff(run.want, got); d != "" {
		r.Fatalf("want and got:\n%s", d)
	}
	keys := make([]string, 0, len(got))
	for key, v := range run.m.Sorted() {
		require.Equal(r, got[key], v)
		keys = append(keys, key)
	}
	require.True(r, slices.IsSorted(keys))
	require.Len(r, keys, len(got))
}
