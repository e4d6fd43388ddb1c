package value_test

import (
	"encoding/hex"
	"math"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/edgemill/edgemill/schema/value"
	"github.com/stretchr/testify/require"
)

// hash is "secret" at the lowest cost.
const hash = "$2a$04$QTnk6HD7y2ffpkQYzJ6iGeDaYUZMLjmBb.pkVRjHEUKqDRnLPbHVS"

func TestTypeNames(t *testing.T) {
	for typ := value.Default; typ <= value.Vector; typ++ {
		back, ok := value.ParseType(typ.String())
		require.True(t, ok, typ)
		require.Equal(t, typ, back)
	}
	typ, ok := value.ParseType("dateTime")
	require.True(t, ok)
	require.Equal(t, value.DateTime, typ)
	_, ok = value.ParseType("unknown")
	require.False(t, ok)
	require.Equal(t, "unknown", value.Type(13).String())
}

// TestParse has input text, the stored form in hex, and the text that the
// stored form converts to.
func TestParse(t *testing.T) {
	for _, c := range []struct {
		typ              value.Type
		in, stored, text string
	}{
		{value.Default, "a\x00é", "6100c3a9", "a\x00é"},
		{value.String, "", "", ""},
		{value.Int, "9007199254740993", "0100000000002000", "9007199254740993"},
		{value.Int, "9223372036854775807", "ffffffffffffff7f", "9223372036854775807"},
		{value.Int, "-9223372036854775808", "0000000000000080", "-9223372036854775808"},
		{value.Int, "+5", "0500000000000000", "5"},
		{value.Float, "1.5", "000000000000f83f", "1.5"},
		{value.Float, "-0", "0000000000000080", "-0"},
		{value.Float, "1e21", "50efe2d6e41a4b44", "1E+21"},
		{value.Float, "Inf", "000000000000f07f", "+Inf"},
		{value.Float, "-infinity", "000000000000f0ff", "-Inf"},
		{value.Bool, "1", "01", "true"},
		{value.Bool, "F", "00", "false"},
		{value.DateTime, "2006", "010000000ebb49128000000000ffff", "2006-01-01T00:00:00Z"},
		{value.DateTime, "2006-02", "010000000ebb71f10000000000ffff", "2006-02-01T00:00:00Z"},
		{value.DateTime, "2006-01-02", "010000000ebb4a640000000000ffff", "2006-01-02T00:00:00Z"},
		{value.DateTime, "2020-02-03T04:05:06.5Z", "010000000ed5c992f21dcd6500ffff", "2020-02-03T04:05:06.5Z"},
		{value.DateTime, "2020-02-03T04:05:06.000000001-07:30", "010000000ed5c9fc6a00000001fe3e", "2020-02-03T04:05:06.000000001-07:30"},
		{value.DateTime, "2020-02-03T04:05:06", "010000000ed5c992f200000000ffff", "2020-02-03T04:05:06Z"},
		{value.DateTime, "2020-02-03 04:05:06 +0200 EET", "010000000ed5c976d2000000000078", "2020-02-03T04:05:06+02:00"},
		{value.DateTime, "2020-02-03T04:05:06+00:00", "010000000ed5c992f2000000000000", "2020-02-03T04:05:06Z"},
		{value.DateTime, "2020-02-03T04:05:06+23:59", "010000000ed5c841ae00000000059f", "2020-02-03T04:05:06+23:59"},
		{value.DateTime, "0000-01-01", "01fffffffffe1d7b0000000000ffff", "0000-01-01T00:00:00Z"},
		{value.DateTime, "9999-12-31T23:59:59.999999999Z", "01000000497786387f3b9ac9ffffff", "9999-12-31T23:59:59.999999999Z"},
		{value.Geo, "{'type':'Point','coordinates':[-122.5,37.25]}", "01010000000000000000a05ec00000000000a04240", "{'type':'Point','coordinates':[-122.5,37.25]}"},
		{value.Geo, `{"type":"Point", "coordinates":[1,2,3]}`, "01e9030000000000000000f03f00000000000000400000000000000840", "{'type':'Point','coordinates':[1,2,3]}"},
		{value.Password, hash, hex.EncodeToString([]byte(hash)), hash},
		{value.BigFloat, "0.1", hex.EncodeToString([]byte("0.1")), "0.1"},
		{value.BigFloat, "123456789012345678901234567890.5", hex.EncodeToString([]byte("1.234567890123456789012345678905e+29")), "1.23456789e+29"},
		{value.BigFloat, "0e7", hex.EncodeToString([]byte("0")), "0"},
		{value.BigFloat, "-Inf", hex.EncodeToString([]byte("-Inf")), "-Inf"},
		{value.Vector, "[1.0, 2.5]", "0000803f00002040", "[1,2.5]"},
		{value.Vector, " [1.0\t2.5,-3 ] ", "0000803f00002040000040c0", "[1,2.5,-3]"},
		{value.Vector, "[]", "", "[]"},
	} {
		t.Run(c.typ.String()+" "+c.in, func(t *testing.T) {
			v, err := value.Parse(c.typ, c.in)
			require.NoError(t, err)
			require.Equal(t, c.typ, v.Type)
			require.Equal(t, c.stored, hex.EncodeToString(v.Data))
			text, err := v.Text()
			require.NoError(t, err)
			require.Equal(t, c.text, text)
			require.NoError(t, value.Check(c.typ, v.Data))

			literal, err := v.AppendLiteral(nil)
			require.NoError(t, err)
			back, err := value.Parse(c.typ, string(literal))
			require.NoError(t, err)
			require.True(t, v.Equal(back), "%s", literal)
		})
	}
}

