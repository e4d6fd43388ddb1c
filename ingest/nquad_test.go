package ingest

import (
	"strconv"
	"strings"
	"testing"

	"github.com/edgemill/edgemill/schema/value"
	"github.com/stretchr/testify/require"
)

func TestNQuads(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"empty", "", ""},
		{"blank lines and comments", "\n \t\n# x <a> <b> <c> .\n  # y", ""},
		{"comment behind", "<a> <p> <b> . # x\n<c> <p> <d> .#y", lines("<a> p <b>", "<c> p <d>")},
		{"hash in an IRI", "<http://x/#a> <http://x/#p> _:b .", lines("<http://x/#a> http://x/#p _:b")},
		{"CRLF", "<a> <p> \"x\" .\r\n<b> <p> \"y\" .\r\n", lines("<a> p default:x", "<b> p default:y")},
		{"lone CR", "<a> <p> \"x\" .\r<b> <p> \"y\" .", lines("<a> p default:x", "<b> p default:y")},
		{"labels", "_:1 <p> _:g-1.b .\n_:é.ü <p> _:a..b .", lines("_:1 p _:g-1.b", "_:é.ü p _:a..b")},
		{"no spaces", "<a><p>_:o.\n<a><p>\"x\"@en.\n_:s<p><o>.\n<a><p>\"1\"^^<xs:int>(f=1).",
			lines("<a> p _:o", "<a> p@en string:x", "_:s p <o>", "<a> p int:1 f=1")},
		{"tabs", "\t<a>\t<p>\t<b>\t.\t", lines("<a> p <b>")},
		{"byte order mark", "\ufeff<a> <p> <b> .", lines("<a> p <b>")},
		{"uids", "<0x1f> <p> <31> .\n<0xfffffffffffffffe> <p> <18446744073709551614> .\n<0x00aB> <p> 0x2 .\n0x3<p>0x4.",
			lines("0x1f p 0x1f", "0xfffffffffffffffe p 0xfffffffffffffffe", "0xab p 0x2", "0x3 p 0x4")},
		{"names that look like numbers", "<010> <p> <0b11> .\n<1_000> <p> <0o7> .\n<00> <p> <0x> .\n<+1> <p> <-1> .\n<1e3> <p> <0xg> .",
			lines("<010> p <0b11>", "<1_000> p <0o7>", "<00> p <0x>", "<+1> p <-1>", "<1e3> p <0xg>")},
		{"escapes in an IRI", `<\u0061b> <\U00000070> <\u0031> .`, lines("<ab> p 0x1")},
		{"graph labels", "<a> <p> <b> <http://g> .\n<a> <p> <b> _:g .\n<a> <p> \"x\"@en <urn:g> (f=1) .\n<a> <p> <b> <0x0> .",
			lines("<a> p <b>", "<a> p <b>", "<a> p@en string:x f=1", "<a> p <b>")},
		{"names differ from labels", "<a> <p> _:a .\n<_:a> <p> <a> .", lines("<a> p _:a", "<_:a> p <a>")},
		{"special strings", `<1> <p> "*" .` + "\n" + `<1> <p> "_STAR_ALL" .` + "\n" + `<1> <p> "_nil_" .` + "\n" + `<1> <p> "" .`,
			lines("0x1 p default:*", "0x1 p default:_STAR_ALL", "0x1 p default:_nil_", "0x1 p default:")},
	} {
		t.Run(c.name, func(t *testing.T) {
			quads, err := readText(c.in)
			require.NoError(t, err)
			require.Equal(t, c.want, show(quads))
		})
	}
}

func TestLiterals(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{`"it\'s"`, "it's"},
		{`"C:\\fluent"`, `C:\fluent`},
		{`"\u0041\U0001F600"`, "A😀"},
		{`"\t\b\n\r\f\"\'\\"`, "\t\b\n\r\f\"'\\"},
		{`"\\"`, `\`},
		{`"\\\\\""`, `\\"`},
		{"\"\x00\x01\x7f\"", "\x00\x01\x7f"},
		{`"\u0000"`, "\x00"},
		{`"é\u00e9"`, "éé"},
		{`"# no comment . <a> "`, "# no comment . <a> "},
	} {
		quads, err := readText("<1> <p> " + c.in + " .\n")
		require.NoError(t, err, c.in)
		require.Equal(t, value.Value{Type: value.Default, Data: []byte(c.want)}, quads[0].Value, c.in)
	}
}

