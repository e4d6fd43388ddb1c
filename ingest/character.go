package ingest

// The classes of bytes that statements are read by. Bytes from 0x80 are parts
// of characters; where the grammar tells characters apart, the functions below
// do.
const (
	// inIRI may stand in an IRI as it is.
	inIRI = 1 << iota
	// inLiteral may stand in a quoted string as it is.
	inLiteral
	// inLabel is an ASCII character within a blank node label (not the dot).
	inLabel
	// inFacetKey may stand in a facet key without quotes.
	inFacetKey
)

var classes = byteClasses()

func byteClasses() (t [256]uint8) {
	for i := range t {
		c := byte(i)
		if c > ' ' && !oneOf(c, "<>\"{}|^`\\") {
			t[c] |= inIRI
		}
		if !oneOf(c, "\"\\\r\n") {
			t[c] |= inLiteral
		}
		if isAlphanumeric(c) || c == '_' || c == '-' {
			t[c] |= inLabel
		}
		if c > ' ' && c != 0x7f && !oneOf(c, "=,()\"\\<>{}") {
			t[c] |= inFacetKey
		}
	}
	return t
}

func oneOf(c byte, set string) bool {
	for i := range len(set) {
		if set[i] == c {
			return true
		}
	}
	return false
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isAlphanumeric(c byte) bool { return isLetter(c) || isDigit(c) }

// startsLabel says whether a blank node label may begin with r: PN_CHARS_U or a
// digit, without the colon that the grammar's text has and its tests refuse.
func startsLabel(r rune) bool {
	if r < 0x80 {
		return r == '_' || isAlphanumeric(byte(r))
	}
	return isNameChar(r)
}

// continuesLabel is PN_CHARS.
func continuesLabel(r rune) bool {
	if r < 0x80 {
		return classes[r]&inLabel != 0
	}
	return isNameChar(r) || r == 0xb7 || 0x300 <= r && r <= 0x36f || 0x203f <= r && r <= 0x2040
}

// isNameChar is PN_CHARS_BASE from U+0080.
func isNameChar(r rune) bool {
	switch {
	case r < 0xc0, r == 0xd7, r == 0xf7:
		return false
	case r <= 0x2ff:
		return true
	case r < 0x2000:
		return r >= 0x370 && r != 0x37e
	case r <= 0x218f:
		return r == 0x200c || r == 0x200d || r >= 0x2070
	case r <= 0xd7ff:
		return r >= 0x2c00 && r <= 0x2fef || r >= 0x3001
	case r <= 0xfffd:
		return r >= 0xf900 && r <= 0xfdcf || r >= 0xfdf0
	}
	return r >= 0x10000 && r <= 0xeffff
}

// isSpace is the white space within a line.
func isSpace(c byte) bool { return c == ' ' || c == '\t' }

// isEOL ends a line.
func isEOL(c byte) bool { return c == '\n' || c == '\r' }
