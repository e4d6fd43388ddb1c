package posting

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/dgraph-io/badger/v4"
)

// The user-meta bytes of stored values (docs/format.md, Versions of a
// list).
const (
	MetaSchema   byte = 0x01
	MetaDelta    byte = 0x04
	MetaComplete byte = 0x08
	MetaEmpty    byte = 0x10
)

// Reader reads lists as they stand at one timestamp. Any number of goroutines
// may use it. A timestamp below the store's horizon is ErrTooOld.
//
// What is written at versions that are read at already, which is what rollups
// do, changes no list, and a Reader does not notice it:
//
//   - the versions below a rolled-up list stay as long as somebody reads below
//     it, and those that read above it take it or them for the same list;
//   - who has begun with the versions when they are rolled up, and meets a
//     compaction that drops them on the way, notices (mark.rewrites) and begins
//     again with an iterator, from under which nothing is dropped;
//   - the parts of a split list are read at exactly the version of the main list
//     that names them. They are there before it (badgerWriter.put); where they
//     are gone, a newer main list is there to be read.
type Reader struct {
	store *Store
	db    *badger.DB
	ts    uint64
	txn   *badger.Txn
	// cache is that of the store for a Snapshot, else nil.
	cache *listCache
	// past says that lists may be forgotten at ts.
	past bool
	// readable returns when all commits through ts can be read, nil where they
	// can; awaited says that it has.
	readable func(context.Context) error
	awaited  atomic.Bool
}

// Reader returns a reader at any timestamp: what it reads is what is in the
// store. Release ends it.
func (s *Store) Reader(ts uint64) *Reader {
	return &Reader{store: s, db: s.db, ts: ts, txn: s.db.NewTransactionAt(ts, false)}
}

// Snapshot returns a reader at a timestamp through which every commit is
// readable, and at or below which nothing is committed any more, as
// conflict.Timestamps hands them out. So what it reads may be kept for other
// Snapshots. Release ends it.
func (s *Store) Snapshot(ts uint64) *Reader {
	r := s.Reader(ts)
	r.cache = s.cache
	return r
}

// SnapshotAfter is Snapshot at a timestamp through which not every commit is
// readable yet. Before the first list is read, or the first walk begins, readable is
// called, which returns when they are; after an error it is called again. So who
// never reads never waits. (RollUp and Forgotten are not for such a Reader.)
func (s *Store) SnapshotAfter(ts uint64, readable func(context.Context) error) *Reader {
	r := s.Snapshot(ts)
	r.readable = readable
	return r
}

// Await returns when lists can be read without a wait. A Reader that is not of
// SnapshotAfter never makes wait.
func (r *Reader) Await(ctx context.Context) error {
	if r.readable == nil || r.awaited.Load() {
		return nil
	}
	if err := r.readable(ctx); err != nil {
		return err
	}
	r.awaited.Store(true)
	return nil
}

// Past returns a Snapshot for who asks for a timestamp of his own: a list of
// which the oldest version that there is was rolled up above the timestamp is
// ErrTooOld, and not taken for an empty one. Walks and sweeps pass over
// those.
func (s *Store) Past(ts uint64) (*Reader, error) {
	if err := s.readable(ts); err != nil {
		return nil, err
	}
	r := s.Snapshot(ts)
	r.past = true
	return r, nil
}

// TS returns the reader's timestamp.
func (r *Reader) TS() uint64 { return r.ts }

// Release frees what the reader holds. It is not used afterwards.
func (r *Reader) Release() { r.txn.Discard() }

// List reads the list under the key; nil where nothing is stored. Bytes that
// are no list are an error that names the key.
func (r *Reader) List(key []byte) (*List, error) {
	if err := r.Await(context.Background()); err != nil {
		return nil, err
	}
	if r.cache == nil {
		return r.stored(key)
	}
	seek := r.cache.seek(key, r.ts)
	if seek.list != nil {
		return seek.list, r.store.readable(r.ts)
	}
	l, err := r.stored(key)
	if err == nil {
		r.cache.keep(&seek, l)
	}
	return l, err
}

// ListUnder is List with one more delta, not yet stored, laid on top.
func (r *Reader) ListUnder(key, delta []byte) (*List, error) {
	if len(delta) == 0 {
		return r.List(key)
	}
	l := &List{}
	more, err := l.layer(delta, 0)
	if err != nil {
		return nil, keyError(key, r.ts, err)
	}
	if more {
		base, err := r.List(key)
		if err != nil {
			return nil, err
		}
		l.over(base)
	}
	l.settle()
	return l, nil
}

// partTries is how often a list is read whose parts go while it is read. Each
// time it takes a rollup and a compaction to make another try necessary.
const partTries = 4

// stored reads the list from Badger, and tells the roller if it is worth
// rolling up.
func (r *Reader) stored(key []byte) (*List, error) {
	if err := r.store.readable(r.ts); err != nil {
		return nil, keyError(key, r.ts, err)
	}
	hash := r.store.marks.hash(key)
	l, err := r.point(key, hash)
	for try := 1; errors.Is(err, errPartGone) && try < partTries; try++ {
		time.Sleep(time.Duration(try*try) * time.Millisecond)
		l, err = r.point(key, hash)
	}
	if err != nil {
		return nil, keyError(key, r.ts, err)
	}
	if l.newest == 0 {
		return nil, r.absent(key, l)
	}
	l.settle()
	if hot := r.store.hot.Load(); hot != nil && hot.rule.due(l) {
		hot.tell(hash, key)
	}
	return l, nil
}

