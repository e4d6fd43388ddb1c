package schema_test

import (
	"strings"
	"testing"

	"github.com/edgemill/edgemill/schema"
	"github.com/edgemill/edgemill/schema/token"
	"github.com/edgemill/edgemill/schema/value"
	"github.com/stretchr/testify/require"
)

// print gives a schema as text, a statement a line, types in one line each.
func print(s *schema.Schema) string {
	var lines []string
	for _, p := range s.Predicates {
		lines = append(lines, p.String())
	}
	for _, t := range s.Types {
		lines = append(lines, strings.Join(strings.Fields(t.String()), " "))
	}
	return strings.Join(lines, "\n")
}

func TestParse(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"nothing", "", ""},
		{"comments", "# a: int .\n\n  # more", ""},
		{"scalar", "name: string .", "name: string ."},
		{"no spaces", "name:string@index(exact,term)@lang.", "name: string @index(exact, term) @lang ."},
		{"wide spaces", "\tname\n:\r\nstring @index ( exact\n, term ) # x\n@lang\n.", "name: string @index(exact, term) @lang ."},
		{"several a line", "a: int . b: [uid] . c: default .", "a: int .\nb: [uid] .\nc: default ."},
		{"byte order mark", "\ufeffa: int .", "a: int ."},
		{"every type", "a: default . b: int . c: float . d: bool . e: datetime . f: geo . g: uid . h: password . i: string . j: bigfloat . k: float32vector . l: dateTime .",
			"a: default .\nb: int .\nc: float .\nd: bool .\ne: datetime .\nf: geo .\ng: uid .\nh: password .\ni: string .\nj: bigfloat .\nk: float32vector .\nl: datetime ."},
		{"every list", "a: [default] . b: [int] . c: [float] . e: [datetime] . f: [geo] . g: [uid] . i: [string] . j: [ bigfloat ] . k: [float32vector] .",
			"a: [default] .\nb: [int] .\nc: [float] .\ne: [datetime] .\nf: [geo] .\ng: [uid] .\ni: [string] .\nj: [bigfloat] .\nk: [float32vector] ."},
		{"directives", "a: [uid] @upsert @count @reverse . b: string @unique @upsert @index(hash) . c: int @noconflict .",
			"a: [uid] @reverse @count @upsert .\nb: string @index(hash) @upsert @unique .\nc: int @noconflict ."},
		{"upsert and noconflict", "a: int @upsert @noconflict .", "a: int @upsert @noconflict ."},
		{"unique int", "a: int @index(int) @upsert @unique .", "a: int @index(int) @upsert @unique ."},
		{"string tokenizers", "a: string @index(term, exact, fulltext, trigram, hash, sha256, ngram) .", "a: string @index(term, exact, fulltext, trigram, hash, sha256, ngram) ."},
		{"datetime tokenizers", "a: datetime @index(year) . b: datetime @index(month) . c: datetime @index(day) . d: dateTime @index(hour) .",
			"a: datetime @index(year) .\nb: datetime @index(month) .\nc: datetime @index(day) .\nd: datetime @index(hour) ."},
		{"other tokenizers", "a: geo @index(geo) . b: bool @index(bool) . c: float @index(float) . d: bigfloat @index(bigfloat) .",
			"a: geo @index(geo) .\nb: bool @index(bool) .\nc: float @index(float) .\nd: bigfloat @index(bigfloat) ."},
		{"iris", "<http://ex.org/p#1>: string .", "<http://ex.org/p#1>: string ."},
		{"unicode", "δelta: int . <имя>: string . na_me.x-1: int . 9lives: int .", "<δelta>: int .\n<имя>: string .\nna_me.x-1: int .\n9lives: int ."},
		{"names that are words", "type: string . index: int . string: string .", "type: string .\nindex: int .\nstring: string ."},
		{"namespaces", "[0x0] <name>:string . [0x1f] name: int . [2]name: int . [0x1f] type T { name }",
			"name: string .\n[0x1f] name: int .\n[0x2] name: int .\n[0x1f] type T { name }"},
		{"hnsw", `a: float32vector @index(hnsw(metric:"euclidian", exponent : "4")) . b: float32vector @index(hnsw) . c: float32vector @index(hnsw()) .`,
			`a: float32vector @index(hnsw(metric:"euclidian", exponent:"4")) .` + "\nb: float32vector @index(hnsw) .\nc: float32vector @index(hnsw) ."},
		{"node type", "dgraph.type: [string] @index(exact) .", "dgraph.type: [string] @index(exact) ."},
		{"type", "type Person { name friend }", "type Person { name friend }"},
		{"type of lines", "type Person {\n  name # of a person\n  <http://ex.org/p>\n <~friend> ~boss\n type\n}", "type Person { name <http://ex.org/p> <~friend> <~boss> type }"},
		{"type with types", "type Person { name: string!\n age: int\n friend: [Person!]!\n pal: [uid] boss:uid }", "type Person { name age friend pal boss }"},
		{"empty type", "type <Ä>{}", "type <Ä> { }"},
		{"type and predicate of one name", "a: int . type a { a }", "a: int .\ntype a { a }"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, err := schema.Parse(c.in)
			require.NoError(t, err)
			require.Equal(t, c.want, print(s))
			again, err := schema.Parse(c.want)
			require.NoError(t, err)
			require.Equal(t, c.want, print(again))
			for i := range s.Predicates {
				require.True(t, s.Predicates[i].Equal(again.Predicates[i]))
				require.NoError(t, s.Predicates[i].Validate())
			}
			for i := range s.Types {
				require.True(t, s.Types[i].Equal(again.Types[i]))
				require.NoError(t, s.Types[i].Validate())
			}
		})
	}
}

