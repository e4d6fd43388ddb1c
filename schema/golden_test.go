package schema_test

import (
	"encoding/hex"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/edgemill/edgemill/schema"
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
		Fails   bool `json:"want_error"`
	}
	Lists []goldenList `json:"want_lists"`
}

type goldenList struct {
	Kind, Predicate string
	UID             string `json:"uid"`
	Term            string `json:"term_hex"`
	Postings        []goldenPosting
}

type goldenPosting struct {
	UID         string     `json:"uid"`
	Value       string     `json:"value_hex"`
	ValueType   value.Type `json:"value_type"`
	PostingType int        `json:"posting_type"`
	Lang        string     `json:"lang"`
}

func (p goldenPosting) value(t *testing.T) value.Value {
	data, err := hex.DecodeString(p.Value)
	require.NoError(t, err)
	return value.Value{Type: p.ValueType, Data: data}
}

type goldenEdge struct {
	Op, Subject, Predicate, Type string
	Value                        *string
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

// eachGolden runs a test for each golden case.
func eachGolden(t *testing.T, do func(*testing.T, goldenCase, *schema.Snapshot)) {
	for _, file := range goldenFiles(t) {
		t.Run(filepath.Base(file), func(t *testing.T) {
			data, err := os.ReadFile(file)
			require.NoError(t, err)
			var c goldenCase
			require.NoError(t, json.Unmarshal(data, &c))
			parsed := parse(t, c.Schema)
			do(t, c, schema.NewSnapshot(parsed.Predicates, parsed.Types))
		})
	}
}

// TestGoldenValues: every value that a golden case leaves is well formed, and
// the same as one that a set of its subject and predicate converts to.
func TestGoldenValues(t *testing.T) {
	eachGolden(t, func(t *testing.T, c goldenCase, s *schema.Snapshot) {
		stored := storedValues(t, c, s)
		for _, l := range c.Lists {
			for _, p := range l.Postings {
				if l.Kind != "data" || p.PostingType == 0 {
					continue
				}
				v := p.value(t)
				require.NoError(t, value.Check(v.Type, v.Data))
				require.True(t, slices.ContainsFunc(stored[l.Predicate+" "+l.UID], v.Equal), "%s of %s: %x", l.Predicate, l.UID, v.Data)
			}
		}
	})
}

// TestGoldenTokens makes the tokens of every value that a golden case leaves,
// and compares them with the index that it leaves.
func TestGoldenTokens(t *testing.T) {
	eachGolden(t, func(t *testing.T, c goldenCase, s *schema.Snapshot) {
		want, made := map[string]bool{}, map[string]bool{}
		for _, l := range c.Lists {
			for _, p := range l.Postings {
				switch l.Kind {
				case "index":
					want[l.Predicate+" "+l.Term+" "+p.UID] = true
				case "data":
					for _, token := range tokensOf(t, s, l.Predicate, p) {
						made[l.Predicate+" "+token+" "+l.UID] = true
					}
				}
			}
		}
		require.Empty(t, cmp.Diff(want, made))
	})
}

// tokensOf gives the tokens of a value in hex.
func tokensOf(t *testing.T, s *schema.Snapshot, predicate string, posting goldenPosting) []string {
	p, ok := s.Predicate(0, predicate)
	require.True(t, ok, predicate)
	var buf token.Buffer
	for _, tok := range p.Tokenizers {
		require.NoError(t, tok.Append(&buf, posting.value(t), posting.Lang))
	}
	var all []string
	for i := range buf.Len() {
		all = append(all, hex.EncodeToString(buf.At(i)))
	}
	return all
}

// storedValues gives, by predicate and subject, what all sets of a case that
// succeed store.
func storedValues(t *testing.T, c goldenCase, s *schema.Snapshot) map[string][]value.Value {
	stored := map[string][]value.Value{}
	for _, txn := range c.Txns {
		for _, batch := range txn.Batches {
			for _, e := range batch {
				if txn.Fails || e.Op != "set" || e.Value == nil {
					continue
				}
				p, ok := s.Predicate(0, e.Predicate)
				require.True(t, ok, e.Predicate)
				key := e.Predicate + " " + e.Subject
				stored[key] = append(stored[key], storedValue(t, p, e))
			}
		}
	}
	return stored
}

func storedValue(t *testing.T, p *schema.Predicate, e goldenEdge) value.Value {
	given := value.Default
	if e.Type != "" {
		var ok bool
		given, ok = value.ParseType(e.Type)
		require.True(t, ok, e.Type)
	}
	v, err := value.Parse(given, *e.Value)
	require.NoError(t, err)
	v, err = value.Convert(v, p.StoredType(given))
	require.NoError(t, err)
	return v
}
