// Package schema says what predicates are: their types, lists, languages and
// indexes; how that is written in the schema language, and how it is stored.
//
// Words: a predicate is named within a namespace; a directive (@index,
// @reverse ...) asks for something beyond its type; a type definition is a name
// for a set of predicates, its fields. A snapshot is the whole schema at one
// moment. An alter replaces predicates of a snapshot; a Change says what that
// means for the data which is there.
//
// The language, one statement or more a line, # beginning a comment:
//
//	name: string @index(exact, term) @lang @upsert .
//	<http://example.org/knows>: [uid] @reverse @count .
//	[0x1] age: int @index(int) .
//	type Person { name <http://example.org/knows> }
//	type Person {
//		name: string
//		friend: [Person!]!
//	}
//
// The second form of a type definition says no more than the first: what stands
// behind a field's name is read and dropped. Names may stand in angle brackets,
// and must where they hold more than letters, digits, _, . and -.
//
// What a predicate may not be is decided in one place, Predicate.Validate,
// which Parse too goes by. Stored messages are read without it: other programs
// store predicates, their own among them, that this language refuses. Where such a
// predicate has an index that this program can't keep, Predicate.Unsupported says
// so.
//
// Parse, the messages and Diff are functions of their arguments. A Predicate or
// TypeDef belongs to whoever made it until it goes into a Snapshot; from then on
// nobody changes it. A Snapshot never changes and is safe for any goroutine.
//
// The package is not for storing schemas (package posting has the keys and the
// store), nor for carrying out an alter.
package schema
