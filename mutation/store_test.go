package mutation_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/edgemill/edgemill/mutation"
	"github.com/edgemill/edgemill/posting"
)

func openTestStore(t testing.TB) *posting.Store {
	store, err := posting.Open(posting.Options{InMemory: true})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	return store
}

func commitTestTxn(t testing.TB, store *posting.Store, tx *mutation.Txn, commitTS uint64) {
	done := make(chan error, 1)
	err := store.Commit(context.Background(), posting.Commit{
		TS: commitTS, Deltas: tx.Deltas(), Readable: func(err error) { done <- err },
	})
	require.NoError(t, err)
	require.NoError(t, <-done)
}
