package loader

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/edgemill/edgemill"
	"github.com/edgemill/edgemill/ingest"
	"github.com/edgemill/edgemill/mutation"
	"github.com/edgemill/edgemill/schema/value"
)

// TestTransactionSize: the graph is the same however the statements are cut.
func TestTransactionSize(t *testing.T) {
	nquads := `_:ann <name> "Ann" .
_:ann <name> "Anna"@de .
_:ann <pal> _:bob (since=2001) .
_:ann <pal> <0x100> .
<0x100> <name> "Hundred" .
_:bob <name> "Bob" .
_:ann <name> "Anne" .
_:bob <tag> "red car" .
_:bob <tag> "red bike" .
<http://example.org/cy> <boss> _:ann .
<http://example.org/cy> <boss> _:bob .
`
	json := `[{"name": "Dot", "pal": [{"name": "Ed"}, {"uid": "_:bob"}]},
	{"name": "Flo", "boss": {"age": 7, "tag": ["a", "b"]}}, {"uid": "_:bob", "age": 8}]`
	var want string
	for i, perTxn := range []int{0, 1, 2, 3, 7, 1000} {
		db := openGraph(t)
		done, err := Load(context.Background(), db, Options{
			Inputs: Files(file(t, "a.nq", nquads), file(t, "b.json", json)), EdgesPerTxn: perTxn,
		})
		require.NoError(t, err)
		require.EqualValues(t, 21, done.Statements)
		require.EqualValues(t, 7, done.Nodes)
		if perTxn > 0 {
			require.EqualValues(t, (21+perTxn-1)/perTxn, done.Transactions)
		}
		got := withoutUIDs(t, db)
		if i == 0 {
			want = got
		}
		require.Equal(t, want, got, "%d a transaction", perTxn)
	}
	require.Contains(t, want, "Anne boss from 0", "the last boss of cy is bob")
}

// withoutUIDs is the graph by its nodes' names, since uids depend on the way
// that the statements were cut.
func withoutUIDs(t *testing.T, db *edgemill.DB) string {
	v, err := db.View(context.Background(), 0)
	require.NoError(t, err)
	defer v.Close()
	called := func(uid uint64) string {
		name, ok, err := v.Value(uid, "name")
		require.NoError(t, err)
		if !ok {
			return "?"
		}
		return string(name.Data)
	}
	var b strings.Builder
	for _, name := range []string{"Ann", "Anne", "Bob", "Hundred", "Dot", "Ed", "Flo"} {
		uids, err := v.Lookup("name", "exact", name, "")
		require.NoError(t, err)
		for _, uid := range uids {
			for _, pred := range []string{"pal", "boss"} {
				targets, err := v.Targets(uid, pred)
				require.NoError(t, err)
				for _, target := range targets {
					fmt.Fprintln(&b, name, pred, called(target))
				}
				sources, err := v.Sources(uid, pred)
				require.NoError(t, err)
				fmt.Fprintln(&b, name, pred, "from", len(sources))
			}
			for _, pred := range []string{"tag", "age", "name"} {
				values, err := v.Values(uid, pred)
				require.NoError(t, err)
				for _, val := range values {
					text, err := val.Value.Text()
					require.NoError(t, err)
					fmt.Fprintln(&b, name, pred, text, val.Lang)
				}
			}
		}
	}
	lines := strings.SplitAfter(b.String(), "\n")
	slices.Sort(lines)
	return strings.Join(lines, "")
}

