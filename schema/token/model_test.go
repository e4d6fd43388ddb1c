package token_test

import (
	"bytes"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/blevesearch/bleve/v2/analysis"
	"github.com/blevesearch/bleve/v2/analysis/lang/en"
	"github.com/blevesearch/bleve/v2/analysis/token/lowercase"
	"github.com/blevesearch/bleve/v2/analysis/token/porter"
	"github.com/blevesearch/bleve/v2/analysis/token/unicodenorm"
	"github.com/blevesearch/bleve/v2/analysis/tokenizer/unicode"
	"github.com/blevesearch/bleve/v2/registry"
	"github.com/edgemill/edgemill/schema/token"
	"github.com/edgemill/edgemill/schema/value"
	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/blake2b"
)

// model is bleve's own pipeline, put together as plainly as it can be: what the
// tokenizers of words must agree with.
type model struct {
	term, english analysis.Analyzer
}

func newModel(t testing.TB) model {
	cache := registry.NewCache()
	filter := func(name string) analysis.TokenFilter {
		f, err := cache.TokenFilterNamed(name)
		require.NoError(t, err)
		return f
	}
	plain := []analysis.TokenFilter{
		lowercase.NewLowerCaseFilter(), unicodenorm.MustNewUnicodeNormalizeFilter(unicodenorm.NFKC),
	}
	words := unicode.NewUnicodeTokenizer()
	return model{
		term: &analysis.DefaultAnalyzer{Tokenizer: words, TokenFilters: plain},
		english: &analysis.DefaultAnalyzer{Tokenizer: words,
			TokenFilters: append(slices.Clone(plain), filter(en.StopName), filter(porter.Name))},
	}
}

// words gives an analyzer's words in their order.
func words(a analysis.Analyzer, text string) []string {
	var all []string
	for _, tok := range a.Analyze([]byte(text)) {
		all = append(all, string(tok.Term))
	}
	return all
}

// set gives the distinct words, sorted, each behind an identifier byte.
func set(id byte, words []string) []string {
	distinct := map[string]bool{}
	for _, w := range words {
		distinct[string(id)+w] = true
	}
	return slices.Sorted(maps.Keys(distinct))
}

func ngrams(words []string) []string {
	var all []string
	for i := range words {
		for n := 1; n <= 4 && i+n <= len(words); n++ {
			gram := strings.Join(words[i:i+n], " ")
			if len(gram) >= 30 {
				sum := blake2b.Sum256([]byte(gram))
				gram = string(sum[:])
			}
			all = append(all, gram)
		}
	}
	return all
}

// compare tokenizes text in all three ways and compares with the model.
func (m model) compare(t *testing.T, buf *token.Buffer, text string) {
	english := words(m.english, text)
	want := map[string][]string{
		"term":     set(token.IDTerm, words(m.term, text)),
		"fulltext": set(token.IDFulltext, english),
		"ngram":    set(token.IDNGram, ngrams(english)),
	}
	if text == "" {
		want["term"] = []string{"\x01"}
	}
	for name, want := range want {
		require.Equal(t, want, tokens(t, buf, name, text, ""), "%s of %q", name, text)
	}
}

// tokens gives the tokens of a string, sorted; it fails if one is there twice.
func tokens(t testing.TB, buf *token.Buffer, name, text, lang string) []string {
	return tokensOf(t, buf, name, value.Value{Type: value.String, Data: []byte(text)}, lang)
}

func tokensOf(t testing.TB, buf *token.Buffer, name string, v value.Value, lang string) []string {
	tok, ok := token.Get(name)
	require.True(t, ok, name)
	before := bytes.Clone(v.Data)
	buf.Reset()
	require.NoError(t, tok.Append(buf, v, lang))
	require.Equal(t, before, bytes.Clone(v.Data), "the value was written to")
	all := all(buf)
	slices.Sort(all)
	require.Equal(t, slices.Compact(slices.Clone(all)), all, "a token twice")
	return all
}

// all gives the tokens in a buffer.
func all(buf *token.Buffer) []string {
	var all []string
	for i := range buf.Len() {
		all = append(all, string(buf.At(i)))
	}
	return all
}

