package mutation_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/edgemill/edgemill/ingest"
	"github.com/edgemill/edgemill/mutation"
	"github.com/edgemill/edgemill/posting"
	"github.com/edgemill/edgemill/schema"
	"github.com/edgemill/edgemill/schema/value"
)

var casesDir = flag.String("cases", "", "folder of golden cases; default the shared ones")

// goldenCase is a file of the folder, as its README describes it.
type goldenCase struct {
	Name, Schema string
	Txns         []struct {
		StartTS          uint64         `json:"start_ts"`
		CommitTS         uint64         `json:"commit_ts"`
		Batches          [][]goldenEdge `json:"batches"`
		WantError        bool           `json:"want_error"`
		WantConflictKeys *[]string      `json:"want_conflict_keys"`
	}
	ReadTS    uint64       `json:"read_ts"`
	WantLists []goldenList `json:"want_lists"`
}

type goldenEdge struct {
	Op, Subject, Predicate, Object, Value, Type, Lang string
	Star                                              bool
	Facets                                            []struct{ Key, Value string }
}

type goldenList struct {
	KeyHex       string          `json:"key_hex"`
	Kind         string          `json:"kind"`
	Postings     []goldenPosting `json:"postings"`
	RolledUpMeta byte            `json:"rolled_up_meta"`
	RolledUpHex  string          `json:"rolled_up_hex"`
}

type goldenPosting struct {
	UID         string        `json:"uid"`
	ValueHex    string        `json:"value_hex,omitempty"`
	ValueType   value.Type    `json:"value_type,omitempty"`
	PostingType int           `json:"posting_type"`
	Lang        string        `json:"lang,omitempty"`
	Facets      []goldenFacet `json:"facets,omitempty"`
}

type goldenFacet struct {
	Key       string   `json:"key"`
	ValueHex  string   `json:"value_hex,omitempty"`
	ValueType int      `json:"value_type,omitempty"`
	Tokens    []string `json:"tokens,omitempty"`
}

