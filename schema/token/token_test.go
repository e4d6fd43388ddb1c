package token_test

import (
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/edgemill/edgemill/schema/token"
	"github.com/edgemill/edgemill/schema/value"
	"github.com/golang/geo/s2"
	"github.com/stretchr/testify/require"
	"golang.org/x/text/collate"
	"golang.org/x/text/language"
)

func TestTokenizers(t *testing.T) {
	var sortable []string
	last := byte(0)
	for _, tok := range token.All() {
		same, ok := token.Get(tok.Name())
		require.True(t, ok)
		require.Same(t, tok, same)
		require.Equal(t, tok.Name(), tok.String())
		require.Greater(t, tok.ID(), last)
		last = tok.ID()
		if tok.Sortable() {
			sortable = append(sortable, tok.Name())
		}
	}
	require.Less(t, last, token.IDCustom)
	require.Equal(t, []string{"exact", "year", "int", "float", "bigfloat", "month", "day", "hour"}, sortable)
	for _, name := range []string{"", "datetime", "hnsw", "Exact"} {
		_, ok := token.Get(name)
		require.False(t, ok, name)
	}
}

// TestTokens has values by input text and their tokens in hex.
func TestTokens(t *testing.T) {
	long := strings.Repeat("é", 32) // 64 bytes
	for _, c := range []struct {
		tokenizer, text string
		want            []string
	}{
		{"int", "0", []string{"06010000000000000000"}},
		{"int", "-1", []string{"0600ffffffffffffffff"}},
		{"int", "9223372036854775807", []string{"06017fffffffffffffff"}},
		{"bool", "true", []string{"09010000000000000001"}},
		{"bool", "false", []string{"09010000000000000000"}},
		{"float", "-1.9", []string{"0700ffffffffffffffff"}},
		{"float", "-0.5", []string{"07010000000000000000"}},
		{"float", "1e30", []string{"07017fffffffffffffff"}},
		{"float", "9223372036854775808", []string{"07017fffffffffffffff"}},
		{"float", "-1e30", []string{"07008000000000000000"}},
		{"float", "Inf", []string{"07017fffffffffffffff"}},
		{"float", "-Inf", []string{"07008000000000000000"}},
		{"bigfloat", "2.9", []string{"0d010000000000000002"}},
		{"bigfloat", "-1e40", []string{"0d008000000000000000"}},
		{"bigfloat", "1e40", []string{"0d017fffffffffffffff"}},
		{"bigfloat", "Inf", []string{"0d017fffffffffffffff"}},
		{"year", "2020-02-03T23:30:00-02:00", []string{"0407e4"}},
		{"month", "2020-02-29T23:30:00-02:00", []string{"4107e40003"}},
		{"day", "2020-02-03T23:30:00-02:00", []string{"4207e400020004"}},
		{"hour", "2020-02-03T23:30:00-02:00", []string{"4307e4000200040001"}},
		{"year", "0000", []string{"040000"}},
		{"exact", "", []string{"02"}},
		{"exact", "a b", []string{"02612062"}},
		{"hash", "", []string{"0b0e5751c026e543b2e8ab2eb06099daa1d1e5df47778f7787faab45cdf12fe3a8"}},
		{"sha256", long, []string{"0c" + hex.EncodeToString([]byte(long))}},
		{"sha256", long + "x", []string{"0c" + hex.EncodeToString([]byte(long))}},
		{"sha256", long[2:], nil},
		{"trigram", "ab", nil},
		{"trigram", "", nil},
		{"trigram", "aaaa", []string{"0a616161"}},
		{"trigram", "é1", []string{"0ac3a931"}},
		{"term", "", []string{"01"}},
		{"term", " ", nil},
		{"term", "Red red BIKE", []string{"0162696b65", "01726564"}},
		{"fulltext", "", nil},
		{"fulltext", "the of", nil},
		{"fulltext", "The running foxes", []string{"08666f78", "0872756e"}},
		{"ngram", "", nil},
		{"ngram", "the red car", []string{"0f636172", "0f726564", "0f72656420636172"}},
	} {
		t.Run(c.tokenizer+" "+c.text, func(t *testing.T) {
			tok, _ := token.Get(c.tokenizer)
			var buf token.Buffer
			require.NoError(t, token.Query(&buf, c.tokenizer, tok.Type(), c.text, ""))
			var got []string
			for _, s := range all(&buf) {
				got = append(got, hex.EncodeToString([]byte(s)))
			}
			slices.Sort(got)
			require.Equal(t, c.want, got)
		})
	}
}