// TestParseRefuses has texts in which § stands before the offending word.
func TestParseRefuses(t *testing.T) {
	for _, c := range []struct{ in, why string }{
		{"a: int §@lang .", "@lang is for string"},
		{"a: default §@lang .", "@lang is for string"},
		{"a: [string] §@lang .", "not for lists"},
		{"a: [§bool] .", "list of bool"},
		{"a: [§password] .", "list of password"},
		{"a: uid §@index(int) .", "type uid can't have an index"},
		{"a: default §@index(exact) .", "type default can't"},
		{"a: password §@index(exact) .", "type password can't"},
		{"a: int @index(§exact) .", "for string, not int"},
		{"a: string @index(term, §int) .", "for int, not string"},
		{"a: float @index(§int) .", "for int, not float"},
		{"a: datetime @index(§int) .", "for int, not datetime"},
		{"a: datetime @index(year, §hour) .", "year and hour are both sortable"},
		{"a: string @index(term, §term) .", "named twice"},
		{"a: string @index(exact, §exact) .", "named twice"},
		{"a: string §@index .", "no tokenizer"},
		{"a: string §@index() .", "no tokenizer"},
		{"a: string @index(§datetime) .", `unknown tokenizer "datetime"`},
		{"a: string @index(§custom) .", `unknown tokenizer "custom"`},
		{"a: string @index(term§", "found the end"},
		{"a: string @index(term, §) .", "expected a tokenizer"},
		{"a: string @index(term §exact) .", `expected "," or ")"`},
		{"a: string §@reverse .", "@reverse is for uid"},
		{"a: float @index(float) @upsert §@unique .", "@unique is for string and int"},
		{"a: uid @upsert §@unique .", "@unique is for string and int"},
		{"a: string @index(hash) §@unique .", "asks for @upsert"},
		{"a: string @index(hash) @upsert @noconflict §@unique .", "exclude each other"},
		{"a: string @index(term) @upsert §@unique .", "exact or hash"},
		{"a: string @upsert §@unique .", "exact or hash"},
		{"a: int @upsert §@unique .", "index int"},
		{"§<>: int .", "empty"},
		{"§uid: int .", "reserved"},
		{"§<uid>: int .", "reserved"},
		{"§*: int .", "reserved"},
		{"§~a: int .", "begin with ~"},
		{"§<~a>: int .", "begin with ~"},
		{"§<a b>: int .", "white space"},
		{"§<a\u00a0b>: int .", "white space"},
		{"§<a\x01b>: int .", "control"},
		{"§<a<b>: int .", `'<'`},
		{`§<a"b>: int .`, `'"'`},
		{"§<a{b>: int .", `'{'`},
		{"§<a}b>: int .", `'}'`},
		{"§<a|b>: int .", `'|'`},
		{"§<a^b>: int .", `'^'`},
		{"§<a@b>: int .", `'@'`},
		{"§<a`b>: int .", "'`'"},
		{"§<a\xff>: int .", "UTF-8"},
		{"§<" + strings.Repeat("a", schema.MaxNameLen+1) + ">: int .", "64973 bytes"},
		{"§<ab\n>: int .", "no >"},
		{"§<ab", "no >"},
		{"a§@b: int .", `expected ":"`},
		{"a§|b: int .", `expected ":"`},
		{"§dgraph.x: int .", "reserved"},
		{"§dgraph.type: string @index(exact) .", "reserved"},
		{"§dgraph.type: [string] .", "reserved"},
		{"§dgraph.type: [string] @index(exact) @count .", "reserved"},
		{"a: §strnig .", `unknown type "strnig"`},
		{"a: §binary .", "can't have the type binary"},
		{"a: §object .", "can't have the type object"},
		{"a: §@index(exact) .", "expected a type"},
		{"a: [int §.", `expected "]"`},
		{"a: int §@indx(int) .", "unknown directive @indx"},
		{"a: int @ §.", "expected a directive"},
		{"a: int @count §@count .", "twice"},
		{"a: int @index(int) §@index(int) .", "twice"},
		{"a: int\n§b: int .", `expected ".", found "b"`},
		{"a: int§", `expected ".", found the end`},
		{"a §int .", `expected ":"`},
		{"§: int .", "expected a predicate's name"},
		{"§. a: int .", "expected a predicate's name"},
		{"a: int .\n\n b: int . §a: float .", "stated twice"},
		{"type T { a }\n type §T { b }", "stated twice"},
		{"[§x] a: int .", "not a namespace"},
		{"[§0x1ffffffffffffffff] a: int .", "not a namespace"},
		{"[1 §a: int .", `expected "]"`},
		{`a: float32vector @index(hnsw(metric §"x")) .`, `expected ":"`},
		{`a: float32vector @index(hnsw(metric: §x)) .`, "double quotes"},
		{`a: float32vector @index(hnsw(metric: §"x)) .`, "double quotes"},
		{`a: float32vector @index(hnsw(metric: "x" §y)) .`, `"," or ")"`},
		{`a: float32vector §@index(hnsw, hnsw) .`, "no other index"},
		{`a: string §@index(hnsw) .`, "for float32vector"},
		{"type §{ a }", "expected a type's name"},
		{"type T §a }", `expected "{"`},
		{"type T { a §", "found the end"},
		{"type T { a §a }", "named twice"},
		{"type T { §<a b> }", "white space"},
		{"type T { a: §}", "expected a type"},
		{"type T { a: [b §}", `expected "]"`},
		{"type §dgraph.T { a }", "reserved"},
		{"type §* { a }", "reserved"},
		{"type T { §uid }", "reserved"},
		{"type T { §~~a }", "begin with ~"},
		{"type §<T T> { a }", "white space"},
		{"name: string .\nδελτα: int . §~a: int .", "begin with ~"},
	} {
		t.Run(c.in[:min(len(c.in), 60)], func(t *testing.T) {
			before, after, _ := strings.Cut(c.in, "§")
			_, err := schema.Parse(before + after)
			require.ErrorContains(t, err, c.why)
			require.Less(t, len(err.Error()), 300)
			var where *schema.Error
			require.ErrorAs(t, err, &where)
			lines := strings.Split(before, "\n")
			require.Equal(t, len(lines), where.Line)
			require.Equal(t, len([]rune(lines[len(lines)-1]))+1, where.Column, err.Error())
		})
	}
}

