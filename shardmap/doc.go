// Package shardmap is a concurrent hash map from byte strings to values of any
// type, without a lock on any path.
package shardmap