// TestGolden runs the golden cases with every applier.
func TestGolden(t *testing.T) {
	dir := *casesDir
	if dir == "" {
		dir = filepath.Join("..", "..", "shared", "golden")
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	require.NoError(t, err)
	if len(files) == 0 {
		t.Skipf("no golden cases in %s", dir)
	}
	for _, file := range files {
		c := readGolden(t, file)
		for name, opts := range goldenAppliers() {
			t.Run(c.Name+"/"+name, func(t *testing.T) { c.run(t, opts) })
		}
	}
}

func goldenAppliers() map[string]mutation.Options {
	appliers := map[string]mutation.Options{"serial": {}}
	for _, p := range []mutation.Parallelism{mutation.Off, mutation.Workers(2), mutation.Workers(3), mutation.Auto} {
		appliers[p.String()] = mutation.Options{Parallelism: p, EdgesPerWorker: 1, MinEdges: 1}
	}
	return appliers
}

func readGolden(t *testing.T, file string) *goldenCase {
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	var c goldenCase
	require.NoError(t, json.Unmarshal(data, &c), file)
	return &c
}

func (c *goldenCase) run(t *testing.T, opts mutation.Options) {
	store := openTestStore(t)
	parsed, err := schema.Parse(c.Schema)
	require.NoError(t, err)
	snap := schema.NewSnapshot(parsed.Predicates, parsed.Types)
	applier, err := mutation.New(opts)
	require.NoError(t, err)
	for _, txn := range c.Txns {
		tx := mutation.NewTxn(store, txn.StartTS)
		var failed error
		for _, edges := range txn.Batches {
			b, err := goldenBatch(edges)
			if err == nil {
				_, err = applier.Apply(context.Background(), tx, snap, b)
			}
			if err != nil {
				failed = err
			}
		}
		require.Equal(t, txn.WantError, failed != nil, "transaction at %d: %v", txn.StartTS, failed)
		if txn.WantConflictKeys != nil {
			require.Equal(t, *txn.WantConflictKeys, hexKeys(tx.ConflictKeys().Exclusive), "conflict keys of the transaction at %d", txn.StartTS)
		}
		if txn.CommitTS > 0 && failed == nil {
			commitTestTxn(t, store, tx, txn.CommitTS)
		}
		tx.Release()
	}
	c.compare(t, store)
}

func hexKeys(keys []uint64) []string {
	out := []string{}
	for _, k := range keys {
		out = append(out, strconv.FormatUint(k, 16))
	}
	return out
}

func goldenBatch(edges []goldenEdge) (mutation.Batch, error) {
	var b mutation.Batch
	for _, g := range edges {
		e := mutation.Edge{Predicate: g.Predicate, Lang: g.Lang}
		var err error
		if e.Subject, err = strconv.ParseUint(g.Subject, 10, 64); err != nil {
			return b, err
		}
		if g.Op == "del" {
			e.Op = mutation.Delete
		}
		switch {
		case g.Star:
			e.Object = mutation.ObjectStar
		case g.Object != "":
			e.Object = mutation.ObjectUID
			if e.Target, err = strconv.ParseUint(g.Object, 10, 64); err != nil {
				return b, err
			}
		default:
			if e.Value, err = goldenValue(g); err != nil {
				return b, err
			}
		}
		for _, f := range g.Facets {
			facet, err := ingest.ParseFacet(f.Key, f.Value)
			if err != nil {
				return b, err
			}
			e.Facets = append(e.Facets, facet)
		}
		b.Edges = append(b.Edges, e)
	}
	return b, nil
}

func goldenValue(g goldenEdge) (value.Value, error) {
	typ := value.Default
	if g.Type != "" {
		var ok bool
		if typ, ok = value.ParseType(g.Type); !ok {
			return value.Value{}, fmt.Errorf("type %q", g.Type)
		}
	}
	if typ == value.Password && !value.IsBcrypt([]byte(g.Value)) {
		return value.Value{Type: typ, Data: []byte(g.Value)}, nil
	}
	return value.Parse(typ, g.Value)
}

// compare holds every list of the store against the wanted ones.
func (c *goldenCase) compare(t *testing.T, store *posting.Store) {
	r := store.Reader(c.ReadTS)
	defer r.Release()
	got := []goldenList{}
	err := r.Walk(context.Background(), nil, func(key []byte) error {
		l, err := r.List(key)
		if err != nil || l.Empty() {
			return err
		}
		got = append(got, goldenOf(t, slices.Clone(key), l))
		return nil
	})
	require.NoError(t, err)
	want := make([]goldenList, 0, len(c.WantLists))
	rolled := map[string]goldenList{}
	for _, w := range c.WantLists {
		if w.RolledUpHex != "" {
			rolled[w.KeyHex] = w
		}
		want = append(want, goldenList{KeyHex: w.KeyHex, Kind: w.Kind, Postings: withoutRefTypes(w.Postings)})
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("lists (-want +got):\n%s", diff)
	}
	for keyHex, w := range rolled {
		key, err := hex.DecodeString(keyHex)
		require.NoError(t, err)
		entries, err := r.RollUp(key)
		require.NoError(t, err)
		require.Equal(t, w.RolledUpMeta, entries[0].Meta)
		require.Equal(t, w.RolledUpHex, hex.EncodeToString(entries[0].Value), keyHex)
		require.True(t, bytes.Equal(key, entries[0].Key))
	}
}

// withoutRefTypes drops the value types of uid postings, which are not
// compared.
func withoutRefTypes(ps []goldenPosting) []goldenPosting {
	for i := range ps {
		if ps[i].PostingType == 0 {
			ps[i].ValueType = 0
		}
	}
	return ps
}

func goldenOf(t *testing.T, key []byte, l *posting.List) goldenList {
	k, err := posting.ParseKey(key)
	require.NoError(t, err)
	g := goldenList{KeyHex: hex.EncodeToString(key), Kind: strings.ReplaceAll(k.Kind.String(), " ", "_")}
	for p := range l.Postings(0) {
		gp := goldenPosting{
			UID: strconv.FormatUint(p.UID, 10), ValueHex: hex.EncodeToString(p.Value),
			PostingType: int(p.Type), Lang: string(p.Lang),
		}
		if p.Type != posting.PostingRef {
			gp.ValueType = p.ValType
		}
		facets, err := posting.DecodeFacets(p.Facets)
		require.NoError(t, err)
		for _, f := range facets {
			gp.Facets = append(gp.Facets, goldenFacet{f.Key, hex.EncodeToString(f.Value), int(f.Type), f.Tokens})
		}
		g.Postings = append(g.Postings, gp)
	}
	return g
}