func TestDatatypes(t *testing.T) {
	const full = "http://www.w3.org/2001/XMLSchema#"
	for _, c := range []struct{ text, datatype, want string }{
		{"a", "xs:string", "string:a"}, {"a", full + "string", "string:a"},
		{"9007199254740993", "xs:int", "int:9007199254740993"}, {"-1", full + "int", "int:-1"},
		{"1", "xs:integer", "int:1"}, {"1", full + "integer", "int:1"},
		{"9223372036854775807", "xs:long", "int:9223372036854775807"}, {"1", full + "long", "int:1"},
		{"1.5", "xs:float", "float:1.5"}, {"1.5", full + "float", "float:1.5"},
		{"1", "xs:double", "float:1"}, {"Inf", full + "double", "float:+Inf"},
		{"0.1", "xs:decimal", "float:0.1"}, {"0.1", full + "decimal", "float:0.1"},
		{"true", "xs:boolean", "bool:true"}, {"0", full + "boolean", "bool:false"},
		{"2006-01-02T15:04:05+02:00", "xs:dateTime", "datetime:2006-01-02T15:04:05+02:00"},
		{"2006-01-02T15:04:05", full + "dateTime", "datetime:2006-01-02T15:04:05Z"},
		{"2006-01-02", "xs:date", "datetime:2006-01-02T00:00:00Z"}, {"2006-01-02", full + "date", "datetime:2006-01-02T00:00:00Z"},
		{"2006", "xs:gYear", "datetime:2006-01-01T00:00:00Z"}, {"2006", full + "gYear", "datetime:2006-01-01T00:00:00Z"},
		{"2006-02", "xs:gYearMonth", "datetime:2006-02-01T00:00:00Z"}, {"2006-02", full + "gYearMonth", "datetime:2006-02-01T00:00:00Z"},
		{"{'type':'Point','coordinates':[1,2]}", "geo:geojson", "geo:{'type':'Point','coordinates':[1,2]}"},
		{"[1.0 2.5]", "float32vector", "float32vector:[1 2.5]"}, {"[1, 2.5]", "xs:float32vector", "float32vector:[1 2.5]"},
		{"0.1", "xs:bigfloat", "bigfloat:0.1"},
		{"123", full + "byte", "default:123"}, {"abc", "http://example.org/datatype1", "default:abc"},
	} {
		quads, err := readText("<1> <p> " + strconv.Quote(c.text) + "^^<" + c.datatype + "> .")
		require.NoError(t, err, c.datatype)
		got := showQuad(&quads[0])
		if c.datatype == "geo:geojson" || strings.Contains(c.datatype, "vector") {
			require.Equal(t, strings.SplitN(c.want, ":", 2)[0], quads[0].Value.Type.String())
			continue
		}
		require.Equal(t, "0x1 p "+c.want, got, c.datatype)
	}
}

func TestPasswords(t *testing.T) {
	quads, err := readText(`<1> <p> "secret"^^<xs:password> .`)
	require.NoError(t, err)
	hash := quads[0].Value.Data
	require.True(t, value.IsBcrypt(hash))
	require.True(t, value.VerifyPassword(hash, []byte("secret")))

	quads, err = readText(`<1> <p> "` + string(hash) + `"^^<xs:password> .`)
	require.NoError(t, err)
	require.Equal(t, hash, quads[0].Value.Data, "a hash stays as it is")

	quads, err = readDeletes(`<1> <p> "secret"^^<xs:password> .`)
	require.NoError(t, err)
	require.Equal(t, value.Value{Type: value.Password, Data: []byte("secret")}, quads[0].Value)

	_, err = readText(`<1> <p> "` + strings.Repeat("x", 73) + `"^^<xs:password> .`)
	require.ErrorContains(t, err, "in:1: predicate p: can't hash")
	require.NotContains(t, err.(*Error).Err.Error(), "xxx")
}

