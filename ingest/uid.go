package ingest

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
)

// maxUID is the last uid that a node may have; 2^64-1 marks other things in the
// store.
const maxUID = ^uint64(0) - 1

var (
	errUIDRange = errors.New("a uid is from 1 to 18446744073709551614 (2^64-2)")
	errNoUID    = errors.New("not a uid: a uid is decimal without leading zeros, or 0x and hexadecimal digits")
)

// parseUID reads a uid, decimal without leading zeros or 0x and hexadecimal
// digits. Text of another form is errNoUID (in N-Quads it is a name then), and
// a number out of range errUIDRange.
func parseUID(text []byte) (uint64, error) {
	if len(text) == 0 || text[0] < '0' || text[0] > '9' {
		return 0, errNoUID
	}
	base, digits := 10, text
	if bytes.HasPrefix(text, []byte("0x")) {
		base, digits = 16, text[2:]
	} else if text[0] == '0' && len(text) > 1 {
		return 0, errNoUID
	}
	uid, err := parseDigits(digits, base)
	if err != nil {
		return 0, err
	}
	if uid == 0 || uid > maxUID {
		return 0, errUIDRange
	}
	return uid, nil
}

// ParseUID reads a uid as text outside of a graph has it, such as a command's
// arguments: decimal, or 0x and hexadecimal digits.
func ParseUID(text string) (uint64, error) {
	uid, err := parseUID([]byte(text))
	if err != nil {
		return 0, fmt.Errorf("uid %.40q: %w", text, err)
	}
	return uid, nil
}

// parseDigits reads digits alone: ParseUint in a stated base takes no sign, no
// prefix and no underscore.
func parseDigits(digits []byte, base int) (uint64, error) {
	n, err := strconv.ParseUint(string(digits), base, 64)
	switch {
	case errors.Is(err, strconv.ErrRange):
		return 0, errUIDRange
	case err != nil:
		return 0, errNoUID
	}
	return n, nil
}
