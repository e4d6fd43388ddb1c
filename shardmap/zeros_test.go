package shardmap

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// zeros returns a string of n zero bytes in memory of its own that is only read.
func zeros(t *testing.T, n int) string {
	b, err := unix.Mmap(-1, 0, n, unix.PROT_READ, unix.MAP_ANON|unix.MAP_PRIVATE|unix.MAP_NORESERVE)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, unix.Munmap(b)) })
	return unsafe.String(&b[0], len(b))
}
