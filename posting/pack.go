package posting

import (
	"fmt"
	"math"
	"slices"
	"sort"
)

// Pack is a set of uids as a complete list stores it: ascending, in blocks of
// the first uid and the differences that follow.
//
// A list of a million uids should cost little to open and to look one uid up
// in. Decoding it whole costs eight megabytes. So a Pack keeps the bytes that
// it was read from and a short entry for each block; differences are decoded
// when a block is read, and their faults show only then. Whoever reads uids
// therefore looks at the error.
//
// The zero Pack is the empty set. A Pack doesn't change and may be read by any
// number of goroutines, as long as the bytes that it aliases stay as they are.
type Pack struct {
	raw []byte // holds the differences of every block
	// Most lists have one block; it is kept apart from the rest so that those
	// need no slice.
	first blockRef
	rest  []blockRef
	n     int
}

// blockRef finds a block.
type blockRef struct {
	base   uint64 // the first uid
	num    uint32 // the number of uids; 0 only in the zero Pack
	at, to uint32 // the differences are raw[at:to]
}

const (
	// BlockUIDs is the number of uids in a full block that is written. What is
	// read may have other sizes.
	BlockUIDs = 256

	tagPackBlockSize = 1<<3 | wireVarint
	tagPackBlock     = 2<<3 | wireBytes

	tagBlockBase   = 1<<3 | wireVarint
	tagBlockDeltas = 2<<3 | wireBytes
	tagBlockNum    = 3<<3 | wireVarint

	// maxPack is the most bytes that 32-bit offsets reach.
	maxPack = math.MaxUint32
)

// DecodePack reads the headers of a UidPack message, which the result aliases.
// An error wraps ErrBadValue and says what is wrong and at which byte.
func DecodePack(msg []byte) (Pack, error) {
	var p Pack
	r := newReader(msg)
	r.packBody(&p)
	if r.err != nil {
		return Pack{}, r.err
	}
	return p, nil
}

// pack reads a pack's length and message.
func (r *reader) pack(p *Pack) {
	outer := r.enter()
	r.packBody(p)
	r.leave(outer)
}

func (r *reader) packBody(p *Pack) {
	begin := r.pos
	if uint64(r.end-begin) > maxPack {
		r.fail(begin, "pack of %d bytes", r.end-begin)
		return
	}
	p.raw = r.b[begin:r.end]
	for r.more() {
		switch tag := r.tag(); tag {
		case tagPackBlockSize:
			r.uvarint() // says nothing that the blocks don't say themselves
		case tagPackBlock:
			r.block(p, begin)
		default:
			r.skip(tag, packFields)
		}
	}
}

// block reads a block's header. The differences are not looked at, but there
// are enough of them for the number of uids that is stated, so that nobody
// makes room for uids that are not there.
func (r *reader) block(p *Pack, begin int) {
	at := r.pos
	ref := blockRef{}
	num := uint64(0)
	outer := r.enter()
	for r.more() {
		switch tag := r.tag(); tag {
		case tagBlockBase:
			ref.base = r.uvarint()
		case tagBlockDeltas:
			n := len(r.bytes())
			ref.at, ref.to = uint32(r.pos-n-begin), uint32(r.pos-begin)
		case tagBlockNum:
			num = r.uvarint()
		default:
			r.skip(tag, blockFields)
		}
	}
	size := uint64(ref.to - ref.at)
	last, ok := p.lastBlock()
	switch {
	case r.err != nil:
	case num == 0:
		r.fail(at, "block without uids")
	case num > 1 && (num-1 > size || (num+2)/4 > size/minGroup):
		r.fail(at, "%d uids in a block with %d bytes of differences", num, size)
	case ok && ref.base <= last.base:
		r.fail(at, "block from uid 0x%x after one from 0x%x", ref.base, last.base)
	default:
		ref.num = uint32(num)
		p.addBlock(ref)
	}
	r.leave(outer)
}

func (p *Pack) addBlock(ref blockRef) {
	if p.n == 0 {
		p.first = ref
	} else {
		p.rest = append(p.rest, ref)
	}
	p.n += int(ref.num)
}

func (p *Pack) lastBlock() (ref blockRef, ok bool) {
	n := p.Blocks()
	if n == 0 {
		return blockRef{}, false
	}
	return *p.block(n - 1), true
}

func (p *Pack) block(i int) *blockRef {
	if i == 0 {
		return &p.first
	}
	return &p.rest[i-1]
}

// Len is the number of uids.
func (p *Pack) Len() int { return p.n }

// Blocks is the number of blocks.
func (p *Pack) Blocks() int {
	if p.n == 0 {
		return 0
	}
	return 1 + len(p.rest)
}

// Base is the first uid of block i, which is at least 0 and below Blocks.
func (p *Pack) Base(i int) uint64 { return p.block(i).base }

// Slice is the pack of the blocks from i up to j, without j. It aliases p.
func (p *Pack) Slice(i, j int) Pack {
	if i >= j {
		return Pack{}
	}
	s := Pack{raw: p.raw, first: *p.block(i), rest: p.rest[i : j-1 : j-1], n: int(p.block(i).num)}
	for k := range s.rest {
		s.n += int(s.rest[k].num)
	}
	return s
}

