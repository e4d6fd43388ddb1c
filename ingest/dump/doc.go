// Package dump writes a graph out: as N-Quads that load again to the same graph,
// or list by list, as the store has it.
//
// Words. A predicate's lists are found by its namespace and name, whether or not
// the schema has it. What a dump writes is the store at one timestamp; commits
// that come meanwhile are not in it.
//
// Both functions read the store in its order and hold one list at a time; they
// start no goroutine. What they write is the same for the same graph: for N-Quads
// whatever way the graph came to be, since uids are written as they are.
//
// The package does not write schemas: edgemill.DB.SchemaText has them as text.
package dump