func TestParseRefuses(t *testing.T) {
	for _, c := range []struct {
		typ     value.Type
		in, why string
	}{
		{value.String, "a\xff", "UTF-8"},
		{value.Default, "\xed\xa0\x80", "UTF-8"},
		{value.Int, "", "syntax"},
		{value.Int, "9223372036854775808", "range"},
		{value.Int, "116.0", "syntax"},
		{value.Int, "1_000", "syntax"},
		{value.Int, "0x10", "syntax"},
		{value.Int, " 1", "syntax"},
		{value.Float, "", "syntax"},
		{value.Float, "NaN", "NaN"},
		{value.Float, "nan", "NaN"},
		{value.Float, "1e999", "range"},
		{value.Float, "-1e999", "range"},
		{value.Bool, "", "syntax"},
		{value.Bool, "yes", "syntax"},
		{value.DateTime, "", "syntax"},
		{value.DateTime, "2021-02-29", "range"},
		{value.DateTime, "2021-04-31T00:00:00Z", "range"},
		{value.DateTime, "2021-13", "range"},
		{value.DateTime, "2021-04-30T24:00:00Z", "range"},
		{value.DateTime, "2021-04-30T00:00:60Z", "range"},
		{value.DateTime, "2021-04-30T00:00:00+24:00", "zone"},
		{value.DateTime, "2021-04-30T00:00:00-24:00", "zone"},
		{value.DateTime, "2021-04-30T00:00:00+23:60", ""},
		{value.DateTime, "2021-04-30 00:00:00 +2400 EET", "zone"},
		{value.DateTime, "10000-01-01", "syntax"},
		{value.DateTime, "-0001-01-01T00:00:00Z", "syntax"},
		{value.DateTime, "yesterday", "syntax"},
		{value.Geo, "", "GeoJSON"},
		{value.Geo, "null", "unsupported type"},
		{value.Geo, "{}", "GeoJSON"},
		{value.Geo, "{'type':'Point'}", ""},
		{value.Geo, "{'type':'Point','coordinates':[]}", ""},
		{value.Geo, "{'type':'Point','coordinates':[1]}", ""},
		{value.Geo, "{'type':'Point','coordinates':[1,2,3,4,5]}", ""},
		{value.Geo, "{'type':'Point','coordinates':['a',2]}", ""},
		{value.Geo, "{'type':'Polygon','coordinates':[[[0,0],[1,0],[1,1],[0,1]]]}", "not closed"},
		{value.Geo, "{'type':'Polygon','coordinates':[]}", "without a ring"},
		{value.Geo, "{'type':'Polygon','coordinates':[[]]}", "fewer than four"},
		{value.Geo, "{'type':'Polygon','coordinates':[[[0,0],[9,0],[9,9],[0,0]],[[1,1],[2,1],[2,2],[1,2]]]}", "not closed"},
		{value.Geo, "{'type':'MultiPolygon','coordinates':[[[[0,0],[1,0],[1,1],[0,1]]]]}", "not closed"},
		{value.Geo, strings.Repeat("{'type':'GeometryCollection','geometries':[", 50) + strings.Repeat("]}", 50), "too deep"},
		{value.Password, "secret", "bcrypt"},
		{value.Password, "", "bcrypt"},
		{value.Password, strings.Replace(hash, "$2a$", "$2x$", 1), "bcrypt"},
		{value.Password, hash + "x", "bcrypt"},
		{value.BigFloat, "", "syntax"},
		{value.BigFloat, "NaN", "syntax"},
		{value.BigFloat, "1e-5000", "range"},
		{value.BigFloat, "1e999999999", "range"},
		{value.BigFloat, "1e-999999999", "range"},
		{value.BigFloat, "1e-5000", "range"},
		{value.BigFloat, "1e99999999999999999999", ""},
		{value.BigFloat, "1x", "syntax"},
		{value.Vector, "", "brackets"},
		{value.Vector, "[", "brackets"},
		{value.Vector, "1,2", "brackets"},
		{value.Vector, "[1,,2]", "element"},
		{value.Vector, "[,1]", "element"},
		{value.Vector, "[1,]", "last comma"},
		{value.Vector, "[1,NaN]", "NaN"},
		{value.Vector, "[1e39]", "range"},
		{value.UID, "0x1", "not read from text"},
		{value.Binary, "x", "not read from text"},
		{value.Object, "x", "not read from text"},
		{value.Type(99), "x", "not read from text"},
	} {
		t.Run(c.typ.String()+" "+c.in, func(t *testing.T) {
			_, err := value.Parse(c.typ, c.in)
			require.ErrorContains(t, err, c.typ.String())
			require.ErrorContains(t, err, c.why)
		})
	}
}

