package edgemill

import (
	"context"
	"errors"
	"flag"
	"hash/fnv"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/edgemill/edgemill/ingest"
	"github.com/edgemill/edgemill/mutation"
	"github.com/edgemill/edgemill/posting"
	"github.com/edgemill/edgemill/schema"
)

var wholeWordNet = flag.Bool("wordnet", false, "run the tests on WordNet with all of it")

// wordNetFile finds the shared data, or skips the test.
func wordNetFile(t testing.TB, name string) string {
	t.Helper()
	path := filepath.Join("..", "shared", "data", name)
	if _, err := os.Stat(path); err != nil {
		t.Skipf("the shared data is not here: %v", err)
	}
	return path
}

// uidsOf hands out a DB's uids as a Resolver asks for them.
type uidsOf struct{ db *DB }

func (u uidsOf) NewUIDs(_ context.Context, n uint64) (start, end uint64, err error) {
	r, err := u.db.NewUIDs(n)
	return r.First, r.Last, err
}

// loadFile loads N-Quads chunk by chunk, a transaction each.
func loadFile(t testing.TB, db *DB, path string) {
	t.Helper()
	ctx := context.Background()
	src, err := ingest.Open(path)
	require.NoError(t, err)
	defer src.Close()
	chunks, err := ingest.NewChunkReader(src)
	require.NoError(t, err)
	var parser ingest.Parser
	resolver := ingest.NewResolver(ingest.NewNames(), uidsOf{db}, ingest.ResolverOptions{})
	for {
		chunk, err := chunks.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		require.NoError(t, err)
		quads, err := parser.Parse(nil, chunk)
		require.NoError(t, err)
		txn, err := db.Begin(ctx)
		require.NoError(t, err)
		edges, err := resolver.Edges(ctx, nil, quads, path)
		require.NoError(t, err)
		for _, fresh := range resolver.Fresh() {
			txn.Fresh(fresh)
		}
		_, err = txn.Mutate(ctx, edges)
		require.NoError(t, err)
		_, err = txn.Commit(ctx)
		require.NoError(t, err)
	}
}

// listDigests are, for each predicate and kind of list, the number of live lists and
// a hash of what they hold, so that stores that do not fit into memory can be
// compared.
type listDigest struct {
	lists, postings int
	hash            uint64
}

func listDigests(t testing.TB, db *DB) map[string]listDigest {
	t.Helper()
	ts, release, err := db.oracle.Timestamp(context.Background())
	require.NoError(t, err)
	defer release()
	r := db.store.Reader(ts)
	defer r.Release()
	found := make(map[string]listDigest)
	err = r.WalkLists(context.Background(), []byte{byte(posting.SpaceList)}, nil, func(key []byte, l *posting.List) error {
		k, err := posting.ParseKey(key)
		if err != nil || l.Empty() {
			return err
		}
		name := k.Predicate + " " + k.Kind.String()
		d := found[name]
		h := fnv.New64a()
		h.Write(key)
		for p := range l.Postings(0) {
			d.postings++
			p.Op, p.StartTS, p.CommitTS, p.ValType = posting.OpSet, 0, 0, 0
			h.Write(posting.AppendPosting(nil, &p))
		}
		d.lists++
		d.hash = d.hash*31 + h.Sum64()
		found[name] = d
		return nil
	})
	require.NoError(t, err)
	return found
}

// bare is a predicate without what Alter builds.
func bare(p *schema.Predicate) *schema.Predicate {
	b := *p
	b.Tokenizers, b.Reverse, b.Count = nil, false, false
	return &b
}

// growing are the statements that add a predicate's indexes, reverse lists and
// counts one by one.
func growing(p *schema.Predicate) []string {
	b := bare(p)
	var statements []string
	for _, t := range p.Tokenizers {
		b.Tokenizers = append(b.Tokenizers[:len(b.Tokenizers):len(b.Tokenizers)], t)
		statements = append(statements, b.String())
	}
	if p.Count {
		b.Count = true
		statements = append(statements, b.String())
	}
	if p.Reverse {
		b.Reverse = true
		statements = append(statements, b.String())
	}
	return statements
}