// TestOrder: the tokens of a sortable tokenizer stand in the order of the
// values, also where a number is outside int64.
func TestOrder(t *testing.T) {
	for name, texts := range map[string][]string{
		"int":      {"-9223372036854775808", "-2", "-1", "0", "1", "9223372036854775807"},
		"float":    {"-Inf", "-3", "-1", "0", "1", "1e18", "1e30"},
		"bigfloat": {"-1e50", "-3", "0", "1", "1e50"},
		"hour":     {"0000", "1969", "2020-02-03T04:00:00Z", "2020-02-03T05:00:00Z", "9999"},
		"exact":    {"", "a", "aa", "b", "é"},
	} {
		tok, _ := token.Get(name)
		var buf token.Buffer
		for _, s := range texts {
			require.NoError(t, token.Query(&buf, name, tok.Type(), s, ""))
		}
		require.Equal(t, len(texts), buf.Len())
		require.True(t, slices.IsSorted(all(&buf)), name)
	}
}

func TestExactWithLanguage(t *testing.T) {
	for tag, base := range map[string]string{"de": "de", "en-GB": "en", "zh-Hant": "zh", "sr-Latn": "sr",
		"x-klingon": "en", "not a tag": "en", "qqq-": "en", "zz": "en"} {
		var buf token.Buffer
		parsed, err := language.Parse(tag)
		if err != nil {
			parsed = language.English
		}
		for range 2 {
			for _, text := range []string{"Häuser", "", "日本"} {
				want := "\x03" + base + "\x1f" + string(collate.New(parsed).KeyFromString(&collate.Buffer{}, text))
				require.Equal(t, []string{want}, tokens(t, &buf, "exact", text, tag), tag)
			}
		}
	}
}

func TestSpacedLanguages(t *testing.T) {
	var buf token.Buffer
	for _, tag := range []string{"zh", "zh-Hant", "ja", "th", "lo", "my", "bo", "km", "kxm"} {
		require.Equal(t, []string{"\x01", "\x01A", "\x01ﬁ,x"}, tokens(t, &buf, "term", "A ﬁ,x  A", tag), tag)
		require.Equal(t, []string{"\x01"}, tokens(t, &buf, "term", "", tag), tag)
	}
	require.Equal(t, []string{"\x01a", "\x01fi", "\x01x"}, tokens(t, &buf, "term", "A ﬁ,x  A", "de"))
}

func TestFulltextLanguages(t *testing.T) {
	for _, c := range []struct {
		lang, text string
		want       []string
	}{
		{"", "the cats", []string{"cat"}},
		{"en-US", "the cats", []string{"cat"}},
		{"nonsense tag", "the cats", []string{"cat"}},
		{"de", "die Häuser der Stadt", []string{"haus", "stadt"}},
		{"fr", "les chevaux", []string{"cheval"}},
		{"ja", "日本語 Foxes", []string{"foxes", "日本", "本語"}},
		{"zh", "中国", []string{"中国"}},
		{"cs", "a kočky", []string{"kočky"}},
		{"pl", "the koty", []string{"koty", "the"}},
		{"no", "og husene", []string{"hus"}},
	} {
		var buf token.Buffer
		var want []string
		for _, w := range c.want {
			want = append(want, "\x08"+w)
		}
		require.Equal(t, want, tokens(t, &buf, "fulltext", c.text, c.lang), "%s in %q", c.text, c.lang)
	}
	var buf token.Buffer
	require.Equal(t, tokens(t, &buf, "ngram", "les running chevaux", ""), tokens(t, &buf, "ngram", "les running chevaux", "fr"))
}

// TestEveryLanguage runs some text of every kind through all stop words and
// stemmers that there are.
func TestEveryLanguage(t *testing.T) {
	var buf token.Buffer
	tags := strings.Fields("ar bg ca ckb cs da de el en es eu fa fi fr ga gl hi hu hy id it ja ko nl no pt ro ru sv tr zh")
	for _, tag := range tags {
		for _, text := range []string{"a", "quickly running 日本 한국", "ёлки и палки", "الكتاب", "\u200d\u0301", strings.Repeat("naïveté ", 50)} {
			tokens(t, &buf, "fulltext", text, tag)
		}
	}
}

