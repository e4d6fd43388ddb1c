package ingest

import (
	"bytes"
	"strconv"
	"unicode/utf8"
)

type jsonKind uint8

const (
	jsonNull jsonKind = iota
	jsonFalse
	jsonTrue
	jsonNumber
	jsonString
	jsonArray
	jsonObject
)

func (k jsonKind) String() string {
	return [...]string{"null", "false", "true", "a number", "a string", "an array", "an object"}[k]
}

// jsonValue is a parsed JSON value (RFC 8259).
type jsonValue struct {
	kind jsonKind
	// from and to are where it stands in the data.
	from, to int
	// text is a string with its escapes resolved, or a number as it stands.
	text     []byte
	elements []jsonValue
	members  []jsonMember
	// index finds the members of a large object by key.
	index map[string]int
	// facets are the members `predicate|facet`, by predicate.
	facets map[string][]int
}

type jsonMember struct {
	key []byte
	// at is where the key stands in the data.
	at    int
	value jsonValue
}

// fewMembers is how many keys are compared one by one.
const fewMembers = 16

// member finds the value of a key; nil if there is none.
func (v *jsonValue) member(key []byte) *jsonValue {
	if v.index != nil {
		if i, ok := v.index[string(key)]; ok {
			return &v.members[i].value
		}
		return nil
	}
	for i := range v.members {
		if bytes.Equal(v.members[i].key, key) {
			return &v.members[i].value
		}
	}
	return nil
}

// add appends a member, whose key v doesn't have yet.
func (v *jsonValue) add(m jsonMember) {
	i := len(v.members)
	v.members = append(v.members, m)
	if v.index == nil && i >= fewMembers {
		v.index = make(map[string]int)
		for j := range v.members {
			v.index[string(v.members[j].key)] = j
		}
	} else if v.index != nil {
		v.index[string(m.key)] = i
	}
	if owner, _, ok := bytes.Cut(m.key, []byte{'|'}); ok {
		if v.facets == nil {
			v.facets = make(map[string][]int)
		}
		v.facets[string(owner)] = append(v.facets[string(owner)], i)
	}
}

// maxDepth bounds how deep arrays and objects may lie in each other.
const maxDepth = 512

// jsonReader parses values one after the other. Its place's data is valid
// UTF-8. A repeated key in an object is an error, since one of its values would
// be lost.
type jsonReader struct {
	place
	bytes *arena
	pos   int
	depth int
}

func (r *jsonReader) fail(format string, args ...any) error {
	return r.errorAt(r.pos, nil, format, args...)
}

func (r *jsonReader) expected(what string) error {
	if r.pos >= len(r.data) {
		return r.fail("the JSON text ends where %s is expected", what)
	}
	c, _ := utf8.DecodeRune(r.data[r.pos:])
	return r.fail("%q where %s is expected", c, what)
}

func (r *jsonReader) skipSpace() {
	r.pos = skipJSONSpace(r.data, r.pos)
}

func skipJSONSpace(b []byte, pos int) int {
	for pos < len(b) && (isSpace(b[pos]) || isEOL(b[pos])) {
		pos++
	}
	return pos
}

// peek gives the next byte, and 0 at the end.
func (r *jsonReader) peek() byte {
	if r.pos < len(r.data) {
		return r.data[r.pos]
	}
	return 0
}

// value reads the value that begins at pos.
func (r *jsonReader) value() (v jsonValue, err error) {
	v.from = r.pos
	switch c := r.peek(); {
	case c == '{':
		v.kind = jsonObject
		err = r.nested(&v, r.object)
	case c == '[':
		v.kind = jsonArray
		err = r.nested(&v, r.array)
	case c == '"':
		v.kind = jsonString
		v.text, err = r.string()
	case c == '-' || isDigit(c):
		v.kind = jsonNumber
		v.text, err = r.number()
	default:
		v.kind, err = r.word()
	}
	v.to = r.pos
	return v, err
}

func (r *jsonReader) nested(v *jsonValue, read func(*jsonValue) error) error {
	if r.depth >= maxDepth {
		return r.fail("more than %d arrays and objects in each other", maxDepth)
	}
	r.depth++
	r.pos++
	r.skipSpace()
	err := read(v)
	r.depth--
	return err
}

func (r *jsonReader) array(v *jsonValue) error {
	for r.peek() != ']' || len(v.elements) > 0 {
		e, err := r.value()
		if err != nil {
			return err
		}
		v.elements = append(v.elements, e)
		done, err := r.separator(']')
		if done || err != nil {
			return err
		}
	}
	r.pos++
	return nil
}

func (r *jsonReader) object(v *jsonValue) error {
	for r.peek() != '}' || len(v.members) > 0 {
		m := jsonMember{at: r.pos}
		if err := r.member(&m); err != nil {
			return err
		}
		if v.member(m.key) != nil {
			return r.errorAt(m.at, nil, "key %q stands twice in one object", m.key)
		}
		v.add(m)
		done, err := r.separator('}')
		if done || err != nil {
			return err
		}
	}
	r.pos++
	return nil
}

