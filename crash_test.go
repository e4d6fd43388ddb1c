package edgemill_test

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/edgemill/edgemill"
	"github.com/edgemill/edgemill/ingest/loader"
	"github.com/edgemill/edgemill/mutation"
	"github.com/edgemill/edgemill/posting"
	"github.com/edgemill/edgemill/schema/value"
)

var crashes = flag.Int("crashes", 6, "how often the crash test kills a process")

const (
	crashDirEnv  = "EDGEMILL_TEST_CRASH_DIR"
	crashRunEnv  = "EDGEMILL_TEST_CRASH_RUN"
	crashWorkEnv = "EDGEMILL_TEST_CRASH_WORK"
)

// A crash run's transactions have numbers from run<<runShift on. The i-th subject
// of a transaction is its number<<subjectShift | i. The lines that a run loads
// belong to subjects of their own.
const (
	runShift     = 20
	subjectShift = 20
	lineSubjects = uint64(1) << 60
	lineShift    = 32
	linesATxn    = 500
)

// crashSchemas are what the store is altered to in turn, while transactions and
// a load go on.
var crashSchemas = []string{
	"word: string @index(term) .", "word: string @index(exact) @count .", "word: string .",
}

const crashSchema = `size: int @index(int) .
	of: [uid] @reverse @count .
	line: int @index(int) .`

// crashOptions are those of a small store, so that tables and log segments are
// full often. It does not look at how full the disk is.
func crashOptions(dir string) edgemill.Options {
	return edgemill.Options{
		Dir: dir, MemTableSize: 1 << 20,
		Commit: posting.CommitOptions{
			Reserve: -1, SegmentSize: 1 << 20, SpaceCheck: func(string) (int64, error) { return 1 << 40, nil },
		},
	}
}

// TestCrashChild is the process that crash tests kill. It prints what has been
// acknowledged: "committed N", "altered N", "loaded N".
func TestCrashChild(t *testing.T) {
	dir := os.Getenv(crashDirEnv)
	if dir == "" {
		t.Skip("run by the crash tests")
	}
	run, err := strconv.ParseUint(os.Getenv(crashRunEnv), 10, 64)
	require.NoError(t, err)
	db, err := edgemill.Open(context.Background(), crashOptions(dir))
	require.NoError(t, err)
	require.NoError(t, db.Alter(context.Background(), crashSchema))
	require.NoError(t, db.Alter(context.Background(), crashSchemas[0]))
	fmt.Println("ready")
	c := crashChild{db, run}
	for _, work := range strings.Fields(os.Getenv(crashWorkEnv)) {
		switch work {
		case "commit":
			for client := range uint64(12) {
				go c.end(func() error { return c.commits(client) })
			}
		case "huge":
			go c.end(c.huge)
		case "alter":
			go c.end(c.alters)
		case "load":
			go c.end(c.load)
		case "rollup":
			go c.end(c.rollUp)
		}
	}
	select {}
}

type crashChild struct {
	db  *edgemill.DB
	run uint64
}

// end ends the process when its work does, which it should not.
func (c crashChild) end(work func() error) {
	fmt.Println("failed:", work())
	os.Exit(1)
}

// commits commits transactions of all sizes.
func (c crashChild) commits(client uint64) error {
	rnd := rand.New(rand.NewPCG(c.run, client))
	for n := client + 1; ; n += 12 {
		size := 1
		switch r := rnd.IntN(200); {
		case r == 0:
			size = 10_000
		case r < 10:
			size = 1000
		case r < 60:
			size = 20
		}
		if err := c.commit(c.run<<runShift|n, size); err != nil {
			return err
		}
	}
}

// huge commits one transaction that is many times as large as a memory table.
func (c crashChild) huge() error {
	if err := c.commit(c.run<<runShift|1, 300_000); err != nil {
		return err
	}
	time.Sleep(time.Hour)
	return nil
}

