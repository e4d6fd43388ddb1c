package posting

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
)

// castagnoli is the polynomial that processors compute.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// encodedCommit is a commit as it stands in the log, and what is known of it
// without reading it again. It shares no memory with what it was made from.
//
//	ts       8 bytes, little-endian
//	applied  8 bytes, little-endian
//	entries, each:
//	  user meta      1 byte, or 0xff where the key is deleted
//	  key length     uvarint
//	  value length   uvarint
//	  version - ts   varint
//	  key, value
type encodedCommit struct {
	data []byte
	// crc is the CRC-32C of data.
	crc uint32
	// entries is how many there are. The first deltas of them are the
	// transaction's own; parts are of split lists. Both are 0 for a commit that
	// was read from the log, where nobody asks.
	entries, deltas, parts uint32

	ts      uint64
	applied uint64
}

const (
	commitHeadLen = 16
	// entryOverhead bounds the bytes of an entry of the usual size beside its
	// key and value; it need not hold, since buffers grow.
	entryOverhead = 1 + 2 + 2 + 1
)

// limits are what Badger takes, in bytes.
type limits struct {
	// value is the greatest length of a value.
	value int64
	// inline is the length from which a value is kept elsewhere than in the
	// memory table.
	inline int64
	// entry is the greatest size of what goes into the memory table.
	entry int64
}

// encodeCommit encodes the commit, or refuses with ErrBadCommit what Badger
// would refuse once it is too late. The deltas are put in the order of their
// keys here, on the caller's time: Badger takes sorted keys about three times
// as fast as shuffled ones.
func encodeCommit(c *Commit, lim limits) (encodedCommit, error) {
	e := encodedCommit{ts: c.TS, applied: c.Applied, data: make([]byte, 0, encodedSize(c))}
	e.data = binary.LittleEndian.AppendUint64(e.data, c.TS)
	e.data = binary.LittleEndian.AppendUint64(e.data, c.Applied)
	if c.Deltas != nil {
		for _, kv := range c.Deltas.Sorted() {
			if err := e.add(Entry{Key: kv.Key, Value: kv.Value, Meta: MetaDelta, Version: c.TS}, lim); err != nil {
				return encodedCommit{}, err
			}
		}
		e.deltas = e.entries
	}
	for _, entry := range c.Entries {
		if err := e.add(entry, lim); err != nil {
			return encodedCommit{}, err
		}
	}
	e.crc = crc32.Checksum(e.data, castagnoli)
	return e, nil
}

func encodedSize(c *Commit) int {
	n := commitHeadLen
	if c.Deltas != nil {
		keys, size := c.Deltas.Size()
		n += keys*entryOverhead + size
	}
	for i := range c.Entries {
		n += 2*entryOverhead + len(c.Entries[i].Key) + len(c.Entries[i].Value)
	}
	return n
}

func (e *encodedCommit) add(entry Entry, lim limits) error {
	if err := lim.check(entry); err != nil {
		return fmt.Errorf("%w at %d: %w", ErrBadCommit, e.ts, keyError(entry.Key, entry.Version, err))
	}
	meta := entry.Meta
	if entry.Delete {
		meta = metaDelete
	}
	e.data = append(e.data, meta)
	e.data = binary.AppendUvarint(e.data, uint64(len(entry.Key)))
	e.data = binary.AppendUvarint(e.data, uint64(len(entry.Value)))
	e.data = binary.AppendVarint(e.data, int64(entry.Version-e.ts))
	e.data = append(append(e.data, entry.Key...), entry.Value...)
	e.entries++
	if isPart(entry.Key) {
		e.parts++
	}
	return nil
}

// isPart reports whether a key is one of a part of a split list.
func isPart(key []byte) bool { return Space(key[0]) == SpacePart }

// metaDelete stands in the log in place of a user meta where a key is deleted.
const metaDelete = 0xff

// badgerKeys is the prefix of the keys that Badger keeps for itself.
const badgerKeys = "!badger!"

func (lim limits) check(e Entry) error {
	switch {
	case len(e.Key) == 0:
		return fmt.Errorf("an empty key")
	case len(e.Key) > maxStoredKeyLen:
		return fmt.Errorf("a key of %d bytes, more than %d", len(e.Key), maxStoredKeyLen)
	case bytes.HasPrefix(e.Key, []byte(badgerKeys)):
		return fmt.Errorf("a key of Badger's own")
	case int64(len(e.Value)) > lim.value:
		return fmt.Errorf("a value of %d bytes, more than %d", len(e.Value), lim.value)
	case e.Version == 0:
		return fmt.Errorf("version 0")
	case e.Delete && (len(e.Value) > 0 || e.Meta != 0):
		return fmt.Errorf("a deletion with a value")
	case e.Meta == metaDelete:
		return fmt.Errorf("user meta %#x", e.Meta)
	}
	if n := tableSize(e, lim.inline); n > lim.entry {
		return fmt.Errorf("an entry of %d bytes, more than a batch's %d", n, lim.entry)
	}
	return nil
}

// tableSize is how many bytes of an entry a memory table takes at least; inline
// is as in limits.
func tableSize(e Entry, inline int64) int64 {
	n := int64(len(e.Key)) + versionLen
	if int64(len(e.Value)) < inline {
		return n + int64(len(e.Value))
	}
	return n + pointerLen
}

const (
	// pointerLen is what a memory table keeps of a value in the value log.
	pointerLen = 12
	// versionLen is what Badger appends to a key.
	versionLen = 8
	// entryMargin is what Badger adds to the size of an entry, and more.
	entryMargin = 16
)

// empty reports whether there is nothing to keep of it.
func (e *encodedCommit) empty() bool { return e.entries == 0 && e.applied == 0 }

// commitReader goes through the entries of an encoded commit.
type commitReader struct {
	ts, applied uint64
	rest        []byte
	total       int
}

// readCommit begins with an encoded commit.
func readCommit(data []byte) (commitReader, error) {
	if len(data) < commitHeadLen {
		return commitReader{}, fmt.Errorf("a commit of %d bytes", len(data))
	}
	return commitReader{
		ts:      binary.LittleEndian.Uint64(data),
		applied: binary.LittleEndian.Uint64(data[8:]),
		rest:    data[commitHeadLen:],
		total:   len(data),
	}, nil
}

// more reports whether there is another entry.
func (r *commitReader) more() bool { return len(r.rest) > 0 }

// next returns the next entry, whose key and value alias the commit's bytes.
func (r *commitReader) next() (Entry, error) {
	b := r.rest
	meta := b[0]
	klen, n1 := binary.Uvarint(b[1:])
	vlen, n2 := binary.Uvarint(b[1+max(n1, 0):])
	diff, n3 := binary.Varint(b[1+max(n1, 0)+max(n2, 0):])
	if n1 <= 0 || n2 <= 0 || n3 <= 0 {
		return Entry{}, r.malformed("an entry's head")
	}
	b = b[1+n1+n2+n3:]
	if klen > uint64(len(b)) || vlen > uint64(len(b))-klen {
		return Entry{}, r.malformed("an entry's length")
	}
	r.rest = b[klen+vlen:]
	e := Entry{Key: b[:klen:klen], Version: r.ts + uint64(diff)}
	if meta == metaDelete {
		e.Delete = true
		return e, nil
	}
	e.Value, e.Meta = b[klen:klen+vlen:klen+vlen], meta
	return e, nil
}

func (r *commitReader) malformed(what string) error {
	return fmt.Errorf("commit at %d: byte %d: %s", r.ts, r.total-len(r.rest), what)
}
