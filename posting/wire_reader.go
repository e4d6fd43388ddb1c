package posting

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/edgemill/edgemill/schema/value"
)

// reader takes protobuf messages apart where they lie: what it returns aliases
// b, and positions in errors count from the start of b, also inside nested
// messages. The first fault is kept in err; after it every method returns zero
// and end is pulled in so that loops over a message end.
type reader struct {
	b        []byte
	pos, end int
	err      error
}

func newReader(b []byte) reader { return reader{b: b, end: len(b)} }

func (r *reader) more() bool { return r.pos < r.end }

// fail keeps the first fault; at is where it is.
func (r *reader) fail(at int, format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf("%w: byte %d: %s", ErrBadValue, at, fmt.Sprintf(format, args...))
	}
	r.end = r.pos
}

func (r *reader) uvarint() uint64 {
	if r.pos < r.end {
		if c := r.b[r.pos]; c < 0x80 {
			r.pos++
			return uint64(c)
		}
	}
	return r.longUvarint()
}

func (r *reader) longUvarint() uint64 {
	v, n := binary.Uvarint(r.b[r.pos:r.end])
	switch {
	case n == 0:
		r.fail(r.pos, "number cut short")
		return 0
	case n < 0:
		r.fail(r.pos, "number of more than 64 bits")
		return 0
	}
	r.pos += n
	return v
}

// enum reads a varint that is at most limit.
func (r *reader) enum(what string, limit uint64) uint8 {
	at := r.pos
	v := r.uvarint()
	if v > limit {
		r.fail(at, "%s %d", what, v)
		return 0
	}
	return uint8(v)
}

func (r *reader) fixed64() uint64 {
	if r.end-r.pos < 8 {
		r.fail(r.pos, "8-byte number in the %d bytes left", r.end-r.pos)
		return 0
	}
	r.pos += 8
	return binary.LittleEndian.Uint64(r.b[r.pos-8:])
}

// length reads the length of what follows and makes sure that it is there.
func (r *reader) length() int {
	at := r.pos
	n := r.uvarint()
	if left := uint64(r.end - r.pos); n > left {
		r.fail(at, "length %d in the %d bytes left", n, left)
		return 0
	}
	return int(n)
}

func (r *reader) bytes() []byte {
	n := r.length()
	r.pos += n
	return r.b[r.pos-n : r.pos : r.pos]
}

// enter begins a nested message and returns the end of the outer one, which
// leave takes back.
func (r *reader) enter() (outer int) {
	n := r.length()
	outer = r.end
	if r.err == nil {
		r.end = r.pos + n
	}
	return outer
}

func (r *reader) leave(outer int) {
	if r.err == nil {
		r.end = outer
	}
}

// tag reads the next field's tag. Numbers are at most 29 bits, by protobuf's
// rules.
func (r *reader) tag() uint64 {
	if r.pos < r.end {
		if c := r.b[r.pos]; 1<<3 <= c && c < 0x80 {
			r.pos++
			return uint64(c)
		}
	}
	return r.longTag()
}

func (r *reader) longTag() uint64 {
	at := r.pos
	tag := r.longUvarint()
	if num := tag >> 3; num == 0 || num > 1<<29-1 {
		r.fail(at, "field number %d", num)
	}
	return tag
}

// fieldSet is the numbers of a message's fields, a bit each.
type fieldSet uint32

const (
	listFields    fieldSet = 1<<1 | 1<<2 | 1<<3 | 1<<4
	packFields    fieldSet = 1<<1 | 1<<2
	blockFields   fieldSet = 1<<1 | 1<<2 | 1<<3
	postingFields fieldSet = 1<<1 | 1<<2 | 1<<3 | 1<<4 | 1<<5 | 1<<9 | 1<<12 | 1<<13 | 1<<14
	facetFields   fieldSet = 1<<1 | 1<<2 | 1<<3 | 1<<4
)

// skip passes over a field that the caller's switch did not take: one that is
// not known, as later versions of a message may have. A known number with
// another wire type is a fault.
func (r *reader) skip(tag uint64, known fieldSet) {
	if r.err != nil {
		return
	}
	num, wire := tag>>3, tag&7
	if num < 32 && known>>num&1 != 0 {
		r.fail(r.pos, "field %d with wire type %d", num, wire)
		return
	}
	switch wire {
	case wireVarint:
		r.uvarint()
	case wireFixed64:
		r.fixed64()
	case wireBytes:
		r.bytes()
	case wireFixed32:
		if r.end-r.pos < 4 {
			r.fail(r.pos, "4-byte number in the %d bytes left", r.end-r.pos)
			return
		}
		r.pos += 4
	default:
		r.fail(r.pos, "field %d with wire type %d", num, wire)
	}
}

// posting reads a posting's length and message into *p.
func (r *reader) posting(p *Posting) {
	*p = Posting{}
	at := r.pos
	outer := r.enter()
	hasUID := false
	facets := span{}
	for r.more() {
		start := r.pos
		switch tag := r.tag(); tag {
		case tagUID:
			p.UID, hasUID = r.fixed64(), true
		case tagValue:
			p.Value = r.bytes()
		case tagValType:
			p.ValType = value.Type(r.enum("value type", math.MaxInt8))
		case tagType:
			p.Type = PostingType(r.enum("posting type", uint64(PostingValueLang)))
		case tagLang:
			p.Lang = r.bytes()
		case tagFacet:
			r.bytes()
			p.Facets = facets.extend(r.b, p.Facets, start, r.pos)
		case tagOp:
			p.Op = Op(r.enum("op", uint64(OpOverwrite)))
		case tagStartTS:
			p.StartTS = r.uvarint()
		case tagCommitTS:
			p.CommitTS = r.uvarint()
		default:
			r.skip(tag, postingFields)
		}
	}
	if r.err == nil && !hasUID {
		r.fail(at, "posting without a uid")
	}
	r.leave(outer)
}

// span collects records that as a rule lie one behind the other.
type span struct {
	from, to int
}

// extend adds b[start:end] to what was collected before and returns all of it:
// a part of b where the records are neighbours, else a copy.
func (s *span) extend(b, before []byte, start, end int) []byte {
	switch {
	case len(before) == 0:
		*s = span{start, end}
	case s.to == start:
		s.to = end
	default:
		s.to = -1 // never a start: from here on there are copies
		return append(before[:len(before):len(before)], b[start:end]...)
	}
	return b[s.from:s.to:s.to]
}
