package benchmarks

import (
	"context"
	"errors"

	"github.com/edgemill/edgemill"
	"github.com/edgemill/edgemill/mutation"
	"github.com/edgemill/edgemill/posting"
)

// openDB makes a DB with a schema.
func openDB(
	ctx context.Context, dir, schema string, opts mutation.Options, commit posting.CommitOptions,
) (*edgemill.DB, error) {
	db, err := edgemill.Open(ctx, edgemill.Options{Dir: dir, Mutation: &opts, Commit: commit})
	if err != nil {
		return nil, err
	}
	if err := db.Alter(ctx, schema); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// mutateOnce applies the batch in a transaction and commits it.
func mutateOnce(ctx context.Context, db *edgemill.DB, b *mutation.Batch) error {
	txn, err := db.Begin(ctx)
	if err != nil {
		return err
	}
	defer txn.Discard()
	for _, uids := range b.Fresh {
		txn.Fresh(uids)
	}
	if _, err := txn.Mutate(ctx, b.Edges); err != nil {
		return err
	}
	_, err = txn.Commit(ctx)
	return err
}

// allVisible waits until every commit so far can be read.
func allVisible(ctx context.Context, db *edgemill.DB) error {
	txn, err := db.Begin(ctx)
	if err == nil {
		txn.Discard()
	}
	return err
}
