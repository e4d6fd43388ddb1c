// Package mutation turns batches of edges into deltas of posting lists and
// conflict keys, inside one transaction.
//
// Its words. An Edge is one change of the graph; a Batch is an ordered list of
// edges; a Txn is a start timestamp and what its batches have written so far.
// A derived key is an index, reverse, count or reverse-count key, whose
// postings follow from the data. The base is what the transaction's snapshot
// holds; the old state of an edge is the base with all earlier edges of the
// transaction applied.
//
// An Applier is shared by any number of transactions. While Apply runs, the
// transaction's deltas belong to it: another Apply of the same transaction
// waits, readers see the state before. Two transactions have nothing in common
// but the store, which both only read.
//
// Invariants:
//
//   - I1 one writer: while a pass runs, a key belongs to one worker.
//   - I2 order: the edges of one (predicate, subject) keep their order; records
//     for one derived key whose result depends on the order over subjects
//     (reverse counts, @unique tokens) carry their edge's number and are folded
//     in that order.
//   - I3 all or nothing: a batch publishes after every pass of every predicate
//     succeeded, or not at all.
//   - I4 same result: stored bytes and conflict keys are the same for every
//     grant, shard count and schedule, and the same as the serial applier's.
//   - I5 joined: no goroutine outlives Apply; the first error cancels the rest;
//     cancellation of the context is seen within a few milliseconds.
//   - I6 frozen world: one immutable schema snapshot and one validated Options
//     value per batch.
//   - I7 nothing kept aliases a scratch buffer.
//   - I8 a commit is atomic and durable when acknowledged, whatever its size; a
//     log replayed changes nothing. (It is posting's to keep; a Txn hands over
//     deltas that depend on nothing but the edges and the base.)
//
// The package commits nothing, hands out no timestamps and no uids, and does
// not read text: see posting, conflict and ingest.
package mutation
