// Package shardmap is a concurrent hash map from byte strings to values of any type,
// without a lock on any path, growth included.
//
// Its job is to collect what many goroutines produce: values under keys, each key
// stored once or merged a few times, the whole then ranged over or drained in the
// order of the keys. It knows nothing of what keys and values mean.
//
// # Words
//
//	shard   a part of the map that grows by itself; a key's hash chooses it
//	table   what a shard looks keys up in; a larger one takes over when it is full
//	bucket  a cache line of a table: seven slots and a byte of hash for each
//	slot    where a table points to an entry
//	entry   a key and what decides its value; it is shared by all tables it is in
//	gone    an entry whose value was deleted; it never comes back
//	path    the slots in which one key may be, in the order of looking
//
// # Who owns what
//
// Nobody owns anything: every method of Map may be called at any time from any
// goroutine. A Writer belongs to one goroutine at a time. No goroutine is started.
// A key given as a string is kept and must not change (strings don't, unless they
// were made from bytes by way of unsafe); one given as bytes is copied if it is new.
// How the map holds together is told, and argued, at the type Map.
//
// # What an operation costs
//
// Nothing is allocated to load, to delete, to hash, or to replace a value that is a
// pointer, or that has no pointers and fits in 62 bits. A new key costs one entry; a
// value of another type that replaces one costs one cell of its size. (The first value
// is a part of the entry; so, where V holds pointers in a slice, string, interface or
// struct, what the first value of a key points to stays in memory until the key is
// deleted or the map is let go. Where that hurts, let V be a pointer.) Tables come on
// top: 10 to 30 bytes for each key, more in shards of less than a hundred keys.
//
// # What it is not for
//
// It has no snapshots, no expiry, no limit and no changes of several keys at once. It
// is slower than a plain Go map that one goroutine has for itself.
package shardmap
