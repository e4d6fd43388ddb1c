package value

import (
	"errors"
	"fmt"
	"math/big"
	"strings"
)

// bigPrecision is the mantissa's length in bits.
const bigPrecision = 200

// The binary exponent is bounded on both sides of zero, since the time that it
// takes to print such a number in decimal grows with the square of the exponent.
// At these limits it is some tens of milliseconds, at big.Float's own hours. Below
// zero, where decimals are the longer, the limit is that of quadruple precision.
const (
	maxBigExponent = 1 << 19
	minBigExponent = -1 << 14
)

// BigFloat gives the number of a value of type BigFloat.
func (v Value) BigFloat() (*big.Float, error) {
	if err := v.expect(BigFloat); err != nil {
		return nil, err
	}
	return decodeBigFloat(v.Data)
}

// parseBig reads decimal text. big.Float's parser panics where it would have
// to give NaN, which is refused like any other text that is no number.
func parseBig(text string) (f *big.Float, err error) {
	defer func() {
		if recover() != nil {
			f, err = nil, errNaN
		}
	}()
	f, _, err = big.ParseFloat(text, 10, bigPrecision, big.ToNearestEven)
	if err != nil {
		return nil, errors.New("invalid syntax")
	}
	return f, checkBig(f, text)
}

// checkBig refuses numbers out of the range that is kept, and those that
// overflowed to an infinity or underflowed to zero.
func checkBig(f *big.Float, text string) error {
	if f.IsInf() {
		if !isInfinityText(text) {
			return errOutOfRange
		}
		return nil
	}
	exp := f.MantExp(nil)
	if exp > maxBigExponent || exp < minBigExponent || f.Sign() == 0 && !isZeroText(text) {
		return errOutOfRange
	}
	return nil
}

// isZeroText says whether decimal text has no digit but zeros before its
// exponent: where it has, and the number is zero, it was too small for big.Float.
func isZeroText(text string) bool {
	if exponent := strings.IndexAny(text, "eEpP"); exponent >= 0 {
		text = text[:exponent]
	}
	return !strings.ContainsAny(text, "123456789")
}

// isInfinityText says whether big.Float reads text as an infinity because it
// says so.
func isInfinityText(text string) bool {
	switch text {
	case "Inf", "+Inf", "-Inf", "inf", "+inf", "-inf":
		return true
	}
	return false
}

func decodeBigFloat(data []byte) (*big.Float, error) {
	return parseBig(string(data))
}

func appendParsedBigFloat(dst []byte, text string) ([]byte, error) {
	f, err := parseBig(text)
	if err != nil {
		return dst, refuse(BigFloat, text, err.Error())
	}
	return appendBig(dst, f)
}

// appendBig appends the stored form of f, rounded to the precision kept.
func appendBig(dst []byte, f *big.Float) ([]byte, error) {
	if f.Prec() != bigPrecision {
		f = new(big.Float).SetPrec(bigPrecision).Set(f)
	}
	out, err := f.AppendText(dst)
	if err != nil {
		return dst, fmt.Errorf("a %s: %w", BigFloat, err)
	}
	return out, nil
}

func appendBigFloatText(dst, data []byte) ([]byte, error) {
	f, err := decodeBigFloat(data)
	if err != nil {
		return dst, err
	}
	return append(dst, f.String()...), nil
}

// newBig gives zero at the precision kept.
func newBig() *big.Float { return new(big.Float).SetPrec(bigPrecision) }
