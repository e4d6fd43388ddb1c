package edgemill

import (
	"context"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestVerifyWordNet loads WordNet, a part of it unless -wordnet is given,
// verifies it, and says how long that took.
func TestVerifyWordNet(t *testing.T) {
	name := "wordnet-small.nq.gz"
	if *wholeWordNet {
		name = "wordnet.nq.gz"
	}
	path := wordNetFile(t, name)
	text, err := os.ReadFile(wordNetFile(t, "wordnet.schema"))
	require.NoError(t, err)
	ctx := context.Background()
	db, err := Open(ctx, Options{Dir: t.TempDir()})
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close()) }()
	require.NoError(t, db.Alter(ctx, string(text)))
	loadFile(t, db, path)

	runtime.GC()
	var most uint64
	began := time.Now()
	report, err := db.Verify(ctx, VerifyOptions{Progress: func(VerifyProgress) {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		most = max(most, m.HeapInuse)
	}})
	require.NoError(t, err)
	require.Empty(t, report.Violations)
	t.Logf("%d keys, %d versions in %v, heap up to %d MiB", report.Keys, report.Versions, time.Since(began), most>>20)
	for _, p := range report.Predicates {
		t.Logf("%+v", p)
	}
	if !*wholeWordNet {
		return
	}
	counts := make(map[string]PredicateReport)
	for _, p := range report.Predicates {
		counts[p.Predicate] = p
	}
	require.EqualValues(t, 206_941, counts["sense"].Postings)
	require.EqualValues(t, 89_089, counts["hypernym"].Postings)
	for _, name := range []string{"gloss", "pos", "lexfile"} {
		require.EqualValues(t, 117_659, counts[name].Subjects, name)
	}
}
