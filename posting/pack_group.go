package posting

import (
	"encoding/binary"
	"math/bits"
)

// Group varint: four 32-bit numbers behind one tag byte, which has two bits a
// number from the lowest up, the number's length less one. Numbers are
// little-endian.

const (
	minGroup = 1 + 4*1
	maxGroup = 1 + 4*4
)

// groupLen is the length of a group with the tag t, the tag included.
func groupLen(t byte) int {
	return minGroup + int(t&3) + int(t>>2&3) + int(t>>4&3) + int(t>>6)
}

// lenLess1 is the length of v in bytes, less one; 0 has one byte.
func lenLess1(v uint32) int { return (bits.Len32(v|1) - 1) >> 3 }

// putGroup writes a group of the differences between the uids and the one
// before each, at b, which has room for maxGroup bytes, and returns its length.
func putGroup(b []byte, before uint64, uids *[4]uint64) int {
	b = b[:maxGroup]
	d0, d1 := uint32(uids[0]-before), uint32(uids[1]-uids[0])
	d2, d3 := uint32(uids[2]-uids[1]), uint32(uids[3]-uids[2])
	n0, n1, n2, n3 := lenLess1(d0), lenLess1(d1), lenLess1(d2), lenLess1(d3)
	b[0] = byte(n0 | n1<<2 | n2<<4 | n3<<6)
	// Each number is written whole; the next one overwrites what was too much.
	i := 1
	binary.LittleEndian.PutUint32(b[i:], d0)
	i += n0 + 1
	binary.LittleEndian.PutUint32(b[i:], d1)
	i += n1 + 1
	binary.LittleEndian.PutUint32(b[i:], d2)
	i += n2 + 1
	binary.LittleEndian.PutUint32(b[i:], d3)
	return i + n3 + 1
}

// appendGroups appends the groups of a block. The last is filled up with zeros,
// and a block of one uid has one group. The uids are not empty, ascending, and
// all alike in their upper 32 bits.
func appendGroups(dst []byte, uids []uint64) []byte {
	var group [maxGroup]byte
	before, uids := uids[0], uids[1:]
	for len(uids) >= 4 {
		n := putGroup(group[:], before, (*[4]uint64)(uids))
		dst = append(dst, group[:n]...)
		before, uids = uids[3], uids[4:]
		if len(uids) == 0 {
			return dst
		}
	}
	last := [4]uint64{before, before, before, before}
	for i := copy(last[:], uids); 0 < i && i < 4; i++ {
		last[i] = last[i-1]
	}
	return append(dst, group[:putGroup(group[:], before, &last)]...)
}

// groupsSize is the length in bytes of what appendGroups appends.
func groupsSize(uids []uint64) int {
	n := minGroup * max(1, (len(uids)+2)/4)
	for i := 1; i < len(uids); i++ {
		n += lenLess1(uint32(uids[i] - uids[i-1]))
	}
	return n
}

// groupReader decodes the groups of one block.
type groupReader struct {
	b     []byte
	last  uint64 // the uid before the next group
	left  int    // the uids that are still to come
	limit uint64 // the greatest uid that may come
}

// next decodes the next group into uids and returns how many of the four are
// there; 0 where the group is cut short or a uid is not above the one before.
func (g *groupReader) next(uids *[4]uint64) int {
	b := g.b
	if len(b) < maxGroup {
		return g.nextShort(uids)
	}
	return g.take(b, uids)
}

// nextShort is next for the end of the block's bytes.
func (g *groupReader) nextShort(uids *[4]uint64) int {
	if len(g.b) == 0 || groupLen(g.b[0]) > len(g.b) {
		return 0
	}
	var group [maxGroup]byte
	copy(group[:], g.b)
	return g.take(group[:], uids)
}

// take decodes the group at the start of b, which has at least maxGroup bytes.
func (g *groupReader) take(b []byte, uids *[4]uint64) int {
	b = b[:maxGroup]
	t := b[0]
	i := 1
	d0 := groupNumber(b, i, t&3)
	i += int(t&3) + 1
	d1 := groupNumber(b, i, t>>2&3)
	i += int(t>>2&3) + 1
	d2 := groupNumber(b, i, t>>4&3)
	i += int(t>>4&3) + 1
	d3 := groupNumber(b, i, t>>6)
	i += int(t>>6) + 1
	u0 := g.last + d0
	u1 := u0 + d1
	u2 := u1 + d2
	u3 := u2 + d3
	*uids = [4]uint64{u0, u1, u2, u3}
	g.b = g.b[i:]
	if g.left < 4 {
		return g.takeLast(uids)
	}
	// Four differences of 32 bits overflow 64 bits at most once, and then the
	// last uid is below the first one's predecessor.
	if d0 == 0 || d1 == 0 || d2 == 0 || d3 == 0 || u3 < g.last || u3 > g.limit {
		return 0
	}
	g.last, g.left = u3, g.left-4
	return 4
}

// takeLast checks a group whose last places only fill it up.
func (g *groupReader) takeLast(uids *[4]uint64) int {
	n := g.left
	for _, u := range uids[:n] {
		if u <= g.last || u > g.limit {
			return 0
		}
		g.last = u
	}
	g.left = 0
	return n
}

// groupNumber reads the number at b[i:], which has less1+1 bytes.
func groupNumber(b []byte, i int, less1 byte) uint64 {
	return uint64(binary.LittleEndian.Uint32(b[i:]) & (0xffffffff >> (24 - 8*less1)))
}

// done tells whether the block's bytes are used up as they should be.
func (g *groupReader) done() bool { return g.left == 0 && len(g.b) == 0 }
