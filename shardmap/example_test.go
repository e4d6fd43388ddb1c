package shardmap_test

import (
	"fmt"
	"strings"
	"sync"

	"github.com/edgemill/edgemill/shardmap"
)

// Several goroutines count words into one map.
func Example() {
	lines := []string{"the cat and the dog", "a dog and a cat", "the end"}
	counts := shardmap.New[int](0)
	var wg sync.WaitGroup
	for _, line := range lines {
		wg.Go(func() {
			for _, word := range strings.Fields(line) {
				counts.Update(word, func(n int, _ bool) (int, bool) { return n + 1, true })
			}
		})
	}
	wg.Wait()
	for word, n := range counts.Drain() {
		fmt.Println(word, n)
	}
	fmt.Println(counts.Len(), "left")
	// Output:
	// a 2
	// and 2
	// cat 2
	// dog 2
	// end 1
	// the 3
	// 0 left
}

// An update can delete, and tell whether the key was there.
func ExampleMap_Update() {
	stock := shardmap.New[int](0)
	stock.Store("apples", 2)
	take := func(what string) {
		taken := false
		stock.Update(what, func(n int, ok bool) (int, bool) {
			taken = ok
			return n - 1, n > 1
		})
		fmt.Println(what, taken, stock.Len())
	}
	take("apples")
	take("apples")
	take("apples")
	// Output:
	// apples true 1
	// apples true 0
	// apples false 0
}

func ExampleMap_Merge() {
	a, b := shardmap.New[string](64), shardmap.New[string](256)
	a.Store("x", "a")
	a.Store("y", "a")
	b.Store("y", "b")
	b.Store("z", "b")
	a.Merge(b, func(mine, theirs string) string { return mine + theirs })
	for key, v := range a.Sorted() {
		fmt.Println(key, v)
	}
	// Output:
	// x a
	// y ab
	// z b
}

// Lookups by bytes don't allocate, so a key can be built in a buffer that is used again.
func ExampleMap_LoadBytes() {
	m := shardmap.New[int](0)
	m.Store("row-1", 10)
	m.Store("row-2", 20)
	var buf []byte
	for i := range 4 {
		buf = fmt.Appendf(buf[:0], "row-%d", i)
		v, ok := m.LoadBytes(buf)
		fmt.Println(string(buf), v, ok)
	}
	// Output:
	// row-0 0 false
	// row-1 10 true
	// row-2 20 true
	// row-3 0 false
}

// A writer shares allocations among entries that live and die together.
func ExampleMap_Writer() {
	m := shardmap.New[[]byte](0)
	w := m.Writer(1000)
	for i := range 5000 {
		w.Store(fmt.Sprint(i), []byte{byte(i)})
	}
	fmt.Println(m.Len())
	// Output: 5000
}
