package token

import (
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/blevesearch/bleve/v2/analysis"
	"github.com/blevesearch/bleve/v2/analysis/token/lowercase"
	"github.com/blevesearch/bleve/v2/analysis/token/unicodenorm"
	"github.com/blevesearch/bleve/v2/analysis/tokenizer/unicode"
	"github.com/edgemill/edgemill/schema/value"
	"golang.org/x/crypto/blake2b"
)

// spaced are the languages whose text the tokenizer term splits at spaces and
// leaves as it is otherwise: Unicode's segmentation would give single letters.
func spaced(base string) bool {
	switch base {
	case "zh", "ja", "th", "lo", "my", "bo", "km", "kxm":
		return true
	}
	return false
}

func appendTerms(dst *Buffer, base int, v value.Value, lang string) error {
	if len(v.Data) == 0 {
		dst.add(base, IDTerm, nil)
		return nil
	}
	if lang != "" && spaced(dst.language(lang).base) {
		appendSpaced(dst, base, v.Data)
		return nil
	}
	if err := dst.fillWords(v.Data, noRules); err != nil {
		return err
	}
	dst.addWords(base, IDTerm)
	return nil
}

// appendSpaced takes what stands between single spaces as terms; between two
// spaces side by side that is the empty term.
func appendSpaced(dst *Buffer, base int, text []byte) {
	start := 0
	for i := 0; i <= len(text); i++ {
		if i == len(text) || text[i] == ' ' {
			dst.add(base, IDTerm, text[start:i])
			start = i + 1
		}
	}
}

// FacetTokens adds the tokens of a string facet: its term tokens, without a
// language, sorted.
func FacetTokens(dst *Buffer, s string) error {
	base := dst.Len()
	t, _ := Get("term")
	if err := t.Append(dst, value.Value{Type: value.String, Data: []byte(s)}, ""); err != nil {
		return err
	}
	dst.sortFrom(base)
	return nil
}

func appendFulltext(dst *Buffer, base int, v value.Value, lang string) error {
	rules := rulesOf(english)
	if lang != "" {
		rules = rulesOf(dst.language(lang).base)
	}
	if err := dst.fillWords(v.Data, rules); err != nil {
		return err
	}
	dst.addWords(base, IDFulltext)
	return nil
}

const (
	// maxNGram is how many words in a row an ngram has at most.
	maxNGram = 4
	// hashedNGram is from how many bytes on an ngram is replaced by its hash.
	hashedNGram = 30
)

// appendNGrams takes English words whatever the language: so does the format.
func appendNGrams(dst *Buffer, base int, v value.Value, _ string) error {
	if err := dst.fillWords(v.Data, rulesOf(english)); err != nil {
		return err
	}
	for first := range dst.words.len() {
		dst.text = dst.text[:0]
		for i := first; i < min(first+maxNGram, dst.words.len()); i++ {
			if i > first {
				dst.text = append(dst.text, ' ')
			}
			dst.text = append(dst.text, dst.words.at(i)...)
			dst.addNGram(base, dst.text)
		}
	}
	return nil
}

func (b *Buffer) addNGram(base int, ngram []byte) {
	if len(ngram) < hashedNGram {
		b.add(base, IDNGram, ngram)
		return
	}
	sum := blake2b.Sum256(ngram)
	b.add(base, IDNGram, sum[:])
}

// addWords puts in the words at hand as tokens.
func (b *Buffer) addWords(base int, id byte) {
	for i := range b.words.len() {
		b.add(base, id, b.words.at(i))
	}
}

// fillWords makes the words of text the words at hand: segmented, in lower
// case, in NFKC, then as the rules say.
func (b *Buffer) fillWords(text []byte, rules *rules) error {
	b.words.truncate(0)
	if isASCII(text) && (rules == noRules || rules.stops != nil) {
		b.fillASCII(text, rules)
		return nil
	}
	return b.fillAnalyzed(text, rules)
}