func TestFacets(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{`note="\u00e9t\u00e9", year="1991", n=3`, `note="été" year="1991" n=3`},
		{` a = 1 , b=-2,c=+3 `, `a=1 b=-2 c=3`},
		{`a=0x1f, b=010, c=-0x10`, `a=31 b=10 c=-16`},
		{`a=1.0, b=1e3, c=.5, d=9223372036854775808`, `a=1.0 b=1000.0 c=0.5 d=9.223372036854776e+18`},
		{`a=Inf, b=-inf`, `a=+Inf b=-Inf`},
		{`a=true, b=false`, `a=true b=false`},
		{`a=2006-01-02T15:04:05, b=2006-01, c=2006`, `a=2006-01-02T15:04:05Z b=2006-01-01T00:00:00Z c=2006`},
		{`a=2006-01-02 15:04:05 +0200 CEST`, `a=2006-01-02T15:04:05+02:00`},
		{`a=, b= , c="", d=`, `a="" b="" c="" d=""`},
		{`close.friend_1-x:y/z=1, é=2`, `close.friend_1-x:y/z=1 é=2`},
		{`"a b"=1`, `"a b"=1`},
		{`a="true", b="x)y,(z"`, `a="true" b="x)y,(z"`},
		{``, ``}, {` `, ``},
	} {
		quads, err := readText("<1> <p> <2> (" + c.in + ") .")
		require.NoError(t, err, c.in)
		require.Equal(t, strings.TrimSpace("0x1 p 0x2 "+c.want), showQuad(&quads[0]), c.in)
	}
}

func TestFacetsOfDeletesAreDropped(t *testing.T) {
	quads, err := readDeletes(`<1> <p> <2> (a=1) .`)
	require.NoError(t, err)
	require.Empty(t, quads[0].Facets)
}

func TestParseFacet(t *testing.T) {
	for text, want := range map[string]string{
		`"two Words"`: `k="two Words"`, `0.5`: `k=0.5`, ``: `k=""`, `3`: `k=3`, `true`: `k=true`, `"a\tb"`: `k="a\tb"`,
	} {
		f, err := ParseFacet("k", text)
		require.NoError(t, err, text)
		b, err := appendFacet(nil, &f)
		require.NoError(t, err)
		require.Equal(t, want, string(b))
	}
	for _, text := range []string{`abc`, `NaN`, `"a`, `"a"b`, "\"\xff\"", `1e999`, `t`, `1_000`, `0b1`, `1 2`} {
		_, err := ParseFacet("k", text)
		require.Error(t, err, text)
	}
}

func TestStars(t *testing.T) {
	quads, err := readDeletes(`<1> <name> * .
<1> <name@fr> * .
<1> <name@zh-Hans> *.
<1> * * .
<1> <name> "*" .
<1> <name> "_STAR_ALL"@en .
<1> <pal> <2> .
_:a <pal> * <http://g> .`)
	require.NoError(t, err)
	require.Equal(t, lines("- 0x1 name *", "- 0x1 name@fr *", "- 0x1 name@zh-Hans *", "- 0x1 * *",
		"- 0x1 name default:*", "- 0x1 name@en string:_STAR_ALL", "- 0x1 pal 0x2", "- _:a pal *"), show(quads))
}

