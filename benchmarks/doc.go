// Package benchmarks holds the engine's named workloads, the Go benchmarks
// that run them, and the report that compares runs.
//
// A workload is data: a schema and edges, made up the same way each time. Which
// goals it is held against stands in docs/performance.md. Nothing here asserts
// a time.
package benchmarks