// TestStatedUIDs: a uid that a statement has stated is no name's.
func TestStatedUIDs(t *testing.T) {
	for _, perTxn := range []int{1, 2, 100} {
		db := openGraph(t)
		names := ingest.NewNames()
		_, err := Load(context.Background(), db, Options{
			Inputs: []Input{{Name: "in", Reader: strings.NewReader(`_:a <name> "a" .
				<0x2> <name> "two" .
				<0x3> <pal> <0x5> .
				_:b <name> "b" .
				<0x40000> <name> "far" .
				<0xfffffffffffffffe> <name> "farther" .
				_:c <name> "c" .`)}},
			EdgesPerTxn: perTxn, Names: names,
		})
		require.NoError(t, err)
		require.Equal(t, 7, strings.Count(graph(t, db), "\n"), "seven subjects")
		if perTxn == 1 {
			for name, at := range map[string]uint64{"_:a": 1, "_:b": 6, "_:c": 0x40001} {
				uid, ok := names.Lookup([]byte(name))
				require.True(t, ok)
				require.GreaterOrEqual(t, uid, at, name)
			}
		}
	}
}

// TestNoUIDsLeft: the greatest uid that is handed out may be stated.
func TestNoUIDsLeft(t *testing.T) {
	db := openGraph(t)
	_, err := loadText(t, db, "<0x7fffffffffffffff> <age> \"1\" .\n_:a <age> \"2\" .\n", 1)
	require.ErrorIs(t, err, edgemill.ErrNoUIDs)
	require.ErrorContains(t, err, "in.nq:2: subject _:a")
	require.Equal(t, "<0x7fffffffffffffff> <age> \"1\"^^<xs:int> .\n", graph(t, db))
}

func TestFaults(t *testing.T) {
	long := strings.Repeat("x", 66_000)
	first := "_:a <age> \"1\" .\n_:a <name> \"Ann\" .\n# a comment\n"
	const notUTF8 = "not UTF-8"
	for _, c := range []struct{ what, text, want string }{
		{"unknown predicate", "_:a <nix> \"1\" .", `in.nq:4: can't be applied: predicate "nix", subject 0x1: predicate is not in the schema, near`},
		{"wrong type", "_:a <age> \"x\" .", "in.nq:4: can't be applied: predicate \"age\", subject 0x1: "},
		{"its text", "_:a <age> \"x\" . # here", "near `_:a <age> \"x\" . # here`"},
		{"value out of range", "_:a <age> \"9223372036854775808\" .", "in.nq:4: can't be applied: predicate \"age\""},
		{"float out of range", "_:a <age> \"9223372036854775808\"^^<xs:float> .", "in.nq:4: can't be applied"},
		{"bad typed literal", "_:a <age> \"116.0\"^^<xs:int> .", "in.nq:4: predicate age: "},
		{"uid for a value", "_:a <age> _:b .", "in.nq:4: can't be applied: predicate \"age\""},
		{"value for a uid", "_:a <pal> \"b\" .", "in.nq:4: can't be applied: predicate \"pal\""},
		{"language", "_:a <tag> \"b\"@en .", "in.nq:4: can't be applied: predicate \"tag\""},
		{"syntax", "_:a <age> .", "in.nq:4: "},
		{notUTF8, "_:a <name> \"\xff\" .", "in.nq:4: byte 0xff is not valid UTF-8"},
		{"uid 0", "<0x0> <name> \"x\" .", "in.nq:4: uid <0x0>: a uid is from 1 to"},
		{"uid too large", "<18446744073709551615> <name> \"x\" .", "in.nq:4: uid <18446744073709551615>"},
		{"long key", "_:a <name> \"" + long + "\" .", "in.nq:4: can't be applied: predicate \"name\""},
		{"star", "_:a <name> * .", "in.nq:4: a star"},
	} {
		t.Run(c.what, func(t *testing.T) {
			for perTxn, committed := range map[int]int{2: 2, 100: 0} {
				if c.what == notUTF8 {
					committed = 0 // a chunk is looked through before its statements are read
				}
				db := openGraph(t)
				done, err := loadText(t, db, first+c.text+"\n_:a <tag> \"after\" .\n", perTxn)
				require.ErrorContains(t, err, c.want)
				require.Less(t, len(err.Error()), 500)
				require.EqualValues(t, committed, done.Statements, "%d a transaction", perTxn)
				require.Equal(t, committed, strings.Count(graph(t, db), "\n"))
				var at *ingest.Error
				require.ErrorAs(t, err, &at)
				require.Equal(t, 4, at.Line)
			}
		})
	}
}

