// Package loader feeds statements to a graph: Load takes streams of any length,
// a transaction for so many statements; Mutate takes one mutation file as one
// transaction.
//
// Words. An input is a file or a stream. A piece is a run of statements that
// stand together in an input. A batch is what one transaction applies: pieces,
// in the order of the inputs.
//
// The way of an input: one goroutine reads and decompresses, one parses, and the
// caller's own gives nodes their uids, applies and commits. Chunks go from one to
// the next through channels that hold few, so memory is bounded whatever the
// input's size; the names of nodes are what grows. A load's transactions follow
// each other: each begins when the one before can be read, because it may change
// what that one wrote.
//
// A uid is handed out after the transaction that uses it first has begun, and
// above every uid that the load's statements have stated so far; so nothing can
// be stored of it, and the transaction says so (edgemill.Txn.Fresh) and saves the
// reading. A transaction that has to be begun again says no such thing.
//
// Each call owns its goroutines, and none outlives it. The package reads no
// schema files and prints nothing: see cmd/edgemill.
package loader