func TestGeo(t *testing.T) {
	ring := "[[0,0],[0.01,0],[0.01,0.01],[0,0.01],[0,0]]"
	backwards := "[[0,0],[0,0.01],[0.01,0.01],[0.01,0],[0,0]]"
	doubled := "[[0,0],[0.01,0],[0.01,0],[0.01,0.01],[0,0.01],[0,0],[0,0]]"
	far := "[[50,50],[50.01,50],[50.01,50.01],[50,50]]"
	cells := func(g string) []string {
		v, err := value.Parse(value.Geo, g)
		require.NoError(t, err)
		var buf token.Buffer
		return tokensOf(t, &buf, "geo", v, "")
	}
	polygon := cells("{'type':'Polygon','coordinates':[" + ring + "]}")
	require.Equal(t, polygon, cells("{'type':'Polygon','coordinates':["+backwards+"]}"), "direction does not count")
	require.Equal(t, polygon, cells("{'type':'Polygon','coordinates':["+doubled+"]}"), "nor do points twice")
	require.Equal(t, polygon, cells("{'type':'Polygon','coordinates':["+ring+","+far+"]}"), "nor holes")
	both := slices.Concat(polygon, cells("{'type':'Polygon','coordinates':["+far+"]}"))
	slices.Sort(both)
	require.Equal(t, slices.Compact(both), cells("{'type':'MultiPolygon','coordinates':[["+ring+"],["+far+"]]}"))

	point := s2.CellIDFromLatLng(s2.LatLngFromDegrees(37.25, -122.5))
	want := []string{"\x05c/" + point.Parent(16).ToToken()}
	for level := 5; level <= 16; level++ {
		want = append(want, "\x05p/"+point.Parent(level).ToToken())
	}
	slices.Sort(want)
	require.Equal(t, want, cells("{'type':'Point','coordinates':[-122.5,37.25]}"))

	covers := 0
	for _, c := range polygon {
		if strings.HasPrefix(c, "\x05c/") {
			covers++
			require.Contains(t, polygon, "\x05p/"+c[3:], "a cover cell is its own parent")
		}
	}
	require.NotZero(t, covers)
	require.LessOrEqual(t, covers, 18)
}

// TestRefused: what a tokenizer can't take is an error, and the tokens that were
// there stay.
func TestRefused(t *testing.T) {
	geo := func(text string) value.Value {
		v, err := value.Parse(value.Geo, text)
		require.NoError(t, err)
		return v
	}
	for _, c := range []struct {
		name, tokenizer, lang string
		v                     value.Value
		why                   string
	}{
		{"another type", "int", "", value.Value{Type: value.Float, Data: make([]byte, 8)}, "for int, not float"},
		{"short int", "int", "", value.Value{Type: value.Int}, "8 bytes"},
		{"short bool", "bool", "", value.Value{Type: value.Bool}, "bool"},
		{"short float", "float", "", value.Value{Type: value.Float}, "float"},
		{"no bigfloat", "bigfloat", "", value.Value{Type: value.BigFloat}, "syntax"},
		{"no datetime", "year", "", value.Value{Type: value.DateTime}, "version"},
		{"no geo", "geo", "", value.Value{Type: value.Geo}, "short"},
		{"line", "geo", "", geo("{'type':'LineString','coordinates':[[0,0],[1,1]]}"), "only points"},
		{"three dimensions", "geo", "", geo("{'type':'Point','coordinates':[1,2,3]}"), "3 coordinates"},
		{"a line as polygon", "geo", "", geo("{'type':'Polygon','coordinates':[[[0,0],[1,1],[0,0],[0,0]]]}"), "2 distinct"},
		{"term not UTF-8", "term", "", value.Value{Type: value.String, Data: []byte("a\xff")}, "UTF-8"},
		{"exact not UTF-8", "exact", "de", value.Value{Type: value.String, Data: []byte("a\xff")}, "UTF-8"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var buf token.Buffer
			require.NoError(t, token.FacetTokens(&buf, "kept"))
			tok, _ := token.Get(c.tokenizer)
			err := tok.Append(&buf, c.v, c.lang)
			require.ErrorContains(t, err, "tokenizer "+c.tokenizer)
			require.ErrorContains(t, err, c.why)
			require.Equal(t, []string{"\x01kept"}, all(&buf))
		})
	}
	var buf token.Buffer
	require.ErrorContains(t, token.Query(&buf, "nothing", value.String, "", ""), "unknown tokenizer")
	require.ErrorContains(t, token.Query(&buf, "int", value.Int, "x", ""), "syntax")
	require.ErrorContains(t, token.Query(&buf, "int", value.String, "x", ""), "not string")
}