// TestFaultOfAnEdge: who wants to know more finds the edge's error.
func TestFaultOfAnEdge(t *testing.T) {
	_, err := loadText(t, openGraph(t), `<0x7> <nix> "1" .`, 0)
	var edge *mutation.EdgeError
	require.ErrorAs(t, err, &edge)
	require.EqualValues(t, 7, edge.Subject)
	require.ErrorIs(t, err, mutation.ErrUnknownPredicate)
}

func TestInputs(t *testing.T) {
	text := "_:a <name> \"Ann\" .\n_:b <name> \"Bob\" .\n"
	whole := zipped(t, text)
	missing := filepath.Join(t.TempDir(), "missing")
	for _, c := range []struct {
		what   string
		inputs []Input
		want   string // an error, or the number of statements
	}{
		{"none", nil, "0"},
		{"empty", Files(file(t, "e", "")), "0"},
		{"plain", Files(file(t, "p", text)), "2"},
		{"two members", Files(file(t, "z", whole+whole)), "4"},
		{"two files", Files(file(t, "p", text), file(t, "z", whole)), "4"},
		{"cut short", Files(file(t, "z", whole[:len(whole)-9])), "z: the compressed data is cut short: unexpected EOF"},
		{"second missing", Files(file(t, "p", text), missing), missing + ": can't open: no such file"},
		{"a folder", Files(t.TempDir()), "can't open: it is a directory"},
		{"a reader", []Input{{Name: "r", Reader: strings.NewReader(whole)}}, "2"},
		{"a bad reader", []Input{{Name: "r", Reader: io.MultiReader(strings.NewReader(text), badReader{})}}, "r: can't read: no more"},
	} {
		t.Run(c.what, func(t *testing.T) {
			db := openGraph(t)
			done, err := Load(context.Background(), db, Options{Inputs: c.inputs})
			if err != nil {
				require.ErrorContains(t, err, c.want)
				require.Empty(t, graph(t, db))
				return
			}
			require.Equal(t, c.want, fmt.Sprint(done.Statements))
		})
	}
}

type badReader struct{}

func (badReader) Read([]byte) (int, error) { return 0, errors.New("no more") }

func TestBadOptions(t *testing.T) {
	_, err := Load(context.Background(), openGraph(t), Options{EdgesPerTxn: -1})
	require.ErrorContains(t, err, "-1 edges per transaction")
}

func TestProgress(t *testing.T) {
	var told []Progress
	path := file(t, "in.nq", strings.Repeat("_:a <tag> \"x\" .\n", 10))
	info, err := os.Stat(path)
	require.NoError(t, err)
	done, err := Load(context.Background(), openGraph(t), Options{
		Inputs: Files(path), EdgesPerTxn: 4, Progress: func(p Progress) { told = append(told, p) },
	})
	require.NoError(t, err)
	require.Len(t, told, 3)
	require.EqualValues(t, 4, told[0].Statements)
	require.Equal(t, 4, told[0].Line)
	require.EqualValues(t, 1, told[0].Nodes)
	require.Equal(t, info.Size(), told[2].Total)
	require.InDelta(t, 1, told[2].Share(), 0)
	require.Positive(t, done.Rate())
	require.Equal(t, path, done.File)
	require.Equal(t, 10, done.Line)
	require.Zero(t, Progress{}.Share())
	require.Zero(t, (&Summary{}).Rate())
}

