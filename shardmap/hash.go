package shardmap

import (
	"encoding/binary"
	"math/bits"
	"math/rand/v2"
	"unsafe"
)

// hasher hashes byte strings: it folds the product of two words of input, each mixed
// with a random secret, into one word, as the hashes of the wyhash family do. The
// secrets are drawn for each map, so that nobody can prepare keys that collide.
type hasher [4]uint64

func newHasher() hasher {
	return hasher{rand.Uint64(), rand.Uint64(), rand.Uint64(), rand.Uint64()}
}

// hash returns the hash of key. All of its 64 bits are good.
func (h *hasher) hash(key string) uint64 {
	p, n := unsafe.Pointer(unsafe.StringData(key)), uintptr(len(key))
	if n > 16 {
		if n > 32 {
			return h.long(key)
		}
		x := fold(word(p, 0)^h[0], word(p, 8)^h[1])
		y := fold(word(p, n-16)^h[2], word(p, n-8)^h[3])
		return fold(x^h[0]^uint64(n), y^h[1])
	}
	var x, y uint64
	switch {
	case n >= 8:
		x, y = word(p, 0), word(p, n-8)
	case n >= 4:
		x, y = half(p, 0), half(p, n-4)
	case n > 0:
		x = uint64(key[0])<<16 | uint64(key[n/2])<<8 | uint64(key[n-1])
	}
	return fold(fold(x^h[0], y^h[1])^h[2]^uint64(n), h[3])
}

// long hashes a key of more than 32 bytes: 32 by 32, and then the last 32.
func (h *hasher) long(key string) uint64 {
	p, n := unsafe.Pointer(unsafe.StringData(key)), uintptr(len(key))
	x, y := h[2], h[3]
	for i := uintptr(0); i < n-32; i += 32 {
		x = fold(word(p, i)^h[0], word(p, i+8)^x)
		y = fold(word(p, i+16)^h[1], word(p, i+24)^y)
	}
	x = fold(word(p, n-32)^h[0], word(p, n-24)^x)
	y = fold(word(p, n-16)^h[1], word(p, n-8)^y)
	return fold(x^h[2]^uint64(n), y^h[3])
}

// fold multiplies to 128 bits and folds the halves.
func fold(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	return hi ^ lo
}

// word and half read 8 and 4 bytes from offset i on, least significant first.

func word(p unsafe.Pointer, i uintptr) uint64 {
	return binary.LittleEndian.Uint64((*[8]byte)(unsafe.Add(p, i))[:])
}

func half(p unsafe.Pointer, i uintptr) uint64 {
	return uint64(binary.LittleEndian.Uint32((*[4]byte)(unsafe.Add(p, i))[:]))
}
