package ingest

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/edgemill/edgemill/mutation"
	"github.com/edgemill/edgemill/schema/value"
)

// seeds are the W3C cases, where they lie beside the repository.
func seeds(f *testing.F) {
	for _, text := range []string{
		"<a> <p> \"x\\u0041\"@en-GB (a=1, b=\"x\", c=1.5, d=true, e=2006-01-02, f=) .\r\n_:b <q> <0x1f> <http://g> . # c\n",
		"<1> <p> \"1.5\"^^<xs:float> .\r<2> <p> \"{'type':'Point','coordinates':[1,2]}\"^^<geo:geojson> .",
		`{"uid":"_:a","name@en":"x","name@en|f":1.5,"pal":[{"uid":2,"pal|s":"x"},{"tag":[1,2.5,null],"tag|w":{"0":true}}]}`,
		`{"set":[{"uid":1,"loc":{"type":"Point","coordinates":[1,2]}}],"delete":{"uid":2,"a":null}}`,
		"{ set { <1> <p> <2> . } delete { <1> <p@fr> * . <1> * * . } } # c",
	} {
		f.Add(text)
	}
	files, _ := filepath.Glob(filepath.Join("..", "..", "shared", "w3c", "*", "*.n[qt]"))
	for _, path := range files {
		if b, err := os.ReadFile(path); err == nil {
			f.Add(string(b))
		}
	}
}

// checkRead holds what was read to what every reader promises, and writes and
// reads it again.
func checkRead(t *testing.T, quads []Quad, err error) {
	var fault *Error
	if err != nil && (!errors.As(err, &fault) || fault.File != "in" || fault.Line < 1) {
		t.Fatalf("an error without its place: %v", err)
	}
	edges, err := NewResolver(NewNames(), &counter{}, ResolverOptions{}).Edges(context.Background(), nil, quads, "in")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range edges {
		if e.Lang != "" && e.Object == mutation.ObjectValue && e.Value.Type != value.String {
			continue // a JSON number with a tag, which N-Quads has no form for
		}
		requireReadBack(t, e.Op, []mutation.Edge{e})
	}
}

// skipPasswords keeps a fuzzer from hashing all day.
func skipPasswords(t *testing.T, text string) {
	if strings.Contains(text, "password") {
		t.Skip()
	}
}

func FuzzNQuads(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, text string) {
		skipPasswords(t, text)
		if strings.HasPrefix(strings.TrimLeft(text, " \t\r\n\ufeff"), "{") {
			t.Skip()
		}
		quads, err := readText(text)
		if len(quads) > 0 || err == nil {
			checkRead(t, quads, err)
		}
	})
}

func FuzzJSON(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, text string) {
		skipPasswords(t, text)
		src, err := NewSource("in", strings.NewReader(text))
		if err != nil {
			t.Skip()
		}
		r, err := newChunkReader(src, 16)
		if err != nil {
			t.Skip()
		}
		r.format = JSON
		var p Parser
		for {
			c, err := r.Next()
			if err != nil {
				return
			}
			quads, err := p.Parse(nil, c)
			checkRead(t, quads, err)
			if err != nil {
				return
			}
		}
	})
}

func FuzzMutationFile(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, text string) {
		skipPasswords(t, text)
		if quads, err := readMutationText(text); err == nil {
			checkRead(t, quads, nil)
		}
	})
}