// TestErrorsShorten: an error shows the beginning of a long value, cut between
// characters.
func TestErrorsShorten(t *testing.T) {
	_, err := value.Parse(value.Int, strings.Repeat("é", 5000))
	require.EqualError(t, err, `"`+strings.Repeat("é", 30)+`"... is not valid as int: invalid syntax`)
}

// v is a value of type typ by its text.
func v(typ value.Type, text string) value.Value {
	parsed, err := value.Parse(typ, text)
	if err != nil {
		panic(err)
	}
	return parsed
}

func TestConvert(t *testing.T) {
	big53 := "9007199254740993"
	for _, c := range []struct {
		from value.Value
		to   value.Type
		want string // the text of the result, or ! and what the error says
	}{
		{v(value.Int, big53), value.Int, big53},
		{v(value.Int, big53), value.Float, "9.007199254740992E+15"},
		{v(value.Int, big53), value.BigFloat, "9.007199255e+15"},
		{v(value.Int, "0"), value.Bool, "false"},
		{v(value.Int, "-2"), value.Bool, "true"},
		{v(value.Int, "-2"), value.String, "-2"},
		{v(value.Int, "-2"), value.Default, "-2"},
		{v(value.Int, "-1"), value.DateTime, "1969-12-31T23:59:59Z"},
		{v(value.Int, "253402300799"), value.DateTime, "9999-12-31T23:59:59Z"},
		{v(value.Int, "253402300800"), value.DateTime, "!year"},
		{v(value.Int, "-62167219200"), value.DateTime, "0000-01-01T00:00:00Z"},
		{v(value.Int, "-62167219201"), value.DateTime, "!year"},
		{v(value.Int, "9223372036854775807"), value.DateTime, "!year"},
		{v(value.Int, "1"), value.Geo, "!does not convert"},
		{v(value.Int, "1"), value.UID, "!does not convert"},
		{v(value.Int, "1"), value.Password, "!does not convert"},
		{v(value.Int, "1"), value.Vector, "!does not convert"},
		{v(value.Float, "-3.99"), value.Int, "-3"},
		{v(value.Float, "9223372036854774784"), value.Int, "9223372036854774784"},
		{v(value.Float, "9223372036854775808"), value.Int, "!range"},
		{v(value.Float, "-9223372036854775808"), value.Int, "-9223372036854775808"},
		{v(value.Float, "-9223372036854777856"), value.Int, "!range"},
		{v(value.Float, "Inf"), value.Int, "!range"},
		{v(value.Float, "Inf"), value.DateTime, "!year"},
		{v(value.Float, "1e15"), value.DateTime, "!year"},
		{v(value.Float, "Inf"), value.BigFloat, "+Inf"},
		{v(value.Float, "1580000000.5"), value.DateTime, "2020-01-26T00:53:20.5Z"},
		{v(value.Float, "-0.5"), value.DateTime, "1969-12-31T23:59:59.5Z"},
		{v(value.Float, "0.0"), value.Bool, "false"},
		{v(value.Float, "0.1"), value.Bool, "true"},
		{v(value.Float, "2.50"), value.String, "2.5"},
		{v(value.Float, "1e30"), value.String, "1E+30"},
		{v(value.Bool, "true"), value.Int, "1"},
		{v(value.Bool, "true"), value.Float, "1"},
		{v(value.Bool, "false"), value.BigFloat, "0"},
		{v(value.Bool, "false"), value.String, "false"},
		{v(value.Bool, "true"), value.DateTime, "!does not convert"},
		{v(value.DateTime, "1969-12-31T23:59:59.5Z"), value.Int, "-1"},
		{v(value.DateTime, "2020-02-03T04:05:06+02:00"), value.Int, "1580695506"},
		{v(value.DateTime, "2020-01-26T00:53:20.5Z"), value.Float, "1.5800000005E+09"},
		{v(value.DateTime, "9999-12-31"), value.Float, "2.534022144E+11"},
		{v(value.DateTime, "1969-12-31T23:59:59.5Z"), value.BigFloat, "-0.5"},
		{v(value.DateTime, "2020-02-03T04:05:06+02:00"), value.String, "2020-02-03T04:05:06+02:00"},
		{v(value.DateTime, "2020"), value.Bool, "!does not convert"},
		{v(value.BigFloat, "9223372036854775807.9"), value.Int, "9223372036854775807"},
		{v(value.BigFloat, "9223372036854775808"), value.Int, "!range"},
		{v(value.BigFloat, "-9223372036854775808.9"), value.Int, "-9223372036854775808"},
		{v(value.BigFloat, "-Inf"), value.Int, "!range"},
		{v(value.BigFloat, "1e400"), value.Float, "!range"},
		{v(value.BigFloat, "Inf"), value.Float, "+Inf"},
		{v(value.BigFloat, "-0.25"), value.Float, "-0.25"},
		{v(value.BigFloat, "0"), value.Bool, "false"},
		{v(value.BigFloat, "1e-300"), value.Bool, "true"},
		{v(value.BigFloat, "1580000000.000000001"), value.DateTime, "2020-01-26T00:53:20.000000001Z"},
		{v(value.BigFloat, "1e300"), value.DateTime, "!year"},
		{v(value.BigFloat, "1"), value.Geo, "!does not convert"},
		{v(value.Geo, "{'type':'Point','coordinates':[1,2]}"), value.String, "{'type':'Point','coordinates':[1,2]}"},
		{v(value.Geo, "{'type':'Point','coordinates':[1,2]}"), value.Int, "!does not convert"},
		{v(value.Vector, "[1 2]"), value.String, "[1,2]"},
		{v(value.Vector, "[1 2]"), value.Float, "!does not convert"},
		{v(value.Password, hash), value.String, hash},
		{v(value.Password, hash), value.Int, "!does not convert"},
		{v(value.Default, "12"), value.Int, "12"},
		{v(value.String, "12"), value.Float, "12"},
		{v(value.String, "true"), value.Bool, "true"},
		{v(value.String, "2020"), value.DateTime, "2020-01-01T00:00:00Z"},
		{v(value.String, "[1]"), value.Vector, "[1]"},
		{v(value.String, "{'type':'Point','coordinates':[1,2]}"), value.Geo, "{'type':'Point','coordinates':[1,2]}"},
		{v(value.String, "12"), value.BigFloat, "12"},
		{v(value.Default, hash), value.Password, hash},
		{v(value.Default, "plain"), value.Password, "!bcrypt"},
		{v(value.Default, ""), value.Int, "!syntax"},
		{v(value.Default, "x"), value.String, "x"},
		{v(value.String, "x"), value.Default, "x"},
		{value.Value{Type: value.Default, Data: []byte{0xff}}, value.String, "!UTF-8"},
		{value.Value{Type: value.String, Data: []byte{0xff}}, value.String, "!UTF-8"},
		{value.Value{Type: value.Int, Data: []byte{1}}, value.Int, "!8 bytes"},
		{value.Value{Type: value.Int, Data: []byte{1}}, value.String, "!8 bytes"},
		{value.Value{Type: value.Float, Data: []byte("\x01\x00\x00\x00\x00\x00\xf8\x7f")}, value.Int, "!NaN"},
		{value.Value{Type: value.Binary, Data: []byte{1}}, value.String, "!no text"},
		{value.Value{Type: value.UID, Data: []byte{1}}, value.UID, "!not stored"},
	} {
		t.Run(c.from.Type.String()+" to "+c.to.String()+" "+c.want, func(t *testing.T) {
			prefix := []byte("kept")
			appended, err := value.AppendConvert(prefix, c.from, c.to)
			converted, err2 := value.Convert(c.from, c.to)
			require.Equal(t, err == nil, err2 == nil)
			if why, refused := strings.CutPrefix(c.want, "!"); refused {
				require.ErrorContains(t, err, why)
				require.Equal(t, "kept", string(appended))
				return
			}
			require.NoError(t, err)
			require.Equal(t, "kept"+string(converted.Data), string(appended))
			text, err := converted.Text()
			require.NoError(t, err)
			require.Equal(t, c.to, converted.Type)
			require.Equal(t, c.want, text)
			require.NoError(t, value.Check(c.to, converted.Data))
		})
	}
}

