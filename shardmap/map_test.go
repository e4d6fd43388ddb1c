package shardmap

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSmoke(t *testing.T) {
	m := New[int](0)
	const n = 200000
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			for i := w; i < n; i += 8 {
				m.Store(fmt.Sprint(i), i)
			}
		})
	}
	wg.Wait()
	require.Equal(t, n, m.Len())
	for i := range n {
		v, ok := m.Load(fmt.Sprint(i))
		require.True(t, ok)
		require.Equal(t, i, v)
	}
	for i := range n {
		v, ok := m.Delete(fmt.Sprint(i))
		require.True(t, ok)
		require.Equal(t, i, v)
	}
	require.Zero(t, m.Len())
}