func TestValidate(t *testing.T) {
	require.NoError(t, (&schema.Predicate{Name: "a"}).Validate())
	exact, _ := token.Get("exact")
	for _, c := range []struct {
		p   schema.Predicate
		why string
	}{
		{schema.Predicate{}, "empty"},
		{schema.Predicate{Name: "a", Type: value.Object}, "object"},
		{schema.Predicate{Name: "a", Type: 77}, "unknown"},
		{schema.Predicate{Name: "a", Type: value.String, CustomTokenizers: []string{"x"}}, "unknown tokenizer"},
		{schema.Predicate{Name: "a", Type: value.Vector, IndexSpecs: []schema.IndexSpec{{Name: "x"}}}, "unknown kind"},
		{schema.Predicate{Name: "a", Type: value.Int, Tokenizers: []*token.Tokenizer{exact}}, "for string"},
	} {
		require.ErrorContains(t, c.p.Validate(), c.why)
	}
	for _, c := range []schema.TypeDef{{}, {Name: "T", Fields: []string{""}}, {Name: "T", Fields: []string{"~"}},
		{Name: "T", Fields: []string{"a", "a"}}, {Name: "dgraph.x"}} {
		require.Error(t, c.Validate())
	}
}

// FuzzParse: Parse never panics, its errors have a place in the text, and what it
// reads prints as text that reads the same.
func FuzzParse(f *testing.F) {
	f.Add("name: string @index(exact, term) @lang .\n<http://ex.org/p#1>: [uid] @reverse @count .")
	f.Add("type Person { name friend: [Person!]! }\n[0x1] a: int @index(int) @upsert @unique .")
	f.Add(`v: float32vector @index(hnsw(metric:"euclidian", exponent:"4")) .`)
	f.Fuzz(func(t *testing.T, src string) {
		s, err := schema.Parse(src)
		if err != nil {
			var where *schema.Error
			require.ErrorAs(t, err, &where)
			lines := strings.Split(src, "\n")
			require.LessOrEqual(t, where.Line, len(lines))
			require.LessOrEqual(t, where.Column, len([]rune(lines[where.Line-1]))+1)
			return
		}
		again, err := schema.Parse(print(s))
		require.NoError(t, err, print(s))
		require.Len(t, again.Predicates, len(s.Predicates))
		for i, p := range s.Predicates {
			require.True(t, p.Equal(again.Predicates[i]), p.String())
		}
		require.Len(t, again.Types, len(s.Types))
		for i, d := range s.Types {
			require.True(t, d.Equal(again.Types[i]), d.String())
		}
	})
}
