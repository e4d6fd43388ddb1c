package value_test

import (
	"testing"

	"github.com/edgemill/edgemill/schema/value"
	"github.com/stretchr/testify/require"
)

var seeds = []string{"", "1", "-0.5", "true", "2006-01-02", "2020-02-03T04:05:06.5+02:00", "NaN", "Inf", "1e400",
	"2020-02-03 04:05:06 +0200 EET", "[1, 2 3]", hash, "{'type':'Point','coordinates':[1,2]}",
	"{'type':'Polygon','coordinates':[[[0,0],[1,0],[1,1],[0,0]]]}",
	"{'type':'GeometryCollection','geometries':[{'type':'MultiPoint','coordinates':[[1,2,3]]}]}"}

// FuzzParse: Parse never panics; what it makes is well formed, reads back from
// its literal to the same bytes, and its text to a value of the same text.
func FuzzParse(f *testing.F) {
	for _, s := range seeds {
		for typ := value.Default; typ <= value.Vector; typ++ {
			f.Add(uint8(typ), s)
		}
	}
	f.Fuzz(func(t *testing.T, typ uint8, in string) {
		v, err := value.Parse(value.Type(typ), in)
		if err != nil {
			return
		}
		require.NoError(t, value.Check(v.Type, v.Data))
		text, err := v.Text()
		require.NoError(t, err)
		again, err := value.Parse(v.Type, text)
		require.NoError(t, err)
		text2, err := again.Text()
		require.NoError(t, err)
		require.Equal(t, text, text2)
		literal, err := v.AppendLiteral(nil)
		require.NoError(t, err)
		exact, err := value.Parse(v.Type, string(literal))
		require.NoError(t, err)
		require.True(t, v.Equal(exact), "%s: %x and %x", literal, v.Data, exact.Data)
	})
}

// FuzzConvert: no stored bytes make a conversion panic; those that are refused
// by Check are refused by every conversion, and what comes out passes it.
func FuzzConvert(f *testing.F) {
	for _, s := range seeds {
		for typ := value.Default; typ <= value.Vector; typ++ {
			if v, err := value.Parse(typ, s); err == nil {
				f.Add(uint8(typ), uint8(value.String), v.Data)
				f.Add(uint8(typ), uint8(value.DateTime), v.Data)
			}
		}
	}
	f.Fuzz(func(t *testing.T, from, to uint8, data []byte) {
		v := value.Value{Type: value.Type(from), Data: data}
		malformed := value.Check(v.Type, data)
		_, _ = v.AppendLiteral(nil)
		out, err := value.Convert(v, value.Type(to))
		if err != nil {
			return
		}
		require.NoError(t, value.Check(out.Type, out.Data))
		require.NoError(t, malformed)
	})
}

func BenchmarkConvert(b *testing.B) {
	for _, c := range []struct {
		name string
		from value.Value
		to   value.Type
	}{
		{"string", v(value.Default, "a name of usual length"), value.String},
		{"int", v(value.Default, "1234567"), value.Int},
		{"float", v(value.Default, "1234.567"), value.Float},
		{"datetime", v(value.Default, "2020-02-03T04:05:06Z"), value.DateTime},
		{"geo", v(value.Default, "{'type':'Point','coordinates':[1,2]}"), value.Geo},
	} {
		b.Run(c.name, func(b *testing.B) {
			dst := make([]byte, 0, 100)
			b.ReportAllocs()
			for b.Loop() {
				_, _ = value.AppendConvert(dst, c.from, c.to)
			}
		})
	}
}
