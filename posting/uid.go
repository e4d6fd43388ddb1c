package posting

import (
	"context"
	"fmt"

	"github.com/dgraph-io/badger/v4"
)

// MaxUID scans the store for the greatest uid below limit that stands in it as
// a subject or a target, in any version. It takes as long as reading the data
// lists does.
func (s *Store) MaxUID(ctx context.Context, limit uint64) (uint64, error) {
	var greatest uint64
	see := func(uid uint64) {
		if uid < limit {
			greatest = max(greatest, uid)
		}
	}
	txn := s.db.NewTransactionAt(^uint64(0), false)
	defer txn.Discard()
	for _, space := range []Space{SpaceList, SpacePart} {
		opt := badger.DefaultIteratorOptions
		opt.Prefix = []byte{byte(space)}
		opt.AllVersions = true
		it := txn.NewIterator(opt)
		for it.Rewind(); it.Valid(); it.Next() {
			err := ctx.Err()
			if err == nil {
				err = uidsOf(it.Item(), see)
			}
			if err != nil {
				it.Close()
				return 0, err
			}
		}
		it.Close()
	}
	return greatest, nil
}

// uidsOf shows the uids that one version of a data list names.
func uidsOf(item *badger.Item, see func(uint64)) error {
	k, err := ParseKey(item.Key())
	if err != nil {
		return err
	}
	if k.Kind != KindData {
		return nil
	}
	see(k.UID)
	err = item.Value(func(data []byte) error {
		switch item.UserMeta() {
		case MetaDelta:
			return refUIDs(data, see)
		case MetaComplete:
			c, err := DecodeList(data)
			if err != nil {
				return err
			}
			return packUIDs(&c, see)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("%s at %d: %w", k, item.Version(), err)
	}
	return nil
}

// refUIDs shows the targets that a delta sets.
func refUIDs(data []byte, see func(uint64)) error {
	for len(data) > 0 {
		p, rest, err := DecodePosting(data)
		if err != nil {
			return err
		}
		if p.Type == PostingRef && p.Op != OpDelete {
			see(p.UID)
		}
		data = rest
	}
	return nil
}

// packUIDs shows the targets of a complete list, whose postings tell which uids
// stand for values.
func packUIDs(c *Complete, see func(uint64)) error {
	uids, err := c.Pack.AppendUIDs(nil)
	if err != nil {
		return err
	}
	values := make(map[uint64]bool)
	for i := range c.Postings {
		if c.Postings[i].Type != PostingRef {
			values[c.Postings[i].UID] = true
		}
	}
	for _, uid := range uids {
		if !values[uid] {
			see(uid)
		}
	}
	return nil
}
