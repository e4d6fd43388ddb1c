package ingest

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/edgemill/edgemill/mutation"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// readText reads text as the content of a file to load.
func readText(text string) ([]Quad, error) {
	src, err := NewSource("in", strings.NewReader(text))
	if err != nil {
		return nil, err
	}
	return readAllQuads(src, chunkSize)
}

// readAllQuads reads a whole source in chunks of some size.
func readAllQuads(src *Source, size int) ([]Quad, error) {
	r, err := newChunkReader(src, size)
	if err != nil {
		return nil, err
	}
	var quads []Quad
	var p Parser
	for {
		c, err := r.Next()
		if err == io.EOF {
			return quads, nil
		}
		if err != nil {
			return quads, err
		}
		if quads, err = p.Parse(quads, c); err != nil {
			return quads, err
		}
	}
}

// readDeletes reads statements as a delete block holds them.
func readDeletes(text string) ([]Quad, error) {
	return readMutationText("delete {\n" + text + "\n}")
}

func readMutationText(text string) ([]Quad, error) {
	src, err := NewSource("in", strings.NewReader(text))
	if err != nil {
		return nil, err
	}
	return ReadMutation(src)
}

// show writes quads in a short form, one a line, for tables of expectations.
func show(quads []Quad) string {
	var b strings.Builder
	for _, q := range quads {
		b.WriteString(showQuad(&q))
		b.WriteByte('\n')
	}
	return b.String()
}

func showQuad(q *Quad) string {
	s := q.Subject.String() + " " + q.Predicate
	if q.Op == mutation.Delete {
		s = "- " + s
	}
	if q.Lang != "" {
		s += "@" + q.Lang
	}
	switch q.Object {
	case mutation.ObjectStar:
		return s + " *"
	case mutation.ObjectUID:
		s += " " + q.Target.String()
	default:
		text, err := q.Value.AppendLiteral(nil)
		if err != nil {
			text = q.Value.Data
		}
		s += " " + q.Value.Type.String() + ":" + string(text)
	}
	for i := range q.Facets {
		b, err := appendFacet(nil, &q.Facets[i])
		if err != nil {
			b = []byte(err.Error())
		}
		s += " " + string(b)
	}
	return s
}

// shared gives the path of a file that lies beside the repository, and skips
// the test where it is not there.
func shared(t testing.TB, name string) string {
	t.Helper()
	dir, err := os.Getwd()
	require.NoError(t, err)
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			break
		}
		require.NotEqual(t, dir, filepath.Dir(dir), "no go.mod above the test")
		dir = filepath.Dir(dir)
	}
	path := filepath.Join(dir, "..", "shared", name)
	if _, err := os.Stat(path); err != nil {
		t.Skipf("%s is not there", name)
	}
	return path
}

// lines joins its arguments as show does.
func lines(s ...string) string {
	if len(s) == 0 {
		return ""
	}
	return strings.Join(s, "\n") + "\n"
}
