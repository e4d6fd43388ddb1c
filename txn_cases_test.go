package edgemill_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/edgemill/edgemill"
	"github.com/edgemill/edgemill/conflict"
	"github.com/edgemill/edgemill/mutation"
)

// begun begins a transaction and applies a batch.
func begun(t *testing.T, db *edgemill.DB, text string) *edgemill.Txn {
	t.Helper()
	ctx := context.Background()
	txn, err := db.Begin(ctx)
	require.NoError(t, err)
	edges, err := edgesOf(text)
	require.NoError(t, err)
	_, err = txn.Mutate(ctx, edges)
	require.NoError(t, err)
	return txn
}

func commitNow(t *testing.T, txn *edgemill.Txn) {
	t.Helper()
	_, err := txn.Commit(context.Background())
	require.NoError(t, err)
}

// inText is a schema or lists as they stand in a test.
func inText(text string) string {
	var b strings.Builder
	for line := range strings.Lines(strings.TrimSpace(text)) {
		b.WriteString(strings.TrimSpace(line) + "\n")
	}
	if b.String() == "\n" {
		return ""
	}
	return b.String()
}

// TestTwoTransactions has two transactions begin before either commits. The
// second one commits too, or is refused and goes through when it is run again.
func TestTwoTransactions(t *testing.T) {
	for name, c := range map[string]struct {
		schema, before, first, second string
		conflict                      bool
		want                          string
	}{
		"targets of a counted list": {
			schema: "pal: [uid] @count .",
			first:  "set { <1> <pal> <2> . }", second: "set { <1> <pal> <3> . <1> <pal> <4> . }",
			conflict: true,
			want:     "data pal 0x1: 0x2 0x3 0x4\ncount pal 3: 0x1",
		},
		"targets of a list": {
			schema: "pal: [uid] .",
			first:  "set { <1> <pal> <2> . }", second: "set { <1> <pal> <3> . <1> <pal> <4> . }",
			want: "data pal 0x1: 0x2 0x3 0x4",
		},
		"the same target": {
			schema: "pal: [uid] .",
			first:  "set { <1> <pal> <2> . }", second: "set { <1> <pal> <2> . }",
			conflict: true,
			want:     "data pal 0x1: 0x2",
		},
		"sources that are counted": {
			schema: "likes: [uid] @reverse @count .",
			first:  "set { <1> <likes> <9> . }", second: "set { <2> <likes> <9> . }",
			conflict: true,
			want: `data likes 0x1: 0x9
				data likes 0x2: 0x9
				reverse likes 0x9: 0x1 0x2
				count likes 1: 0x1 0x2
				count_reverse likes 2: 0x9`,
		},
		"sources": {
			schema: "likes: [uid] @reverse .",
			first:  "set { <1> <likes> <9> . }", second: "set { <2> <likes> <9> . }",
			want: `data likes 0x1: 0x9
				data likes 0x2: 0x9
				reverse likes 0x9: 0x1 0x2`,
		},
		"one upsert value": {
			schema: "mail: string @index(exact) @upsert .",
			first:  `set { <1> <mail> "k" . }`, second: `set { <2> <mail> "k" . }`,
			conflict: true,
			want: `data mail 0x1: "k"
				data mail 0x2: "k"
				index mail exact "k": 0x1 0x2`,
		},
		"an upsert value that goes and comes": {
			schema: "mail: string @index(exact) @upsert .", before: `set { <1> <mail> "k" . }`,
			first: `delete { <1> <mail> "k" . }`, second: `set { <2> <mail> "k" . }`,
			conflict: true,
			want: `data mail 0x2: "k"
				index mail exact "k": 0x2`,
		},
		"one value": {
			schema: "mail: string @index(exact) .", before: `set { <1> <mail> "k" . }`,
			first: `delete { <1> <mail> "k" . }`, second: `set { <2> <mail> "k" . }`,
			want: `data mail 0x2: "k"
				index mail exact "k": 0x2`,
		},
		"a star and an add": {
			schema: "tag: [string] @index(exact) .", before: `set { <1> <tag> "a" . }`,
			first: `delete { <1> <tag> * . }`, second: `set { <1> <tag> "b" . }`,
			conflict: true,
			want: `data tag 0x1: "b"
				index tag exact "b": 0x1`,
		},
		"an add and a star": {
			schema: "tag: [string] @index(exact) .", before: `set { <1> <tag> "a" . }`,
			first: `set { <1> <tag> "b" . }`, second: `delete { <1> <tag> * . }`,
			conflict: true,
			want:     "",
		},
		"one unique value": {
			schema: "mail: string @index(exact) @upsert @unique .",
			first:  `set { <1> <mail> "k" . }`, second: `set { <2> <mail> "k" . } delete { <2> <mail> "k" . }`,
			conflict: true,
			want: `data mail 0x1: "k"
				index mail exact "k": 0x1`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			db := openCase(t, c.schema)
			if c.before != "" {
				commitNow(t, begun(t, db, c.before))
			}
			first, second := begun(t, db, c.first), begun(t, db, c.second)
			commitNow(t, first)
			_, err := second.Commit(context.Background())
			if !c.conflict {
				require.NoError(t, err)
			} else {
				require.ErrorIs(t, err, conflict.ErrConflict)
				if strings.Contains(c.schema, "@unique") {
					c.second = `delete { <2> <mail> "k" . }` // It is held by now.
				}
				commitNow(t, begun(t, db, c.second))
			}
			require.Equal(t, inText(c.want), allLists(t, db))
			verifyClean(t, db)
		})
	}
}

