package posting

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"
)

// FacetType is the type of a facet's value. The numbers are those of the
// stored form and differ from value.Type's.
type FacetType uint8

const (
	// FacetString is UTF-8 text.
	FacetString FacetType = 0
	// FacetInt is an int64, 8 bytes little-endian.
	FacetInt FacetType = 1
	// FacetFloat is an IEEE 754 double, 8 bytes little-endian.
	FacetFloat FacetType = 2
	// FacetBool is one byte, 0 or 1.
	FacetBool FacetType = 3
	// FacetDateTime is what time.Time's MarshalBinary gives.
	FacetDateTime FacetType = 4
)

// ErrBadFacet is wrapped by the errors of AppendFacets.
var ErrBadFacet = errors.New("bad facet")

// Facet is a key and a typed value on an edge.
type Facet struct {
	// Key is not empty and valid UTF-8.
	Key  string
	Type FacetType
	// Value is the stored form of the value type of the same name.
	Value []byte
	// Tokens are the term tokens of a string, each with its identifier byte,
	// sorted. Facets of other types have none.
	Tokens []string
}

const (
	tagFacetKey   = 1<<3 | wireBytes
	tagFacetValue = 2<<3 | wireBytes
	tagFacetType  = 3<<3 | wireVarint
	tagFacetToken = 4<<3 | wireBytes
)

// AppendFacets appends the wire form of the facets of one posting, which
// Posting.Facets holds: records of the posting's field 9, in the order of the
// keys. The slice fs stays as it is. A key that is empty, repeated or not valid
// UTF-8 is an error, and so are an unknown type and a token that is not valid
// UTF-8; dst is then returned as it was.
func AppendFacets(dst []byte, fs []Facet) ([]byte, error) {
	var few [16]int
	order := few[:0]
	for i := range fs {
		if err := fs[i].check(); err != nil {
			return dst, err
		}
		order = append(order, i)
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(fs[a].Key, fs[b].Key) })
	for i := 1; i < len(order); i++ {
		if key := fs[order[i]].Key; key == fs[order[i-1]].Key {
			return dst, fmt.Errorf("%w %q: the key is there twice", ErrBadFacet, key)
		}
	}
	for _, i := range order {
		dst = appendFacet(dst, &fs[i])
	}
	return dst, nil
}

func (f *Facet) check() error {
	switch {
	case f.Key == "":
		return fmt.Errorf("%w: empty key", ErrBadFacet)
	case !utf8.ValidString(f.Key):
		return fmt.Errorf("%w %q: the key is not valid UTF-8", ErrBadFacet, f.Key)
	case f.Type > FacetDateTime:
		return fmt.Errorf("%w %q: unknown type %d", ErrBadFacet, f.Key, f.Type)
	}
	for _, t := range f.Tokens {
		if !utf8.ValidString(t) {
			return fmt.Errorf("%w %q: the token %q is not valid UTF-8", ErrBadFacet, f.Key, t)
		}
	}
	return nil
}

func facetBody(f *Facet) int {
	n := bytesLen(len(f.Key)) + bytesLen(len(f.Value)) + varintLen(uint64(f.Type))
	for _, t := range f.Tokens {
		n += 1 + uvarintLen(uint64(len(t))) + len(t)
	}
	return n
}

func appendFacet(dst []byte, f *Facet) []byte {
	body := facetBody(f)
	dst = slices.Grow(dst, bytesLen(body))
	dst = binary.AppendUvarint(append(dst, tagFacet), uint64(body))
	dst = appendText(dst, tagFacetKey, f.Key)
	if len(f.Value) > 0 {
		dst = binary.AppendUvarint(append(dst, tagFacetValue), uint64(len(f.Value)))
		dst = append(dst, f.Value...)
	}
	if f.Type != 0 {
		dst = append(dst, tagFacetType, byte(f.Type))
	}
	for _, t := range f.Tokens {
		dst = appendText(dst, tagFacetToken, t)
	}
	return dst
}

// appendText appends a text field, also an empty one: an element of a repeated
// field is never left out.
func appendText(dst []byte, tag byte, s string) []byte {
	dst = binary.AppendUvarint(append(dst, tag), uint64(len(s)))
	return append(dst, s...)
}

// DecodeFacets reads the wire form that AppendFacets gives, and nothing that
// AppendFacets would not give back: keys that are not in order are an error,
// since readers look keys up by halving. The values of the result alias raw. An
// error wraps ErrBadValue and says what is wrong and at which byte of raw.
func DecodeFacets(raw []byte) ([]Facet, error) {
	var fs []Facet
	r := newReader(raw)
	for r.more() {
		at := r.pos
		if tag := r.tag(); tag != tagFacet {
			r.fail(at, "tag %d is no facet's", tag)
			break
		}
		fs = append(fs, Facet{})
		f := &fs[len(fs)-1]
		r.facet(f)
		if err := f.check(); err != nil {
			r.fail(at, "%v", err)
		} else if n := len(fs); n > 1 && f.Key <= fs[n-2].Key {
			r.fail(at, "facet %q after %q", f.Key, fs[n-2].Key)
		}
	}
	if r.err != nil {
		return nil, r.err
	}
	return fs, nil
}

func (r *reader) facet(f *Facet) {
	outer := r.enter()
	for r.more() {
		switch tag := r.tag(); tag {
		case tagFacetKey:
			f.Key = string(r.bytes())
		case tagFacetValue:
			f.Value = r.bytes()
		case tagFacetType:
			f.Type = FacetType(r.enum("facet type", uint64(FacetDateTime)))
		case tagFacetToken:
			f.Tokens = append(f.Tokens, string(r.bytes()))
		default:
			r.skip(tag, facetFields)
		}
	}
	r.leave(outer)
}