func TestCheckRefuses(t *testing.T) {
	for _, c := range []struct {
		name string
		typ  value.Type
		hex  string
	}{
		{"bool of two", value.Bool, "02"},
		{"no bool", value.Bool, ""},
		{"version of a datetime", value.DateTime, "030000000ebb4b37800000000000ffff"},
		{"short datetime", value.DateTime, "010000000ebb4b378000000000ff"},
		{"long datetime", value.DateTime, "010000000ebb4b378000000000ffff00"},
		{"no datetime", value.DateTime, ""},
		{"nanoseconds", value.DateTime, "010000000ebb4b37803b9aca00ffff"},
		{"year 10000", value.DateTime, "01000000497786388000000000ffff"},
		{"far year", value.DateTime, "017fffffffffffffff00000000ffff"},
		{"far past", value.DateTime, "01800000000000000000000000ffff"},
		{"zone of 24:00", value.DateTime, "010000000ebb4b37800000000005a0"},
		{"empty geo", value.Geo, ""},
		{"big-endian geo", value.Geo, "0000000001" + strings.Repeat("00", 16)},
		{"cut geo", value.Geo, "0101000000" + strings.Repeat("00", 15)},
		{"more behind geo", value.Geo, "0101000000" + strings.Repeat("00", 17)},
		{"geo with NaN", value.Geo, "0101000000" + "010000000000f87f" + strings.Repeat("00", 8)},
		{"geo with Inf", value.Geo, "0101000000" + "000000000000f07f" + strings.Repeat("00", 8)},
		{"geo that promises too much", value.Geo, "0102000000ffffffff"},
		{"polygon that promises too much", value.Geo, "0103000000ffffffff"},
		{"unknown geo", value.Geo, "010800000000000000"},
		{"unknown layout", value.Geo, "01a10f0000" + strings.Repeat("00", 16)},
		{"line in a multipoint", value.Geo, "010400000001000000" + "010200000000000000"},
		{"deep geo", value.Geo, strings.Repeat("010700000001000000", 40) + "010700000000000000"},
		{"bigfloat", value.BigFloat, hex.EncodeToString([]byte("12x"))},
		{"huge bigfloat", value.BigFloat, hex.EncodeToString([]byte("1e9999999"))},
		{"uneven vector", value.Vector, "000000"},
		{"vector with NaN", value.Vector, "0000c07f"},
		{"password", value.Password, "00"},
		{"uid", value.UID, "0000000000000001"},
	} {
		t.Run(c.name, func(t *testing.T) {
			data, err := hex.DecodeString(c.hex)
			require.NoError(t, err)
			require.ErrorContains(t, value.Check(c.typ, data), c.typ.String())
			_, err = value.Value{Type: c.typ, Data: data}.Text()
			require.Error(t, err)
			_, err = value.Value{Type: c.typ, Data: data}.AppendLiteral(nil)
			require.Error(t, err)
		})
	}
	require.NoError(t, value.Check(value.Binary, []byte{0xff}))
}

