package posting

import (
	"encoding/binary"
	"errors"
	"math/bits"
	"slices"

	"github.com/edgemill/edgemill/schema/value"
)

// Op says what a posting does to its list.
type Op uint8

const (
	// OpSet adds the posting.
	OpSet Op = 1
	// OpDelete takes the posting with that uid away.
	OpDelete Op = 2
	// OpOverwrite replaces a posting that is there, in a list whose length is
	// counted.
	OpOverwrite Op = 3
)

// PostingType says what a posting stands for.
type PostingType uint8

const (
	// PostingRef is a uid.
	PostingRef PostingType = 0
	// PostingValue is a value.
	PostingValue PostingType = 1
	// PostingValueLang is a value with a language.
	PostingValueLang PostingType = 2
)

// DeleteAllUID is the uid of the delete-all marker, and of the posting of a
// value that has no language and stands alone.
const DeleteAllUID = ^uint64(0)

// starAll is the value that tells the delete-all marker.
const starAll = "_STAR_ALL"

// ErrBadValue is wrapped by every error about stored bytes that can't be read
// as what their key and their user-meta byte say they are.
var ErrBadValue = errors.New("malformed value")

// Posting is one entry of a list, as a message of the store has it. The slices
// of a decoded one alias the bytes that it was decoded from.
type Posting struct {
	UID     uint64
	Op      Op
	Type    PostingType
	ValType value.Type
	// Value is the stored form of a value, empty in a uid posting.
	Value []byte
	// Lang is the language tag, for PostingValueLang.
	Lang []byte
	// Facets is the wire form that AppendFacets gives, empty for none.
	Facets []byte
	// StartTS is the start timestamp of the transaction that wrote the posting.
	StartTS uint64
	// CommitTS is its commit timestamp; only complete lists have it.
	CommitTS uint64
}

// IsDeleteAll tells whether p is the marker that hides all earlier postings of
// its list. Readers of the format know it by its value, not by its uid.
func (p *Posting) IsDeleteAll() bool {
	return p.Op == OpDelete && string(p.Value) == starAll && len(p.Lang) == 0
}

// The tags of the fields, number<<3 | wire type. All that are written fit into
// one byte.
const (
	tagListPack     = 1<<3 | wireBytes
	tagListPosting  = 2<<3 | wireBytes
	tagListCommitTS = 3<<3 | wireVarint
	tagListSplits   = 4<<3 | wireBytes

	tagUID      = 1<<3 | wireFixed64
	tagValue    = 2<<3 | wireBytes
	tagValType  = 3<<3 | wireVarint
	tagType     = 4<<3 | wireVarint
	tagLang     = 5<<3 | wireBytes
	tagFacet    = 9<<3 | wireBytes
	tagOp       = 12<<3 | wireVarint
	tagStartTS  = 13<<3 | wireVarint
	tagCommitTS = 14<<3 | wireVarint
)

const (
	wireVarint  = 0
	wireFixed64 = 1
	wireBytes   = 2
	wireFixed32 = 5
)

// uvarintLen is the length in bytes of v as a varint.
func uvarintLen(v uint64) int {
	// A byte carries 7 bits: (bits+6)/7, which for 1 to 64 bits is the same as
	// a multiplication and a shift.
	return int(9*uint32(bits.Len64(v|1))+64) / 64
}

// bytesLen is the length of a field of n bytes with a one-byte tag; an empty
// one is left out.
func bytesLen(n int) int {
	if n == 0 {
		return 0
	}
	return 1 + uvarintLen(uint64(n)) + n
}

// varintLen is the length of a varint field with a one-byte tag; a zero is
// left out.
func varintLen(v uint64) int {
	if v == 0 {
		return 0
	}
	return 1 + uvarintLen(v)
}

// putUvarint writes v at b[i:] and returns the index behind it.
func putUvarint(b []byte, i int, v uint64) int {
	for v >= 0x80 {
		b[i] = byte(v) | 0x80
		v >>= 7
		i++
	}
	b[i] = byte(v)
	return i + 1
}

func putVarintField(b []byte, i int, tag byte, v uint64) int {
	if v == 0 {
		return i
	}
	b[i] = tag
	return putUvarint(b, i+1, v)
}

func putBytesField(b []byte, i int, tag byte, v []byte) int {
	if len(v) == 0 {
		return i
	}
	b[i] = tag
	i = putUvarint(b, i+1, uint64(len(v)))
	return i + copy(b[i:], v)
}

