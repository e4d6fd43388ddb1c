package conflict

import "math/bits"

const (
	// keyShards cuts the table so that rebuilding one part of it is short.
	keyShards = 256
	// minSlots is the size of a shard's first table.
	minSlots = 8
	// sweptSlots is how many slots are looked over for each key recorded.
	sweptSlots = 4
)

// recentKeys remembers, for each key, the newest commits that wrote it
// exclusively and as a shared key. It forgets what is at or below a given
// timestamp a shard at a time and in passing:
//
//   - a shard whose table is full is rebuilt without what has expired, in a
//     table for twice what is left, so that a rebuild is paid for by the keys
//     recorded since the last one;
//   - so that a table that was once large does not stay so, the shards are
//     looked over in turn, sweptSlots slots for each key recorded and at most one
//     shard a commit, and one that would fit a smaller table is rebuilt.
//
// A log of the commits to forget in order would touch each key once more, out
// of the cache, and remember a hot key as often as it was committed.
//
// Not safe for concurrent use.
type recentKeys struct {
	// forgotten is the newest commit of any key that was dropped.
	forgotten uint64
	seed      keySeed
	shards    [keyShards]keyShard
	next      int         // the shard to look over next
	credit    int         // slots that may be looked over
	spare     []keyCommit // a table that was left, for the next rebuild
}

// keyShard is a table with linear probing; a slot whose key is zero is free.
type keyShard struct {
	slots []keyCommit
	used  int
}

// keyCommit is the newest commit timestamps of a key; zero where there is none.
type keyCommit struct {
	key, exclusive, shared uint64
}

func (c *keyCommit) newest() uint64 { return max(c.exclusive, c.shared) }

func newRecentKeys(forgotten uint64) recentKeys {
	return recentKeys{forgotten: forgotten, seed: newKeySeed()}
}

// meet returns the first key that a commit after startTS meets, or nil.
func (r *recentKeys) meet(startTS uint64, keys Set) *ConflictError {
	for _, key := range keys.Exclusive {
		if c := r.find(key); c != nil && c.newest() > startTS {
			return &ConflictError{Key: key, StartTS: startTS, CommitTS: c.newest()}
		}
	}
	for _, key := range keys.Shared {
		if c := r.find(key); c != nil && c.exclusive > startTS {
			return &ConflictError{Key: key, StartTS: startTS, CommitTS: c.exclusive}
		}
	}
	return nil
}

// newestOf returns the newest commit that meets keys; 0 for none that is
// remembered.
func (r *recentKeys) newestOf(keys Set) (ts uint64) {
	for _, key := range keys.Exclusive {
		if c := r.find(key); c != nil {
			ts = max(ts, c.newest())
		}
	}
	for _, key := range keys.Shared {
		if c := r.find(key); c != nil {
			ts = max(ts, c.exclusive)
		}
	}
	return ts
}

// record writes the keys of a commit down. commitTS is above all before it;
// what is at or below expired may be forgotten.
func (r *recentKeys) record(commitTS, expired uint64, keys Set) {
	for _, key := range keys.Exclusive {
		if c := r.obtain(key, expired); c != nil {
			c.exclusive = commitTS
		}
	}
	for _, key := range keys.Shared {
		if c := r.obtain(key, expired); c != nil {
			c.shared = commitTS
		}
	}
	r.sweep(expired, len(keys.Exclusive)+len(keys.Shared))
}

// shard takes the low bits of the hash, and slots the high ones.
func (r *recentKeys) shard(hash uint64) *keyShard { return &r.shards[hash%keyShards] }

func (r *recentKeys) find(key uint64) *keyCommit {
	hash := r.seed.hash(key)
	shard := r.shard(hash)
	if len(shard.slots) == 0 || key == 0 {
		return nil
	}
	if c := shard.slot(hash, key); c.key == key {
		return c
	}
	return nil
}

// obtain returns the key's slot, which is a new one if need be; for key zero,
// which is none, it returns nil.
func (r *recentKeys) obtain(key, expired uint64) *keyCommit {
	if key == 0 {
		return nil
	}
	hash := r.seed.hash(key)
	shard := r.shard(hash)
	var c *keyCommit
	if len(shard.slots) > 0 {
		if c = shard.slot(hash, key); c.key == key {
			return c
		}
	}
	if 3*(shard.used+1) > 2*len(shard.slots) {
		r.rebuild(shard, expired, 1)
		c = shard.slot(hash, key)
	}
	c.key = key
	shard.used++
	return c
}

// slot returns the slot that holds the key, or the free one where it belongs.
func (s *keyShard) slot(hash, key uint64) *keyCommit {
	mask := uint64(len(s.slots) - 1)
	for at := (hash >> 8) & mask; ; at = (at + 1) & mask {
		if c := &s.slots[at]; c.key == key || c.key == 0 {
			return c
		}
	}
}

// sweep looks the next shard over once enough keys were recorded.
func (r *recentKeys) sweep(expired uint64, recorded int) {
	r.credit += recorded * sweptSlots
	shard := &r.shards[r.next]
	if r.credit < len(shard.slots) {
		return
	}
	r.credit = 0
	r.next = (r.next + 1) % keyShards
	if slotsFor(shard.live(expired)) < len(shard.slots) {
		r.rebuild(shard, expired, 0)
	}
}

// live counts the keys with a commit above expired.
func (s *keyShard) live(expired uint64) int {
	live := 0
	for i := range s.slots {
		if s.slots[i].newest() > expired {
			live++
		}
	}
	return live
}

// slotsFor returns the size of a table that is at most half full with so many
// keys: a power of two, or zero.
func slotsFor(keys int) int {
	if keys == 0 {
		return 0
	}
	return max(minSlots, 1<<bits.Len(uint(2*keys-1)))
}

// rebuild moves the live keys of a shard to a table with room for more.
func (r *recentKeys) rebuild(shard *keyShard, expired uint64, more int) {
	old := shard.slots
	shard.slots = r.table(slotsFor(shard.live(expired) + more))
	shard.used = 0
	for i := range old {
		c := &old[i]
		if c.key == 0 {
			continue
		}
		if newest := c.newest(); newest <= expired {
			r.forgotten = max(r.forgotten, newest)
			continue
		}
		*shard.slot(r.seed.hash(c.key), c.key) = *c
		shard.used++
	}
	if len(old) > 0 {
		r.spare = old
	}
}

// table returns an empty table, the spare one if it has the right size.
func (r *recentKeys) table(slots int) []keyCommit {
	if slots == 0 {
		return nil
	}
	if len(r.spare) != slots {
		return make([]keyCommit, slots)
	}
	table := r.spare
	r.spare = nil
	clear(table)
	return table
}

// count returns the number of keys remembered.
func (r *recentKeys) count() int {
	keys := 0
	for i := range r.shards {
		keys += r.shards[i].used
	}
	return keys
}
