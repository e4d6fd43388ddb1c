package ingest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestJSON(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"an object", `{"uid":"0x1","name":"ann"}`, lines("0x1 name default:ann")},
		{"uid behind", `{"name":"ann","uid":"_:a"}`, lines("_:a name default:ann")},
		{"uid as a number", `{"uid":31,"name":"ann"}`, lines("0x1f name default:ann")},
		{"decimal uid", `{"uid":"31","name":"ann"}`, lines("0x1f name default:ann")},
		{"no uid", `[{"name":"ann"},{"uid":"","name":"bob"}]`, lines("[1] name default:ann", "[2] name default:bob")},
		{"only a uid", `{"uid":"0x1"}`, ""},
		{"empty array", ` [ ] `, ""},
		{"several documents", "{\"uid\":1,\"a\":\"x\"}\n{\"uid\":2,\"a\":\"y\"}\n[{\"uid\":3,\"a\":\"z\"}]",
			lines("0x1 a default:x", "0x2 a default:y", "0x3 a default:z")},
		{"types", `{"uid":1,"s":"x","e":"","t":true,"f":false,"i":-5,"z":-0,"g":1.5,"h":1e3,"n":null}`,
			lines("0x1 s default:x", "0x1 e default:", "0x1 t bool:true", "0x1 f bool:false", "0x1 i int:-5", "0x1 z int:0",
				"0x1 g float:1.5", "0x1 h float:1000")},
		{"exact integers", `{"uid":1,"a":9007199254740993,"b":9223372036854775807,"c":-9223372036854775808,"d":9223372036854775808}`,
			lines("0x1 a int:9007199254740993", "0x1 b int:9223372036854775807", "0x1 c int:-9223372036854775808", "0x1 d float:9.223372036854776E+18")},
		{"special strings", `{"uid":1,"a":"*","b":"_STAR_ALL","c":"null","d":"_nil_"}`,
			lines("0x1 a default:*", "0x1 b default:_STAR_ALL", "0x1 c default:null", "0x1 d default:_nil_")},
		{"escapes", `{"uid":1,"\u0061":"\"\\\/\b\f\n\r\t\u00e9\uD83D\uDE00"}`, lines("0x1 a default:\"\\/\b\f\n\r\té😀")},
		{"languages", `{"uid":1,"name":"x","name@en":"y","name@zh-Hans":"z"}`,
			lines("0x1 name default:x", "0x1 name@en string:y", "0x1 name@zh-Hans string:z")},
		{"lists", `{"uid":1,"tag":["a",1,1.5,true,null]}`,
			lines("0x1 tag default:a", "0x1 tag int:1", "0x1 tag float:1.5", "0x1 tag bool:true")},
		{"empty list", `{"uid":1,"tag":[]}`, ""},
		{"type", `{"uid":1,"dgraph.type":["Person","Animal"]}`,
			lines("0x1 dgraph.type default:Person", "0x1 dgraph.type default:Animal")},
		{"nodes in nodes", `{"uid":"_:a","pal":{"uid":"_:b","name":"bob","pal":[{"uid":3},{"name":"cy"}]}}`,
			lines("_:a pal _:b", "_:b name default:bob", "_:b pal 0x3", "_:b pal [1]", "[1] name default:cy")},
		{"geometry", `{"uid":1,"loc":{"type":"Point","coordinates":[1.5,2]}}`, lines("0x1 loc geo:{'type':'Point','coordinates':[1.5,2]}")},
		{"a node that has a type", `{"uid":1,"loc":{"type":"Point","name":"x"}}`, lines("0x1 loc [1]", "[1] type default:Point", "[1] name default:x")},
		{"facets of a value", `{"uid":1,"name":"x","name|n":3,"name|f":1.5,"name|b":true,"name|s":"1991","name|z":null}`,
			lines(`0x1 name default:x n=3 f=1.5 b=true s="1991"`)},
		{"facets before their value", `{"uid":1,"name@en|n":3,"name@en":"x"}`, lines(`0x1 name@en string:x n=3`)},
		{"facets of an edge", `{"uid":1,"pal":[{"uid":2,"pal|since":"2006"},{"uid":3}]}`, lines(`0x1 pal 0x2 since="2006"`, "0x1 pal 0x3")},
		{"facets beside an edge", `{"uid":1,"pal":{"uid":2,"pal|a":1},"pal|b":2}`, lines(`0x1 pal 0x2 b=2 a=1`)},
		{"facets of lists", `{"uid":1,"tag":["a","b","c"],"tag|w":{"0":1,"2":"x"},"tag|v":{"1":true}}`,
			lines(`0x1 tag default:a w=1`, `0x1 tag default:b v=true`, `0x1 tag default:c w="x"`)},
		{"facets by level", `{"uid":1,"pal":{"uid":2,"pal|a":1,"pal":{"uid":3,"pal|a":2}}}`, lines(`0x1 pal 0x2 a=1`, `0x2 pal 0x3 a=2`)},
		{"byte order mark", "\ufeff{\"uid\":1,\"a\":\"x\"}", lines("0x1 a default:x")},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, size := range []int{1, 16, chunkSize} {
				src, err := NewSource("in", strings.NewReader(c.in))
				require.NoError(t, err)
				quads, err := readAllQuads(src, size)
				require.NoError(t, err)
				if size == chunkSize {
					require.Equal(t, c.want, strings.ReplaceAll(show(quads), ", ", ","))
				}
			}
		})
	}
}

