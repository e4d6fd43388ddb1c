//go:build unix

package shardmap

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// TestLongKey sees that a key whose length does not fit in 32 bits is told from others
// of such a length. The key's bytes are never written, so they take no memory.
func TestLongKey(t *testing.T) {
	if unsafe.Sizeof(0) < 8 {
		t.Skip("no such lengths here")
	}
	key := zeros(t, 1<<32+8)
	h := New[int](0).hasher.hash(key[:100])
	for _, n := range []uint64{1<<32 - 2, 1<<32 - 1, 1 << 32, 1<<32 + 8} {
		id := identity(h, key[:n])
		var e entry
		e.setKey(id, key[:n])
		require.Equal(t, n, uint64(len(e.key())))
		require.True(t, e.holds(id, key[:n]))
		require.False(t, e.holds(identity(h, key[:n-1]), key[:n-1]))
		require.False(t, e.holds(identity(h, key[:1]), key[:1]))
	}
}

// zeros returns a string of n zero bytes in memory of its own that is only read.
func zeros(t *testing.T, n int) string {
	b, err := unix.Mmap(-1, 0, n, unix.PROT_READ, unix.MAP_ANON|unix.MAP_PRIVATE|unix.MAP_NORESERVE)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, unix.Munmap(b)) })
	return unsafe.String(&b[0], len(b))
}
