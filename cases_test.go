package edgemill_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/edgemill/edgemill"
	"github.com/edgemill/edgemill/ingest"
	"github.com/edgemill/edgemill/mutation"
	"github.com/edgemill/edgemill/posting"
	"github.com/edgemill/edgemill/schema/value"
)

// TestCases runs the transcripts of testdata/cases, with every applier. A
// transcript is sections of a keyword at the line's beginning and indented
// lines:
//
//	schema     a schema text, put in force with Alter
//	txn        begins a transaction; each set or delete line after it is a batch
//	set        statements of one batch, as N-Quads
//	delete     likewise
//	error      the batch before failed, and the message holds these words
//	inside     the lists as the transaction sees them (those named only)
//	commit     commits, or fails with these words
//	discard    ends the transaction without a trace
//	rollup     rolls every list up
//	want       every list that is not empty, in key order
//
// A set or delete outside of a transaction is one of its own. Each transcript
// ends with a verification of the whole store.
func TestCases(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "cases", "*.txt"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		sections := readTranscript(t, file)
		for _, opts := range caseAppliers() {
			name := strings.TrimSuffix(filepath.Base(file), ".txt") + "/" + opts.Parallelism.String()
			if opts.MinEdges == 0 {
				name = strings.TrimSuffix(filepath.Base(file), ".txt") + "/serial"
			}
			t.Run(name, func(t *testing.T) { runTranscript(t, sections, opts) })
		}
	}
}

func caseAppliers() []mutation.Options {
	opts := []mutation.Options{{}}
	for _, p := range []mutation.Parallelism{mutation.Off, mutation.Workers(2), mutation.Workers(3), mutation.Auto} {
		opts = append(opts, mutation.Options{Parallelism: p, EdgesPerWorker: 1, MinEdges: 1})
	}
	return opts
}

type section struct {
	line          int
	keyword, text string
}

func readTranscript(t *testing.T, file string) (sections []section) {
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	for n, line := range strings.Split(string(data), "\n") {
		switch {
		case strings.TrimSpace(line) == "" || strings.HasPrefix(line, "#"):
		case line[0] == ' ' || line[0] == '\t':
			s := &sections[len(sections)-1]
			s.text += strings.TrimSpace(line) + "\n"
		default:
			keyword, text, _ := strings.Cut(line, " ")
			sections = append(sections, section{line: n + 1, keyword: keyword})
			if text != "" {
				sections[len(sections)-1].text = text + "\n"
			}
		}
	}
	return sections
}

// transcript is a transcript that runs.
type transcript struct {
	t    *testing.T
	db   *edgemill.DB
	txn  *edgemill.Txn
	last error
}

func runTranscript(t *testing.T, sections []section, opts mutation.Options) {
	db, err := edgemill.Open(context.Background(), edgemill.Options{InMemory: true, Mutation: &opts})
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close()) }()
	r := &transcript{t: t, db: db}
	for i, s := range sections {
		r.run(s)
		if r.last != nil && (i+1 == len(sections) || sections[i+1].keyword != "error") {
			t.Fatalf("line %d: %s: %v", s.line, s.keyword, r.last)
		}
	}
	verifyClean(t, db)
}

func verifyClean(t *testing.T, db *edgemill.DB) {
	report, err := db.Verify(context.Background(), edgemill.VerifyOptions{})
	require.NoError(t, err)
	require.Empty(t, report.Violations)
}

func (r *transcript) run(s section) {
	ctx := context.Background()
	switch s.keyword {
	case "schema":
		r.last = r.db.Alter(ctx, s.text)
	case "txn":
		var err error
		r.txn, err = r.db.Begin(ctx)
		require.NoError(r.t, err)
	case "set", "delete":
		r.last = r.batch(s)
	case "error":
		require.Error(r.t, r.last, "line %d", s.line)
		for _, words := range strings.Split(strings.TrimSpace(s.text), "\n") {
			require.ErrorContains(r.t, r.last, words, "line %d", s.line)
		}
		r.last = nil
	case "commit":
		_, r.last = r.txn.Commit(ctx)
		r.txn = nil
	case "discard":
		r.txn.Discard()
		r.txn = nil
	case "inside":
		r.inside(s)
	case "rollup":
		r.last = rollUpAll(r.t, r.db)
	case "want":
		require.Equal(r.t, s.text, allLists(r.t, r.db), "line %d", s.line)
	default:
		r.t.Fatalf("line %d: keyword %q", s.line, s.keyword)
	}
}

