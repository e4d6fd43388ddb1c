// Package prommetrics gives what a DB tells of itself to Prometheus.
//
// Its job: Metrics is both an edgemill.Metrics, which a DB is opened with, and
// a prometheus.Collector, which a registry takes. Names and units are listed in
// docs/metrics.md.
//
// Its words are those of Prometheus. An event (a batch, a commit) is counted when
// it happens; a figure that the engine counts anyway is read when the registry
// asks.
//
// A Metrics is for one DB, and may be used from any goroutine. Of several DBs in
// one process each has its own, registered with labels that tell them apart
// (prometheus.WrapRegistererWith). A server that uses the engine's rooms without
// the DB calls Applied and Committed itself, and Watch with what it has.
//
// It serves nothing over HTTP, and no other package imports it.
package prommetrics
