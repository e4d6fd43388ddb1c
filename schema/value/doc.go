// Package value knows the types of graph values, how a value of each type is
// stored, how input text reads, and how one type converts to another.
//
// Words: the stored form is the bytes that a posting carries; input text is
// what a person or a file writes; the text of a value is its conversion to
// string, which for some types says less than the stored form; its literal is
// input text that says everything.
//
// The forms by type:
//
//	default, string   UTF-8
//	password          a bcrypt hash, 60 bytes, beginning $2a$, $2b$ or $2y$
//	int               int64, 8 bytes little-endian
//	float             IEEE 754 double, 8 bytes little-endian, never NaN
//	bool              one byte, 0 or 1
//	datetime          version, seconds since year 1, nanoseconds, zone offset in
//	                  minutes: what time.Time's MarshalBinary writes
//	geo               WKB, little-endian
//	bigfloat          decimal text, as big.Float's MarshalText at precision 200
//	float32vector     4 bytes little-endian for each element
//
// Binary and object values are kept but neither read from text nor converted;
// a uid is no value.
//
// Everything here is a function of its arguments: there is no state, any
// goroutine may call anything, and a value's bytes are only read. Functions
// whose names begin with Append never keep dst, and give it back unchanged with
// an error.
//
// The package is not for the predicate's side of things (which type a value is
// to have: package schema) nor for index tokens (package token).
package value
