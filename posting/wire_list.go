package posting

import (
	"encoding/binary"
	"slices"
	"sort"
)

// SplitSize is the encoded size in bytes from which on a complete list with
// more than one block is split.
const SplitSize = 512 << 10

// DecodePosting reads the first posting of a delta. What is left in rest
// begins with the next posting, or is empty after the last. The slices of p
// alias data. An error wraps ErrBadValue and says what is wrong and at which
// byte.
func DecodePosting(data []byte) (p Posting, rest []byte, err error) {
	r := newReader(data)
	if !r.nextPosting() {
		if r.err == nil {
			r.fail(r.pos, "a delta without a posting")
		}
		return Posting{}, nil, r.err
	}
	r.deltaPosting(&p)
	start := r.pos
	for r.more() {
		// A posting behind is left where it begins; what else stands there is
		// passed over, so that rest is empty behind the last posting.
		start = r.pos
		tag := r.tag()
		if tag == tagListPosting {
			break
		}
		r.deltaField(tag)
		start = r.pos
	}
	if r.err != nil {
		return Posting{}, nil, r.err
	}
	return p, data[start:], nil
}

// DecodeDelta appends the postings of a delta to dst, in the order in which
// they stand. Their slices alias data. An error wraps ErrBadValue.
func DecodeDelta(dst []Posting, data []byte) ([]Posting, error) {
	old := len(dst)
	r := newReader(data)
	for r.nextPosting() {
		dst = append(dst, Posting{})
		r.deltaPosting(&dst[len(dst)-1])
	}
	if r.err != nil {
		return dst[:old], r.err
	}
	return dst, nil
}

// nextPosting moves behind the tag of the next posting of a delta.
func (r *reader) nextPosting() bool {
	for r.more() {
		tag := r.tag()
		if tag == tagListPosting {
			return true
		}
		r.deltaField(tag)
	}
	return false
}

func (r *reader) deltaPosting(p *Posting) {
	at := r.pos
	r.posting(p)
	if r.err == nil && p.Op == 0 {
		r.fail(at, "posting of a delta without an op")
	}
}

// deltaField passes over a field of a delta that is no posting. A pack or
// splits would be lost in silence, since readers take a delta for a change.
func (r *reader) deltaField(tag uint64) {
	switch tag {
	case tagListCommitTS:
		r.uvarint()
	case tagListPack, tagListSplits:
		r.fail(r.pos, "a delta with field %d of a complete list", tag>>3)
	default:
		r.skip(tag, listFields)
	}
}

// Complete is what a complete list's message says. It is either the uids with
// the postings of those that carry more than a uid, or, at the main key of a
// list that was split, the start uids of the parts alone.
type Complete struct {
	Pack Pack
	// Postings are in ascending order of their uids.
	Postings []Posting
	// Splits are ascending.
	Splits []uint64
	// CommitTS is read but not written by those who follow the format: 0.
	CommitTS uint64
}

// DecodeList reads a complete list. The result aliases data. Of the pack only
// the headers are looked at: a fault within a block shows when the block is
// read, or in Pack.Check. An error wraps ErrBadValue and says what is wrong and
// at which byte.
func DecodeList(data []byte) (Complete, error) {
	var l Complete
	r := newReader(data)
	hasPack := false
	for r.more() {
		at := r.pos
		switch tag := r.tag(); tag {
		case tagListPack:
			if hasPack {
				r.fail(at, "a second pack")
			}
			r.pack(&l.Pack)
			hasPack = true
		case tagListPosting:
			l.Postings = append(l.Postings, Posting{})
			r.posting(&l.Postings[len(l.Postings)-1])
			r.ascending(at, l.Postings)
		case tagListCommitTS:
			l.CommitTS = r.uvarint()
		case tagListSplits:
			outer := r.enter()
			for r.more() {
				r.split(&l)
			}
			r.leave(outer)
		case tagListSplits&^7 | wireVarint: // one split that is not packed
			r.split(&l)
		default:
			r.skip(tag, listFields)
		}
	}
	if r.err != nil {
		return Complete{}, r.err
	}
	return l, nil
}

// ascending makes sure that the last posting's uid is greater than the one's
// before, as readers look uids up by halving.
func (r *reader) ascending(at int, ps []Posting) {
	n := len(ps)
	if n < 2 || r.err != nil || ps[n-2].UID < ps[n-1].UID {
		return
	}
	r.fail(at, "posting with uid 0x%x after 0x%x", ps[n-1].UID, ps[n-2].UID)
}

func (r *reader) split(l *Complete) {
	at := r.pos
	start := r.uvarint()
	if n := len(l.Splits); n > 0 && start <= l.Splits[n-1] {
		r.fail(at, "split at 0x%x after 0x%x", start, l.Splits[n-1])
	}
	l.Splits = append(l.Splits, start)
}

func splitsBody(splits []uint64) (n int) {
	for _, s := range splits {
		n += uvarintLen(s)
	}
	return n
}

// ListSize is the length in bytes of what AppendList appends.
func ListSize(l *Complete) int {
	n := l.Pack.Size() + varintLen(l.CommitTS) + bytesLen(splitsBody(l.Splits))
	for i := range l.Postings {
		n += PostingSize(&l.Postings[i])
	}
	return n
}

// AppendList appends a complete list's message. It allocates only where dst has
// no room for ListSize(l) bytes.
func AppendList(dst []byte, l *Complete) []byte {
	dst = l.Pack.Append(slices.Grow(dst, ListSize(l)))
	for i := range l.Postings {
		dst = AppendPosting(dst, &l.Postings[i])
	}
	if l.CommitTS != 0 {
		dst = binary.AppendUvarint(append(dst, tagListCommitTS), l.CommitTS)
	}
	if len(l.Splits) == 0 {
		return dst
	}
	dst = binary.AppendUvarint(append(dst, tagListSplits), uint64(splitsBody(l.Splits)))
	for _, s := range l.Splits {
		dst = binary.AppendUvarint(dst, s)
	}
	return dst
}

// Part is one part of a list that was split: the uids from Start up to the
// next part's start.
type Part struct {
	Start uint64
	List  Complete
}

// AppendParts appends the parts that l, whose first uid is at least start, is
// to be stored as: l alone if it is below SplitSize or has one block only, else
// its halves by blocks, each split further while it has to be. The parts alias
// l.
func AppendParts(dst []Part, start uint64, l Complete) []Part {
	blocks := l.Pack.Blocks()
	if blocks < 2 || ListSize(&l) < SplitSize {
		return append(dst, Part{Start: start, List: l})
	}
	mid := l.Pack.Base(blocks / 2)
	cut := sort.Search(len(l.Postings), func(i int) bool { return l.Postings[i].UID >= mid })
	low := Complete{Pack: l.Pack.Slice(0, blocks/2), Postings: l.Postings[:cut:cut]}
	high := Complete{Pack: l.Pack.Slice(blocks/2, blocks), Postings: l.Postings[cut:]}
	return AppendParts(AppendParts(dst, start, low), mid, high)
}