// member reads a key, the colon and the value.
func (r *jsonReader) member(m *jsonMember) (err error) {
	if r.peek() != '"' {
		return r.expected("a key in quotes")
	}
	if m.key, err = r.string(); err != nil {
		return err
	}
	r.skipSpace()
	if r.peek() != ':' {
		return r.expected("a colon")
	}
	r.pos++
	r.skipSpace()
	m.value, err = r.value()
	return err
}

// separator passes over a comma, or over the closing bracket, which ends it.
func (r *jsonReader) separator(closing byte) (done bool, err error) {
	r.skipSpace()
	switch r.peek() {
	case closing:
		r.pos++
		return true, nil
	case ',':
		r.pos++
		r.skipSpace()
		return false, nil
	}
	return false, r.expected("a comma or " + string(rune(closing)))
}

// word reads null, true or false.
func (r *jsonReader) word() (jsonKind, error) {
	for kind, word := range [...]string{jsonNull: "null", jsonFalse: "false", jsonTrue: "true"} {
		if bytes.HasPrefix(r.data[r.pos:], []byte(word)) {
			r.pos += len(word)
			return jsonKind(kind), nil
		}
	}
	return 0, r.expected("a JSON value")
}

// number reads a number and gives its text.
func (r *jsonReader) number() ([]byte, error) {
	start := r.pos
	r.accept("-")
	if !r.accept("0") && r.digits() == 0 {
		return nil, r.expected("a digit")
	}
	if r.accept(".") && r.digits() == 0 {
		return nil, r.expected("a digit")
	}
	if r.accept("eE") {
		r.accept("+-")
		if r.digits() == 0 {
			return nil, r.expected("a digit")
		}
	}
	return r.data[start:r.pos], nil
}

// accept passes over the next byte if it is one of set.
func (r *jsonReader) accept(set string) bool {
	if r.pos < len(r.data) && oneOf(r.data[r.pos], set) {
		r.pos++
		return true
	}
	return false
}

// digits passes over digits and counts them.
func (r *jsonReader) digits() int {
	start := r.pos
	for r.pos < len(r.data) && isDigit(r.data[r.pos]) {
		r.pos++
	}
	return r.pos - start
}

// string reads a string in quotes. One without escapes shares the data.
func (r *jsonReader) string() ([]byte, error) {
	start := r.pos + 1
	end := start
	for end < len(r.data) && r.data[end] >= ' ' && r.data[end] != '"' && r.data[end] != '\\' {
		end++
	}
	if end < len(r.data) && r.data[end] == '"' {
		r.pos = end + 1
		return r.data[start:end:end], nil
	}
	r.pos = end
	for end < len(r.data) && r.data[end] >= ' ' && r.data[end] != '"' {
		if r.data[end] == '\\' {
			end++
		}
		end++
	}
	if end >= len(r.data) || r.data[end] != '"' {
		r.pos = min(end, len(r.data))
		return nil, r.expected("a string's next character or closing quote")
	}
	return r.unescape(start, end)
}

// unescape resolves the escapes of the string from start to its quote at end.
func (r *jsonReader) unescape(start, end int) ([]byte, error) {
	out := r.bytes.space(end - start)
	for i := start; i < end; {
		if c := r.data[i]; c != '\\' {
			out = append(out, c)
			i++
			continue
		}
		char, n, ok := jsonEscape(r.data[i:end])
		if !ok {
			r.pos = i
			return nil, r.fail("%s is no escape, or half a character", r.data[i:min(i+6, end)])
		}
		out = utf8.AppendRune(out, char)
		i += n
	}
	r.pos = end + 1
	return r.bytes.take(out), nil
}

// jsonEscape reads the escape that b begins with. A character outside the basic
// plane is a pair of surrogates; one surrogate alone is no character.
func jsonEscape(b []byte) (char rune, n int, ok bool) {
	switch {
	case len(b) < 2:
		return 0, 0, false
	case b[1] == '/':
		return '/', 2, true
	case b[1] != 'u':
		c := escapedChar(b[1])
		return c, 2, c != 0 && c != '\''
	}
	high, ok := jsonUnit(b)
	switch {
	case !ok || high&0xfc00 == 0xdc00:
		return 0, 0, false
	case high&0xfc00 != 0xd800:
		return high, 6, true
	}
	low, ok := jsonUnit(b[6:])
	if !ok || low&0xfc00 != 0xdc00 {
		return 0, 0, false
	}
	return 0x10000 + (high&0x3ff)<<10 + low&0x3ff, 12, true
}

// jsonUnit reads \uXXXX.
func jsonUnit(b []byte) (rune, bool) {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(string(b[2:6]), 16, 16)
	return rune(n), err == nil
}