func TestJSONErrors(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{`{`, "ends within the value"},
		{`[{"uid":1}`, "ends within an array"},
		{`[{"uid":1},]`, "want an object"},
		{`[{"uid":1} {"uid":2}]`, "want a comma or the array's end"},
		{`[,]`, "want an object or the array's end"},
		{`[1]`, "want an object or the array's end"},
		{`[[]]`, "want an object or the array's end"},
		{`{"uid":1}]`, "want an object or an array of objects"},
		{`{"uid":1},`, "want an object or an array of objects"},
		{`{"uid":1}x`, "want an object or an array of objects"},
		{`{"uid":1,}`, "a key in quotes"},
		{`{"uid" 1}`, "a colon"},
		{`{"uid":1 "a":2}`, "a comma or }"},
		{`{"uid":1,"a":[1 2]}`, "a comma or ]"},
		{`{"uid":1,"a":[1,]}`, "a JSON value"},
		{`{"uid":1,"a":[1}}`, "a comma or ]"},
		{`{"uid":1,"a":nul}`, "a JSON value"},
		{`{"uid":1,"a":nullx}`, "a comma or }"},
		{`{"uid":1,"a":01}`, "a comma or }"},
		{`{"uid":1,"a":-}`, "a digit"},
		{`{"uid":1,"a":1.}`, "a digit"},
		{`{"uid":1,"a":1e}`, "a digit"},
		{`{"uid":1,"a":NaN}`, "a JSON value"},
		{`{"uid":1,"a":1e999}`, "[0].a: bad value"},
		{"{\"uid\":1,\"a\":\"x\ny\"}", "next character or closing quote"},
		{`{"uid":1,"a":"\uD800"}`, `\uD800 is no escape, or half a character`},
		{`{"uid":1,"a":"\uDE00\uD83D"}`, `\uDE00 is no escape`},
		{`{"uid":1,"a":"\uD83D\u0041"}`, `\uD83D is no escape`},
		{`{"uid":1,"a":"\'"}`, `is no escape`},
		{`{"uid":1,"a":"\x"}`, `is no escape`},
		{`{"uid":1,"a":"\u12"}`, `is no escape`},
		{"{\"uid\":1,\"a\":\"\xff\"}", "not valid UTF-8"},
		{`{"uid":1,"a":1,"a":2}`, `key "a" stands twice`},
		{`{"uid":1,"uid":2}`, `key "uid" stands twice`},
		{`{"uid":0,"a":1}`, "[0]: uid 0: a uid is from 1"},
		{`{"uid":"0x0","a":1}`, "uid 0x0"},
		{`{"uid":18446744073709551615,"a":1}`, "a uid is from 1"},
		{`{"uid":1.5,"a":1}`, `uid "1.5"`},
		{`{"uid":-1,"a":1}`, `uid "-1"`},
		{`{"uid":"ann","a":1}`, `uid "ann": want 0x1f`},
		{`{"uid":"_:","a":1}`, `uid "_:"`},
		{`{"uid":"_:a b","a":1}`, `uid "_:a b"`},
		{`{"uid":null,"a":1}`, "a uid can't be null"},
		{`{"uid":{},"a":1}`, "a uid can't be an object"},
		{`{"uid":1,"":1}`, `"" is no predicate`},
		{`{"uid":1,"*":1}`, `"*" is no predicate`},
		{`{"uid":1,"@en":"x"}`, `"" is no predicate`},
		{`{"uid":1,"a@":"x"}`, `"" is no language tag`},
		{`{"uid":1,"a@1":"x"}`, `"1" is no language tag`},
		{`{"uid":1,"a@en":{"uid":2}}`, "a language tag on an edge to a node"},
		{`{"uid":1,"a":[[1]]}`, "[0].a[0]: an array in an array"},
		{`{"uid":1,"b":[{},{"c":{"uid":0}}]}`, "[0].b[1].c: uid 0"},
		{`{"uid":1,"a|f":1}`, `a facet of "a", which isn't here`},
		{`{"uid":1,"a":1,"a|":1}`, `"" is no facet key`},
		{`{"uid":1,"a":1,"a|b c":1}`, `"b c" is no facet key`},
		{`{"uid":1,"a":1,"a|b":[1]}`, "an array where a facet's value"},
		{`{"uid":1,"a":1,"a|b":{"0":1}}`, "an object where a facet's value"},
		{`{"uid":1,"a":[1],"a|b":1}`, "a number where the facets of an array"},
		{`{"uid":1,"a":[1],"a|b":{"1":1}}`, `"1" is no index`},
		{`{"uid":1,"a":[1],"a|b":{"00":1}}`, `"00" is no index`},
		{`{"uid":1,"a":{"uid":2,"a|f":1},"a|f":1}`, "facet f stands there twice"},
		{`{"uid":1,"loc":{"type":"Polygon","coordinates":[[[0,0],[1,0],[1,1]]]}}`, "[0].loc: bad value"},
		{strings.Repeat(`{"a":`, 600) + "1" + strings.Repeat("}", 600), "in each other"},
		{`{"uid":1,"a":` + strings.Repeat(`[`, 600) + strings.Repeat("]", 600) + "}", "in each other"},
	} {
		_, err := readText(c.in)
		var fault *Error
		require.ErrorAs(t, err, &fault, c.in)
		require.ErrorContains(t, err, c.want, c.in)
		require.Positive(t, fault.Line, c.in)
	}
}

