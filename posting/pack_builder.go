package posting

import (
	"encoding/binary"
	"slices"
	"sort"
)

// PackBuilder makes a Pack of uids that come one by one, and holds no more of
// them undone than a block. The zero PackBuilder is ready for use. It belongs
// to one goroutine.
type PackBuilder struct {
	pack  Pack
	block [BlockUIDs]uint64
	n     int // block[:n] is not encoded yet
}

// Add takes the next uid, which is greater than all before.
func (b *PackBuilder) Add(uid uint64) {
	if b.n == BlockUIDs || (b.n > 0 && uid>>32 != b.block[0]>>32) {
		b.flush()
	}
	b.block[b.n] = uid
	b.n++
}

func (b *PackBuilder) flush() {
	b.pack.encode(b.block[:b.n])
	b.n = 0
}

// Len is the number of uids added since the start or the last Reset.
func (b *PackBuilder) Len() int { return b.pack.n + b.n }

// Pack ends the encoding and returns the pack. It aliases the builder's memory,
// so it is good until Reset, which has to come before the next Add.
func (b *PackBuilder) Pack() Pack {
	if b.n > 0 {
		b.flush()
	}
	return b.pack
}

// Reset makes the builder ready for another pack and keeps its memory.
func (b *PackBuilder) Reset() {
	b.pack = Pack{raw: b.pack.raw[:0], rest: b.pack.rest[:0]}
	b.n = 0
}

// MakePack is the pack of uids, which are ascending and distinct.
func MakePack(uids []uint64) Pack {
	var p Pack
	for len(uids) > 0 {
		n := blockLen(uids)
		p.encode(uids[:n])
		uids = uids[n:]
	}
	return p
}

// encode adds a block.
func (p *Pack) encode(uids []uint64) {
	at := len(p.raw)
	p.raw = appendGroups(p.raw, uids)
	p.addBlock(blockRef{base: uids[0], num: uint32(len(uids)), at: uint32(at), to: uint32(len(p.raw))})
}

// blockLen is how many of the uids, which are not empty, go into the first
// block: those that are alike in the upper 32 bits, up to BlockUIDs.
func blockLen(uids []uint64) int {
	uids = uids[:min(len(uids), BlockUIDs)]
	upper := uids[0] >> 32
	if uids[len(uids)-1]>>32 == upper {
		return len(uids)
	}
	return sort.Search(len(uids), func(i int) bool { return uids[i]>>32 != upper })
}

// The message of a pack begins with its block size: the tag and 256.
const packHead = "\x08\x80\x02"

// blockBody is the length of a block's message without tag and length.
func blockBody(base uint64, deltas, num int) int {
	return varintLen(base) + bytesLen(deltas) + varintLen(uint64(num))
}

// appendBlockHead appends a block's record up to the differences, of which
// there are some.
func appendBlockHead(dst []byte, base uint64, deltas, num int) []byte {
	dst = binary.AppendUvarint(append(dst, tagPackBlock), uint64(blockBody(base, deltas, num)))
	if base != 0 {
		dst = binary.AppendUvarint(append(dst, tagBlockBase), base)
	}
	return binary.AppendUvarint(append(dst, tagBlockDeltas), uint64(deltas))
}

// appendBlockTail appends what follows the differences.
func appendBlockTail(dst []byte, num int) []byte {
	return binary.AppendUvarint(append(dst, tagBlockNum), uint64(num))
}

func appendPackHead(dst []byte, body int) []byte {
	dst = slices.Grow(dst, bytesLen(body))
	dst = binary.AppendUvarint(append(dst, tagListPack), uint64(body))
	return append(dst, packHead...)
}

// deltas is the differences of block i as they are written: a block that came
// without any gets its one group.
func (p *Pack) deltas(i int) []byte {
	ref := p.block(i)
	if ref.at == ref.to {
		return make([]byte, minGroup)
	}
	return p.raw[ref.at:ref.to]
}

func (p *Pack) body() int {
	n := len(packHead)
	for i := range p.Blocks() {
		ref := p.block(i)
		n += bytesLen(blockBody(ref.base, max(int(ref.to-ref.at), minGroup), int(ref.num)))
	}
	return n
}

// Size is the length in bytes of what Append appends.
func (p *Pack) Size() int {
	if p.n == 0 {
		return 0
	}
	return bytesLen(p.body())
}

// Append appends the pack as field 1 of a PostingList: tag, length, message.
// An empty pack is left out.
func (p *Pack) Append(dst []byte) []byte {
	if p.n == 0 {
		return dst
	}
	dst = appendPackHead(dst, p.body())
	for i := range p.Blocks() {
		ref, deltas := p.block(i), p.deltas(i)
		dst = appendBlockHead(dst, ref.base, len(deltas), int(ref.num))
		dst = append(dst, deltas...)
		dst = appendBlockTail(dst, int(ref.num))
	}
	return dst
}

// AppendPack appends uids, which are ascending and distinct, as MakePack and
// Pack.Append do, without making the pack first. It allocates only where dst
// has no room.
func AppendPack(dst []byte, uids []uint64) []byte {
	if len(uids) == 0 {
		return dst
	}
	dst = appendPackHead(dst, packBody(uids))
	for len(uids) > 0 {
		n := blockLen(uids)
		dst = appendBlockHead(dst, uids[0], groupsSize(uids[:n]), n)
		dst = appendGroups(dst, uids[:n])
		dst = appendBlockTail(dst, n)
		uids = uids[n:]
	}
	return dst
}

func packBody(uids []uint64) int {
	body := len(packHead)
	for len(uids) > 0 {
		n := blockLen(uids)
		body += bytesLen(blockBody(uids[0], groupsSize(uids[:n]), n))
		uids = uids[n:]
	}
	return body
}
