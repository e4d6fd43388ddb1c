package loader

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/edgemill/edgemill"
	"github.com/edgemill/edgemill/ingest"
	"github.com/edgemill/edgemill/ingest/dump"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const testSchema = `
	name: string @index(exact) @lang .
	age: int @index(int) .
	tag: [string] @index(term) @count .
	boss: uid @reverse @count .
	pal: [uid] @reverse @count .
	secret: password .
`

// openGraph opens a store in memory, which is checked at the end of the test.
func openGraph(t testing.TB) *edgemill.DB {
	t.Helper()
	ctx := context.Background()
	db, err := edgemill.Open(ctx, edgemill.Options{InMemory: true, MemTableSize: 4 << 20})
	require.NoError(t, err)
	t.Cleanup(func() {
		report, err := db.Verify(ctx, edgemill.VerifyOptions{})
		require.NoError(t, err)
		require.Empty(t, report.Violations)
		require.NoError(t, db.Close())
	})
	require.NoError(t, db.Alter(ctx, testSchema))
	return db
}

// graph gives all statements of a store as text.
func graph(t testing.TB, db *edgemill.DB) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, dump.NQuads(context.Background(), db, &b, dump.Options{}))
	return b.String()
}

// file writes a file of the test's own.
func file(t testing.TB, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	return path
}

func zipped(t testing.TB, text string) string {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, err := z.Write([]byte(text))
	require.NoError(t, err)
	require.NoError(t, z.Close())
	return b.String()
}

// loadText loads one input, with small transactions.
func loadText(t testing.TB, db *edgemill.DB, text string, perTxn int) (Summary, error) {
	t.Helper()
	return Load(context.Background(), db, Options{Inputs: Files(file(t, "in.nq", text)), EdgesPerTxn: perTxn})
}

// mutateText applies a mutation file.
func mutateText(t testing.TB, db *edgemill.DB, text string) (Mutation, error) {
	t.Helper()
	src, err := ingest.NewSource("in.rdf", bytes.NewReader([]byte(text)))
	require.NoError(t, err)
	return Mutate(context.Background(), db, src, MutateOptions{})
}
