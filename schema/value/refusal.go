package value

import (
	"fmt"
	"strconv"
	"unicode/utf8"
)

// quoteLimit is about how many bytes of a value an error shows.
const quoteLimit = 60

// shorten gives text quoted, cut to about quoteLimit bytes.
func shorten(text string) string {
	if len(text) <= quoteLimit {
		return strconv.Quote(text)
	}
	cut := quoteLimit
	for cut > quoteLimit-utf8.UTFMax && !utf8.RuneStart(text[cut]) {
		cut--
	}
	return strconv.Quote(text[:cut]) + "..."
}

// refuse is the error for input text that is no value of type t.
func refuse(t Type, text, why string) error {
	return fmt.Errorf("%s is not valid as %s: %s", shorten(text), t, why)
}

// refuseConversion is the error for a well-formed value that has no
// counterpart in another type.
func refuseConversion(v Value, to Type, why string) error {
	text, err := v.Text()
	if err != nil {
		text = string(v.Data)
	}
	return fmt.Errorf("the %s %s does not convert to %s: %s", v.Type, shorten(text), to, why)
}
