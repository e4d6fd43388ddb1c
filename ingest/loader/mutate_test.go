package loader

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/edgemill/edgemill/ingest"
)

func TestMutate(t *testing.T) {
	db := openGraph(t)
	m, err := mutateText(t, db, `
		set { _:a <name> "Ann" . _:a <pal> <http://bob> . <http://bob> <tag> "x" . }
		delete { <http://bob> <tag> "x" . }
		set { <http://bob> <tag> "y" . }`)
	require.NoError(t, err)
	require.Equal(t, 5, m.Statements)
	require.NotZero(t, m.CommitTS)
	require.Equal(t, []NamedNode{{"_:a", 1}, {"<http://bob>", 2}}, m.Named)
	require.Equal(t, `<0x1> <name> "Ann" .
<0x1> <pal> <0x2> .
<0x2> <tag> "y" .
`, graph(t, db))

	m, err = mutateText(t, db, `{"delete": [{"uid": "0x1", "pal": null}], "set": {"name": "Cy", "boss": {"uid": "0x1"}}}`)
	require.NoError(t, err)
	require.Len(t, m.Named, 1)
	require.Equal(t, "[1]", m.Named[0].Name)

	m, err = mutateText(t, db, "")
	require.NoError(t, err)
	require.Empty(t, m.Named)
}

// TestMutateFaults: a file that fails leaves nothing, whatever stands before
// the fault.
func TestMutateFaults(t *testing.T) {
	db := openGraph(t)
	_, err := mutateText(t, db, `set { <0x1> <name> "Ann" . }`)
	require.NoError(t, err)
	before := graph(t, db)
	for _, c := range []struct{ text, want string }{
		{"set { <0x1> <name> \"Bob\" . }\nset { <0x1> <nix> \"Bob\" . }", `mutate: in.rdf:2: can't be applied: predicate "nix", subject 0x1`},
		{"delete { <0x1> <nix> * . }", `predicate "nix"`},
		{"set { <0x1> <name> \"Bob\" . \n <0x1> <name> . }", "mutate: in.rdf:2: "},
		{"set {", "mutate: in.rdf:1: "},
		{`{"set": [{"age": 1}, {"age": "x"}]}`, `in.rdf:1: can't be applied: predicate "age"`},
		{`{"get": []}`, `in.rdf:1: key "get"`},
	} {
		_, err := mutateText(t, db, c.text)
		require.ErrorContains(t, err, c.want)
		var at *ingest.Error
		require.ErrorAs(t, err, &at)
		require.Equal(t, before, graph(t, db))
	}
}
