package ingest

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// differences are the W3C cases that are read though they are to be refused:
// a relative IRI is a Dgraph name. docs/nquads.md says the same.
var differences = map[string]string{
	"nt-syntax-bad-uri-06": "a subject <s> is a node's name",
	"nt-syntax-bad-uri-07": "a predicate <p> is a predicate's name",
	"nt-syntax-bad-uri-08": "an object <o> is a node's name",
}

var manifestEntry = regexp.MustCompile(`rdft:Test\w*?(Positive|Negative)Syntax(?s:.*?)mf:action\s+<([^>]+)>`)

func TestW3C(t *testing.T) {
	for _, suite := range []string{"rdf-n-quads", "rdf-n-triples"} {
		dir := filepath.Dir(shared(t, "w3c/"+suite+"/manifest.ttl"))
		manifest, err := os.ReadFile(filepath.Join(dir, "manifest.ttl"))
		require.NoError(t, err)
		entries := manifestEntry.FindAllStringSubmatch(string(manifest), -1)
		require.Equal(t, len(regexp.MustCompile(`mf:action`).FindAll(manifest, -1)), len(entries), suite)
		for _, entry := range entries {
			name, positive := strings.TrimSuffix(entry[2], filepath.Ext(entry[2])), entry[1] == "Positive"
			t.Run(suite+"/"+name, func(t *testing.T) {
				checkW3C(t, filepath.Join(dir, entry[2]), positive || differences[name] != "")
			})
		}
	}
}

func checkW3C(t *testing.T, path string, toRead bool) {
	src, err := Open(path)
	require.NoError(t, err)
	defer src.Close()
	_, err = readAllQuads(src, chunkSize)
	if toRead {
		require.NoError(t, err)
		return
	}
	var fault *Error
	require.ErrorAs(t, err, &fault)
	require.Equal(t, path, fault.File)
	require.Positive(t, fault.Line)
	t.Log(err)
}
