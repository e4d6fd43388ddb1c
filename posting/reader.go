package posting

import (
	"errors"
	"fmt"

	"github.com/dgraph-io/badger/v4"
)

// The user-meta bytes of stored values (FORMAT.md, Values).
const (
	MetaSchema   byte = 0x01
	MetaDelta    byte = 0x04
	MetaComplete byte = 0x08
	MetaEmpty    byte = 0x10
)

// Reader reads lists as they stand at one timestamp. Any number of goroutines
// may use it. It reads right as long as its timestamp is not below the store's
// horizon, for which whoever handed out the timestamp answers.
type Reader struct {
	db  *badger.DB
	ts  uint64
	txn *badger.Txn
}

// Reader returns a reader at the timestamp. Release ends it.
func (s *Store) Reader(ts uint64) *Reader {
	return &Reader{db: s.db, ts: ts, txn: s.db.NewTransactionAt(ts, false)}
}

// TS returns the reader's timestamp.
func (r *Reader) TS() uint64 { return r.ts }

// Release frees what the reader holds. It is not used afterwards.
func (r *Reader) Release() { r.txn.Discard() }

// List reads the list under the key; nil where nothing is stored. Bytes that
// are no list are an error that names the key.
func (r *Reader) List(key []byte) (*List, error) {
	return r.ListUnder(key, nil)
}

// ListUnder is List with one more delta, not yet stored, laid on top.
func (r *Reader) ListUnder(key, delta []byte) (*List, error) {
	l := &List{}
	more := true
	if len(delta) > 0 {
		var err error
		if more, err = l.layer(delta, 0); err != nil {
			return nil, keyError(key, r.ts, err)
		}
	}
	if err := r.read(key, l, more); err != nil {
		return nil, err
	}
	if l.newest == 0 && len(delta) == 0 {
		return nil, nil
	}
	l.settle()
	return l, nil
}

// getsBeforeIterator is how many versions of a key are fetched one by one,
// which bloom filters make cheap, before an iterator takes over, which is
// dear to open and cheap to advance.
const getsBeforeIterator = 3

func (r *Reader) read(key []byte, l *List, more bool) error {
	txn, ts := r.txn, r.ts
	for n := 0; more && n < getsBeforeIterator; n++ {
		item, err := txn.Get(key)
		if errors.Is(err, badger.ErrKeyNotFound) {
			return nil
		}
		if err == nil {
			more, err = r.version(key, l, item)
		}
		if err != nil {
			return keyError(key, ts, err)
		}
		if more {
			if ts = item.Version(); ts == 0 {
				return nil
			}
			ts--
			txn = r.db.NewTransactionAt(ts, false)
			defer txn.Discard()
		}
	}
	if !more {
		return nil
	}
	return r.iterate(key, l, txn)
}

// iterate reads on through the key's versions that txn sees.
func (r *Reader) iterate(key []byte, l *List, txn *badger.Txn) error {
	opt := badger.DefaultIteratorOptions
	opt.PrefetchValues = false
	it := txn.NewKeyIterator(key, opt)
	defer it.Close()
	for it.Rewind(); it.Valid(); it.Next() {
		more, err := r.version(key, l, it.Item())
		if err != nil {
			return keyError(key, it.Item().Version(), err)
		}
		if !more {
			return nil
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
		return false, r.complete(key, l, v.Value)
	}
	return false, fmt.Errorf("%w: user meta %#x", ErrBadValue, v.Meta)
}

// complete takes the complete list and, where it is split, its parts.
func (r *Reader) complete(key []byte, l *List, data []byte) error {
	c, err := DecodeList(data)
	if err != nil {
		return err
	}
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
		if l.parts[i].List, err = r.part(key, start); err != nil {
			return fmt.Errorf("part %d: %w", start, err)
		}
	}
	return l.check()
}

// part reads one part of a split list.
func (r *Reader) part(key []byte, start uint64) (Complete, error) {
	item, err := r.txn.Get(AppendPartKey(nil, key, start))
	if err != nil {
		return Complete{}, err
	}
	data, err := item.ValueCopy(nil)
	if err != nil {
		return Complete{}, err
	}
	switch item.UserMeta() {
	case MetaEmpty:
		return Complete{}, nil
	case MetaComplete:
		c, err := DecodeList(data)
		if err == nil && len(c.Splits) > 0 {
			err = fmt.Errorf("%w: a part with parts", ErrBadValue)
		}
		return c, err
	}
	return Complete{}, fmt.Errorf("%w: user meta %#x", ErrBadValue, item.UserMeta())
}

// keyError says at which key and version an error arose.
func keyError(key []byte, version uint64, err error) error {
	k, parseErr := ParseKey(key)
	if parseErr != nil {
		return fmt.Errorf("key %x at %d: %w", key, version, err)
	}
	return fmt.Errorf("%s at %d: %w", k, version, err)
}
