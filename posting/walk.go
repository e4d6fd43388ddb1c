package posting

import (
	"bytes"
	"context"

	"github.com/dgraph-io/badger/v4"
)

// Walk calls f with each key that begins with the prefix and of which the
// reader sees a version, in ascending order, until f returns an error, which
// Walk returns. f must not keep or change the key. A key's list may be empty.
func (r *Reader) Walk(ctx context.Context, prefix []byte, f func(key []byte) error) error {
	return r.WalkFrom(ctx, prefix, nil, f)
}

// WalkFrom is Walk that begins at the first key that is from or above it.
func (r *Reader) WalkFrom(ctx context.Context, prefix, from []byte, f func(key []byte) error) error {
	return r.walkMeta(ctx, prefix, from, func(key []byte, _ byte) error { return f(key) })
}

// walkMeta is WalkFrom with the user-meta byte of the newest version that the
// reader sees of each key.
func (r *Reader) walkMeta(ctx context.Context, prefix, from []byte, f func(key []byte, meta byte) error) error {
	return r.eachItem(ctx, badger.IteratorOptions{Prefix: prefix}, from, func(item *badger.Item) error {
		return f(item.Key(), item.UserMeta())
	})
}

// eachItem calls f with each item that the options ask for, from a key on.
func (r *Reader) eachItem(
	ctx context.Context, opt badger.IteratorOptions, from []byte, f func(*badger.Item) error,
) error {
	if err := r.ready(ctx); err != nil {
		return err
	}
	it := r.txn.NewIterator(opt)
	defer it.Close()
	if bytes.Compare(from, opt.Prefix) < 0 {
		from = opt.Prefix
	}
	for it.Seek(from); it.Valid(); it.Next() {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := f(it.Item()); err != nil {
			return err
		}
	}
	return nil
}

// ready returns when a walk may begin.
func (r *Reader) ready(ctx context.Context) error {
	if err := r.Await(ctx); err != nil {
		return err
	}
	return r.store.readable(r.ts)
}

// WalkValues is Walk with the newest value that the reader sees of each key,
// for keys that are no lists (schemas and types). f must not keep the slices.
func (r *Reader) WalkValues(ctx context.Context, prefix []byte, f func(key, value []byte, version uint64) error) error {
	if err := r.ready(ctx); err != nil {
		return err
	}
	opt := badger.DefaultIteratorOptions
	opt.Prefix = prefix
	it := r.txn.NewIterator(opt)
	defer it.Close()
	for it.Rewind(); it.Valid(); it.Next() {
		if err := ctx.Err(); err != nil {
			return err
		}
		item := it.Item()
		err := item.Value(func(value []byte) error { return f(item.Key(), value, item.Version()) })
		if err != nil {
			return keyError(item.Key(), item.Version(), err)
		}
	}
	return nil
}
