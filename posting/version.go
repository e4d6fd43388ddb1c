package posting

import (
	"bytes"
	"context"
	"errors"
	"slices"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/y"
)

// Version is one stored value of a key, as Badger has it.
type Version struct {
	// TS is the version.
	TS uint64
	// Meta is the user-meta byte.
	Meta byte
	// Deleted says that the key was deleted at this version; there is no value.
	Deleted bool
	// DiscardEarlier says that older versions may be dropped.
	DiscardEarlier bool
	Value          []byte
}

// WalkVersions calls f with each key that begins with the prefix and is from
// or above it, in ascending order, and with all its versions that the reader
// sees, the newest first, until f returns an error, which WalkVersions returns.
// f may keep the versions, not the key. All versions of one key are in memory
// at once.
func (r *Reader) WalkVersions(ctx context.Context, prefix, from []byte, f func(key []byte, versions []Version) error) error {
	var key []byte
	var versions []Version
	flush := func() error {
		if len(versions) == 0 {
			return nil
		}
		err := f(key, versions)
		versions = nil
		return err
	}
	err := r.iterateAll(ctx, prefix, from, func(item *badger.Item) error {
		if !bytes.Equal(item.Key(), key) {
			if err := flush(); err != nil {
				return err
			}
			key = item.KeyCopy(key)
		}
		v, err := versionOf(item)
		if err != nil {
			return keyError(key, item.Version(), err)
		}
		versions = append(versions, v)
		return nil
	})
	if err != nil {
		return err
	}
	return flush()
}

// WalkLists calls f with each key that begins with the prefix and is from or
// above it, in ascending order, and with its list, until f returns an error,
// which WalkLists returns. It reads the store in one sweep, where a List for each
// key would search for it. A key's list may be empty; f may keep the list, not
// the key.
func (r *Reader) WalkLists(ctx context.Context, prefix, from []byte, f func(key []byte, l *List) error) error {
	var key []byte
	var list *List
	more := false
	flush := func() error {
		if list == nil {
			return nil
		}
		list.settle()
		err := f(key, list)
		list = nil
		return err
	}
	err := r.iterateAll(ctx, prefix, from, func(item *badger.Item) error {
		if !bytes.Equal(item.Key(), key) {
			if err := flush(); err != nil {
				return err
			}
			key, list, more = item.KeyCopy(key), &List{}, true
		}
		if !more {
			return nil
		}
		var err error
		more, err = r.version(key, list, item)
		if errors.Is(err, errPartGone) {
			list, err = r.reread(key)
		}
		if err != nil {
			return keyError(key, item.Version(), err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return flush()
}

// iterateAll calls f with every version that the reader sees of every key with
// the prefix, from a key on.
func (r *Reader) iterateAll(ctx context.Context, prefix, from []byte, f func(*badger.Item) error) error {
	return r.eachItem(ctx, badger.IteratorOptions{Prefix: prefix, AllVersions: true}, from, f)
}

func versionOf(item *badger.Item) (Version, error) {
	v := Version{
		TS: item.Version(), Meta: item.UserMeta(), Deleted: item.IsDeletedOrExpired(),
		DiscardEarlier: item.DiscardEarlierVersions(),
	}
	if v.Deleted {
		return v, nil
	}
	var err error
	v.Value, err = item.ValueCopy(nil)
	return v, err
}

// Assemble makes the list of the versions of a key, the newest first, as List
// would read it. The list aliases the versions.
func (r *Reader) Assemble(key []byte, versions []Version) (*List, error) {
	l := &List{}
	for i := range versions {
		more, err := r.take(key, l, &versions[i])
		if errors.Is(err, errPartGone) {
			return r.reread(key)
		}
		if err != nil {
			return nil, keyError(key, versions[i].TS, err)
		}
		if !more {
			break
		}
	}
	l.settle()
	return l, nil
}

// reread reads a list again whose versions were read before the parts that they
// name went. It is never nil.
func (r *Reader) reread(key []byte) (*List, error) {
	l, err := r.stored(key)
	if l == nil {
		l = &List{}
	}
	return l, err
}

// Forgotten reports whether the reader sees no version of the key and the
// oldest that there is is a rollup: what the list was at the reader's timestamp
// is then not known any more.
func (r *Reader) Forgotten(key []byte) (bool, error) {
	txn := r.db.NewTransactionAt(^uint64(0), false)
	defer txn.Discard()
	opt := badger.DefaultIteratorOptions
	opt.PrefetchValues = false
	opt.AllVersions = true
	it := txn.NewKeyIterator(key, opt)
	defer it.Close()
	forgotten := false
	for it.Rewind(); it.Valid(); it.Next() {
		item := it.Item()
		if item.Version() <= r.ts {
			return false, nil
		}
		forgotten = item.UserMeta() == MetaComplete || item.UserMeta() == MetaEmpty
	}
	return forgotten, nil
}

// Cuts returns keys that cut the store into pieces of about the size of a
// table, ascending, for those who read it with several goroutines.
func (s *Store) Cuts() [][]byte {
	var cuts [][]byte
	for _, table := range s.db.Tables() {
		cuts = append(cuts, y.ParseKey(table.Left))
	}
	slices.SortFunc(cuts, bytes.Compare)
	return slices.CompactFunc(cuts, bytes.Equal)
}
