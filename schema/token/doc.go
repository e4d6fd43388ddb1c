// Package token makes the index tokens of values: what a value is found by.
//
// Words: a token is the key under which an index lists the subjects of a value;
// it begins with its tokenizer's identifier byte, and the term is what follows.
// A tokenizer makes the tokens of values of one type. A word is a piece of text
// as the term and fulltext tokenizers see it.
//
//	name      byte  for       term
//	term      01    string    words: Unicode segmentation, lower case, NFKC
//	exact     02    string    the string
//	          03              with a language: its base, 1f, the collation key
//	year      04    datetime  2 bytes for each of year, month, day and hour, in
//	month     41    datetime    UTC, as many as the name says
//	day       42    datetime
//	hour      43    datetime
//	geo       05    geo       S2 cells: c/ the cells of the cover, p/ these and their
//	                            parents
//	int       06    int       the sign (0 negative, 1 otherwise), then the int64,
//	                            8 bytes big-endian
//	float     07    float     as int, of the number without its fraction, saturating
//	bigfloat  0d    bigfloat  likewise
//	bool      09    bool      as int, of 0 or 1
//	fulltext  08    string    words without stop words, stemmed
//	trigram   0a    string    every three bytes in a row
//	hash      0b    string    BLAKE2b-256
//	sha256    0c    string    the first 64 bytes, nothing where there are fewer
//	ngram     0f    string    one to four stemmed words in a row
//
// Words are those of bleve's analysis packages, whose results are part of the
// stored format. English text in ASCII, which is most text, takes a way of its
// own to the same words: the segmentation rules restricted to ASCII are a small
// table. The tests hold the two together.
//
// Tokenizers are immutable and may be used from any goroutine. A Buffer, which
// takes the tokens, also keeps what is costly to make and not safe to share
// (collators, scratch memory), and belongs to one goroutine at a time. Nothing
// here is global and changes.
//
// The package is not for conversions (values arrive in the type that the
// tokenizer is for: package value makes them so), nor for index keys, which
// package posting builds around the tokens.
package token
