package token

import (
	"unicode/utf8"

	porterstemmer "github.com/blevesearch/go-porterstemmer"
)

const (
	// longWord is from how many characters on a word is stemmed in a short form.
	// It is a good deal more than wordEnd and maxSkeleton together.
	longWord = 128
	// wordEnd is how much of a long word's end is kept as it is. All that the
	// stemmer ever takes off is less than half of that.
	wordEnd = 64
	// maxSkeleton is how much at most stands for what was before that: even, and
	// enough for a measure that is greater than all that the stemmer asks for.
	maxSkeleton = 8
)

// sealStem makes the English stem of a word the next word at hand. The word may
// lie where the stem goes, behind the last word: it is read first.
//
// The stemmer asks of each y whether a vowel goes before it, which with y on y
// takes steps in the square of their number: a text that is one long row of y
// would keep it busy for hours. So it is given long words in a short form, which
// has the same stem but for the part that was left out.
func (b *Buffer) sealStem(word []byte) {
	b.runes = b.runes[:0]
	for i := 0; i < len(word); {
		r, size := rune(word[i]), 1
		if r >= utf8.RuneSelf {
			r, size = utf8.DecodeRune(word[i:])
		}
		b.runes = append(b.runes, r)
		i += size
	}
	if len(b.runes) < longWord {
		b.sealRunes(nil, porterstemmer.StemWithoutLowerCasing(b.runes))
		return
	}
	cut := len(b.runes) - wordEnd
	short := append(skeleton(b.runes[:cut]), b.runes[cut:]...)
	left := len(short) - wordEnd
	b.sealRunes(b.runes[:cut], porterstemmer.StemWithoutLowerCasing(short)[left:])
}

// sealRunes makes a word, in two parts, the next word at hand.
func (b *Buffer) sealRunes(first, second []rune) {
	for _, part := range [...][]rune{first, second} {
		for _, r := range part {
			b.words.data = utf8.AppendRune(b.words.data, r)
		}
	}
	b.words.seal()
}

// skeleton gives a short beginning of a word that stands for a long one. To the
// stemmer, what is far from a word's end is a row of vowels and consonants, and
// all that it asks is whether there is a vowel, how many times consonants follow
// vowels (none, one, or more), and which of both a y at the beginning of what
// comes after is. So each row of either becomes one letter, and of many, of which
// each second is like the first, the last few do.
func skeleton(beginning []rune) []rune {
	letters := make([]rune, 0, maxSkeleton+wordEnd)
	consonant := false
	for i, r := range beginning {
		switch r {
		case 'a', 'e', 'i', 'o', 'u':
			consonant = false
		case 'y':
			consonant = i == 0 || !consonant
		default:
			consonant = true
		}
		letter := 'a'
		if consonant {
			letter = 'b'
		}
		if n := len(letters); n > 0 && letters[n-1] == letter {
			continue
		}
		if len(letters) == maxSkeleton {
			letters = letters[:copy(letters, letters[2:])]
		}
		letters = append(letters, letter)
	}
	return letters
}