func TestJSONErrorLine(t *testing.T) {
	quads, err := readText("[\n{\"uid\":1,\n\"a\":\"x\"},\r\n\r\n{\"uid\":2,\n \"b\":\n  [1,\n  [2]]}]")
	require.Equal(t, lines("0x1 a default:x"), show(quads))
	require.EqualError(t, err, "in:8: [1].b[1]: an array in an array, near `  [2]]}]`")
	require.Equal(t, 3, quads[0].Line)
}

func TestLargeJSONObject(t *testing.T) {
	var b strings.Builder
	b.WriteString(`{"uid":1`)
	for i := range 20_000 {
		fmt.Fprintf(&b, `,"p%d":%d,"p%d|f":%d`, i, i, i, i)
	}
	quads, err := readText(b.String() + "}")
	require.NoError(t, err)
	require.Len(t, quads, 20_000)
	require.Equal(t, "0x1 p7 int:7 f=7", showQuad(&quads[7]))
	_, err = readText(b.String() + `,"p19999":1}`)
	require.ErrorContains(t, err, `key "p19999" stands twice`)
}

func TestMutationFiles(t *testing.T) {
	want := lines("_:a name default:x", "- 0x1 pal *", "- 0x1 * *", "_:b pal _:a")
	for _, in := range []string{
		"set {\n_:a <name> \"x\" .\n}\ndelete {\n<1> <pal> * .\n<1> * * .\n}\nset {\n_:b <pal> _:a .\n}",
		"# c\n{ # c\nset{_:a <name> \"x\" .}delete{<1> <pal> * . <1> * * .}#c\r\nset\n{ _:b <pal> _:a . # }\n}\n} # end\n",
	} {
		quads, err := readMutationText(in)
		require.NoError(t, err, in)
		require.Equal(t, want, show(quads))
	}
	for _, in := range []string{"", " # only a comment", "{}", "{ }\n", "{ # c\n}", "set {}", "{ set { } delete { } }", `{"set":[]}`} {
		quads, err := readMutationText(in)
		require.NoError(t, err, in)
		require.Empty(t, quads)
	}
}

