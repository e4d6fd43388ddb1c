package posting

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode"
)

// Kind is the byte of a list's key that says what the list holds. It stands
// after the predicate's name.
type Kind byte

const (
	// KindData is a subject's values or targets.
	KindData Kind = 0x00
	// KindIndex is the subjects of one index token.
	KindIndex Kind = 0x02
	// KindReverse is the sources of one target.
	KindReverse Kind = 0x04
	// KindCount is the subjects that have a given number of postings.
	KindCount Kind = 0x08
	// KindCountReverse is the targets that have a given number of sources.
	KindCountReverse Kind = 0x0c
)

// String gives the name that dumps use, such as "count_reverse".
func (k Kind) String() string {
	switch k {
	case KindData:
		return "data"
	case KindIndex:
		return "index"
	case KindReverse:
		return "reverse"
	case KindCount:
		return "count"
	case KindCountReverse:
		return "count_reverse"
	}
	return fmt.Sprintf("kind 0x%02x", byte(k))
}

// Space is the first byte of a key.
type Space byte

const (
	// SpaceList holds posting lists.
	SpaceList Space = 0x00
	// SpaceSchema holds one schema entry a predicate.
	SpaceSchema Space = 0x01
	// SpaceType holds one definition a type.
	SpaceType Space = 0x02
	// SpacePart holds the parts of lists that were split.
	SpacePart Space = 0x04
)

const (
	// MaxKeyLen is the length in bytes of the longest key a list may have: a
	// part's key is 8 bytes longer, and Badger takes no more than 65,000.
	MaxKeyLen = maxStoredKeyLen - startLen
	// MaxPredicateLen is the length in bytes of the longest predicate name, with
	// which a data key just fits into MaxKeyLen.
	MaxPredicateLen = MaxKeyLen - headLen - 1 - uidLen

	maxStoredKeyLen = 65000
	headLen         = 1 + 8 + 2 // space, namespace, length of the name
	uidLen          = 8
	countLen        = 4
	startLen        = 8
)

var (
	// ErrBadKey is wrapped by every error of ParseKey.
	ErrBadKey = errors.New("malformed key")
	// ErrKeyTooLong is wrapped by the errors of CheckKeyLen.
	ErrKeyTooLong = errors.New("key too long")
)

// Key is the parsed form of a key of the store. Which of its fields count
// follows from Space and Kind: schema and type keys have only Namespace and
// Predicate.
type Key struct {
	Space     Space
	Namespace uint64
	// Predicate is the predicate's name, for SpaceType the type's.
	Predicate string
	Kind      Kind
	// UID is the subject of a data key, the target of a reverse key.
	UID uint64
	// Term is the token of an index key, the tokenizer's identifier byte first.
	Term []byte
	// Count is the number that a count key stands for.
	Count uint32
	// Start is the first uid that a part may hold, for SpacePart.
	Start uint64
}

// ParseKey takes a key apart. The Term of the result aliases b. An error wraps
// ErrBadKey, shows the key and says what is wrong with it.
func ParseKey(b []byte) (Key, error) {
	var k Key
	if err := k.parse(b); err != nil {
		return Key{}, fmt.Errorf("%w %s: %w", ErrBadKey, shortHex(b), err)
	}
	return k, nil
}

func (k *Key) parse(b []byte) error {
	if len(b) > maxStoredKeyLen {
		return fmt.Errorf("%d bytes, more than %d", len(b), maxStoredKeyLen)
	}
	rest, err := k.parseHead(b)
	if err != nil {
		return err
	}
	switch k.Space {
	case SpaceSchema, SpaceType:
		if len(rest) != 0 {
			return fmt.Errorf("%d bytes after the name", len(rest))
		}
		return nil
	case SpacePart:
		// Only the length says where a term ends, so the start is taken off the
		// end before anything else is looked at.
		if len(rest) < 1+startLen {
			return fmt.Errorf("%d bytes after the name, too few for a part", len(rest))
		}
		cut := len(rest) - startLen
		k.Start = binary.BigEndian.Uint64(rest[cut:])
		rest = rest[:cut]
	}
	return k.parseTail(rest)
}

// parseHead reads what all keys begin with and returns what follows the name.
func (k *Key) parseHead(b []byte) ([]byte, error) {
	if len(b) < headLen {
		return nil, fmt.Errorf("%d bytes, fewer than %d", len(b), headLen)
	}
	k.Space = Space(b[0])
	switch k.Space {
	case SpaceList, SpaceSchema, SpaceType, SpacePart:
	default:
		return nil, fmt.Errorf("first byte 0x%02x is none of 00, 01, 02, 04", b[0])
	}
	k.Namespace = binary.BigEndian.Uint64(b[1:])
	n := int(binary.BigEndian.Uint16(b[9:]))
	switch rest := len(b) - headLen; {
	case n == 0:
		return nil, errors.New("empty name")
	case n > rest:
		return nil, fmt.Errorf("name of %d bytes in the %d bytes left", n, rest)
	}
	k.Predicate = string(b[headLen : headLen+n])
	return b[headLen+n:], nil
}

