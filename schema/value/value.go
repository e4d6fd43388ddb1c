package value

import (
	"bytes"
	"errors"
	"fmt"
	"unicode/utf8"
)

// Value is a typed value in its stored form. It is a plain value: copying it
// shares the bytes, which nobody changes.
type Value struct {
	Type Type
	// Data is the stored form: the bytes that a posting carries.
	Data []byte
}

// Parse reads input text as a value of type t and gives its stored form. The
// error names the text, the type and the reason. A password's text must already
// be a bcrypt hash: Parse does not hash.
func Parse(t Type, text string) (Value, error) {
	data, err := appendParsed(nil, t, text)
	if err != nil {
		return Value{}, err
	}
	return Value{Type: t, Data: data}, nil
}

// appendParsed is Parse onto dst.
func appendParsed(dst []byte, t Type, text string) ([]byte, error) {
	switch t {
	case Default, String:
		if !utf8.ValidString(text) {
			return dst, refuse(t, text, "not valid UTF-8")
		}
		return append(dst, text...), nil
	case Int:
		return appendParsedInt(dst, text)
	case Float:
		return appendParsedFloat(dst, text)
	case Bool:
		return appendParsedBool(dst, text)
	case DateTime:
		return appendParsedTime(dst, text)
	case Geo:
		return appendParsedGeo(dst, text)
	case Password:
		if !isBcrypt(text) {
			return dst, fmt.Errorf("a %s is not a bcrypt hash (it is hashed before it is applied)", t)
		}
		return append(dst, text...), nil
	case BigFloat:
		return appendParsedBigFloat(dst, text)
	case Vector:
		return appendParsedVector(dst, text)
	}
	return dst, refuse(t, text, "values of this type are not read from text")
}

// Check says whether data is a well-formed stored form of t: nil, or an error
// that names the type and the reason.
func Check(t Type, data []byte) error {
	var err error
	switch t {
	case Default, String:
		if !utf8.Valid(data) {
			return refuse(t, string(data[:min(len(data), quoteLimit+1)]), "not valid UTF-8")
		}
		return nil
	case Password:
		if !IsBcrypt(data) {
			return fmt.Errorf("a stored %s is not a bcrypt hash", t)
		}
		return nil
	case Binary:
		return nil
	case Int:
		_, err = decodeInt(data)
	case Float:
		_, err = decodeFloat(data)
	case Bool:
		_, err = decodeBool(data)
	case DateTime:
		_, err = decodeTime(data)
	case Geo:
		err = checkWKB(data)
	case BigFloat:
		_, err = decodeBigFloat(data)
	case Vector:
		err = checkVector(data)
	default:
		err = errors.New("values of this type are not stored")
	}
	if err != nil {
		return fmt.Errorf("stored %s of %d bytes: %w", t, len(data), err)
	}
	return nil
}

// AppendText appends the value as text: its conversion to string. A float reads
// as strconv's shortest 'G', a datetime as RFC 3339 with nanoseconds, geo as
// GeoJSON with ' for ", a bigfloat as big.Float's String (ten digits).
func (v Value) AppendText(dst []byte) ([]byte, error) {
	if err := Check(v.Type, v.Data); err != nil {
		return dst, err
	}
	switch v.Type {
	case Default, String, Password:
		return append(dst, v.Data...), nil
	case Int:
		return appendIntText(dst, v.Data), nil
	case Float:
		return appendFloatText(dst, v.Data), nil
	case Bool:
		return appendBoolText(dst, v.Data), nil
	case DateTime:
		return appendTimeText(dst, v.Data, zoneOfText)
	case Geo:
		return appendGeoText(dst, v.Data)
	case BigFloat:
		return appendBigFloatText(dst, v.Data)
	case Vector:
		return appendVectorText(dst, v.Data), nil
	}
	return dst, fmt.Errorf("a value of type %s has no text", v.Type)
}

// Text gives the value as text; see AppendText.
func (v Value) Text() (string, error) {
	b, err := v.AppendText(nil)
	return string(b), err
}

// AppendLiteral appends input text that Parse, for the value's type, reads as
// exactly these stored bytes. It differs from AppendText where text says less:
// a bigfloat has all its digits, and a datetime at offset zero that isn't marked
// UTC ends in +00:00. (A zone offset with seconds, which no input text can say,
// becomes UTC.)
func (v Value) AppendLiteral(dst []byte) ([]byte, error) {
	switch v.Type {
	case DateTime:
		return appendTimeText(dst, v.Data, zoneOfLiteral)
	case BigFloat:
		if err := Check(v.Type, v.Data); err != nil {
			return dst, err
		}
		return append(dst, v.Data...), nil
	}
	return v.AppendText(dst)
}

// Equal says whether v and w are the same value: the same type and the same
// stored bytes. Two zones of one instant differ.
func (v Value) Equal(w Value) bool {
	return v.Type == w.Type && bytes.Equal(v.Data, w.Data)
}

// expect gives an error where v is not of type t.
func (v Value) expect(t Type) error {
	if v.Type != t {
		return fmt.Errorf("a value of type %s where %s is needed", v.Type, t)
	}
	return nil
}