// absent is the error, if it is one, of a list of which no version is seen.
func (r *Reader) absent(key []byte, l *List) error {
	if !r.past || l.deleted {
		return nil
	}
	forgotten, err := r.Forgotten(key)
	if err == nil && forgotten {
		err = fmt.Errorf("%w: the oldest version that is left was rolled up above it", ErrTooOld)
	}
	if err != nil {
		return keyError(key, r.ts, err)
	}
	return nil
}

// getsBeforeIterator is how many versions of a key are fetched one by one,
// which bloom filters make cheap, before an iterator takes over, which is
// dear to open and cheap to advance.
const getsBeforeIterator = 3

// point reads the key's versions. Where it takes several looks at Badger, they
// have to be of one history.
func (r *Reader) point(key []byte, hash uint64) (*List, error) {
	mark := r.store.marks.at(hash)
	before := mark.rewrites.load()
	l := &List{}
	gets, err := r.get(key, l)
	if gets > 1 && !mark.rewrites.still(before) {
		l = &List{}
		err = r.iterate(key, l, r.txn)
	}
	return l, err
}

// get reads the key's versions one by one as far as that is worth it, and says
// how many it tried to.
func (r *Reader) get(key []byte, l *List) (gets int, err error) {
	txn := r.txn
	for gets < getsBeforeIterator {
		gets++
		item, err := txn.Get(key)
		if errors.Is(err, badger.ErrKeyNotFound) {
			return gets, nil
		}
		more := false
		if err == nil {
			more, err = r.version(key, l, item)
		}
		if err != nil || !more || item.Version() == 0 {
			return gets, err
		}
		txn = r.db.NewTransactionAt(item.Version()-1, false)
		defer txn.Discard()
	}
	return gets, r.iterate(key, l, txn)
}

// iterate reads on through the key's versions that txn sees.
func (r *Reader) iterate(key []byte, l *List, txn *badger.Txn) error {
	opt := badger.DefaultIteratorOptions
	opt.PrefetchValues = false
	it := txn.NewKeyIterator(key, opt)
	defer it.Close()
	for it.Rewind(); it.Valid(); it.Next() {
		more, err := r.version(key, l, it.Item())
		if err != nil || !more {
			return err
		}
	}
	return nil
}

// version takes one stored version into the list and reports whether older
// ones still count.
func (r *Reader) version(key []byte, l *List, item *badger.Item) (more bool, err error) {
	v, err := versionOf(item)
	if err != nil {
		return false, err
	}
	return r.take(key, l, &v)
}

func (r *Reader) take(key []byte, l *List, v *Version) (more bool, err error) {
	if v.Deleted {
		l.deleted = true
		return false, nil
	}
	if l.newest == 0 {
		l.newest = v.TS
	}
	switch v.Meta {
	case MetaDelta:
		l.deltas++
		l.deltaBytes += len(v.Value)
		if len(v.Value) == 0 {
			return false, fmt.Errorf("%w: a delta without postings", ErrBadValue)
		}
		return l.layer(v.Value, v.TS)
	case MetaEmpty:
		return false, nil
	case MetaComplete:
		return false, r.complete(key, l, v)
	}
	return false, fmt.Errorf("%w: user meta %#x", ErrBadValue, v.Meta)
}

// complete takes the complete list and, where it is split, its parts.
func (r *Reader) complete(key []byte, l *List, v *Version) error {
	c, err := DecodeList(v.Value)
	if err != nil {
		return err
	}
	l.size += len(v.Value)
	if len(c.Splits) == 0 {
		l.parts = []Part{{List: c}}
		return l.check()
	}
	if c.Pack.Len() > 0 || len(c.Postings) > 0 {
		return fmt.Errorf("%w: a split list with postings of its own", ErrBadValue)
	}
	l.parts = make([]Part, len(c.Splits))
	for i, start := range c.Splits {
		if i > 0 && start <= c.Splits[i-1] {
			return fmt.Errorf("%w: split %d is not above the one before", ErrBadValue, start)
		}
		l.parts[i].Start = start
		size := 0
		if l.parts[i].List, size, err = r.part(key, start, v.TS); err != nil {
			return fmt.Errorf("part %d: %w", start, err)
		}
		l.size += size
	}
	return l.check()
}

// errPartGone: a part that a main list names is not there at its version.
var errPartGone = fmt.Errorf("%w: the part is not there", ErrBadValue)

// part reads one part of a split list, at the version of the list, and its size
// in bytes.
func (r *Reader) part(key []byte, start, version uint64) (Complete, int, error) {
	txn := r.db.NewTransactionAt(version, false)
	defer txn.Discard()
	item, err := txn.Get(AppendPartKey(nil, key, start))
	if errors.Is(err, badger.ErrKeyNotFound) || err == nil && item.Version() != version {
		err = errPartGone
	}
	if err != nil {
		return Complete{}, 0, err
	}
	data, err := item.ValueCopy(nil)
	if err != nil {
		return Complete{}, 0, err
	}
	switch item.UserMeta() {
	case MetaEmpty:
		return Complete{}, 0, nil
	case MetaComplete:
		c, err := DecodeList(data)
		if err == nil && len(c.Splits) > 0 {
			err = fmt.Errorf("%w: a part with parts", ErrBadValue)
		}
		return c, len(data), err
	}
	return Complete{}, 0, fmt.Errorf("%w: user meta %#x", ErrBadValue, item.UserMeta())
}

// keyError says at which key and version an error arose.
func keyError(key []byte, version uint64, err error) error {
	k, parseErr := ParseKey(key)
	if parseErr != nil {
		return fmt.Errorf("key %x at %d: %w", key, version, err)
	}
	return fmt.Errorf("%s at %d: %w", k, version, err)
}
