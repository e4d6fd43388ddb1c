package value

import (
	"fmt"
	"math"
	"math/big"
	"time"
	"unsafe"
)

// Convert gives v converted to type to, as AppendConvert does. The result may
// share v's bytes.
func Convert(v Value, to Type) (Value, error) {
	if v.Type == to {
		return v, Check(to, v.Data)
	}
	data, err := AppendConvert(nil, v, to)
	if err != nil {
		return Value{}, err
	}
	return Value{Type: to, Data: data}, nil
}

// AppendConvert appends the stored form of v converted to type to. The bytes of
// v are checked first, also where the type stays. The conversions:
//
//	default, string    to any type, as Parse reads text
//	any type           to default and string, as AppendText writes
//	int, float, bool,  among each other: true is 1, anything but 0 is true, a
//	bigfloat           fraction is cut off; refused out of the type's range
//	int, float,        to datetime, as seconds since 1970 in UTC, years 0 to 9999
//	bigfloat
//	datetime           to int (whole seconds), float and bigfloat, likewise
//
// Everything else is an error, as is a default or string to password that isn't
// a bcrypt hash. A predicate of type default keeps the type that a value is
// given with; it is the caller's to convert nothing there.
//
// Nothing is allocated, dst aside, where the type stays, from default to string, and
// among int, float, bool and short text.
func AppendConvert(dst []byte, v Value, to Type) ([]byte, error) {
	switch {
	case v.Type == Default || v.Type == String:
		return appendParsedBytes(dst, v, to)
	case to == Default || to == String:
		return v.AppendText(dst)
	}
	if err := Check(v.Type, v.Data); err != nil {
		return dst, err
	}
	if v.Type == to {
		return append(dst, v.Data...), nil
	}
	switch v.Type {
	case Int:
		return convertInt(dst, v, to)
	case Float:
		return convertFloat(dst, v, to)
	case Bool:
		return convertBool(dst, v, to)
	case BigFloat:
		return convertBig(dst, v, to)
	case DateTime:
		return convertTime(dst, v, to)
	}
	return dst, noConversion(v.Type, to)
}

func noConversion(from, to Type) error {
	return fmt.Errorf("a %s does not convert to %s", from, to)
}

// appendParsedBytes is appendParsed for text in bytes. The bytes are read as a
// string without a copy: nothing keeps the text beyond the call, and what errors
// show of it is quoted anew.
func appendParsedBytes(dst []byte, v Value, to Type) ([]byte, error) {
	if to == Default || to == String {
		if err := Check(v.Type, v.Data); err != nil {
			return dst, err
		}
		return append(dst, v.Data...), nil
	}
	return appendParsed(dst, to, unsafe.String(unsafe.SliceData(v.Data), len(v.Data)))
}

func convertInt(dst []byte, v Value, to Type) ([]byte, error) {
	n, err := decodeInt(v.Data)
	if err != nil {
		return dst, err
	}
	switch to {
	case Float:
		return AppendFloat(dst, float64(n)), nil
	case Bool:
		return AppendBool(dst, n != 0), nil
	case BigFloat:
		return appendBig(dst, newBig().SetInt64(n))
	case DateTime:
		return appendUnix(dst, v, n, 0)
	}
	return dst, noConversion(Int, to)
}

func convertFloat(dst []byte, v Value, to Type) ([]byte, error) {
	f, err := decodeFloat(v.Data)
	if err != nil {
		return dst, err
	}
	switch to {
	case Int:
		n, ok := TruncateFloat(f)
		if !ok {
			return dst, refuseConversion(v, to, errOutOfRange.Error())
		}
		return AppendInt(dst, n), nil
	case Bool:
		return AppendBool(dst, f != 0), nil
	case BigFloat:
		return appendBig(dst, newBig().SetFloat64(f))
	case DateTime:
		seconds, ok := TruncateFloat(f)
		if !ok {
			return dst, refuseConversion(v, to, errYear.Error())
		}
		return appendUnix(dst, v, seconds, int64((f-float64(seconds))*1e9))
	}
	return dst, noConversion(Float, to)
}

