// Package conflict decides which transactions may commit beside each other,
// and lets one wait for another before work is done that would be thrown away.
//
// # Its job
//
// It derives the 64-bit conflict keys of what an edge writes, gathers them in
// buffers and sets, and holds the two places where sets meet: the Oracle,
// which hands out timestamps and decides commits, and the Gate, which admits
// transactions. The keys are derived here and nowhere else.
//
// # Its words
//
//   - key: a fingerprint of something that a transaction writes. Exclusive keys
//     meet both kinds; shared keys meet only exclusive ones.
//   - Set: the distinct keys of a transaction, sorted by kind.
//   - start timestamp: what a transaction reads at; read timestamp: what a
//     snapshot reads at, without ever committing.
//   - commit timestamp: what a transaction's writes are stored at.
//   - decided: a commit timestamp was given out; settled: its writes are
//     readable, or will never be. Between the two a commit is pending.
//   - acknowledged: the caller was told, or is about to be. It can be so before
//     the writes are readable, as they are durable before.
//   - visible through ts: every commit at or below ts is settled.
//   - horizon: the timestamp below which nobody reads any more.
//   - pass: the leave to run that the Gate gives to one transaction.
//
// # Who owns what
//
// An Oracle and a Gate are each safe for any number of goroutines, start none,
// and keep everything behind their own locks. A Set is a value whose slices
// nobody changes: Oracle and Gate read it during the call and keep no part of
// it. A pass belongs to its transaction, which releases it.
//
// The usual order of a transaction is
//
//	pass  := gate.Enter(ctx, keys of the first batch)
//	start := oracle.Begin(ctx, pass.Above(), the same keys)
//	         oracle.WaitVisible(ctx, start), before the first read
//	         apply; gate.TryAdd(pass, keys of each later batch)
//	ts    := oracle.Commit(ctx, start, all keys)
//	         pass.ReleaseAt(ts)
//	         store at ts; oracle.Visible(ts), or Abandoned(ts) if that failed
//	         oracle.Acknowledged(ts), if ts is durable before it is visible
//	         oracle.Done(start)
//
// The pass stands before the start timestamp, so that a transaction that
// waited starts after the one that it waited for. It may be released as soon as
// Commit has answered: the next one begins above the commit, and reads only when
// that is visible.
//
// # What it is not for
//
// It stores nothing and reads no store; it does not order the writing of
// commits, which is the committer's; and it does not retry. A server with an
// arbiter of its own implements Arbiter and Timestamps and needs only the keys.
package conflict
