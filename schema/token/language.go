package token

import (
	"errors"
	"unicode/utf8"

	"golang.org/x/text/collate"
	xlang "golang.org/x/text/language"
)

// english is the base of values without a language tag, and of those with a tag
// that means nothing to golang.org/x/text/language.
const english = "en"

// maxLanguages is how many tags a Buffer remembers. Tags come with the data, so
// there may be any number of them.
const maxLanguages = 64

// language is what a tag stands for. It belongs to one Buffer: a collator must
// not be used by two goroutines at once.
type language struct {
	// base is the primary subtag, such as "en" of en-GB.
	base string
	tag  xlang.Tag
	// collator is made when it is first needed; key is its memory.
	collator *collate.Collator
	key      collate.Buffer
}

// language gives what tag stands for, from the cache if it was seen lately.
func (b *Buffer) language(tag string) *language {
	if l, ok := b.languages[tag]; ok {
		return l
	}
	if b.languages == nil || len(b.languages) >= maxLanguages {
		b.languages = make(map[string]*language)
	}
	l := newLanguage(tag)
	b.languages[tag] = l
	return l
}

// newLanguage reads a tag. One that doesn't parse counts as English, and so does
// the base of one that is too vague to have one.
func newLanguage(tag string) *language {
	if tag == "" {
		return &language{base: english, tag: xlang.English}
	}
	parsed, err := xlang.Parse(tag)
	if err != nil {
		return &language{base: english, tag: xlang.English}
	}
	base, confidence := parsed.Base()
	if confidence == xlang.No {
		return &language{base: english, tag: parsed}
	}
	return &language{base: base.String(), tag: parsed}
}

// collationKey gives bytes whose order is that of text in the language. They are
// good until the next call.
func (l *language) collationKey(text []byte) ([]byte, error) {
	if !utf8.Valid(text) {
		return nil, errors.New("text is not valid UTF-8")
	}
	if l.collator == nil {
		l.collator = collate.New(l.tag)
	}
	l.key.Reset()
	return l.collator.Key(&l.key, text), nil
}