func convertBool(dst []byte, v Value, to Type) ([]byte, error) {
	b, err := decodeBool(v.Data)
	if err != nil {
		return dst, err
	}
	var n int64
	if b {
		n = 1
	}
	switch to {
	case Int:
		return AppendInt(dst, n), nil
	case Float:
		return AppendFloat(dst, float64(n)), nil
	case BigFloat:
		return appendBig(dst, newBig().SetInt64(n))
	}
	return dst, noConversion(Bool, to)
}

func convertBig(dst []byte, v Value, to Type) ([]byte, error) {
	f, err := decodeBigFloat(v.Data)
	if err != nil {
		return dst, err
	}
	switch to {
	case Int:
		n, ok := TruncateBig(f)
		if !ok {
			return dst, refuseConversion(v, to, errOutOfRange.Error())
		}
		return AppendInt(dst, n), nil
	case Float:
		d, _ := f.Float64()
		if math.IsInf(d, 0) && !f.IsInf() {
			return dst, refuseConversion(v, to, errOutOfRange.Error())
		}
		return AppendFloat(dst, d), nil
	case Bool:
		return AppendBool(dst, f.Sign() != 0), nil
	case DateTime:
		seconds, ok := TruncateBig(f)
		if !ok {
			return dst, refuseConversion(v, to, errYear.Error())
		}
		fraction := newBig().Sub(f, newBig().SetInt64(seconds))
		// Rounded, since a decimal fraction is seldom exact in binary.
		nanoseconds, _ := fraction.Mul(fraction, big.NewFloat(1e9)).Float64()
		return appendUnix(dst, v, seconds, int64(math.Round(nanoseconds)))
	}
	return dst, noConversion(BigFloat, to)
}

// TruncateBig gives f without its fraction as an int64; false where that is out
// of range.
func TruncateBig(f *big.Float) (int64, bool) {
	whole, _ := f.Int(nil) // nil where f is infinite
	if whole == nil || !whole.IsInt64() {
		return 0, false
	}
	return whole.Int64(), true
}

func convertTime(dst []byte, v Value, to Type) ([]byte, error) {
	s, err := decodeTime(v.Data)
	if err != nil {
		return dst, err
	}
	seconds, nanoseconds := s.instant.Unix(), int64(s.instant.Nanosecond())
	switch to {
	case Int:
		return AppendInt(dst, seconds), nil
	case Float:
		return AppendFloat(dst, unixFloat(s.instant)), nil
	case BigFloat:
		f := newBig().SetInt64(nanoseconds)
		f.Quo(f, big.NewFloat(1e9))
		return appendBig(dst, f.Add(f, newBig().SetInt64(seconds)))
	}
	return dst, noConversion(DateTime, to)
}

// unixFloat gives the seconds since 1970. Where the nanoseconds fit an int64
// (years 1678 to 2262) they are divided as one number, which is what other
// readers of the store do; the last bit depends on it.
func unixFloat(t time.Time) float64 {
	if y := t.Year(); y > 1678 && y < 2262 {
		return float64(t.UnixNano()) / 1e9
	}
	return float64(t.Unix()) + float64(t.Nanosecond())/1e9
}

// appendUnix appends the datetime at a time since 1970, in UTC. v is what it is
// converted from.
func appendUnix(dst []byte, v Value, seconds, nanoseconds int64) ([]byte, error) {
	if seconds < firstSecond || seconds > lastSecond {
		return dst, refuseConversion(v, DateTime, errYear.Error())
	}
	out, err := AppendTime(dst, time.Unix(seconds, nanoseconds).UTC())
	if err != nil {
		return dst, refuseConversion(v, DateTime, err.Error())
	}
	return out, nil
}