func TestJSONMutations(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{`{"set":[{"uid":"_:a","name":"x"}],"delete":[{"uid":1,"pal":null}]}`, lines("_:a name default:x", "- 0x1 pal *")},
		{"\ufeff \n{ \"delete\" : {\"uid\":1} , \"set\":{\"uid\":1,\"n\":1} }", lines("- 0x1 * *", "0x1 n int:1")},
		{`{"delete":[{"uid":1,"name@fr":null,"name":"","pal":[{"uid":2},{"uid":3,"x":null}],"tag":["a"],"pal|f":{"0":1}}]}`,
			lines("- 0x1 name@fr *", "- 0x1 name default:", "- 0x1 pal 0x2", "- 0x1 pal 0x3", "- 0x3 x *", "- 0x1 tag default:a")},
		{`{"set":[{"a":1},{"a":{}}]}`, lines("[1] a int:1", "[2] a [3]")},
	} {
		quads, err := readMutationText(c.in)
		require.NoError(t, err, c.in)
		require.Equal(t, c.want, show(quads))
	}
}

func TestMutationErrors(t *testing.T) {
	for in, want := range map[string]string{
		"<1> <p> <2> .":                         "in:1: want set { ... } or delete { ... }",
		"\nupsert { }":                          "in:2: want set { ... } or delete { ... }",
		"set <1>":                               "in:1: '<' where the opening brace",
		"set":                                   "in:1: the statement ends where the opening brace",
		"set {\n<1> <p> <2> .\n":                "in:3: the file ends within a block",
		"{ set { }\n":                           "in:2: the file ends without the brace",
		"set { }\n}":                            "in:2: more after the last block",
		"{ set { } } set { }":                   "in:1: more after the last block",
		"set {\n<1> <p> <2>\n}":                 "in:2: the statement ends where a dot",
		"set {\n<1> <p> * .\n}":                 "in:2: a star for an object",
		"set {\n<1> <p> \"\xff\" .\n}":          "in:2: byte 0xff",
		`{"set":[{"uid":1}]} x`:                 "in:1: more after the JSON object",
		`{"set":[{"uid":1}],"query":"x"}`:       `key "query" where "set" or "delete"`,
		`{"set":[1]}`:                           "set[0]: a number where an object",
		`{"set":null}`:                          "set: null where an object",
		`{"set":[],"set":[]}`:                   `key "set" stands twice`,
		`{"delete":[{"a":1}]}`:                  "delete[0]: an object without a uid in a delete",
		`{"delete":[{"uid":"","a":1}]}`:         "an object without a uid in a delete",
		`{"delete":[{"uid":1,"a":{"b":1}}]}`:    "delete[0].a: an object without a uid",
		`{"delete":[{"uid":1,"a":[null]}]}`:     "delete[0].a[0]: null in an array of a delete",
		`[{"uid":1}]`:                           `want an object with "set" and "delete"`,
		"{\n\"set\":\n[{\"uid\":1,\n\"a\":x}]}": "in:4: 'x' where a JSON value",
	} {
		_, err := readMutationText(in)
		var fault *Error
		require.ErrorAs(t, err, &fault, in)
		require.ErrorContains(t, err, want, in)
	}
}
