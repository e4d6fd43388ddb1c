package edgemill

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/edgemill/edgemill/posting"
)

// TestTimestampsGoOnAboveHorizon: a process raised the horizon to a timestamp at
// which nothing was written, and ended before it wrote down more than that.
func TestTimestampsGoOnAboveHorizon(t *testing.T) {
	dir := t.TempDir()
	db := openAlterIn(t, dir)
	require.NoError(t, db.Alter(context.Background(), nickSchema))
	db.mutateForTest(t, nick(1, "ann"))
	horizon := db.store.MaxVersion() + 5
	require.NoError(t, db.store.UpdateState(func(s *posting.State) { s.Horizon = horizon }))
	require.NoError(t, db.Close())

	db = openAlterIn(t, dir)
	defer db.Close()
	require.Equal(t, "ann", committedNick(t, db, 1))
	txn, err := db.Begin(context.Background())
	require.NoError(t, err)
	require.Greater(t, txn.StartTS(), horizon)
	txn.Discard()
	verifyClean(t, db)
}