func (r *transcript) batch(s section) error {
	edges, err := edgesOf(s.keyword + " {\n" + s.text + "}\n")
	if err != nil {
		return err
	}
	ctx := context.Background()
	if r.txn != nil {
		_, err := r.txn.Mutate(ctx, edges)
		return err
	}
	txn, err := r.db.Begin(ctx)
	require.NoError(r.t, err)
	defer txn.Discard()
	if _, err := txn.Mutate(ctx, edges); err != nil {
		return err
	}
	_, err = txn.Commit(ctx)
	return err
}

// edgesOf reads a mutation whose nodes all have uids.
func edgesOf(text string) ([]mutation.Edge, error) {
	src, err := ingest.NewSource("transcript", strings.NewReader(text))
	if err != nil {
		return nil, err
	}
	quads, err := ingest.ReadMutation(src)
	if err != nil {
		return nil, err
	}
	var edges []mutation.Edge
	for _, q := range quads {
		if q.Subject.UID == 0 || (q.Object == mutation.ObjectUID && q.Target.UID == 0) {
			return nil, errors.New("a node without a uid")
		}
		edges = append(edges, mutation.Edge{
			Subject: q.Subject.UID, Predicate: q.Predicate, Op: q.Op, Object: q.Object,
			Target: q.Target.UID, Value: q.Value, Lang: q.Lang, Facets: q.Facets,
		})
	}
	return edges, nil
}

// inside compares single lists with what the transaction sees: lines of a key
// in hex or, for data lists, of a predicate and a subject.
func (r *transcript) inside(s section) {
	view := r.txn.View()
	for _, line := range strings.Split(strings.TrimSpace(s.text), "\n") {
		head, want, _ := strings.Cut(line, ":")
		var pred string
		var uid uint64
		_, err := fmt.Sscanf(head, "%s 0x%x", &pred, &uid)
		require.NoError(r.t, err, "line %d", s.line)
		values, err := view.Values(uid, pred)
		require.NoError(r.t, err)
		var got []string
		for _, v := range values {
			text, err := v.Value.Text()
			require.NoError(r.t, err)
			got = append(got, fmt.Sprintf("%q", text))
		}
		require.Equal(r.t, strings.TrimSpace(want), strings.Join(got, " "), "line %d: %s", s.line, head)
	}
}

// rollUpAll replaces every list's deltas by complete lists.
func rollUpAll(t *testing.T, db *edgemill.DB) error {
	ctx := context.Background()
	r := db.Store().Reader(^uint64(0))
	defer r.Release()
	return r.Walk(ctx, []byte{byte(posting.SpaceList)}, func(key []byte) error {
		entries, err := r.RollUp(append([]byte(nil), key...))
		if err != nil || len(entries) == 0 {
			return err
		}
		done := make(chan error, 1)
		require.NoError(t, db.Store().Commit(ctx, posting.Commit{
			TS: entries[0].Version, Entries: entries, Readable: func(err error) { done <- err },
		}))
		return <-done
	})
}

// allLists prints every list that is not empty.
func allLists(t *testing.T, db *edgemill.DB) string {
	view, err := db.View(context.Background(), 0) // Waits for what was acknowledged.
	require.NoError(t, err)
	defer view.Close()
	r := db.Store().Reader(^uint64(0))
	defer r.Release()
	var b strings.Builder
	err = r.Walk(context.Background(), []byte{byte(posting.SpaceList)}, func(key []byte) error {
		l, err := r.List(key)
		if err != nil || l.Empty() {
			return err
		}
		k, err := posting.ParseKey(key)
		require.NoError(t, err)
		fmt.Fprintf(&b, "%s:", k)
		for p := range l.Postings(0) {
			b.WriteString(" " + postingText(t, p))
		}
		b.WriteByte('\n')
		return nil
	})
	require.NoError(t, err)
	return b.String()
}

func postingText(t *testing.T, p posting.Posting) string {
	text := fmt.Sprintf("0x%x", p.UID)
	if p.Type != posting.PostingRef {
		s, err := value.Value{Type: p.ValType, Data: p.Value}.Text()
		require.NoError(t, err)
		text = fmt.Sprintf("%q", s)
		if len(p.Value) > 100 {
			text = fmt.Sprintf("(%d bytes)", len(p.Value))
		}
		if len(p.Lang) > 0 {
			text += "@" + string(p.Lang)
		}
	}
	facets, err := posting.DecodeFacets(p.Facets)
	require.NoError(t, err)
	for _, f := range facets {
		s, err := value.Value{Type: facetType(f.Type), Data: f.Value}.Text()
		require.NoError(t, err)
		text += fmt.Sprintf("(%s=%s)", f.Key, s)
	}
	return text
}

func facetType(t posting.FacetType) value.Type {
	return [...]value.Type{value.String, value.Int, value.Float, value.Bool, value.DateTime}[t]
}
