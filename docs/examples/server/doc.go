// Command server shows how a graph server with a log and an arbiter of its own
// uses the engine: through mutation.Applier, posting.Store and the interfaces of
// package conflict, without package edgemill.
//
// Its words:
//
//   - proposal: an entry of the log that holds a batch of edges of a transaction.
//   - decision: an entry that says at which timestamp a transaction commits, or
//     that it does not.
//   - replica: a store that is fed with the entries, in order. Whatever the
//     entries are, all replicas hold the same versions of the same keys.
//   - mark: the index of an entry up to which a replica, opened again, need not
//     be fed. It is kept durably with the commits.
//
// Who owns what. The server, under its lock, hands out timestamps, appends to
// the log and feeds the replica, so that the log has the order of the
// timestamps. A replica's feeder (who calls feed) owns its open transactions;
// each batch is applied by a goroutine of its own, after the batches of its
// transaction that came before, beside those of others; one goroutine commits,
// in the order of the log.
//
// It is not a consensus: the log is a file of one process. It has no network, no
// queries and a fixed schema.
package main
