package token_test

import (
	"encoding/hex"
	"encoding/json"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/edgemill/edgemill/schema/token"
	"github.com/edgemill/edgemill/schema/value"
	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
)

var goldenDir = flag.String("golden", "", "folder of golden cases (default ../shared/golden beside the repository)")

// goldenCase is what these tests use of a golden file.
type goldenCase struct {
	Schema string
	Txns   []struct {
		Batches [][]goldenEdge
	}
	Lists []goldenList `json:"want_lists"`
}

type goldenEdge struct {
	Predicate, Value, Lang string
}

type goldenList struct {
	Kind, Predicate string
	UID             string `json:"uid"`
	Term            string `json:"term_hex"`
	Postings        []struct {
		UID         string      `json:"uid"`
		Value       string      `json:"value_hex"`
		ValueType   value.Type  `json:"value_type"`
		PostingType int         `json:"posting_type"`
		Lang        string      `json:"lang"`
		Extra       interface{} `json:"-"`
	}
}

// goldenFiles finds the golden cases, or skips the test.
func goldenFiles(t *testing.T) []string {
	dir := *goldenDir
	if dir == "" {
		root, err := os.Getwd()
		require.NoError(t, err)
		for !fileExists(filepath.Join(root, "go.mod")) {
			require.NotEqual(t, root, filepath.Dir(root), "no go.mod above the test")
			root = filepath.Dir(root)
		}
		dir = filepath.Join(root, "../shared/golden")
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	require.NoError(t, err)
	if len(files) == 0 {
		t.Skip("no golden cases in " + dir)
	}
	return files
}

func fileExists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// TestGoldenTokens makes the tokens of every value that a golden case leaves in
// the store, and compares them with the index that the case leaves.
func TestGoldenTokens(t *testing.T) {
	for _, file := range goldenFiles(t) {
		t.Run(filepath.Base(file), func(t *testing.T) {
			data, err := os.ReadFile(file)
			require.NoError(t, err)
			var c goldenCase
			require.NoError(t, json.Unmarshal(data, &c))
			require.Empty(t, cmp.Diff(wantIndex(c), madeIndex(t, c)))
		})
	}
}

// wantIndex gives predicate, term and subject of each index posting.
func wantIndex(c goldenCase) []string {
	entries := map[string]bool{}
	for _, l := range c.Lists {
		for _, p := range l.Postings {
			if l.Kind == "index" {
				entries[l.Predicate+" "+l.Term+" "+p.UID] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(entries))
}

func madeIndex(t *testing.T, c goldenCase) []string {
	indexes := tokenizersOf(t, c.Schema)
	entries := map[string]bool{}
	var buf token.Buffer
	for _, l := range c.Lists {
		if l.Kind != "data" {
			continue
		}
		for _, p := range l.Postings {
			data, err := hex.DecodeString(p.Value)
			require.NoError(t, err)
			for _, tok := range indexes[l.Predicate] {
				buf.Reset()
				require.NoError(t, tok.Append(&buf, value.Value{Type: p.ValueType, Data: data}, p.Lang))
				for i := range buf.Len() {
					entries[l.Predicate+" "+hex.EncodeToString(buf.At(i))+" "+l.UID] = true
				}
			}
		}
	}
	return slices.Sorted(maps.Keys(entries))
}

// tokenizersOf reads the indexes of each predicate out of a schema, one
// predicate a line. (Package schema, which can, is above this one.)
func tokenizersOf(t *testing.T, schema string) map[string][]*token.Tokenizer {
	indexes := map[string][]*token.Tokenizer{}
	for line := range strings.Lines(schema) {
		_, rest, ok := strings.Cut(line, "@index(")
		if !ok {
			continue
		}
		colon := strings.LastIndex(line[:len(line)-len(rest)], ":")
		name := strings.Trim(line[:colon], "<> ")
		list, _, _ := strings.Cut(rest, ")")
		for word := range strings.SplitSeq(list, ",") {
			tok, ok := token.Get(strings.TrimSpace(word))
			require.True(t, ok, word)
			indexes[name] = append(indexes[name], tok)
		}
	}
	return indexes
}
