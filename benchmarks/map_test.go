package benchmarks

import (
	"fmt"
	"hash/maphash"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/puzpuzpuz/xsync/v4"

	"github.com/edgemill/edgemill/shardmap"
)

// The Map workloads: 25-byte keys, stores, loads, updates and a mix of nine loads to
// a store, at 1, 2, 8 and 64 goroutines, each for shardmap and for what it is to
// beat. The names are Map/OPERATION/goroutines=N/map=NAME, so that
// benchstat -col /map sets the maps side by side.

// mapKeys is the number of keys in a map: about as many as a batch of the Apply
// workloads has.
const mapKeys = 20_000

// mapRounds is how often the order of use goes through the keys before it repeats.
const mapRounds = 10

// stringMap is what the workloads need of a map.
type stringMap interface {
	Load(key string) (uint64, bool)
	Store(key string, v uint64)
	Add(key string, n uint64) // the value, or 0, plus n, as one step
}

// mapMakers lists the maps. Each is made with room for n entries as far as it can be.
var mapMakers = []struct {
	name string
	make func(n int) stringMap
}{
	{"shardmap", func(n int) stringMap { return shardMap{shardmap.NewSized[uint64](0, n)} }},
	{"xsync", func(n int) stringMap { return xsyncMap{xsync.NewMap[string, uint64](xsync.WithPresize(n))} }},
	{"sync", func(int) stringMap { return new(syncMap) }},
	{"mutex", newMutexMap},
}

type shardMap struct{ *shardmap.Map[uint64] }

func (m shardMap) Add(key string, n uint64) {
	m.Update(key, func(old uint64, _ bool) (uint64, bool) { return old + n, true })
}

type xsyncMap struct{ *xsync.Map[string, uint64] }

func (m xsyncMap) Add(key string, n uint64) {
	m.Compute(key, func(old uint64, _ bool) (uint64, xsync.ComputeOp) { return old + n, xsync.UpdateOp })
}

type syncMap struct{ m sync.Map }

func (m *syncMap) Load(key string) (uint64, bool) {
	v, ok := m.m.Load(key)
	if !ok {
		return 0, false
	}
	return v.(uint64), true
}

func (m *syncMap) Store(key string, v uint64) { m.m.Store(key, v) }

func (m *syncMap) Add(key string, n uint64) {
	for {
		v, ok := m.m.Load(key)
		if !ok {
			if _, there := m.m.LoadOrStore(key, n); !there {
				return
			}
		} else if m.m.CompareAndSwap(key, v, v.(uint64)+n) {
			return
		}
	}
}

// mutexMap is a Go map behind sharded mutexes, with as many shards as shardmap has.
type mutexMap struct {
	seed   maphash.Seed
	shards []mutexShard
}

type mutexShard struct {
	mu sync.Mutex
	m  map[string]uint64
	_  [48]byte // a cache line each
}

func newMutexMap(n int) stringMap {
	m := &mutexMap{maphash.MakeSeed(), make([]mutexShard, shardmap.New[uint64](0).Shards())}
	for i := range m.shards {
		m.shards[i].m = make(map[string]uint64, n/len(m.shards))
	}
	return m
}

func (m *mutexMap) shard(key string) *mutexShard {
	return &m.shards[maphash.String(m.seed, key)&uint64(len(m.shards)-1)]
}

func (m *mutexMap) Load(key string) (uint64, bool) {
	s := m.shard(key)
	s.mu.Lock()
	v, ok := s.m[key]
	s.mu.Unlock()
	return v, ok
}

func (m *mutexMap) Store(key string, v uint64) {
	s := m.shard(key)
	s.mu.Lock()
	s.m[key] = v
	s.mu.Unlock()
}

func (m *mutexMap) Add(key string, n uint64) {
	s := m.shard(key)
	s.mu.Lock()
	s.m[key] += n
	s.mu.Unlock()
}

// mapOperations are the workloads: what is done with a key, the i-th time. Inserts
// are stores of new keys into an empty map that has to grow.
var mapOperations = []struct {
	name  string
	empty bool
	do    func(m stringMap, key string, i int)
}{
	{"stores", false, func(m stringMap, key string, i int) { m.Store(key, uint64(i)) }},
	{"inserts", true, func(m stringMap, key string, i int) { m.Store(key, uint64(i)) }},
	{"loads", false, func(m stringMap, key string, _ int) { m.Load(key) }},
	{"updates", false, func(m stringMap, key string, _ int) { m.Add(key, 1) }},
	{"mix", false, func(m stringMap, key string, i int) {
		if i%10 == 0 {
			m.Store(key, uint64(i))
		} else {
			m.Load(key)
		}
	}},
}

func BenchmarkMap(b *testing.B) {
	keys, order := makeMapKeys()
	for _, op := range mapOperations {
		for _, goroutines := range []int{1, 2, 8, 64} {
			for _, maker := range mapMakers {
				b.Run(fmt.Sprintf("%s/goroutines=%d/map=%s", op.name, goroutines, maker.name), func(b *testing.B) {
					b.ReportAllocs()
					if op.empty {
						defer reportCPU(b)()
						for left := b.N; left > 0; left -= len(keys) {
							m := maker.make(0)
							eachKey(keys, min(left, len(keys)), goroutines, func(key string, i int) { op.do(m, key, i) })
						}
						return
					}
					m := maker.make(len(keys))
					for i, key := range keys {
						m.Store(key, uint64(i))
					}
					b.ResetTimer()
					defer reportCPU(b)()
					eachKey(order, b.N, goroutines, func(key string, i int) { op.do(m, key, i) })
				})
			}
		}
	}
}

// reportCPU begins to measure the processor time that the process takes, and returns
// what reports it for an operation. On a machine that others use too it says more than
// the time on the clock; it does not show waiting, though.
func reportCPU(b *testing.B) func() {
	before := processorTime()
	return func() { b.ReportMetric(float64(processorTime()-before)/float64(b.N), "cpu-ns/op") }
}

// eachKey calls do n times, shared out to so many goroutines. Each goes through the
// keys from a place of its own.
func eachKey(keys []string, n, goroutines int, do func(key string, i int)) {
	var wg sync.WaitGroup
	for g := range goroutines {
		from, to := n*g/goroutines, n*(g+1)/goroutines
		at := len(keys) * g / goroutines
		wg.Go(func() {
			for i := from; i < to; i++ {
				do(keys[at], i)
				if at++; at == len(keys) {
					at = 0
				}
			}
		})
	}
	wg.Wait()
}

// makeMapKeys makes distinct keys of 25 bytes, and an order in which to use them, in
// which each comes mapRounds times at random places: the order in which they came into
// the map says nothing about it.
func makeMapKeys() (keys, order []string) {
	for i := range uint64(mapKeys) {
		keys = append(keys, fmt.Sprintf("%016x-%08d", i*0x9e3779b97f4a7c15, i))
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range mapRounds {
		for _, i := range r.Perm(mapKeys) {
			order = append(order, keys[i])
		}
	}
	r.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
	return keys, order
}