// parseTail reads the kind byte and what belongs to it.
func (k *Key) parseTail(b []byte) error {
	if len(b) == 0 {
		return errors.New("no kind byte after the name")
	}
	k.Kind = Kind(b[0])
	b = b[1:]
	switch k.Kind {
	case KindData, KindReverse:
		if len(b) != uidLen {
			return fmt.Errorf("%s uid of %d bytes, not 8", k.Kind, len(b))
		}
		k.UID = binary.BigEndian.Uint64(b)
	case KindIndex:
		if len(b) == 0 {
			return errors.New("index term without its identifier byte")
		}
		k.Term = b
	case KindCount, KindCountReverse:
		if len(b) != countLen {
			return fmt.Errorf("%s of %d bytes, not 4", k.Kind, len(b))
		}
		k.Count = binary.BigEndian.Uint32(b)
	default:
		return fmt.Errorf("unknown kind byte 0x%02x", byte(k.Kind))
	}
	return nil
}

// Append appends the key's bytes to dst. It is the inverse of ParseKey. The
// predicate's name is at most MaxPredicateLen bytes long.
func (k Key) Append(dst []byte) []byte {
	dst = appendHead(dst, k.Space, k.Namespace, k.Predicate)
	if k.Space == SpaceSchema || k.Space == SpaceType {
		return dst
	}
	dst = append(dst, byte(k.Kind))
	switch k.Kind {
	case KindData, KindReverse:
		dst = binary.BigEndian.AppendUint64(dst, k.UID)
	case KindIndex:
		dst = append(dst, k.Term...)
	case KindCount, KindCountReverse:
		dst = binary.BigEndian.AppendUint32(dst, k.Count)
	}
	if k.Space == SpacePart {
		dst = binary.BigEndian.AppendUint64(dst, k.Start)
	}
	return dst
}

// String is the key for people: `data name 0x1`, `index name exact "ann"`,
// `count friend 3`, `schema name`, with the start of a part and the namespace
// behind, the latter if it is not 0.
func (k Key) String() string {
	var b strings.Builder
	k.writeHead(&b)
	b.WriteString(plainName(k.Predicate))
	if k.Space == SpaceList || k.Space == SpacePart {
		k.writeTail(&b)
	}
	if k.Space == SpacePart {
		fmt.Fprintf(&b, " part 0x%x", k.Start)
	}
	if k.Namespace != 0 {
		fmt.Fprintf(&b, " in namespace 0x%x", k.Namespace)
	}
	return b.String()
}

func (k Key) writeHead(b *strings.Builder) {
	switch k.Space {
	case SpaceList, SpacePart:
		b.WriteString(k.Kind.String())
	case SpaceSchema:
		b.WriteString("schema")
	case SpaceType:
		b.WriteString("type")
	default:
		fmt.Fprintf(b, "space 0x%02x", byte(k.Space))
	}
	b.WriteByte(' ')
}

func (k Key) writeTail(b *strings.Builder) {
	switch k.Kind {
	case KindData, KindReverse:
		fmt.Fprintf(b, " 0x%x", k.UID)
	case KindIndex:
		b.WriteByte(' ')
		b.WriteString(termString(k.Term))
	case KindCount, KindCountReverse:
		fmt.Fprintf(b, " %d", k.Count)
	}
}

// termString names the tokenizer and quotes the term where it is text.
func termString(term []byte) string {
	if len(term) == 0 {
		return "(no term)"
	}
	rest := term[1:]
	switch term[0] {
	case 0x01:
		return "term " + quoteShort(rest)
	case 0x02:
		return "exact " + quoteShort(rest)
	case 0x03:
		return "exact with language " + quoteShort(rest)
	case 0x04:
		return "year " + shortHex(rest)
	case 0x05:
		return "geo " + quoteShort(rest)
	case 0x06:
		return "int " + shortHex(rest)
	case 0x07:
		return "float " + shortHex(rest)
	case 0x08:
		return "fulltext " + quoteShort(rest)
	case 0x09:
		return "bool " + shortHex(rest)
	case 0x0a:
		return "trigram " + quoteShort(rest)
	case 0x0b:
		return "hash " + shortHex(rest)
	case 0x0c:
		return "sha256 " + quoteShort(rest)
	case 0x0d:
		return "bigfloat " + shortHex(rest)
	case 0x0f:
		return "ngram " + quoteShort(rest)
	case 0x41:
		return "month " + shortHex(rest)
	case 0x42:
		return "day " + shortHex(rest)
	case 0x43:
		return "hour " + shortHex(rest)
	}
	return fmt.Sprintf("tokenizer 0x%02x %s", term[0], shortHex(rest))
}

// shownLen bounds how much of a name or a term messages repeat: keys may have
// 65,000 bytes.
const shownLen = 60

