package ingest

import (
	"fmt"
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/edgemill/edgemill/mutation"
	"github.com/edgemill/edgemill/posting"
	"github.com/edgemill/edgemill/schema/value"
)

// AppendNQuad appends an edge as one line of N-Quads, its line end included,
// that a Parser reads back to the same edge (a delete, within a delete block):
// uids in hex, values of a type other than value.Default with their datatype,
// facets behind. A namespace other than 0 is written as the graph label, as
// Dgraph's exports do; readers drop it.
//
// A value with a language tag is read back as a string, and one of type
// value.String carries its datatype: a caller that knows the predicate to be of
// type string may pass value.Default for a shorter line.
//
// What N-Quads can't say is an error, which names the subject and the
// predicate: bytes that are not UTF-8, a value that its type doesn't read, a tag
// that is none. dst is then given back as it was.
func AppendNQuad(dst []byte, e *mutation.Edge, namespace uint64) ([]byte, error) {
	out, err := appendStatement(dst, e, namespace)
	if err != nil {
		return dst, fmt.Errorf("subject %#x, predicate %q: %w", e.Subject, e.Predicate, err)
	}
	return append(out, " .\n"...), nil
}

func appendStatement(dst []byte, e *mutation.Edge, namespace uint64) ([]byte, error) {
	dst, err := appendUID(dst, e.Subject)
	if err != nil {
		return dst, err
	}
	if dst, err = appendPredicate(append(dst, ' '), e); err != nil {
		return dst, err
	}
	if dst, err = appendObject(append(dst, ' '), e); err != nil {
		return dst, err
	}
	if namespace != 0 {
		dst = appendHex(append(dst, ' '), namespace)
	}
	return appendFacets(dst, e.Facets)
}

func appendUID(dst []byte, uid uint64) ([]byte, error) {
	if uid == 0 || uid > maxUID {
		return dst, fmt.Errorf("uid %#x: %w", uid, errUIDRange)
	}
	return appendHex(dst, uid), nil
}

func appendHex(dst []byte, n uint64) []byte {
	return append(strconv.AppendUint(append(dst, "<0x"...), n, 16), '>')
}

func appendPredicate(dst []byte, e *mutation.Edge) ([]byte, error) {
	star := e.Object == mutation.ObjectStar
	switch {
	case star && e.Predicate == mutation.StarPredicate && e.Lang == "":
		return append(dst, '*'), nil
	case e.Predicate == "" || e.Predicate == mutation.StarPredicate:
		return dst, fmt.Errorf("no predicate's name")
	case !utf8.ValidString(e.Predicate):
		return dst, fmt.Errorf("the predicate is not valid UTF-8")
	case star && e.Lang == "" && lastAt(e.Predicate) >= 0:
		return dst, fmt.Errorf("the star of a predicate with an @ would be a language's")
	}
	dst = appendIRIText(append(dst, '<'), e.Predicate)
	if star && e.Lang != "" {
		var err error
		if dst, err = appendTag(dst, e.Lang); err != nil {
			return dst, err
		}
	}
	return append(dst, '>'), nil
}

// appendIRIText writes what may not stand in an IRI as \uXXXX. All of these are
// ASCII.
func appendIRIText(dst []byte, s string) []byte {
	for i := range len(s) {
		if classes[s[i]]&inIRI != 0 {
			dst = append(dst, s[i])
		} else {
			dst = appendEscape(dst, s[i])
		}
	}
	return dst
}

func appendEscape(dst []byte, c byte) []byte {
	const digits = "0123456789ABCDEF"
	return append(dst, '\\', 'u', '0', '0', digits[c>>4], digits[c&15])
}

func appendTag(dst []byte, tag string) ([]byte, error) {
	if n := langLength(tag); n == 0 || n != len(tag) {
		return dst, fmt.Errorf("language tag %q can't be written in N-Quads", tag)
	}
	return append(append(dst, '@'), tag...), nil
}

