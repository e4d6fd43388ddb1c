// Package edgemill is an embeddable engine that applies graph mutations: it
// takes batches of edges and keeps data, index, reverse and count postings
// exactly right, in parallel inside one transaction and across transactions,
// on Badger, in the on-disk layout of Dgraph v25.
//
// Its words. A predicate connects a subject, which is a uid, with values or
// with target uids; the schema says how (Alter). A Txn has a start timestamp,
// at which it reads, and any number of batches; Commit gives it a commit
// timestamp, from which on all of it is visible. A View reads the graph at one
// timestamp, or as a transaction sees it. Verify reads all of a store and names
// what in it is not as it should be.
//
// A DB may be used from any goroutine. It owns its directory until Close. A
// Txn is for one client: its methods may be called from any goroutine, but
// batches are applied one at a time.
//
// The package puts together what servers with an arbiter or a log of their own
// use singly: mutation applies batches, conflict decides which transactions
// commit, posting stores and reads. It does not read text (see ingest) and
// does not answer queries beyond single lists.
package edgemill
