// Package posting keeps posting lists on Badger, in the layout of a Dgraph p
// directory (docs/format.md), and makes commits durable.
//
// # Its job
//
// It takes keys, packs, postings and deltas apart and puts them together, reads
// the list of a key at a timestamp, writes what transactions committed, rolls
// lists up, drops what nobody reads any more, and keeps the engine's own state
// beside the Badger directory. The rules by which a delta is folded are here and
// nowhere else (Delta).
//
// # Its words
//
//   - list: the postings under one key at one timestamp. A posting is a uid, and
//     what it carries: a value, a language, facets.
//   - version: one stored value of a key; its number is a timestamp.
//   - delta: a version with what one transaction changed. Complete list: a version
//     with all postings, which readers look no further than. Parts: what a large
//     one is cut into.
//   - rollup: to write a complete list in the place of deltas.
//   - delete-all marker: a posting that hides all older ones.
//   - run: encoded deltas of one worker; Deltas: all runs of a transaction.
//   - commit: what a transaction writes at one timestamp. Group: commits that are
//     made durable by one sync. Segment: a file of the commit log.
//   - mark: how far a log that feeds the engine is applied (Commit.Applied); also,
//     within the package, what the writer tells readers about a key (marks).
//   - horizon: the timestamp below which versions may be gone.
//
// # Who owns what
//
// A Store may be used from any goroutine, and owns its directory, which a file
// lock keeps for one process. Two goroutines of the Committer write: one owns the
// commit log, the other Badger, and a group of commits belongs to one of them at a
// time. Roller and Keeper have a goroutine each where they are started, and write
// by way of Store.Commit like everybody else. A Reader and the lists that it gives
// are shared freely and never change; a Delta, a Run under construction, a
// PackBuilder, a Sweep and a Checker belong to one goroutine.
//
// Invariants are numbered where they are argued: C1 to C5 at Committer, L1 to L3
// at commitLog, K1 and K2 at listCache. I8 of package mutation (a commit is atomic
// and durable when acknowledged, whatever its size, and a log replayed changes
// nothing) rests on them.
//
// # What it is not for
//
// It hands out no timestamps, decides no conflicts (package conflict) and knows
// neither edges (package mutation) nor what a schema says of a predicate. That a
// commit becomes visible only together with all below it is for who reads: the
// caller's timestamps see to it.
package posting