// TestTime: what time.Time writes is read and what is read time.Time
// understands, a zone with seconds included.
func TestTime(t *testing.T) {
	zones := []*time.Location{time.UTC, time.FixedZone("", 0), time.FixedZone("", 5*3600+1800),
		time.FixedZone("", -7*3600), time.FixedZone("", 19172), time.FixedZone("", -19172)}
	for _, zone := range zones {
		for _, year := range []int{0, 1, 1582, 1969, 2024, 9998} {
			in := time.Date(year, 6, 30, 23, 59, 58, 987654321, zone)
			want, err := in.MarshalBinary()
			require.NoError(t, err)
			got, err := value.AppendTime(nil, in)
			require.NoError(t, err)
			require.Equal(t, want, got)
			v := value.Value{Type: value.DateTime, Data: got}
			out, err := v.Time()
			require.NoError(t, err)
			back, err := out.MarshalBinary()
			require.NoError(t, err)
			require.Equal(t, want, back)
			instant, err := v.Instant()
			require.NoError(t, err)
			require.Equal(t, in.UTC(), instant)
			text, err := v.Text()
			require.NoError(t, err)
			read, err := time.Parse(time.RFC3339Nano, text)
			require.NoError(t, err)
			require.True(t, read.Equal(in), text)
		}
	}
	_, err := value.AppendTime(nil, time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC))
	require.Error(t, err)
	_, err = value.AppendTime(nil, time.Date(2000, 1, 1, 0, 0, 0, 0, time.FixedZone("", 86400)))
	require.Error(t, err)
}

