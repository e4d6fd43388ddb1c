// Package ingest reads graph statements: N-Quads, mutation JSON and mutation
// files, plain or compressed, and gives nodes that have only a name their uids.
// It also writes edges as N-Quads that it reads back to the same edges.
//
// Words. A Source is the content of one input, decompressed. A Chunk is a
// stretch of it that holds whole statements, cut by a ChunkReader. A Quad is one
// statement as read: its nodes have uids or names. A Node's name is a blank node
// label, an IRI, or nothing but its place in a JSON document. A Resolver makes
// edges of quads, with the uids that a Namer keeps for names.
//
// The way of an input: Open, then NewChunkReader; its Next in one goroutine;
// Parser.Parse and Resolver.Edges in any number of goroutines, each with a
// Parser and a Resolver of its own. A mutation file, which is one transaction,
// goes through ReadMutation instead.
//
// Who owns what. A Chunk's bytes belong to the chunk and are never written
// again: quads, and the edges made of them, share them, so a chunk's memory
// lives as long as any edge of it. A Parser and a Resolver belong to one
// goroutine. Names is shared by all.
//
// The package starts no goroutine. Bad input is an *Error that says which file,
// which line and what stands there; nothing panics on input and nothing is
// logged.
//
// It is not for what an edge does to a graph (package mutation), nor for the
// schema: literals are converted to the type that they are written with, and
// only passwords are looked up by predicate, because they are hashed before a
// batch exists.
package ingest
