package edgemill_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/edgemill/edgemill"
	"github.com/edgemill/edgemill/mutation"
)

// TestLongKeys refuses what would not fit into a key when it is applied, so
// that nothing of it is stored, and takes a long value whose tokens are short.
func TestLongKeys(t *testing.T) {
	ctx := context.Background()
	opts := edgemill.Options{Dir: t.TempDir()}
	db, err := edgemill.Open(ctx, opts)
	require.NoError(t, err)
	require.NoError(t, db.Alter(ctx, "doc: string @index(exact) .\nsum: string @index(hash) ."))
	long := text(strings.Repeat("x", 70_000))
	small := mutation.Edge{Subject: 2, Predicate: "doc", Value: text("short")}

	_, err = untilCommitted(db, []mutation.Edge{small, {Subject: 1, Predicate: "doc", Value: long}})
	require.ErrorContains(t, err, `"doc"`)
	require.ErrorContains(t, err, "70")
	_, err = untilCommitted(db, []mutation.Edge{small, {Subject: 1, Predicate: strings.Repeat("p", 65_536), Value: text("v")}})
	require.ErrorContains(t, err, "65536")
	require.Empty(t, allLists(t, db))

	require.NoError(t, db.Close())
	db, err = edgemill.Open(ctx, opts)
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close()) }()
	require.Empty(t, allLists(t, db))
	_, err = untilCommitted(db, []mutation.Edge{{Subject: 1, Predicate: "sum", Value: long}})
	require.NoError(t, err)
	require.Contains(t, allLists(t, db), "data sum 0x1: (70000 bytes)")
	verifyClean(t, db)
}