// limit is the greatest uid that block i may hold.
func (p *Pack) limit(i int) uint64 {
	if i+1 < p.Blocks() {
		return p.block(i+1).base - 1
	}
	return math.MaxUint64
}

// AppendBlock appends the uids of block i to dst, ascending. On an error, which
// wraps ErrBadValue, dst comes back as it was.
func (p *Pack) AppendBlock(dst []uint64, i int) ([]uint64, error) {
	ref, old := p.block(i), len(dst)
	dst = append(slices.Grow(dst, int(ref.num)+3), ref.base)
	g := p.groups(i)
	for g.left > 0 {
		// The last group may hold fewer uids than four, so room for three more
		// was made.
		at := len(dst)
		n := g.next((*[4]uint64)(dst[at : at+4][:4]))
		if n == 0 {
			return dst[:old], p.blockError(i)
		}
		dst = dst[:at+n]
	}
	if !g.done() {
		return dst[:old], p.blockError(i)
	}
	return dst, nil
}

func (p *Pack) groups(i int) groupReader {
	ref := p.block(i)
	g := groupReader{b: p.raw[ref.at:ref.to], last: ref.base, left: int(ref.num) - 1, limit: p.limit(i)}
	if ref.num == 1 && len(g.b) > 0 && len(g.b) == groupLen(g.b[0]) {
		g.b = nil // the group of a block of one uid says nothing
	}
	return g
}

// blockError is about a block whose differences can't be read.
func (p *Pack) blockError(i int) error {
	ref := p.block(i)
	return fmt.Errorf("%w: block %d from uid 0x%x: its %d bytes of differences do not give %d ascending uids up to 0x%x",
		ErrBadValue, i, ref.base, ref.to-ref.at, ref.num, p.limit(i))
}

// AppendUIDs appends all uids to dst, ascending. On an error, which wraps
// ErrBadValue, dst comes back as it was.
func (p *Pack) AppendUIDs(dst []uint64) ([]uint64, error) {
	old := len(dst)
	dst = slices.Grow(dst, p.n+3)
	for i := range p.Blocks() {
		var err error
		if dst, err = p.AppendBlock(dst, i); err != nil {
			return dst[:old], err
		}
	}
	return dst, nil
}

// Contains tells whether uid is in the pack. It decodes part of one block. The
// error wraps ErrBadValue.
func (p *Pack) Contains(uid uint64) (bool, error) {
	it := p.Iter()
	it.Seek(uid)
	found, ok := it.Next()
	return ok && found == uid, it.Err()
}

// Check decodes every block and returns the first fault, which wraps
// ErrBadValue.
func (p *Pack) Check() error {
	var buf []uint64
	for i := range p.Blocks() {
		var err error
		if buf, err = p.AppendBlock(buf[:0], i); err != nil {
			return err
		}
	}
	return nil
}

// find is the block that holds uid if any does: the last that begins at or
// below it, or the first.
func (p *Pack) find(uid uint64) int {
	return sort.Search(len(p.rest), func(i int) bool { return p.rest[i].base > uid })
}

// Iter begins a walk at the first uid.
func (p *Pack) Iter() PackIter { return PackIter{pack: p, block: -1} }

// PackIter walks a pack's uids in ascending order, and decodes no more of it
// than the walk comes to. It allocates nothing and belongs to one goroutine.
type PackIter struct {
	pack  *Pack
	block int // the block that groups reads from; -1 before the first
	// uids[at:n] are decoded and not yet given.
	uids   [4]uint64
	at, n  int
	groups groupReader
	err    error
}

// Next gives the next uid. At the end, and after a fault, ok is false.
func (it *PackIter) Next() (uid uint64, ok bool) {
	if it.at == it.n && !it.fill() {
		return 0, false
	}
	uid = it.uids[it.at]
	it.at++
	return uid, true
}

// Err is the fault that ended the walk, nil if there was none. It wraps
// ErrBadValue.
func (it *PackIter) Err() error { return it.err }

// fill decodes the next group of the block, or opens the next block.
func (it *PackIter) fill() bool {
	switch {
	case it.err != nil:
		return false
	case it.groups.left > 0:
		it.at, it.n = 0, it.groups.next(&it.uids)
		if it.n == 0 {
			return it.fault()
		}
	case it.block >= 0 && !it.groups.done():
		return it.fault()
	case it.block+1 >= it.pack.Blocks():
		return false
	default:
		it.open(it.block + 1)
	}
	return true
}

func (it *PackIter) fault() bool {
	it.err = it.pack.blockError(it.block)
	it.at, it.n = 0, 0
	return false
}

func (it *PackIter) open(i int) {
	it.block, it.groups = i, it.pack.groups(i)
	it.uids[0], it.at, it.n = it.pack.block(i).base, 0, 1
}

// Seek moves to where Next gives the first uid that is at least uid. It goes
// forwards and backwards; a short way forwards costs least.
func (it *PackIter) Seek(uid uint64) {
	if it.err != nil || it.pack.n == 0 {
		return
	}
	if i := it.pack.find(uid); i != it.block || it.at == it.n || it.uids[it.at] > uid {
		it.open(i)
	}
	// Whole groups below uid are passed over by their last uid alone.
	for it.uids[it.n-1] < uid {
		if !it.fill() {
			it.at = it.n
			return
		}
	}
	for it.uids[it.at] < uid {
		it.at++
	}
}
