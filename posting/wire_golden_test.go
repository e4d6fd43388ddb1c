package posting

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/edgemill/edgemill/schema/value"
)

// uidText is a uid as the golden cases write it: a decimal string.
type uidText uint64

func (u *uidText) UnmarshalText(b []byte) error {
	v, err := strconv.ParseUint(string(b), 10, 64)
	*u = uidText(v)
	return err
}

type goldenList struct {
	File      string `json:"-"`
	KeyHex    string `json:"key_hex"`
	Kind      string
	Predicate string
	UID       uidText
	TermHex   string `json:"term_hex"`
	Count     uint32
	Postings  []goldenPosting
	RolledUp  string `json:"rolled_up_hex"`
}

type goldenPosting struct {
	UID       uidText
	ValueHex  string      `json:"value_hex"`
	ValueType value.Type  `json:"value_type"`
	Type      PostingType `json:"posting_type"`
	Lang      string
	Facets    []struct {
		Key       string
		ValueHex  string    `json:"value_hex"`
		ValueType FacetType `json:"value_type"`
		Tokens    []string
	}
}

// goldenLists reads the lists of all golden cases.
func goldenLists(t testing.TB) []goldenList {
	t.Helper()
	root, err := os.Getwd()
	require.NoError(t, err)
	for {
		if _, err := os.Stat(filepath.Join(root, "go.mod")); err == nil {
			break
		}
		require.NotEqual(t, root, filepath.Dir(root), "no go.mod above the test")
		root = filepath.Dir(root)
	}
	files, err := filepath.Glob(filepath.Join(root, "../shared/golden/*.json"))
	require.NoError(t, err)
	if len(files) == 0 {
		t.Skip("the golden cases are not there")
	}
	var all []goldenList
	for _, file := range files {
		var c struct {
			Lists []goldenList `json:"want_lists"`
		}
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(data, &c), file)
		for _, l := range c.Lists {
			l.File = filepath.Base(file)
			all = append(all, l)
		}
	}
	return all
}

// Every rolled-up list reads as the postings that the case names, and encodes
// to the bytes that it was read from; so does the pack of its uids.
func TestGoldenLists(t *testing.T) {
	compared := 0
	for _, g := range goldenLists(t) {
		if g.RolledUp == "" {
			continue
		}
		compared++
		data := unhex(t, g.RolledUp)
		l, err := DecodeList(data)
		require.NoError(t, err, g.File)
		require.NoError(t, l.Pack.Check(), g.File)
		require.Equal(t, data, AppendList(nil, &l), g.File)
		require.Equal(t, len(data), ListSize(&l), g.File)
		requireGolden(t, &g, &l)
	}
	require.NotZero(t, compared)
}

func requireGolden(t *testing.T, g *goldenList, l *Complete) {
	t.Helper()
	require.Len(t, g.Postings, l.Pack.Len())
	uids, err := l.Pack.AppendUIDs(nil)
	require.NoError(t, err)
	require.Equal(t, l.Pack.Append(nil), AppendPack(nil, uids), g.File)
	rest := l.Postings
	for i := range g.Postings {
		want := &g.Postings[i]
		require.Equal(t, uint64(want.UID), uids[i])
		if want.Type == PostingRef && len(want.Facets) == 0 {
			continue
		}
		require.NotEmpty(t, rest)
		requireGoldenPosting(t, want, &rest[0])
		rest = rest[1:]
	}
	require.Empty(t, rest)
}

func requireGoldenPosting(t *testing.T, want *goldenPosting, got *Posting) {
	t.Helper()
	require.Equal(t, uint64(want.UID), got.UID)
	require.Equal(t, want.Type, got.Type)
	require.Equal(t, want.Lang, string(got.Lang))
	require.Equal(t, unhex(t, want.ValueHex), append([]byte{}, got.Value...))
	if want.Type != PostingRef {
		require.Equal(t, want.ValueType, got.ValType)
	}
	fs, err := DecodeFacets(got.Facets)
	require.NoError(t, err)
	require.Len(t, fs, len(want.Facets))
	for i, f := range want.Facets {
		require.Equal(t, f.Key, fs[i].Key)
		require.Equal(t, f.ValueType, fs[i].Type)
		require.Equal(t, f.Tokens, fs[i].Tokens)
		require.Equal(t, unhex(t, f.ValueHex), append([]byte{}, fs[i].Value...))
	}
	raw, err := AppendFacets(nil, fs)
	require.NoError(t, err)
	require.Equal(t, string(got.Facets), string(raw))
}
