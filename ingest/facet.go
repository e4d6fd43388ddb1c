package ingest

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/edgemill/edgemill/mutation"
	"github.com/edgemill/edgemill/posting"
	"github.com/edgemill/edgemill/schema/value"
)

// ParseFacet reads a facet's value as it stands in N-Quads between = and the
// comma. In quotes it is a string, with the escapes of a literal. Without, it is
// tried as an int (decimal, or 0x and hexadecimal digits), a float, true or
// false, a datetime, in that order; else, and for NaN, there is an error.
// Nothing at all is the empty string.
func ParseFacet(key, text string) (mutation.Facet, error) {
	text = strings.TrimSpace(text)
	if !strings.HasPrefix(text, `"`) {
		t, v, err := bareFacet(text)
		return mutation.Facet{Key: key, Type: t, Value: v}, err
	}
	r := nquadReader{Parser: &Parser{}, place: place{file: "facet " + key, line: 1, data: []byte(text)}}
	if err := checkUTF8(r.place); err != nil {
		return mutation.Facet{}, err
	}
	v, err := r.quoted()
	if err == nil && r.pos < len(r.data) {
		err = r.fail("more after the closing quote")
	}
	return mutation.Facet{Key: key, Type: posting.FacetString, Value: v}, err
}

// bareFacet reads a facet's value that has no quotes.
func bareFacet(text string) (posting.FacetType, []byte, error) {
	if text == "" {
		return posting.FacetString, nil, nil
	}
	if n, ok := facetInt(text); ok {
		return posting.FacetInt, value.AppendInt(nil, n), nil
	}
	if f, err := strconv.ParseFloat(text, 64); err == nil && !math.IsNaN(f) && !strings.Contains(text, "_") {
		return posting.FacetFloat, value.AppendFloat(nil, f), nil
	}
	if text == "true" || text == "false" {
		return posting.FacetBool, value.AppendBool(nil, text == "true"), nil
	}
	v, err := value.Parse(value.DateTime, text)
	if err != nil {
		return 0, nil, fmt.Errorf("facet value %q is no int, float, bool or datetime; a string stands in quotes", text)
	}
	return posting.FacetDateTime, v.Data, nil
}

// facetInt reads a decimal or 0x number; leading zeros make no octal of it.
func facetInt(text string) (int64, bool) {
	base, digits := 10, text
	unsigned := strings.TrimLeft(text, "+-")
	if len(text)-len(unsigned) <= 1 && strings.HasPrefix(unsigned, "0x") {
		base, digits = 16, text[:len(text)-len(unsigned)]+unsigned[2:]
		if !isHex(unsigned[2:]) {
			return 0, false
		}
	}
	n, err := strconv.ParseInt(digits, base, 64)
	return n, err == nil
}

func isHex(s string) bool {
	for i := range len(s) {
		if _, ok := hexDigit(s[i]); !ok {
			return false
		}
	}
	return s != ""
}

// readFacets reads the facets of a statement, from ( to ). In a delete they say
// nothing, and are read and dropped.
func (r *nquadReader) readFacets(q *Quad) error {
	if q.Object == mutation.ObjectStar {
		return r.fail("facets on a star")
	}
	r.pos++
	r.pending = r.pending[:0]
	r.skipSpace()
	for r.peek() != ')' {
		if err := r.facet(); err != nil {
			return err
		}
		if r.peek() != ',' {
			break
		}
		r.pos++
		if r.skipSpace(); r.peek() == ')' {
			return r.expected("a facet's key")
		}
	}
	if r.peek() != ')' {
		return r.expected("a comma or ) in facets")
	}
	r.pos++
	r.skipSpace()
	if q.Op == mutation.Set {
		q.Facets = r.facets.copy(r.pending)
	}
	return nil
}

// facet reads `key=value` and the space around it.
func (r *nquadReader) facet() error {
	start := r.pos
	key, err := r.facetKey()
	if err != nil {
		return err
	}
	for i := range r.pending {
		if r.pending[i].Key == key {
			return r.errorAt(start, nil, "facet %s stands there twice", key)
		}
	}
	r.skipSpace()
	if r.peek() != '=' {
		return r.expected("= after a facet's key")
	}
	r.pos++
	r.skipSpace()
	f := mutation.Facet{Key: key}
	if f.Type, f.Value, err = r.facetValue(); err != nil {
		return err
	}
	r.pending = append(r.pending, f)
	r.skipSpace()
	return nil
}

// facetKey reads a key: characters without white space, or a quoted string
// (which a key that Dgraph's JSON made may need).
func (r *nquadReader) facetKey() (string, error) {
	start := r.pos
	if r.peek() == '"' {
		key, err := r.quoted()
		if err == nil && len(key) == 0 {
			err = r.errorAt(start, nil, "an empty facet key")
		}
		return string(key), err
	}
	for r.pos < len(r.data) && classes[r.data[r.pos]]&inFacetKey != 0 {
		r.pos++
	}
	if r.pos == start {
		return "", r.expected("a facet's key")
	}
	return r.keys.string(r.data[start:r.pos]), nil
}

func (r *nquadReader) facetValue() (posting.FacetType, []byte, error) {
	if r.peek() == '"' {
		v, err := r.quoted()
		return posting.FacetString, v, err
	}
	start := r.pos
	n := bytes.IndexAny(r.data[start:], ",)\r\n")
	if n < 0 {
		n = len(r.data) - start
	}
	r.pos += n
	t, v, err := bareFacet(string(bytes.TrimRight(r.data[start:start+n], " \t")))
	if err != nil {
		return t, nil, r.errorAt(start, nil, "%v", err)
	}
	return t, v, nil
}