func TestAccessors(t *testing.T) {
	n, err := v(value.Int, "-5").Int64()
	require.NoError(t, err)
	require.EqualValues(t, -5, n)
	f, err := v(value.Float, "2.5").Float64()
	require.NoError(t, err)
	require.EqualValues(t, 2.5, f)
	b, err := v(value.Bool, "true").Bool()
	require.NoError(t, err)
	require.True(t, b)
	bf, err := v(value.BigFloat, "2.5").BigFloat()
	require.NoError(t, err)
	require.Zero(t, bf.Cmp(big.NewFloat(2.5)))
	g, err := v(value.Geo, "{'type':'Point','coordinates':[1,2]}").Geometry()
	require.NoError(t, err)
	require.Equal(t, []float64{1, 2}, g.FlatCoords())

	text := v(value.String, "x")
	_, err = text.Int64()
	require.Error(t, err)
	_, err = text.Float64()
	require.Error(t, err)
	_, err = text.Bool()
	require.Error(t, err)
	_, err = text.BigFloat()
	require.Error(t, err)
	_, err = text.Geometry()
	require.Error(t, err)
	_, err = text.Time()
	require.Error(t, err)
}

func TestPassword(t *testing.T) {
	made, err := value.HashPassword("secret")
	require.NoError(t, err)
	require.True(t, value.IsBcrypt(made))
	require.True(t, value.VerifyPassword(made, []byte("secret")))
	require.False(t, value.VerifyPassword(made, []byte("Secret")))
	require.False(t, value.VerifyPassword([]byte("no hash"), []byte("secret")))
	_, err = value.HashPassword(strings.Repeat("x", 73))
	require.ErrorContains(t, err, "73 bytes")
	require.False(t, value.VerifyPassword(made, make([]byte, 73)))
}

func TestTruncateFloat(t *testing.T) {
	for f, want := range map[float64]int64{1.9: 1, -1.9: -1, math.MinInt64: math.MinInt64} {
		n, ok := value.TruncateFloat(f)
		require.True(t, ok)
		require.Equal(t, want, n)
	}
	for _, f := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), 1 << 63} {
		_, ok := value.TruncateFloat(f)
		require.False(t, ok)
	}
}

// TestConvertAllocates nothing where that is promised.
func TestConvertAllocates(t *testing.T) {
	dst := make([]byte, 0, 100)
	for _, c := range []struct {
		from value.Value
		to   value.Type
	}{
		{v(value.Int, "5"), value.Int}, {v(value.Default, "12345"), value.Int},
		{v(value.Default, "some text"), value.String}, {v(value.Int, "5"), value.Float},
		{v(value.Float, "5"), value.Int}, {v(value.Default, "2.5"), value.Float},
		{v(value.Bool, "1"), value.Int}, {v(value.Default, "true"), value.Bool},
		{v(value.DateTime, "2020"), value.DateTime}, {v(value.Int, "5"), value.DateTime},
		{v(value.Geo, "{'type':'Point','coordinates':[1,2]}"), value.Geo},
	} {
		allocs := testing.AllocsPerRun(100, func() {
			if _, err := value.AppendConvert(dst, c.from, c.to); err != nil {
				t.Fatal(err)
			}
		})
		require.Zero(t, allocs, "%s to %s", c.from.Type, c.to)
	}
}