func (c crashChild) commit(number uint64, size int) error {
	edges := []mutation.Edge{{Subject: number, Predicate: "size", Value: intText(uint64(size))}}
	for i := range uint64(size) {
		subject := number<<subjectShift | i
		edges = append(edges, mutation.Edge{Subject: subject, Predicate: "of", Object: mutation.ObjectUID, Target: number})
		if hasWords(number) {
			edges = append(edges, mutation.Edge{Subject: subject, Predicate: "word", Value: text("word " + strconv.FormatUint(i%7, 10))})
		}
	}
	_, err := c.db.RunTxn(context.Background(), edges, func(context.Context, *edgemill.Txn) error {
		fmt.Println("committing", number)
		return nil
	})
	if err == nil {
		fmt.Println("committed", number)
	}
	return err
}

// hasWords: some transactions are about the predicate that is altered, and so
// are begun again now and then.
func hasWords(number uint64) bool { return number%3 == 1 }

func intText(n uint64) value.Value { return text(strconv.FormatUint(n, 10)) }

func (c crashChild) alters() error {
	for n := 1; ; n++ {
		if err := c.db.Alter(context.Background(), crashSchemas[n%len(crashSchemas)]); err != nil {
			return err
		}
		fmt.Println("altered", n)
	}
}

func (c crashChild) rollUp() error {
	for {
		if _, err := c.db.RollUp(context.Background()); err != nil {
			return err
		}
		if _, err := c.db.CleanUp(context.Background()); err != nil {
			return err
		}
	}
}

// load loads lines without an end.
func (c crashChild) load() error {
	lines, into := io.Pipe()
	go func() {
		buffered := bufio.NewWriter(into)
		for n := uint64(0); ; n++ {
			fmt.Fprintf(buffered, "<%#x> <line> \"%d\" .\n", lineSubjects|c.run<<lineShift|n, n)
		}
	}()
	_, err := loader.Load(context.Background(), c.db, loader.Options{
		Inputs: []loader.Input{{Name: "lines", Reader: lines}}, EdgesPerTxn: linesATxn,
		Progress: func(p loader.Progress) { fmt.Println("loaded", p.Statements) },
	})
	return err
}

// crashRun is one process that was killed, and what it said before.
type crashRun struct {
	committed map[uint64]bool
	altered   int
	loaded    uint64
	failed    string
}

// startCrash starts the child and returns when it is ready.
func startCrash(t *testing.T, dir string, run int, work string) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	child := exec.Command(os.Args[0], "-test.run=^TestCrashChild$")
	child.Env = append(os.Environ(),
		crashDirEnv+"="+dir, crashRunEnv+"="+strconv.Itoa(run), crashWorkEnv+"="+work)
	out, err := child.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, child.Start())
	said := bufio.NewScanner(out)
	require.True(t, said.Scan())
	require.Equal(t, "ready", said.Text())
	return child, said
}

// heard takes down what the child says until it is dead. seen is told each line.
func heard(said *bufio.Scanner, seen func(what string)) crashRun {
	r := crashRun{committed: map[uint64]bool{}}
	for said.Scan() {
		what, number, _ := strings.Cut(said.Text(), " ")
		n, _ := strconv.ParseUint(number, 10, 64)
		switch what {
		case "committed":
			r.committed[n] = true
		case "altered":
			r.altered = int(n)
		case "loaded":
			r.loaded = n
		case "failed:":
			r.failed = number
		}
		seen(what)
	}
	return r
}

// killed runs a child and kills it some time after it is ready.
func killed(t *testing.T, dir string, run int, work string, after time.Duration) crashRun {
	t.Helper()
	child, said := startCrash(t, dir, run, work)
	kill := time.AfterFunc(after, func() { _ = child.Process.Kill() })
	defer kill.Stop()
	r := heard(said, func(string) {})
	_ = child.Wait()
	require.Empty(t, r.failed)
	return r
}

// TestCrash kills a process at random moments while it commits transactions of
// all sizes, alters the schema, loads and rolls up, again and again on one store:
// what was acknowledged is there, everything else is there whole or not at all,
// and the store is in order.
func TestCrash(t *testing.T) {
	if testing.Short() {
		t.Skip("runs processes")
	}
	const runsAStore = 5
	var dir string
	var runs []crashRun
	acknowledged := 0
	for n := range *crashes {
		if n%runsAStore == 0 {
			dir, runs = filepath.Join(t.TempDir(), "store"), nil
		}
		after := time.Duration(rand.IntN(800)) * time.Millisecond
		r := killed(t, dir, len(runs)+1, "commit alter load rollup", after)
		runs = append(runs, r)
		acknowledged += len(r.committed)
		checkCrash(t, dir, runs)
	}
	t.Logf("%d transactions acknowledged in %d runs", acknowledged, *crashes)
}