// TestCancel: a load that is given up ends between two transactions.
func TestCancel(t *testing.T) {
	db := openGraph(t)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	done, err := Load(ctx, db, Options{
		Inputs:      Files(file(t, "in.nq", strings.Repeat("_:a <pal> _:b .\n", 100_000))),
		EdgesPerTxn: 10,
		Progress: func(p Progress) {
			if p.Transactions == 3 {
				cancel()
			}
		},
	})
	require.ErrorIs(t, err, context.Canceled)
	require.EqualValues(t, 30, done.Statements)
	require.Equal(t, 30, done.Line)
	require.Equal(t, 1, strings.Count(graph(t, db), "\n"))

	done, err = Load(ctx, db, Options{Inputs: Files(file(t, "in.nq", "_:a <pal> _:b .\n"))})
	require.ErrorIs(t, err, context.Canceled)
	require.Zero(t, done.Statements)
}

func TestFileScopedBlanks(t *testing.T) {
	for scoped, nodes := range map[bool]uint64{false: 2, true: 3} {
		done, err := Load(context.Background(), openGraph(t), Options{
			Inputs:           Files(file(t, "a.nq", `_:x <pal> <http://y> .`), file(t, "b.nq", `_:x <pal> <http://y> .`)),
			FileScopedBlanks: scoped,
		})
		require.NoError(t, err)
		require.Equal(t, nodes, done.Nodes)
	}
}

// TestNamesFile: a second load goes on with the first one's nodes, also where
// the first failed; and in another store no name gets a uid that the file has.
func TestNamesFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "names")
	load := func(db *edgemill.DB, text string) (Summary, error) {
		return Load(context.Background(), db, Options{
			Inputs: Files(file(t, "in.nq", text)), EdgesPerTxn: 1, NamesFile: path,
		})
	}
	db := openGraph(t)
	done, err := load(db, "_:a <pal> _:b .\n_:b <nix> _:c .\n")
	require.ErrorIs(t, err, mutation.ErrUnknownPredicate)
	require.EqualValues(t, 1, done.Statements)

	done, err = load(db, "_:a <pal> _:b .\n_:a <pal> _:c .\n")
	require.NoError(t, err)
	require.Zero(t, done.Nodes)
	require.Equal(t, 2, strings.Count(graph(t, db), "\n"))

	other := openGraph(t)
	_, err = load(other, "_:d <pal> _:a .\n")
	require.NoError(t, err)
	names, err := readNames(path)
	require.NoError(t, err)
	require.Equal(t, 4, names.Len())
	seen := map[uint64]bool{}
	for _, name := range []string{"_:a", "_:b", "_:c", "_:d"} {
		uid, ok := names.Lookup([]byte(name))
		require.True(t, ok)
		require.False(t, seen[uid], "%s has a uid of another name", name)
		seen[uid] = true
	}

	require.NoError(t, os.WriteFile(path, []byte("something else"), 0o644))
	_, err = load(db, "")
	require.ErrorContains(t, err, path+": not a file of names")
}

func TestNamesFileThatCannotBeWritten(t *testing.T) {
	_, err := Load(context.Background(), openGraph(t), Options{NamesFile: filepath.Join(t.TempDir(), "no", "names")})
	require.ErrorContains(t, err, "saving the names")
}

// TestPasswords: text for a password predicate is hashed before it is applied;
// a hash stays.
func TestPasswords(t *testing.T) {
	hash, err := value.HashPassword("hunter2")
	require.NoError(t, err)
	db := openGraph(t)
	_, err = loadText(t, db, fmt.Sprintf("<0x1> <secret> \"hunter2\" .\n<0x2> <secret> %q .\n", hash), 0)
	require.NoError(t, err)
	v, err := db.View(context.Background(), 0)
	require.NoError(t, err)
	defer v.Close()
	one, _, err := v.Value(1, "secret")
	require.NoError(t, err)
	require.True(t, value.IsBcrypt(one.Data))
	require.NotEqual(t, hash, one.Data)
	two, _, err := v.Value(2, "secret")
	require.NoError(t, err)
	require.Equal(t, hash, two.Data)
}