func shortHex(b []byte) string {
	if len(b) > shownLen {
		return fmt.Sprintf("%x… (%d bytes)", b[:shownLen], len(b))
	}
	return fmt.Sprintf("%x", b)
}

func quoteShort(b []byte) string {
	if len(b) > shownLen {
		return fmt.Sprintf("%q… (%d bytes)", b[:shownLen], len(b))
	}
	return strconv.Quote(string(b))
}

// plainName leaves a name as it is where it reads well without quotes.
func plainName(s string) string {
	odd := func(r rune) bool { return r == '"' || unicode.IsSpace(r) || !unicode.IsPrint(r) }
	if len(s) > shownLen || s == "" || strings.ContainsFunc(s, odd) {
		return quoteShort([]byte(s))
	}
	return s
}

func appendHead(dst []byte, space Space, ns uint64, name string) []byte {
	dst = append(dst, byte(space))
	dst = binary.BigEndian.AppendUint64(dst, ns)
	dst = binary.BigEndian.AppendUint16(dst, uint16(len(name)))
	return append(dst, name...)
}

// The Append functions below append a key to dst and allocate only where dst
// has no room. None checks lengths: a predicate's name is at most
// MaxPredicateLen bytes long, and a list's key is held against CheckKeyLen
// where an edge is applied.

// AppendPrefix appends everything of a list's key up to the kind byte, the
// kind byte included. It is the prefix of all lists of that kind.
func AppendPrefix(dst []byte, ns uint64, pred string, kind Kind) []byte {
	return append(appendHead(dst, SpaceList, ns, pred), byte(kind))
}

// AppendDataKey appends the key of what uid has under pred.
func AppendDataKey(dst []byte, ns uint64, pred string, uid uint64) []byte {
	return binary.BigEndian.AppendUint64(AppendPrefix(dst, ns, pred, KindData), uid)
}

// AppendReverseKey appends the key of the sources that point to uid.
func AppendReverseKey(dst []byte, ns uint64, pred string, uid uint64) []byte {
	return binary.BigEndian.AppendUint64(AppendPrefix(dst, ns, pred, KindReverse), uid)
}

// AppendIndexKey appends the key of the subjects that have a token. The term
// begins with the tokenizer's identifier byte.
func AppendIndexKey(dst []byte, ns uint64, pred string, term []byte) []byte {
	return append(AppendPrefix(dst, ns, pred, KindIndex), term...)
}

// AppendCountKey appends the key of the bucket of a number. The kind is
// KindCount or KindCountReverse.
func AppendCountKey(dst []byte, ns uint64, pred string, kind Kind, count uint32) []byte {
	return binary.BigEndian.AppendUint32(AppendPrefix(dst, ns, pred, kind), count)
}

// AppendSchemaKey appends the key of a predicate's schema entry.
func AppendSchemaKey(dst []byte, ns uint64, pred string) []byte {
	return appendHead(dst, SpaceSchema, ns, pred)
}

// AppendTypeKey appends the key of a type's definition.
func AppendTypeKey(dst []byte, ns uint64, name string) []byte {
	return appendHead(dst, SpaceType, ns, name)
}

// AppendPartKey appends the key of one part of a split list: listKey is the
// list's whole key and not empty, start the first uid that the part may hold.
func AppendPartKey(dst, listKey []byte, start uint64) []byte {
	dst = append(dst, byte(SpacePart))
	dst = append(dst, listKey[1:]...)
	return binary.BigEndian.AppendUint64(dst, start)
}

// PredicatePrefix appends the prefix of the keys of all lists of a predicate.
func PredicatePrefix(dst []byte, ns uint64, pred string) []byte {
	return appendHead(dst, SpaceList, ns, pred)
}

// PartPrefix appends the prefix of the keys of all parts of a predicate's
// lists. What is below it is not in the order of the lists: ParseKey tells
// whose part a key is.
func PartPrefix(dst []byte, ns uint64, pred string) []byte {
	return appendHead(dst, SpacePart, ns, pred)
}

// IsPartOf tells whether partKey is the key of a part of the list with the key
// listKey. A prefix does not tell, since one index term may begin another.
func IsPartOf(partKey, listKey []byte) bool {
	n := len(listKey)
	return n > 0 && len(partKey) == n+startLen && partKey[0] == byte(SpacePart) &&
		listKey[0] == byte(SpaceList) && string(partKey[1:n]) == string(listKey[1:])
}

// PrefixLen is the length in bytes of what AppendPrefix appends. With the
// length of a term it gives the length of an index key.
func PrefixLen(pred string) int {
	return headLen + len(pred) + 1
}

// CheckKeyLen refuses a list's key of n bytes if it is longer than MaxKeyLen.
// The error wraps ErrKeyTooLong and names the predicate and the length.
func CheckKeyLen(pred string, n int) error {
	if n <= MaxKeyLen {
		return nil
	}
	return fmt.Errorf("predicate %s: %w: %d bytes, more than %d", plainName(pred), ErrKeyTooLong, n, MaxKeyLen)
}