func TestFacetTokens(t *testing.T) {
	var buf token.Buffer
	for text, want := range map[string][]string{
		"":                  {"\x01"},
		" ":                 nil,
		"Zebra apple Zebra": {"\x01apple", "\x01zebra"},
		"Été, 1991":         {"\x011991", "\x01été"},
	} {
		buf.Reset()
		require.NoError(t, token.FacetTokens(&buf, text))
		require.Equal(t, want, all(&buf))
	}
	require.NoError(t, token.FacetTokens(&buf, "aaa"))
	require.Equal(t, "\x01aaa", string(buf.At(buf.Len()-1)), "only the new ones are sorted")
}

// TestBuffersAreApart: goroutines with a buffer each get the same tokens.
func TestBuffersAreApart(t *testing.T) {
	want := map[string][]string{}
	texts := []string{"the quick brown foxes", "die Häuser der Stadt", "日本語"}
	langs := []string{"", "de", "fr", "ja", "ru"}
	names := []string{"term", "exact", "fulltext", "trigram", "hash", "ngram"}
	each := func(do func(key, name, text, lang string)) {
		for _, name := range names {
			for _, text := range texts {
				for _, lang := range langs {
					do(fmt.Sprint(name, text, lang), name, text, lang)
				}
			}
		}
	}
	var buf token.Buffer
	each(func(key, name, text, lang string) { want[key] = tokens(t, &buf, name, text, lang) })
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			var buf token.Buffer
			each(func(key, name, text, lang string) {
				if got := tokens(t, &buf, name, text, lang); !slices.Equal(want[key], got) {
					t.Errorf("%s: %q, not %q", key, got, want[key])
				}
			})
		})
	}
	group.Wait()
}

// TestManyLanguages: tags come with the data; the cache for them is bounded and
// forgets without harm.
func TestManyLanguages(t *testing.T) {
	var buf token.Buffer
	for i := range 300 {
		tag := fmt.Sprintf("de-x-a%d", i)
		require.Len(t, tokens(t, &buf, "fulltext", "die Häuser", tag), 1)
	}
}

// TestAllocates nothing where that is promised, once a buffer has grown.
func TestAllocates(t *testing.T) {
	for name, text := range map[string]string{
		"exact": "a name", "hash": "a name", "int": "5", "float": "2.5", "bool": "true", "year": "2020", "hour": "2020",
		"trigram": "a longer name than twelve", "term": "Some Words in ASCII", "sha256": strings.Repeat("x", 64),
	} {
		tok, _ := token.Get(name)
		v, err := value.Parse(tok.Type(), text)
		require.NoError(t, err)
		var buf token.Buffer
		allocs := testing.AllocsPerRun(100, func() {
			buf.Reset()
			if err := tok.Append(&buf, v, ""); err != nil {
				t.Fatal(err)
			}
		})
		require.Zero(t, allocs, name)
	}
}

func BenchmarkAppend(b *testing.B) {
	const english = "The quick brown foxes are running happily over the lazy dogs of the neighbouring village"
	for _, c := range []struct{ tokenizer, text, lang string }{
		{"exact", english, ""}, {"exact", english, "de"}, {"hash", english, ""}, {"int", "12345", ""}, {"float", "1.5", ""},
		{"bool", "true", ""}, {"hour", "2020-02-03T04:05:06Z", ""}, {"trigram", english, ""},
		{"term", english, ""}, {"term", english + " é", ""}, {"fulltext", english, ""}, {"fulltext", english, "fr"},
		{"ngram", english, ""}, {"geo", "{'type':'Point','coordinates':[1,2]}", ""},
	} {
		b.Run(strings.TrimSpace(c.tokenizer+" "+c.lang), func(b *testing.B) {
			tok, _ := token.Get(c.tokenizer)
			v, err := value.Parse(tok.Type(), c.text)
			require.NoError(b, err)
			var buf token.Buffer
			b.ReportAllocs()
			for b.Loop() {
				buf.Reset()
				_ = tok.Append(&buf, v, c.lang)
			}
		})
	}
}
