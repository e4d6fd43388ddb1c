package value

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strconv"
)

// AppendInt appends the stored form of an int.
func AppendInt(dst []byte, n int64) []byte {
	return binary.LittleEndian.AppendUint64(dst, uint64(n))
}

// AppendFloat appends the stored form of a float. NaN, which no stored value
// may be, is the caller's to refuse.
func AppendFloat(dst []byte, f float64) []byte {
	return binary.LittleEndian.AppendUint64(dst, math.Float64bits(f))
}

// AppendBool appends the stored form of a bool.
func AppendBool(dst []byte, b bool) []byte {
	if b {
		return append(dst, 1)
	}
	return append(dst, 0)
}

// Int64 gives the number of a value of type Int.
func (v Value) Int64() (int64, error) {
	if err := v.expect(Int); err != nil {
		return 0, err
	}
	return decodeInt(v.Data)
}

// Float64 gives the number of a value of type Float.
func (v Value) Float64() (float64, error) {
	if err := v.expect(Float); err != nil {
		return 0, err
	}
	return decodeFloat(v.Data)
}

// Bool gives the truth value of a value of type Bool.
func (v Value) Bool() (bool, error) {
	if err := v.expect(Bool); err != nil {
		return false, err
	}
	return decodeBool(v.Data)
}

func decodeInt(data []byte) (int64, error) {
	if len(data) != 8 {
		return 0, fmt.Errorf("an int has 8 bytes, not %d", len(data))
	}
	return int64(binary.LittleEndian.Uint64(data)), nil
}

func decodeFloat(data []byte) (float64, error) {
	if len(data) != 8 {
		return 0, fmt.Errorf("a float has 8 bytes, not %d", len(data))
	}
	f := math.Float64frombits(binary.LittleEndian.Uint64(data))
	if math.IsNaN(f) {
		return 0, errNaN
	}
	return f, nil
}

func decodeBool(data []byte) (bool, error) {
	if len(data) != 1 || data[0] > 1 {
		return false, errors.New("a bool is one byte, 0 or 1")
	}
	return data[0] == 1, nil
}

var (
	errNaN        = errors.New("NaN is not taken")
	errOutOfRange = errors.New("out of range")
)

func appendParsedInt(dst []byte, text string) ([]byte, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return dst, refuse(Int, text, numberReason(err))
	}
	return AppendInt(dst, n), nil
}

func appendParsedFloat(dst []byte, text string) ([]byte, error) {
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return dst, refuse(Float, text, numberReason(err))
	}
	if math.IsNaN(f) {
		return dst, refuse(Float, text, errNaN.Error())
	}
	return AppendFloat(dst, f), nil
}

func appendParsedBool(dst []byte, text string) ([]byte, error) {
	b, err := strconv.ParseBool(text)
	if err != nil {
		return dst, refuse(Bool, text, numberReason(err))
	}
	return AppendBool(dst, b), nil
}

// numberReason says what strconv found wrong, without the text that strconv's
// own message repeats in full.
func numberReason(err error) string {
	if errors.Is(err, strconv.ErrRange) {
		return errOutOfRange.Error()
	}
	return "invalid syntax"
}

func appendIntText(dst, data []byte) []byte {
	return strconv.AppendInt(dst, int64(binary.LittleEndian.Uint64(data)), 10)
}

func appendFloatText(dst, data []byte) []byte {
	f := math.Float64frombits(binary.LittleEndian.Uint64(data))
	return strconv.AppendFloat(dst, f, 'G', -1, 64)
}

func appendBoolText(dst, data []byte) []byte {
	return strconv.AppendBool(dst, data[0] == 1)
}

// TruncateFloat gives f without its fraction as an int64; false where that is
// out of range (2^63 itself included) or f is NaN.
func TruncateFloat(f float64) (int64, bool) {
	// Both bounds are powers of two, so exact as float64. NaN fails both.
	if f >= -1<<63 && f < 1<<63 {
		return int64(f), true
	}
	return 0, false
}