// TestAlterWordNet adds every index, reverse and count of WordNet's schema to
// data that was loaded without, which gives the store that loading with them
// gives; and drops them again, which leaves nothing of them.
func TestAlterWordNet(t *testing.T) {
	name := "wordnet-small.nq.gz"
	if *wholeWordNet {
		name = "wordnet.nq.gz"
	}
	file := wordNetFile(t, name)
	text, err := os.ReadFile(wordNetFile(t, "wordnet.schema"))
	require.NoError(t, err)
	parsed, err := schema.Parse(string(text))
	require.NoError(t, err)
	ctx := context.Background()
	open := func() *DB {
		db, err := Open(ctx, Options{Dir: t.TempDir(), Commit: posting.CommitOptions{Reserve: -1}})
		require.NoError(t, err)
		return db
	}

	with := open()
	require.NoError(t, with.Alter(ctx, string(text)))
	loadFile(t, with, file)
	want := listDigests(t, with)
	require.NoError(t, with.Close())

	db := open()
	for _, p := range parsed.Predicates {
		require.NoError(t, db.Alter(ctx, bare(p).String()))
	}
	loadFile(t, db, file)
	plain := listDigests(t, db)
	if !*wholeWordNet {
		db.alterLimits = alterLimits{postings: 200_000, commit: 100_000}
	}

	took := time.Duration(0)
	alter := func(statement string) {
		begun := time.Now()
		require.NoError(t, db.Alter(ctx, statement), statement)
		took += time.Since(begun)
		if *wholeWordNet {
			t.Logf("%6.2fs %s", time.Since(begun).Seconds(), statement)
		}
	}
	for _, p := range parsed.Predicates {
		for _, statement := range growing(p) {
			alter(statement)
		}
	}
	t.Logf("all added in %s, peak heap about %d MiB", took, heapMiB())
	require.Equal(t, want, listDigests(t, db))
	requireVerified(t, db)

	took = 0
	for _, p := range parsed.Predicates {
		statements := growing(p)
		for i := len(statements) - 2; i >= -1; i-- {
			if i < 0 {
				alter(bare(p).String())
				break
			}
			alter(statements[i])
		}
		require.Empty(t, keysOf(t, db, p.Name))
	}
	t.Logf("all dropped in %s", took)
	require.Equal(t, plain, listDigests(t, db))
	require.NoError(t, db.Close())
}

func heapMiB() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapSys >> 20
}

// TestAlterUniqueOnWordNet: words are distinct, lemmas are not.
func TestAlterUniqueOnWordNet(t *testing.T) {
	ctx := context.Background()
	db := openAlter(t, "word: string . pos: string . lemma: [string] . lexfile: int . gloss: string @lang ."+
		" sense: [uid] . hypernym: [uid] . instance_hypernym: [uid] . member_holonym: [uid] . substance_holonym: [uid] ."+
		" part_holonym: [uid] . attribute: [uid] . antonym: [uid] . entailment: [uid] . cause: [uid] . also_see: [uid] ."+
		" verb_group: [uid] . similar_to: [uid] . derivation: [uid] . pertainym: [uid] . domain_topic: [uid] ."+
		" domain_region: [uid] . domain_usage: [uid] . participle: [uid] .")
	db.alterLimits = defaultAlterLimits()
	loadFile(t, db, wordNetFile(t, "wordnet-small.nq.gz"))
	require.NoError(t, db.Alter(ctx, "word: string @index(hash) @upsert @unique ."))
	require.ErrorIs(t, db.Alter(ctx, "pos: string @index(hash) @upsert @unique ."), mutation.ErrNotUnique)
	require.ErrorIs(t, db.Alter(ctx, "lemma: [string] @index(exact) @upsert @unique ."), mutation.ErrNotUnique)
	require.Empty(t, append(keysOf(t, db, "pos"), keysOf(t, db, "lemma")...))
	for _, key := range keysOf(t, db, "word") {
		require.Contains(t, key, "index word hash")
	}
}
