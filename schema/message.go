package schema

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/edgemill/edgemill/schema/token"
	"github.com/edgemill/edgemill/schema/value"
	"google.golang.org/protobuf/encoding/protowire"
)

// The fields of a SchemaUpdate message, in the order in which they are written.
const (
	fieldPredicate       protowire.Number = 1
	fieldValueType       protowire.Number = 2
	fieldDirective       protowire.Number = 3
	fieldTokenizer       protowire.Number = 4
	fieldCount           protowire.Number = 5
	fieldList            protowire.Number = 6
	fieldUpsert          protowire.Number = 8
	fieldLang            protowire.Number = 9
	fieldNonNullable     protowire.Number = 10
	fieldNonNullableList protowire.Number = 11
	fieldObjectTypeName  protowire.Number = 12
	fieldNoConflict      protowire.Number = 13
	fieldUnique          protowire.Number = 14
	fieldIndexSpecs      protowire.Number = 15
)

// The values of fieldDirective that are written and read; the others say
// nothing that the rest of the message doesn't.
const (
	directiveIndex   = 1
	directiveReverse = 2
)

// AppendUpdate appends the stored SchemaUpdate message, protobuf wire format with
// fields in ascending order.
func (p *Predicate) AppendUpdate(dst []byte) []byte {
	dst = appendString(dst, fieldPredicate, qualify(p.Namespace, p.Name))
	dst = appendUint(dst, fieldValueType, uint64(p.Type))
	dst = appendUint(dst, fieldDirective, p.storedDirective())
	for _, name := range p.tokenizerNames() {
		dst = appendString(dst, fieldTokenizer, name)
	}
	dst = appendFlag(dst, fieldCount, p.Count)
	dst = appendFlag(dst, fieldList, p.List)
	dst = appendFlag(dst, fieldUpsert, p.Upsert)
	dst = appendFlag(dst, fieldLang, p.Lang)
	dst = appendFlag(dst, fieldNonNullable, p.NonNullable)
	dst = appendFlag(dst, fieldNonNullableList, p.NonNullableList)
	if p.ObjectTypeName != "" {
		dst = appendString(dst, fieldObjectTypeName, p.ObjectTypeName)
	}
	dst = appendFlag(dst, fieldNoConflict, p.NoConflict)
	dst = appendFlag(dst, fieldUnique, p.Unique)
	for _, s := range p.IndexSpecs {
		dst = protowire.AppendTag(dst, fieldIndexSpecs, protowire.BytesType)
		dst = protowire.AppendBytes(dst, s.append(nil))
	}
	return dst
}

// storedDirective is index or reverse, of which a predicate can't have both.
func (p *Predicate) storedDirective() uint64 {
	switch {
	case p.Reverse:
		return directiveReverse
	case len(p.Tokenizers)+len(p.CustomTokenizers)+len(p.IndexSpecs) > 0:
		return directiveIndex
	}
	return 0
}

// append appends the message of an index: 1 its name, 2 its options, of which
// each has 1 a key and 2 a value.
func (s IndexSpec) append(dst []byte) []byte {
	dst = appendNonEmpty(dst, 1, s.Name)
	for _, o := range s.Options {
		option := appendNonEmpty(appendNonEmpty(nil, 1, o.Key), 2, o.Value)
		dst = protowire.AppendTag(dst, 2, protowire.BytesType)
		dst = protowire.AppendBytes(dst, option)
	}
	return dst
}

// AppendUpdate appends the stored TypeUpdate message: 1 the type's name, 2 for
// each field a SchemaUpdate that has its predicate's name. (Its value_type is
// default, which is left out.)
func (t *TypeDef) AppendUpdate(dst []byte) []byte {
	dst = appendString(dst, 1, qualify(t.Namespace, t.Name))
	for _, f := range t.Fields {
		update := appendString(nil, fieldPredicate, qualify(t.Namespace, f))
		dst = protowire.AppendTag(dst, 2, protowire.BytesType)
		dst = protowire.AppendBytes(dst, update)
	}
	return dst
}

// qualify gives a name with its namespace, as messages have it: 0-name.
func qualify(ns uint64, name string) string {
	return strconv.FormatUint(ns, 16) + "-" + name
}

// unqualify takes apart what qualify made.
func unqualify(s string) (ns uint64, name string, err error) {
	digits, name, ok := strings.Cut(s, "-")
	if !ok {
		return 0, "", fmt.Errorf("the name %q has no namespace", s)
	}
	ns, err = strconv.ParseUint(digits, 16, 64)
	if err != nil {
		return 0, "", fmt.Errorf("the name %q has no namespace: %w", s, err)
	}
	return ns, name, nil
}

func appendString(dst []byte, field protowire.Number, s string) []byte {
	dst = protowire.AppendTag(dst, field, protowire.BytesType)
	return protowire.AppendString(dst, s)
}

func appendNonEmpty(dst []byte, field protowire.Number, s string) []byte {
	if s == "" {
		return dst
	}
	return appendString(dst, field, s)
}

func appendUint(dst []byte, field protowire.Number, n uint64) []byte {
	if n == 0 {
		return dst
	}
	dst = protowire.AppendTag(dst, field, protowire.VarintType)
	return protowire.AppendVarint(dst, n)
}