// fillAnalyzed is fillWords by bleve's analyzers, for any text.
func (b *Buffer) fillAnalyzed(text []byte, rules *rules) error {
	if !utf8.Valid(text) {
		return errors.New("text is not valid UTF-8")
	}
	// The lower-case filter writes over its input.
	b.text = append(b.text[:0], text...)
	stream := unicode.NewUnicodeTokenizer().Tokenize(b.text)
	stream = lowercase.NewLowerCaseFilter().Filter(stream)
	stream = unicodenorm.MustNewUnicodeNormalizeFilter(unicodenorm.NFKC).Filter(stream)
	if rules.stops == nil {
		return b.fillFiltered(stream, rules)
	}
	for _, word := range stream {
		if !rules.stops[string(word.Term)] {
			b.sealStem(word.Term)
		}
	}
	return nil
}

// fillFiltered makes what a language's filters leave the words at hand. Some
// stemmers take steps in the square of a word's length, so words that are too
// long for a key in any case are refused before.
func (b *Buffer) fillFiltered(stream analysis.TokenStream, rules *rules) error {
	for _, word := range stream {
		if len(rules.filters) > 0 && len(word.Term) > maxFilteredWord {
			return fmt.Errorf("a word of %d bytes", len(word.Term))
		}
	}
	for _, filter := range rules.filters {
		stream = filter.Filter(stream)
	}
	for _, word := range stream {
		b.words.data = append(b.words.data, word.Term...)
		b.words.seal()
	}
	return nil
}

// maxFilteredWord is about the greatest length of a key.
const maxFilteredWord = 65000

// fillASCII is fillWords for ASCII text.
func (b *Buffer) fillASCII(text []byte, rules *rules) {
	for start, end := nextWord(text, 0); start < end; start, end = nextWord(text, end) {
		from := len(b.words.data)
		for _, c := range text[start:end] {
			b.words.data = append(b.words.data, lower(c))
		}
		if rules == noRules {
			b.words.seal()
			continue
		}
		word := b.words.data[from:]
		b.words.data = b.words.data[:from]
		if !rules.stops[string(word)] {
			b.sealStem(word)
		}
	}
}

func isASCII(text []byte) bool {
	for _, c := range text {
		if c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + ('a' - 'A')
	}
	return c
}

// class is what the segmentation rules (Unicode Standard Annex 29, word
// boundaries) see in a character.
type class uint8

const (
	letter class = 1 << iota
	digit
	joiner // stands in words like a letter, but is none: the low line
	// midLetter and midDigit join two letters, and two digits, that they stand
	// between.
	midLetter
	midDigit
)

// classes are those of the ASCII characters; all others are in no word.
var classes = func() (t [utf8.RuneSelf]class) {
	for c := 'a'; c <= 'z'; c++ {
		t[c], t[c-'a'+'A'] = letter, letter
	}
	for c := '0'; c <= '9'; c++ {
		t[c] = digit
	}
	t['_'] = joiner
	t[':'] = midLetter
	t[','], t[';'] = midDigit, midDigit
	t['.'], t['\''] = midLetter|midDigit, midLetter|midDigit
	return t
}()

// nextWord finds the first word at or behind from; without one, both results
// are the text's length.
func nextWord(text []byte, from int) (start, end int) {
	start = from
	for start < len(text) && classes[text[start]]&(letter|digit|joiner) == 0 {
		start++
	}
	end = start
	for end < len(text) {
		switch c := classes[text[end]]; {
		case c&(letter|digit|joiner) != 0:
			end++
		case end > start && joins(text, end, c):
			end += 2
		default:
			return start, end
		}
	}
	return start, end
}

// joins says whether the character at i, of class c, joins those beside it into
// one word.
func joins(text []byte, i int, c class) bool {
	if i+1 >= len(text) {
		return false
	}
	both := classes[text[i-1]] & classes[text[i+1]]
	return c&midLetter != 0 && both == letter || c&midDigit != 0 && both == digit
}
