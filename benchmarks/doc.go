// Package benchmarks holds the engine's named workloads, the benchmarks that run
// them, and a runner that measures them in turns.
//
// Its words. A Workload is data: a schema and batches, made up the same way each
// time. A Case is a benchmark: a workload, and the way in which it is run, often
// in one of the Modes, which are the appliers. A Meter is the clock that a case
// is measured with: that of a Go benchmark, or Run's own.
//
//	Apply     a batch, to encoded deltas and conflict keys; nothing is committed
//	Skew      the same, of shapes that are hard to share out, and of tiny batches
//	Mutex     Apply by many goroutines on many processors: the share of waiting
//	Mutate    a batch, applied and committed to Badger on disk
//	WordNet   a whole graph, transaction by transaction
//	Txns      many clients, that have nothing in common or that meet
//	Aged      reading a store that grew by small commits
//
// Map (the sharded map against others) and Commit (commits of deltas that are
// made beforehand) are Go benchmarks only. Where a case is held against Badger
// alone, that is a case beside it, of the same run.
//
// One case runs at a time, and has made what it needs when its clock begins; it
// owns its store and its folder, and nothing of it is left when it returns. The
// Mutex cases change GOMAXPROCS while they run.
//
// Which goals the figures are held against stands in docs/performance.md. Nothing
// here asserts a time.
package benchmarks
