// Package report keeps the results of benchmark runs, and shows them: as a
// table, as a comparison of two results, and as a web page with plots.
//
// Its words. A Run is one measurement of one benchmark: how often it was done,
// and a value in each of some units, which are those of Go benchmarks (ns/op,
// allocs/op, edges/s). A File is the runs that were made at one time, and on
// what. A benchmark's name has parts with slashes between; those whose names
// differ in the last part only are a group, which is shown together, and
// the first of a group is what the others are held against.
//
// Everything here is a plain value or a function of such; nothing is kept, and
// no goroutine is started.
//
// The package measures nothing and knows no benchmark by name: see benchmarks.
package report