func openCase(t *testing.T, schema string) *edgemill.DB {
	t.Helper()
	db, err := edgemill.Open(context.Background(), edgemill.Options{InMemory: true})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	require.NoError(t, db.Alter(context.Background(), schema))
	return db
}

// TestStorm has many transactions change one counted, indexed value.
func TestStorm(t *testing.T) {
	ctx := context.Background()
	for name, run := range map[string]func(*edgemill.DB, []mutation.Edge) (uint64, error){
		"RunTxn": func(db *edgemill.DB, edges []mutation.Edge) (uint64, error) { return db.RunTxn(ctx, edges, nil) },
		"Begin":  untilCommitted,
	} {
		t.Run(name, func(t *testing.T) {
			db := openCase(t, "nick: string @index(exact) @count .")
			commitNow(t, begun(t, db, `set { <1> <nick> "ann" . }`))
			commitNow(t, begun(t, db, `set { <1> <nick> "bob" . }`))
			require.Equal(t, inText(`data nick 0x1: "bob"
				index nick exact "bob": 0x1
				count nick 1: 0x1`), allLists(t, db))

			var last struct {
				sync.Mutex
				ts uint64
				n  int64
			}
			var next atomic.Int64
			var clients sync.WaitGroup
			for range 16 {
				clients.Go(func() {
					for n := next.Add(1); n <= 200; n = next.Add(1) {
						edges, err := edgesOf(fmt.Sprintf(`set { <1> <nick> "n%d" . }`, n))
						if err != nil {
							panic(err)
						}
						ts, err := run(db, edges)
						last.Lock()
						if err != nil {
							t.Errorf("transaction %d: %v", n, err)
						} else if ts > last.ts {
							last.ts, last.n = ts, n
						}
						last.Unlock()
					}
				})
			}
			clients.Wait()
			require.Equal(t, inText(fmt.Sprintf(`data nick 0x1: "n%d"
				index nick exact "n%d": 0x1
				count nick 1: 0x1`, last.n, last.n)), allLists(t, db))
			verifyClean(t, db)
		})
	}
}

// untilCommitted runs a transaction of Begin until it goes through.
func untilCommitted(db *edgemill.DB, edges []mutation.Edge) (uint64, error) {
	ctx := context.Background()
	for {
		txn, err := db.Begin(ctx)
		if err != nil {
			return 0, err
		}
		_, err = txn.Mutate(ctx, edges)
		var ts uint64
		if err == nil {
			ts, err = txn.Commit(ctx)
		}
		txn.Discard()
		if !errors.Is(err, conflict.ErrConflict) {
			return ts, err
		}
	}
}
