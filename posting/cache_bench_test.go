package posting

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// BenchmarkList reads lists of several forms from Badger and from the cache.
func BenchmarkList(b *testing.B) {
	forms := []struct {
		name                string
		complete, deltas, n int
	}{
		{"complete/1", 1, 0, 10_000}, {"complete/100", 100, 0, 10_000}, {"complete/10000", 10_000, 0, 100},
		{"deltas/1", 0, 1, 10_000}, {"deltas/3", 0, 3, 10_000}, {"deltas/16", 0, 16, 1000}, {"deltas/1000", 0, 1000, 20},
	}
	for _, f := range forms {
		s, keys, ts := listsForBench(b, f.n, f.complete, f.deltas)
		for _, from := range []struct {
			name   string
			reader *Reader
		}{{"stored", s.Reader(ts)}, {"cached", s.Snapshot(ts)}} {
			for range 2 {
				for _, key := range keys {
					_, err := from.reader.List(key)
					require.NoError(b, err)
				}
			}
			s.cache.lists.Wait()
			b.Run(f.name+"/"+from.name, func(b *testing.B) {
				b.ReportAllocs()
				for i := range b.N {
					l, err := from.reader.List(keys[i*7919%len(keys)])
					if err != nil || l == nil {
						b.Fatal(l, err)
					}
				}
			})
			b.Run(fmt.Sprintf("%s/%s/sweep", f.name, from.name), func(b *testing.B) {
				for i := 0; i < b.N; {
					sweep := from.reader.Sweep(AppendPrefix(nil, 0, "pal", KindData))
					for _, key := range keys[:min(len(keys), b.N-i)] {
						if l, err := sweep.List(key); err != nil || l == nil {
							b.Fatal(l, err)
						}
						i++
					}
					sweep.Close()
				}
			})
			from.reader.Release()
		}
		require.NoError(b, s.Close())
	}
}

// listsForBench has n lists of so many uids in a complete list and so many
// deltas of one uid above it.
func listsForBench(b *testing.B, n, complete, deltas int) (s *Store, keys [][]byte, ts uint64) {
	s = openStore(b, Options{InMemory: true, MemTableSize: 64 << 20, CacheBytes: 256 << 20})
	var c Commit
	for i := range n {
		keys = append(keys, testKey(uint64(i+1)))
		if complete > 0 {
			var pack PackBuilder
			for u := range uint64(complete) {
				pack.Add(u*3 + 1)
			}
			c.Entries = append(c.Entries, ListEntries(keys[i], Complete{Pack: pack.Pack()}, 1)...)
		}
		for d := range uint64(deltas) {
			c.Entries = append(c.Entries, Entry{Key: keys[i], Value: refDelta(d*5+1, d+1), Meta: MetaDelta, Version: d + 2})
		}
	}
	c.TS = uint64(deltas) + 2
	mustCommit(b, s, c)
	return s, keys, c.TS
}
