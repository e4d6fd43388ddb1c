package shardmap

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"
)

// An operation on one key, and what came of it, for porcupine.
type (
	opInput struct {
		op  string // load, store, loadOrStore, add, take (an update that deletes), delete
		key string
		v   int
	}
	opOutput struct {
		v  int
		ok bool
	}
	// keyState is a key's value, where ok, in the model.
	keyState struct {
		v  int
		ok bool
	}
)

// mapModel is what a map does, a key at a time.
var mapModel = porcupine.Model{
	Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
		byKey := map[string][]porcupine.Operation{}
		for _, o := range history {
			key := o.Input.(opInput).key
			byKey[key] = append(byKey[key], o)
		}
		var parts [][]porcupine.Operation
		for _, ops := range byKey {
			parts = append(parts, ops)
		}
		return parts
	},
	Init: func() any { return keyState{} },
	Step: func(state, input, output any) (bool, any) {
		was, in, out := state.(keyState), input.(opInput), output.(opOutput)
		return out == expected(in, was), after(in, was)
	},
}

// expected is what an operation should return, the key being as in was.
func expected(in opInput, was keyState) opOutput {
	switch in.op {
	case "store":
		return opOutput{}
	case "loadOrStore":
		if !was.ok {
			return opOutput{in.v, false}
		}
	}
	return opOutput(was)
}

// after is what an operation makes of a key.
func after(in opInput, was keyState) keyState {
	switch in.op {
	case "store":
		return keyState{in.v, true}
	case "loadOrStore":
		if !was.ok {
			return keyState{in.v, true}
		}
	case "add":
		return keyState{was.v + in.v, true}
	case "take", "delete":
		return keyState{}
	}
	return was
}

// codec makes a map's values of numbers, so that the same histories can be run on maps
// of each kind.
type codec[V any] struct {
	to   func(int) V
	from func(V) int
}

func (c codec[V]) do(m *Map[V], in opInput) (out opOutput) {
	var v V
	switch in.op {
	case "load":
		v, out.ok = m.Load(in.key)
	case "store":
		m.Store(in.key, c.to(in.v))
		return out
	case "loadOrStore":
		v, out.ok = m.LoadOrStore(in.key, c.to(in.v))
		out.v = c.from(v)
		return out
	case "add", "take":
		m.Update(in.key, func(old V, ok bool) (V, bool) {
			v, out = old, opOutput{ok: ok}
			n := in.v
			if ok {
				n += c.from(old)
			}
			return c.to(n), in.op == "add"
		})
	case "delete":
		v, out.ok = m.Delete(in.key)
	}
	if out.ok {
		out.v = c.from(v)
	}
	return out
}

// TestLinearizable records what goroutines see of a few keys while others store and
// delete many, so that the tables of the same shards grow, shrink and are rebuilt.
func TestLinearizable(t *testing.T) {
	numberCodec := codec[int]{func(n int) int { return n }, func(n int) int { return n }}
	// Every third value does not fit in the entry.
	boxed := codec[uint64]{
		func(n int) uint64 { return uint64(n) | uint64(n%3)<<62 },
		func(n uint64) int { return int(n << 2 >> 2) },
	}
	pointer := codec[*int]{func(n int) *int { return &n }, func(p *int) int { return *p }}
	text := codec[string]{func(n int) string { return fmt.Sprint(n) }, func(s string) (n int) {
		_, _ = fmt.Sscan(s, &n)
		return n
	}}
	old := runtime.GOMAXPROCS(0)
	defer runtime.GOMAXPROCS(old)
	for _, procs := range []int{1, 2, 8, 64} {
		runtime.GOMAXPROCS(procs)
		t.Run(fmt.Sprintf("procs=%d/numbers", procs), func(t *testing.T) { testLinearizable(t, numberCodec) })
		t.Run(fmt.Sprintf("procs=%d/boxed", procs), func(t *testing.T) { testLinearizable(t, boxed) })
		t.Run(fmt.Sprintf("procs=%d/pointers", procs), func(t *testing.T) { testLinearizable(t, pointer) })
		t.Run(fmt.Sprintf("procs=%d/cells", procs), func(t *testing.T) { testLinearizable(t, text) })
	}
}

func testLinearizable[V any](t *testing.T, c codec[V]) {
	const goroutines, rounds = 4, 60
	m := New[V](0)
	keys := sameShard(m, 6, "hot")
	filler := sameShard(m, 600, "cold", m.shardOf(keys[0]))
	var stop atomic.Bool
	var churn sync.WaitGroup
	for range 2 {
		churn.Go(func() { churnKeys(m, filler, c.to(1), &stop) })
	}
	begin := time.Now()
	histories := make([][]porcupine.Operation, goroutines)
	var wg sync.WaitGroup
	for g := range goroutines {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(uint64(g), 1))
			for range rounds {
				in := opInput{key: keys[r.IntN(len(keys))], v: r.IntN(100) + 1}
				in.op = []string{"load", "store", "loadOrStore", "add", "take", "delete"}[r.IntN(6)]
				call := time.Since(begin)
				out := c.do(m, in)
				histories[g] = append(histories[g], porcupine.Operation{
					ClientId: g, Input: in, Output: out,
					Call: call.Nanoseconds(), Return: time.Since(begin).Nanoseconds(),
				})
			}
		})
	}
	wg.Wait()
	stop.Store(true)
	churn.Wait()
	m.check(t)
	result := porcupine.CheckOperationsTimeout(mapModel, slices.Concat(histories...), 20*time.Second)
	require.Equal(t, porcupine.Ok, result)
}

// churnKeys stores and deletes keys until it is told to stop.
func churnKeys[V any](m *Map[V], keys []string, v V, stop *atomic.Bool) {
	for !stop.Load() {
		for _, key := range keys {
			m.Store(key, v)
			runtime.Gosched()
		}
		for _, key := range keys {
			m.Delete(key)
		}
	}
}

func (m *Map[V]) shardOf(key string) *shard { return m.shard(m.hasher.hash(key)) }

// sameShard returns n keys of one shard of m, the one given or else any.
func sameShard[V any](m *Map[V], n int, prefix string, s ...*shard) []string {
	if len(s) == 0 {
		s = append(s, m.shardOf(prefix))
	}
	var keys []string
	for i := 0; len(keys) < n; i++ {
		if key := fmt.Sprint(prefix, i); m.shardOf(key) == s[0] {
			keys = append(keys, key)
		}
	}
	return keys
}