// extend makes dst n bytes longer and returns it with its old length. It grows
// by no more than that where it must, so that a buffer whose size was computed
// beforehand is never left.
func extend(dst []byte, n int) (longer []byte, old int) {
	old = len(dst)
	return slices.Grow(dst, n)[:old+n], old
}

// postingBody is the length of p's message without tag and length.
func postingBody(p *Posting) int {
	return 1 + 8 + bytesLen(len(p.Value)) + varintLen(uint64(p.ValType)) + varintLen(uint64(p.Type)) +
		bytesLen(len(p.Lang)) + len(p.Facets) + varintLen(uint64(p.Op)) +
		varintLen(p.StartTS) + varintLen(p.CommitTS)
}

// PostingSize is the length in bytes of what AppendPosting appends.
func PostingSize(p *Posting) int { return bytesLen(postingBody(p)) }

// AppendPosting appends p as a record of a PostingList: the tag of field 2, the
// length, the message. Fields are in ascending order and those that are zero
// are left out, but for the uid. It allocates only where dst has no room for
// PostingSize(p) bytes.
func AppendPosting(dst []byte, p *Posting) []byte {
	body := postingBody(p)
	dst, i := extend(dst, bytesLen(body))
	dst[i] = tagListPosting
	i = putUvarint(dst, i+1, uint64(body))
	dst[i] = tagUID
	binary.LittleEndian.PutUint64(dst[i+1:], p.UID)
	i = putBytesField(dst, i+9, tagValue, p.Value)
	i = putVarintField(dst, i, tagValType, uint64(p.ValType))
	i = putVarintField(dst, i, tagType, uint64(p.Type))
	i = putBytesField(dst, i, tagLang, p.Lang)
	i += copy(dst[i:], p.Facets)
	i = putVarintField(dst, i, tagOp, uint64(p.Op))
	i = putVarintField(dst, i, tagStartTS, p.StartTS)
	putVarintField(dst, i, tagCommitTS, p.CommitTS)
	return dst
}

// RefPostingSize is the length in bytes of what AppendRefPosting appends.
func RefPostingSize(valType value.Type, op Op, startTS uint64) int {
	return 2 + refBody(valType, op, startTS)
}

// refBody is at most 9+3+3+11 bytes, so its length fits into one byte.
func refBody(valType value.Type, op Op, startTS uint64) int {
	return 9 + varintLen(uint64(valType)) + varintLen(uint64(op)) + varintLen(startTS)
}

// AppendRefPosting appends the posting of a uid that carries nothing else: the
// same bytes as AppendPosting, faster. The valType is value.UID in a data list,
// value.Default in a reverse, index or count list.
func AppendRefPosting(dst []byte, uid uint64, valType value.Type, op Op, startTS uint64) []byte {
	body := refBody(valType, op, startTS)
	dst, i := extend(dst, 2+body)
	b := dst[i:]
	b[0], b[1], b[2] = tagListPosting, byte(body), tagUID
	binary.LittleEndian.PutUint64(b[3:], uid)
	i = putVarintField(b, 11, tagValType, uint64(valType))
	i = putVarintField(b, i, tagOp, uint64(op))
	putVarintField(b, i, tagStartTS, startTS)
	return dst
}

func deleteAllMarker(startTS uint64) Posting {
	return Posting{UID: DeleteAllUID, Op: OpDelete, StartTS: startTS}
}

const starField = 1 + 1 + len(starAll)

// DeleteAllSize is the length in bytes of what AppendDeleteAll appends.
func DeleteAllSize(startTS uint64) int {
	p := deleteAllMarker(startTS)
	return PostingSize(&p) + starField
}

// AppendDeleteAll appends the delete-all marker as a record of a delta. It goes
// before all other postings, in spite of its uid.
func AppendDeleteAll(dst []byte, startTS uint64) []byte {
	dst = append(dst, tagListPosting, byte(DeleteAllSize(startTS)-2), tagUID)
	dst = binary.LittleEndian.AppendUint64(dst, DeleteAllUID)
	dst = append(dst, tagValue, byte(len(starAll)))
	dst = append(dst, starAll...)
	dst = append(dst, tagOp, byte(OpDelete))
	if startTS != 0 {
		dst = binary.AppendUvarint(append(dst, tagStartTS), startTS)
	}
	return dst
}
