package loader

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/edgemill/edgemill"
	"github.com/edgemill/edgemill/conflict"
	"github.com/edgemill/edgemill/ingest"
)

// meddler is a Namer that lets others do something, for each new name, while
// the transaction that names it is under way.
type meddler struct {
	*ingest.Names
	meddle func()
}

func (m meddler) Assign(name []byte, candidate uint64) (uint64, bool, error) {
	m.meddle()
	return m.Names.Assign(name, candidate)
}

// TestRetry: a transaction that another one got in the way of is begun again,
// and sees what that one wrote. What was fresh at its first try is not at the
// second.
func TestRetry(t *testing.T) {
	for _, c := range []struct {
		what   string
		meddle func(t *testing.T, db *edgemill.DB)
	}{
		{"conflict", func(t *testing.T, db *edgemill.DB) {
			_, err := mutateText(t, db, `set { <0x100> <name> "before" . <0x100> <boss> <0x1> . }`)
			require.NoError(t, err)
		}},
		{"conflict over the new node", func(t *testing.T, db *edgemill.DB) {
			_, err := mutateText(t, db, `set { <0x101> <age> "1" . <0x101> <name> "stated" . }`)
			require.NoError(t, err)
		}},
		{"schema change", func(t *testing.T, db *edgemill.DB) {
			require.NoError(t, db.Alter(context.Background(), "name: string @index(exact, term) @lang ."))
		}},
	} {
		t.Run(c.what, func(t *testing.T) {
			db := openGraph(t)
			once := false
			done, err := Load(context.Background(), db, Options{
				Inputs: []Input{{Name: "in", Reader: strings.NewReader(`<0x100> <name> "after" .
					<0x100> <boss> <0x2> .
					_:a <age> "2" .
					_:a <name> "new" .`)}},
				Names: meddler{ingest.NewNames(), func() {
					if !once {
						once = true
						c.meddle(t, db)
					}
				}},
			})
			require.NoError(t, err)
			require.EqualValues(t, 1, done.Retries)
			require.Contains(t, graph(t, db), `<0x100> <name> "after" .`)
			require.NotContains(t, graph(t, db), "before")
			require.NotContains(t, graph(t, db), "stated")
		})
	}
}

// TestRetriesEnd: a conflict that always comes again is an error in the end.
func TestRetriesEnd(t *testing.T) {
	db := openGraph(t)
	tr := newTransactor(db, nil, 2)
	b := &batch{pieces: []piece{{file: "in", quads: quadsOf(t, `<0x1> <age> "1" .`), unnamed: map[int]uint64{}}}, size: 1}
	tries := 0
	tr.names = meddler{ingest.NewNames(), nil}
	tr.beforeCommit = func() {
		tries++
		_, err := mutateText(t, db, `set { <0x1> <age> "2" . }`)
		require.NoError(t, err)
	}
	_, err := tr.run(context.Background(), b)
	require.ErrorIs(t, err, conflict.ErrConflict)
	require.ErrorContains(t, err, "after 3 tries")
	require.Equal(t, 3, tries)
}

func quadsOf(t *testing.T, text string) []ingest.Quad {
	src, err := ingest.NewSource("in", strings.NewReader(text))
	require.NoError(t, err)
	r, err := ingest.NewChunkReader(src)
	require.NoError(t, err)
	c, err := r.Next()
	require.NoError(t, err)
	quads, err := new(ingest.Parser).Parse(nil, c)
	require.NoError(t, err)
	return quads
}