func TestNQuadErrors(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{`<0> <p> <b> .`, "uid <0>"},
		{`<a> <p> <0x0> .`, "uid <0x0>"},
		{`<18446744073709551615> <p> <b> .`, "a uid is from 1 to 18446744073709551614"},
		{`<18446744073709551616> <p> <b> .`, "a uid is from 1 to"},
		{`<0xffffffffffffffff> <p> <b> .`, "a uid is from 1 to"},
		{`<0x1ffffffffffffffff> <p> <b> .`, "a uid is from 1 to"},
		{`0x0 <p> <b> .`, "a uid is from 1 to"},
		{`<a> <p> 0 .`, "0 where an object"},
		{`<a> <p> 0x1g .`, "0x1g where an object"},
		{`<a> <p> 12 .`, "'1' where an object"},
		{`<a> <p> "\uD800" .`, `\uD800 is no character`},
		{`<a> <p> "\uD83D\uDE00" .`, `\uD83D is no character`},
		{`<a> <p> "\U00110000" .`, `\U00110000 is no character`},
		{`<a> <p> "\UFFFFFFFF" .`, `\UFFFFFFFF is no character`},
		{`<a> <p> "\a" .`, `\a is no escape`},
		{`<a> <p> "\u12" .`, `\u wants 4 hexadecimal digits`},
		{`<a> <p> "x`, "closing quote"},
		{"<a> <p> \"x\ny\" .", "closing quote"},
		{"<a> <p> \"x\\\ny\" .", "closing quote"},
		{`<a> <p> "x" `, "the statement ends where a dot"},
		{`<a> <p> "x"`, "the statement ends where a dot"},
		{"<a> <p>\n<b> .", "the statement ends where an object"},
		{`<a> <p .`, "can't stand in an IRI"},
		{`<a> <p`, "without its closing >"},
		{`<> <p> <b> .`, "an empty IRI"},
		{`<a> <> <b> .`, "an empty IRI"},
		{`<a> name <b> .`, "'n' where a predicate in <>"},
		{`<a> _:p <b> .`, "'_' where a predicate in <>"},
		{`"a" <p> <b> .`, "where a subject"},
		{`* <p> <b> .`, "a star where a subject"},
		{`<a> <p> * .`, "a star for an object, which only a delete"},
		{`<a> * <b> .`, "a star for a predicate, which only a delete"},
		{`<a> <*> <b> .`, "<*> is no predicate"},
		{`<a> <p> <b> . <c> <p> <d> .`, "one statement a line"},
		{`<a> <p> <b> .. `, "one statement a line"},
		{`<a> <p> <b> <g> .`, "relative IRI"},
		{`<a> <p> <b> "g" .`, "where a dot"},
		{`<a> <p> "9223372036854775808"^^<xs:int> .`, "9223372036854775808"},
		{`<a> <p> "116.0"^^<xs:int> .`, "116.0"},
		{`<a> <p> ""^^<xs:int> .`, "predicate p"},
		{`<a> <p> "NaN"^^<xs:float> .`, "NaN"},
		{`<a> <p> "1e999"^^<xs:double> .`, "1e999"},
		{`<a> <p> "2006-02-30"^^<xs:date> .`, "2006-02-30"},
		{`<a> <p> "{'type':'Polygon','coordinates':[[[0,0],[1,0],[1,1]]]}"^^<geo:geojson> .`, "predicate p"},
		{`<a> <p> "x"^^<xs:foo> .`, "unknown datatype <xs:foo>"},
		{`<a> <p> "x"^^<int> .`, "relative IRI"},
		{`<a> <p> "x"^xs:int .`, "where ^^ and a datatype"},
		{`<a> <p> "x"@ .`, "where a language tag"},
		{`<a> <p> "x"@en- .`, "'-' where a dot"},
		{`<a> <p> "x"@en^^<xs:string> .`, "'^' where a dot"},
		{`<a> <p> <b> (a b=1) .`, "'b' where = after a facet's key"},
		{`<a> <p> <b> (a=1, a=2) .`, "facet a stands there twice"},
		{`<a> <p> <b> (a=x) .`, `facet value "x"`},
		{`<a> <p> <b> (a=NaN) .`, `facet value "NaN"`},
		{`<a> <p> <b> (a=1e999) .`, `facet value "1e999"`},
		{`<a> <p> <b> (a=1_000) .`, `facet value "1_000"`},
		{`<a> <p> <b> (a=T) .`, `facet value "T"`},
		{`<a> <p> <b> (a=2006-02-30) .`, `facet value "2006-02-30"`},
		{`<a> <p> <b> (a=1,) .`, "where a facet's key"},
		{`<a> <p> <b> (=1) .`, "where a facet's key"},
		{`<a> <p> <b> (a) .`, "where = after"},
		{`<a> <p> <b> (a=1 .`, `facet value "1 ."`},
		{`<a> <p> <b> (a="x" "y") .`, "where a comma or )"},
		{`<a> <p> <b> (a="\q") .`, `\q is no escape`},
		{`<a> <p> <b> ("a`, "closing quote"},
		{`<a> <p> <b> (""=1) .`, "an empty facet key"},
		{`<a> <p> <b> (a=1) <http://g> .`, "where a dot"},
		{"<a> <p> \"\xff\" .", "byte 0xff is not valid UTF-8"},
		{"<a> <p> \"\xed\xa0\x80\" .", "not valid UTF-8"},
		{"# \xc3\n", "not valid UTF-8"},
		{`_: <p> <b> .`, "a blank node without a label"},
		{`_ <p> <b> .`, "a blank node without a label"},
		{`_:-a <p> <b> .`, "a blank node without a label"},
		{`set { <a> <p> <b> . }`, "where a subject"},
	} {
		for _, before := range []string{"", "<1> <p> <2> .\n# c\r\n\r<3> <p> \"x\" .\r\n"} {
			_, err := readText(before + c.in)
			var fault *Error
			require.ErrorAs(t, err, &fault, c.in)
			require.ErrorContains(t, err, c.want, c.in)
			require.Equal(t, "in", fault.File)
			require.Equal(t, 1+countLines([]byte(before)), fault.Line, c.in)
			require.NotEmpty(t, fault.Text)
			require.Contains(t, c.in, fault.Text, "the text around the fault is of its line")
		}
	}
}