// checkCrash opens the store and compares it with what its runs have heard.
func checkCrash(t *testing.T, dir string, runs []crashRun) {
	t.Helper()
	ctx := context.Background()
	db, err := edgemill.Open(ctx, crashOptions(dir))
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close()) }()
	report, err := db.Verify(ctx, edgemill.VerifyOptions{})
	require.NoError(t, err)
	require.Empty(t, report.Violations)

	view, err := db.View(ctx, 0)
	require.NoError(t, err)
	defer view.Close()
	edges, words := checkTransactions(t, view, runs)
	postings := map[string]uint64{}
	for _, p := range report.Predicates {
		postings[p.Predicate] = p.Postings
	}
	require.Equal(t, edges, postings["of"], "parts of transactions")
	require.Equal(t, words, postings["word"], "parts of transactions")
	require.Equal(t, checkLines(t, view, runs), postings["line"])

	last := runs[len(runs)-1]
	now, ok := view.Schema().Predicate(0, "word")
	require.True(t, ok)
	require.Contains(t, []string{
		crashSchemas[last.altered%len(crashSchemas)], crashSchemas[(last.altered+1)%len(crashSchemas)],
	}, now.String())
}

// checkTransactions looks at each transaction that is there, and returns how
// many edges and words they have.
func checkTransactions(t *testing.T, view *edgemill.View, runs []crashRun) (edges, words uint64) {
	t.Helper()
	there := map[uint64]bool{}
	for number, err := range view.Has("size", 0) {
		require.NoError(t, err)
		there[number] = true
		v, _, err := view.Value(number, "size")
		require.NoError(t, err)
		text, err := v.Text()
		require.NoError(t, err)
		sources, err := view.Sources(number, "of")
		require.NoError(t, err)
		require.Equal(t, text, strconv.Itoa(len(sources)), "transaction %#x", number)
		edges += uint64(len(sources))
		if hasWords(number) {
			words += uint64(len(sources))
		}
	}
	for _, r := range runs {
		for number := range r.committed {
			require.True(t, there[number], "transaction %#x was acknowledged", number)
		}
	}
	return edges, words
}

// checkLines looks at what each run loaded: whole transactions, from the first
// on, all that was reported among them. It returns how many lines there are.
func checkLines(t *testing.T, view *edgemill.View, runs []crashRun) (total uint64) {
	t.Helper()
	counts := make([]uint64, len(runs)+1)
	for subject, err := range view.Has("line", lineSubjects) {
		require.NoError(t, err)
		run := subject &^ lineSubjects >> lineShift
		require.Equal(t, counts[run], subject&(1<<lineShift-1), "a line before it is missing")
		counts[run]++
		total++
	}
	for n, r := range runs {
		require.Zero(t, counts[n+1]%linesATxn)
		require.GreaterOrEqual(t, counts[n+1], r.loaded)
	}
	return total
}

// TestCrashHuge kills a process while it commits one transaction that is much
// larger than a memory table. It is there afterwards, all of it, or it is not.
func TestCrashHuge(t *testing.T) {
	if testing.Short() {
		t.Skip("runs processes")
	}
	outcomes := map[int]int{}
	for range max(2, *crashes/10) {
		dir := filepath.Join(t.TempDir(), "store")
		child, said := startCrash(t, dir, 1, "huge")
		r := heard(said, func(what string) {
			if what == "committing" {
				time.AfterFunc(time.Duration(rand.IntN(3000))*time.Millisecond, func() { _ = child.Process.Kill() })
			}
		})
		_ = child.Wait()
		require.Empty(t, r.failed)
		checkCrash(t, dir, []crashRun{r})
		outcomes[len(r.committed)]++
	}
	t.Logf("acknowledged or not: %v", outcomes)
}