func appendFlag(dst []byte, field protowire.Number, flag bool) []byte {
	return appendUint(dst, field, protowire.EncodeBool(flag))
}

// DecodeUpdate reads a stored SchemaUpdate message; its name has the namespace.
// Nothing but the form is checked (see Predicate.Validate and Unsupported): unknown
// fields are passed over, and tokenizers not known here become CustomTokenizers.
func DecodeUpdate(data []byte) (*Predicate, error) {
	p := &Predicate{}
	named := false
	err := eachField(data, func(f wireField) error {
		if f.number == fieldPredicate {
			named = true
		}
		return p.setField(f)
	})
	if err == nil && !named {
		err = errors.New("no predicate is named")
	}
	if err != nil {
		return nil, fmt.Errorf("stored schema: %w", err)
	}
	return p, nil
}

// setField takes one field of a SchemaUpdate.
func (p *Predicate) setField(f wireField) (err error) {
	switch f.number {
	case fieldPredicate:
		p.Namespace, p.Name, err = unqualify(string(f.bytes))
	case fieldValueType:
		if f.varint > 255 {
			return fmt.Errorf("value type %d", f.varint)
		}
		p.Type = value.Type(f.varint)
	case fieldDirective:
		p.Reverse = f.varint == directiveReverse
	case fieldTokenizer:
		p.addTokenizer(string(f.bytes))
	case fieldCount:
		p.Count = f.flag()
	case fieldList:
		p.List = f.flag()
	case fieldUpsert:
		p.Upsert = f.flag()
	case fieldLang:
		p.Lang = f.flag()
	case fieldNonNullable:
		p.NonNullable = f.flag()
	case fieldNonNullableList:
		p.NonNullableList = f.flag()
	case fieldObjectTypeName:
		p.ObjectTypeName = string(f.bytes)
	case fieldNoConflict:
		p.NoConflict = f.flag()
	case fieldUnique:
		p.Unique = f.flag()
	case fieldIndexSpecs:
		var s IndexSpec
		s, err = decodeIndexSpec(f.bytes)
		p.IndexSpecs = append(p.IndexSpecs, s)
	}
	return err
}

func (p *Predicate) addTokenizer(name string) {
	if t, ok := token.Get(name); ok {
		p.Tokenizers = append(p.Tokenizers, t)
		return
	}
	p.CustomTokenizers = append(p.CustomTokenizers, name)
}

func decodeIndexSpec(data []byte) (IndexSpec, error) {
	var s IndexSpec
	err := eachField(data, func(f wireField) error {
		switch f.number {
		case 1:
			s.Name = string(f.bytes)
		case 2:
			o, err := decodeOption(f.bytes)
			s.Options = append(s.Options, o)
			return err
		}
		return nil
	})
	return s, err
}

func decodeOption(data []byte) (IndexOption, error) {
	var o IndexOption
	err := eachField(data, func(f wireField) error {
		switch f.number {
		case 1:
			o.Key = string(f.bytes)
		case 2:
			o.Value = string(f.bytes)
		}
		return nil
	})
	return o, err
}

// DecodeTypeUpdate reads a stored TypeUpdate message; its name has the
// namespace, and its fields' names must have the same. Nothing else is checked.
func DecodeTypeUpdate(data []byte) (*TypeDef, error) {
	t := &TypeDef{}
	var fields []*Predicate
	named := false
	err := eachField(data, func(f wireField) (err error) {
		switch f.number {
		case 1:
			named = true
			t.Namespace, t.Name, err = unqualify(string(f.bytes))
		case 2:
			var field *Predicate
			field, err = DecodeUpdate(f.bytes)
			fields = append(fields, field)
		}
		return err
	})
	switch {
	case err != nil:
		return nil, fmt.Errorf("stored type: %w", err)
	case !named:
		return nil, errors.New("stored type: no type is named")
	}
	for _, f := range fields {
		if f.Namespace != t.Namespace {
			return nil, fmt.Errorf("stored type %q: field %q is of another namespace", t.Name, f.Name)
		}
		t.Fields = append(t.Fields, f.Name)
	}
	return t, nil
}

// wireField is one field of a message: varint or bytes, as its number asks.
type wireField struct {
	number protowire.Number
	varint uint64
	bytes  []byte
}

func (f wireField) flag() bool { return protowire.DecodeBool(f.varint) }

// eachField calls do with each field that is a varint or bytes, and passes over
// others. The bytes alias data.
func eachField(data []byte, do func(wireField) error) error {
	for len(data) > 0 {
		number, typ, n := protowire.ConsumeTag(data)
		if n < 0 {
			return protowire.ParseError(n)
		}
		data = data[n:]
		f := wireField{number: number}
		switch typ {
		case protowire.VarintType:
			f.varint, n = protowire.ConsumeVarint(data)
		case protowire.BytesType:
			f.bytes, n = protowire.ConsumeBytes(data)
		default:
			n = protowire.ConsumeFieldValue(number, typ, data)
			f.number = 0
		}
		if n < 0 {
			return fmt.Errorf("field %d: %w", number, protowire.ParseError(n))
		}
		data = data[n:]
		if err := do(f); err != nil {
			return err
		}
	}
	return nil
}