func appendObject(dst []byte, e *mutation.Edge) ([]byte, error) {
	switch e.Object {
	case mutation.ObjectStar:
		return append(dst, '*'), nil
	case mutation.ObjectUID:
		return appendUID(dst, e.Target)
	}
	dst, err := appendLiteral(dst, e.Value)
	if err != nil || e.Lang == "" {
		return appendDatatype(dst, e.Value.Type, err)
	}
	if t := e.Value.Type; t != value.String && t != value.Default {
		return dst, fmt.Errorf("a language tag on a value of type %s", t)
	}
	return appendTag(dst, e.Lang)
}

func appendDatatype(dst []byte, t value.Type, err error) ([]byte, error) {
	if err != nil {
		return dst, err
	}
	name, ok := datatypeOf(t)
	if !ok {
		return dst, fmt.Errorf("a value of type %s can't be written in N-Quads", t)
	}
	if name == "" {
		return dst, nil
	}
	return append(append(append(dst, "^^<"...), name...), '>'), nil
}

// appendLiteral writes a value's text in quotes. The text of a password in a
// delete may be plain.
func appendLiteral(dst []byte, v value.Value) ([]byte, error) {
	switch v.Type {
	case value.Default, value.String, value.Password:
		return appendQuoted(dst, v.Data)
	}
	var small [64]byte
	text, err := v.AppendLiteral(small[:0])
	if err != nil {
		return dst, err
	}
	return appendQuoted(dst, text)
}

func appendQuoted(dst, text []byte) ([]byte, error) {
	if !utf8.Valid(text) {
		return dst, fmt.Errorf("a text that is not valid UTF-8")
	}
	dst = append(dst, '"')
	for _, c := range text {
		switch {
		case c >= ' ' && c != '"' && c != '\\' && c != 0x7f:
			dst = append(dst, c)
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c == '\n':
			dst = append(dst, `\n`...)
		case c == '\r':
			dst = append(dst, `\r`...)
		case c == '\t':
			dst = append(dst, `\t`...)
		default:
			dst = appendEscape(dst, c)
		}
	}
	return append(dst, '"'), nil
}

func appendFacets(dst []byte, fs []mutation.Facet) ([]byte, error) {
	if len(fs) == 0 {
		return dst, nil
	}
	dst = append(dst, " ("...)
	for i := range fs {
		if i > 0 {
			dst = append(dst, ", "...)
		}
		var err error
		if dst, err = appendFacet(dst, &fs[i]); err != nil {
			return dst, fmt.Errorf("facet %q: %w", fs[i].Key, err)
		}
	}
	return append(dst, ')'), nil
}

func appendFacet(dst []byte, f *mutation.Facet) ([]byte, error) {
	dst, err := appendFacetKey(dst, f.Key)
	if err != nil {
		return dst, err
	}
	return appendFacetValue(append(dst, '='), f)
}

func appendFacetKey(dst []byte, key string) ([]byte, error) {
	if key == "" {
		return dst, fmt.Errorf("the key is empty")
	}
	for i := range len(key) {
		if classes[key[i]]&inFacetKey == 0 {
			return appendQuoted(dst, []byte(key))
		}
	}
	if !utf8.ValidString(key) {
		return dst, fmt.Errorf("the key is not valid UTF-8")
	}
	return append(dst, key...), nil
}

func appendFacetValue(dst []byte, f *mutation.Facet) ([]byte, error) {
	v := value.Value{Data: f.Value}
	switch f.Type {
	case posting.FacetString:
		return appendQuoted(dst, f.Value)
	case posting.FacetInt:
		v.Type = value.Int
	case posting.FacetFloat:
		return appendFacetFloat(dst, f.Value)
	case posting.FacetBool:
		v.Type = value.Bool
	case posting.FacetDateTime:
		v.Type = value.DateTime
	default:
		return dst, fmt.Errorf("unknown type %d", f.Type)
	}
	return v.AppendLiteral(dst)
}

// appendFacetFloat writes a float so that it is not read as an int.
func appendFacetFloat(dst, data []byte) ([]byte, error) {
	n, err := value.Value{Type: value.Float, Data: data}.Float64()
	if err != nil {
		return dst, err
	}
	if n == math.Trunc(n) && math.Abs(n) < 1e15 {
		return strconv.AppendFloat(dst, n, 'f', 1, 64), nil
	}
	return strconv.AppendFloat(dst, n, 'g', -1, 64), nil
}
