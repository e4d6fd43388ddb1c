package conflict

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
)

// eachClient runs a benchmark's work with sets of some sizes and so many
// clients, and reports the time for each key too.
func eachClient(b *testing.B, work func(b *testing.B, keys Set)) {
	for _, size := range []int{1, 20, 200} {
		for _, clients := range []int{1, 8, 64} {
			b.Run(fmt.Sprintf("keys=%d/clients=%d", size, clients), func(b *testing.B) {
				b.ReportAllocs()
				var group sync.WaitGroup
				var next atomic.Int64
				for range clients {
					group.Go(func() {
						keys := make([]uint64, size)
						for n := next.Add(1); n <= int64(b.N); n = next.Add(1) {
							freshKeys(keys, uint64(n))
							work(b, Set{Exclusive: keys})
						}
					})
				}
				group.Wait()
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*size), "ns/key")
			})
		}
	}
}

// freshKeys fills keys with distinct scattered ones that no other n has.
func freshKeys(keys []uint64, n uint64) {
	for i := range keys {
		keys[i] = (n*uint64(len(keys)) + uint64(i)) * 0x9e3779b97f4a7c15
	}
}

// A transaction's whole way through the oracle, without conflicts.
func BenchmarkOracleTransaction(b *testing.B) {
	o := NewOracle(0)
	eachClient(b, func(b *testing.B, keys Set) {
		start, err := o.Begin(b.Context(), 0, Set{})
		if err != nil {
			b.Error(err)
			return
		}
		ts, err := o.Commit(b.Context(), start, keys)
		if err != nil {
			b.Error(err)
			return
		}
		o.Visible(ts)
		o.Done(start)
	})
}

func BenchmarkGateEnter(b *testing.B) {
	g := NewGate(0)
	eachClient(b, func(b *testing.B, keys Set) {
		p, err := g.Enter(b.Context(), keys)
		if err != nil {
			b.Error(err)
			return
		}
		p.Release()
	})
}