func TestDeleteErrors(t *testing.T) {
	for in, want := range map[string]string{
		`* <p> * .`:               "a star where a subject",
		`* * * .`:                 "a star where a subject",
		`<1> * "x" .`:             "a star for a predicate goes with a star for an object only",
		`<1> * <2> .`:             "a star for a predicate goes with",
		`<1> <p> * (a=1) .`:       "facets on a star",
		`<1> <p@> * .`:            "want a predicate's name, @ and a language tag",
		`<1> <p@1> * .`:           "want a predicate's name, @ and a language tag",
		`<1> <@fr> * .`:           "want a predicate's name, @ and a language tag",
		`<1> <*@fr> * .`:          "want a predicate's name, @ and a language tag",
		`<1> <*> * .`:             "<*> is no predicate",
		`<1> <p> *x .`:            "'x' where a dot",
		`<1> <p> "x"^^<xs:foo> .`: "unknown datatype",
	} {
		_, err := readDeletes(in)
		require.ErrorContains(t, err, want, in)
		require.Equal(t, 2, err.(*Error).Line)
	}
}

func TestQuadLines(t *testing.T) {
	quads, err := readText("# one\r\n\r\n<a> <p> <b> .\n\r<c> <p> <d> .\r<e> <p> <f> .")
	require.NoError(t, err)
	var got []int
	for _, q := range quads {
		got = append(got, q.Line)
	}
	require.Equal(t, []int{3, 5, 6}, got)
}

// Statements keep their order, lines and bytes wherever the chunks are cut.
func TestChunkSizes(t *testing.T) {
	var text strings.Builder
	for i := range 300 {
		text.WriteString("<n" + strconv.Itoa(i) + "> <p> \"" + strings.Repeat("é", i) + "\" . # c\r\n")
	}
	want, err := readText(text.String())
	require.NoError(t, err)
	require.Len(t, want, 300)
	for _, size := range []int{1, 7, 64, 1000} {
		src, err := NewSource("in", strings.NewReader(text.String()))
		require.NoError(t, err)
		got, err := readAllQuads(src, size)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
}

func TestLongLiteral(t *testing.T) {
	long := strings.Repeat("0123456789", 500_000)
	quads, err := readText("<a> <p> \"" + long + "\" .\n<b> <p> \"" + long + `\n` + "\" .")
	require.NoError(t, err)
	require.Len(t, quads, 2)
	require.Equal(t, long, string(quads[0].Value.Data))
	require.Equal(t, long+"\n", string(quads[1].Value.Data))
	require.Equal(t, 2, quads[1].Line)
}

// What stands before a bad line is given with the error.
func TestQuadsBeforeAnError(t *testing.T) {
	quads, err := readText("<a> <p> <b> .\n<a> <p> \"x .\n")
	require.Error(t, err)
	require.Equal(t, lines("<a> p <b>"), show(quads))
}

func TestStatementLimit(t *testing.T) {
	long := "<1> <p> \"" + strings.Repeat("x", 5000) + "\" .\n"
	for _, text := range []string{"<1> <p> <2> .\n" + long, "{\"uid\":1,\n\"a\":\"" + strings.Repeat("x", 5000) + "\"}"} {
		src, err := NewSource("in", strings.NewReader(text))
		require.NoError(t, err)
		r, err := newChunkReader(src, 100)
		require.NoError(t, err)
		r.limit = 1000
		for err == nil {
			_, err = r.Next()
		}
		require.ErrorContains(t, err, "the statement that begins here has more than 1000 bytes")
	}
}
