package value

import (
	"fmt"

	"golang.org/x/crypto/bcrypt"
)

// bcryptLength is the length of a bcrypt hash: a prefix of 4 bytes, the cost and
// a dollar sign in 3, 22 of salt, 31 of hash.
const bcryptLength = 60

// maxPlain is how many bytes of a password bcrypt looks at.
const maxPlain = 72

// IsBcrypt says whether b is a bcrypt hash in the form that a password is stored in.
func IsBcrypt(b []byte) bool { return isBcrypt(b) }

func isBcrypt[T string | []byte](s T) bool {
	if len(s) != bcryptLength {
		return false
	}
	switch string(s[:4]) {
	case "$2a$", "$2b$", "$2y$":
	default:
		return false
	}
	if !isDigit(s[4]) || !isDigit(s[5]) || s[6] != '$' {
		return false
	}
	for i := 7; i < bcryptLength; i++ {
		if !isBcryptDigit(s[i]) {
			return false
		}
	}
	return true
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// isBcryptDigit says whether c is of bcrypt's own base-64 alphabet.
func isBcryptDigit(c byte) bool {
	return isDigit(c) || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '.' || c == '/'
}

// HashPassword hashes a plain password with bcrypt at its default cost, which
// takes some 50 ms. More than 72 bytes, of which bcrypt would drop the end, are
// an error. The error never shows the password.
func HashPassword(plain string) ([]byte, error) {
	hash, err := bcrypt.GenerateFromPassword([]byte(plain), bcrypt.DefaultCost)
	if err != nil {
		return nil, fmt.Errorf("password of %d bytes: %w", len(plain), err)
	}
	return hash, nil
}

// VerifyPassword says whether plain is the password that hash was made of. It
// takes as long as the hash's cost says. More than 72 bytes match nothing.
func VerifyPassword(hash, plain []byte) bool {
	if len(plain) > maxPlain || !IsBcrypt(hash) {
		return false
	}
	return bcrypt.CompareHashAndPassword(hash, plain) == nil
}