// TestWordsRandom compares random texts with the model: of words, of every
// ASCII character, and with characters that take the long way mixed in.
func TestWordsRandom(t *testing.T) {
	m := newModel(t)
	var buf token.Buffer
	r := rand.New(rand.NewPCG(1, 2))
	vocabulary := strings.Fields("the a of running ran runs Happily relational conditional sky SKIES caresses " +
		"hopping oscillators it's don't U.S.A. 3.14 1,000 a_b _x_ 10:30 foo:bar e-mail C++ İstanbul ǅ Ⱥ ﬁne ΣΑΣ 日本語 नमस्ते")
	alphabets := []string{"aB1_.,':; ", "ab\"\r\n\t\x00!/-", "sseding 'YyIi", "eé日カ한א\u200d'"}
	for range 4000 {
		var b strings.Builder
		alphabet := []rune(alphabets[r.IntN(len(alphabets))])
		for range r.IntN(12) {
			switch r.IntN(3) {
			case 0:
				b.WriteString(vocabulary[r.IntN(len(vocabulary))] + " ")
			case 1:
				b.WriteRune(rune(r.IntN(utf8.RuneSelf)))
			default:
				b.WriteRune(alphabet[r.IntN(len(alphabet))])
			}
		}
		m.compare(t, &buf, b.String())
	}
}

// TestWordsAllShort compares every text of up to five of the characters that
// the segmentation rules tell apart.
func TestWordsAllShort(t *testing.T) {
	m := newModel(t)
	var buf token.Buffer
	const alphabet = "a1_.,: "
	var grow func(text string)
	grow = func(text string) {
		m.compare(t, &buf, text)
		if len(text) < 5 {
			for i := range len(alphabet) {
				grow(text + alphabet[i:i+1])
			}
		}
	}
	grow("")
}

// TestWordsMany has more words than are compared one by one, twice each.
func TestWordsMany(t *testing.T) {
	m := newModel(t)
	var buf token.Buffer
	var b strings.Builder
	for i := range 3000 {
		b.WriteString(strings.Repeat("x", i%7) + string(rune('a'+i%26)) + string(rune('a'+i/26%26)) + " ")
	}
	for range 2 { // the second time the table is there
		m.compare(t, &buf, b.String()+b.String())
		m.compare(t, &buf, "few words after many")
	}
}

// TestLongWords compares words that are stemmed in a short form: of few kinds
// of letters, so that the beginning's vowels and consonants matter, with endings
// that the stemmer takes off.
func TestLongWords(t *testing.T) {
	m := newModel(t)
	var buf token.Buffer
	r := rand.New(rand.NewPCG(3, 4))
	endings := strings.Fields("s es sses ies eed ed ing at bl iz tional enci izer abli alli entli eli ousli ization ation ator " +
		"alism iveness fulness ousness aliti iviti biliti icate ative alize iciti ical ful ness al ance ence er ic able ible " +
		"ant ement ment ent sion tion ou ism ate iti ous ive ize e ll y")
	for range 3000 {
		alphabet := []string{"y", "b", "a", "yb", "ya", "ab", "aby", "bbbbbbbbbbbbbbbbbbbbbbbbba", "aaaaaaaaaaaaaaaaaaaaaaab", "bé", "yé"}[r.IntN(11)]
		letters := []rune(alphabet)
		var b strings.Builder
		for range 100 + r.IntN(200) {
			b.WriteRune(letters[r.IntN(len(letters))])
		}
		for range r.IntN(4) {
			b.WriteString(endings[r.IntN(len(endings))])
		}
		m.compare(t, &buf, b.String())
	}
}

// TestHugeWords: one word as long as a value can well be takes no time to
// speak of, or is refused.
func TestHugeWords(t *testing.T) {
	var buf token.Buffer
	for _, unit := range []string{"y", "a", "yb", "yé", "_"} {
		text := strings.Repeat(unit, 1<<20)
		require.Len(t, tokens(t, &buf, "fulltext", text, ""), 1)
		tok, _ := token.Get("fulltext")
		for _, lang := range []string{"fr", "nl"} {
			require.ErrorContains(t, tok.Append(&buf, value.Value{Type: value.String, Data: []byte(text)}, lang), "a word of")
		}
	}
}

// FuzzWords holds the ASCII way to bleve's words.
func FuzzWords(f *testing.F) {
	for _, s := range []string{"", "The quick brown foxes", "it's 3.14 a_b U.S.A. 10:30", "conditional \"relational\" 日本", "a.b'c:d,e;f"} {
		f.Add(s)
	}
	m := newModel(f)
	f.Fuzz(func(t *testing.T, text string) {
		var buf token.Buffer
		if !utf8.ValidString(text) {
			tok, _ := token.Get("fulltext")
			require.Error(t, tok.Append(&buf, value.Value{Type: value.String, Data: []byte(text)}, ""))
			require.Zero(t, buf.Len())
			return
		}
		m.compare(t, &buf, text)
	})
}
