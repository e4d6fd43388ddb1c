package token

import (
	"encoding/binary"
	"fmt"
	"math"
	"time"

	"github.com/edgemill/edgemill/schema/value"
	"golang.org/x/crypto/blake2b"
)

// addInt puts in a token that is a number: a sign, so that negative numbers come
// first, then two's complement, whose order is right within each sign.
func (b *Buffer) addInt(base int, id byte, n int64) {
	sign := byte(1)
	if n < 0 {
		sign = 0
	}
	b.tokens.data = append(b.tokens.data, id, sign)
	b.tokens.data = binary.BigEndian.AppendUint64(b.tokens.data, uint64(n))
	b.seal(base)
}

func appendInt(dst *Buffer, base int, v value.Value, _ string) error {
	n, err := v.Int64()
	if err == nil {
		dst.addInt(base, IDInt, n)
	}
	return err
}

func appendBool(dst *Buffer, base int, v value.Value, _ string) error {
	truth, err := v.Bool()
	if err != nil {
		return err
	}
	var n int64
	if truth {
		n = 1
	}
	dst.addInt(base, IDBool, n)
	return nil
}

func appendFloat(dst *Buffer, base int, v value.Value, _ string) error {
	f, err := v.Float64()
	if err == nil {
		dst.addInt(base, IDFloat, saturate(f))
	}
	return err
}

// saturate cuts the fraction off f; beyond either end of int64 it gives that
// end, so that order is kept.
func saturate(f float64) int64 {
	n, ok := value.TruncateFloat(f)
	switch {
	case ok:
		return n
	case f < 0:
		return math.MinInt64
	}
	return math.MaxInt64
}

func appendBigFloat(dst *Buffer, base int, v value.Value, _ string) error {
	f, err := v.BigFloat()
	if err != nil {
		return err
	}
	n, _ := f.Int64() // cuts and saturates
	dst.addInt(base, IDBigFloat, n)
	return nil
}

func appendYear(dst *Buffer, base int, v value.Value, _ string) error {
	return dst.addTime(base, IDYear, 1, v)
}

func appendMonth(dst *Buffer, base int, v value.Value, _ string) error {
	return dst.addTime(base, IDMonth, 2, v)
}

func appendDay(dst *Buffer, base int, v value.Value, _ string) error {
	return dst.addTime(base, IDDay, 3, v)
}

func appendHour(dst *Buffer, base int, v value.Value, _ string) error {
	return dst.addTime(base, IDHour, 4, v)
}

// addTime puts in the first n of year, month, day and hour, in UTC.
func (b *Buffer) addTime(base int, id byte, n int, v value.Value) error {
	t, err := v.Instant()
	if err != nil {
		return err
	}
	b.tokens.data = append(b.tokens.data, id)
	parts := timeParts(t)
	for _, part := range parts[:n] {
		b.tokens.data = binary.BigEndian.AppendUint16(b.tokens.data, part)
	}
	b.seal(base)
	return nil
}

func timeParts(t time.Time) [4]uint16 {
	return [4]uint16{uint16(t.Year()), uint16(t.Month()), uint16(t.Day()), uint16(t.Hour())}
}

func appendHash(dst *Buffer, base int, v value.Value, _ string) error {
	sum := blake2b.Sum256(v.Data)
	dst.add(base, IDHash, sum[:])
	return nil
}

// sha256Length is how much of a string the tokenizer sha256 takes: strings are
// meant to begin with the digest in hex.
const sha256Length = 64

func appendSHA256(dst *Buffer, base int, v value.Value, _ string) error {
	if len(v.Data) >= sha256Length {
		dst.add(base, IDSHA256, v.Data[:sha256Length])
	}
	return nil
}

func appendTrigrams(dst *Buffer, base int, v value.Value, _ string) error {
	for i := 0; i+3 <= len(v.Data); i++ {
		dst.add(base, IDTrigram, v.Data[i:i+3])
	}
	return nil
}

func appendExact(dst *Buffer, base int, v value.Value, lang string) error {
	if lang == "" {
		dst.add(base, IDExact, v.Data)
		return nil
	}
	l := dst.language(lang)
	dst.tokens.data = append(dst.tokens.data, IDExactLang)
	dst.tokens.data = append(dst.tokens.data, l.base...)
	dst.tokens.data = append(dst.tokens.data, 0x1f)
	key, err := l.collationKey(v.Data)
	if err != nil {
		return fmt.Errorf("collation in %s: %w", lang, err)
	}
	dst.tokens.data = append(dst.tokens.data, key...)
	dst.seal(base)
	return nil
}
