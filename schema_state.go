package edgemill

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/edgemill/edgemill/mutation"
	"github.com/edgemill/edgemill/posting"
	"github.com/edgemill/edgemill/schema"
)

// ErrSchemaChanged: a predicate that the transaction touched has been altered
// since the transaction began. It is begun again.
var ErrSchemaChanged = errors.New("schema changed since the transaction began")

// ErrAltered: the view's timestamp lies below an Alter that built or removed what
// is asked for. It is in views at later timestamps.
var ErrAltered = errors.New("altered since")

// schemaState is the schema in force, and what has changed while the DB is
// open. Whoever begins a transaction holds it shared, so that the start
// timestamp and the snapshot belong together; whoever commits holds it shared
// from the check to the acknowledgement, so that an Alter that holds it
// exclusively knows of every commit on its predicates.
type schemaState struct {
	sync.RWMutex
	snap *schema.Snapshot
	// changed is the timestamp of each predicate's last Alter, as far as
	// known.
	changed map[mutation.Name]uint64
	// altering is the predicates whose Alter has begun and not ended.
	altering map[mutation.Name]bool
}

// check refuses a commit of a transaction that touched an altered predicate.
// The caller holds the state.
func (s *schemaState) check(txn *mutation.Txn) error {
	var err error
	txn.Touched(func(n mutation.Name) bool {
		if s.altering[n] || s.changed[n] > txn.StartTS() {
			err = fmt.Errorf("predicate %q: %w", n.Predicate, ErrSchemaChanged)
		}
		return err == nil
	})
	return err
}

// loadSchema reads the schema that the store holds.
func (db *DB) loadSchema() error {
	r := db.store.Reader(^uint64(0))
	defer r.Release()
	db.schema.changed = make(map[mutation.Name]uint64)
	db.schema.altering = make(map[mutation.Name]bool)
	var preds []*schema.Predicate
	err := r.WalkValues(context.Background(), []byte{byte(posting.SpaceSchema)}, func(key, value []byte, version uint64) error {
		p, err := schema.DecodeUpdate(value)
		if err != nil {
			return err
		}
		preds = append(preds, p)
		db.schema.changed[mutation.Name{Namespace: p.Namespace, Predicate: p.Name}] = version
		return nil
	})
	if err != nil {
		return fmt.Errorf("stored schema: %w", err)
	}
	var types []*schema.TypeDef
	err = r.WalkValues(context.Background(), []byte{byte(posting.SpaceType)}, func(key, value []byte, _ uint64) error {
		t, err := schema.DecodeTypeUpdate(value)
		types = append(types, t)
		return err
	})
	if err != nil {
		return fmt.Errorf("stored types: %w", err)
	}
	db.schema.snap = schema.NewSnapshot(preds, types)
	return nil
}
