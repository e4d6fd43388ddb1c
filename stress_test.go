package edgemill

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/edgemill/edgemill/conflict"
	"github.com/edgemill/edgemill/mutation"
	"github.com/edgemill/edgemill/posting"
	"github.com/edgemill/edgemill/schema/value"
)

// The stress schema has registers, whose writers conflict, and lists that each
// transaction adds its number to, whose writers do not.
const stressSchema = `reg: int @index(int) .
	done: [int] @index(int) .
	pal: [uid] @reverse @count .
	mail: string @index(exact) @upsert .`

const (
	stressClients = 64
	// hotRegisters are shared by all clients, and each has one of its own beside
	// them. doneSubjects are where a transaction leaves its number, both times.
	hotRegisters = 6
	doneFirst    = 1001
	doneSecond   = 1002
)

// stressTxn is what a client knows of a transaction.
type stressTxn struct {
	id              int64
	startTS, commit uint64
	// ackedBefore is the greatest commit timestamp that anybody had been told
	// when the transaction began.
	ackedBefore uint64
	reads       map[uint64]int64
	writes      []uint64
}

// stress is a run of many clients on one DB, and what they have done.
type stress struct {
	db       *DB
	ids      atomic.Int64
	acked    atomic.Uint64
	stopping atomic.Bool
	mu       struct {
		sync.Mutex
		committed []stressTxn
		failed    []error
	}
}

// run has the clients work until stop is called, which waits for them.
func (s *stress) run(clients int) (stop func()) {
	var working sync.WaitGroup
	for client := range clients {
		working.Go(func() {
			rnd := rand.New(rand.NewPCG(uint64(client), 7))
			for !s.stopping.Load() {
				if err := s.transact(rnd, uint64(client)); err != nil {
					s.mu.Lock()
					s.mu.failed = append(s.mu.failed, err)
					s.mu.Unlock()
					return
				}
			}
		})
	}
	return func() {
		s.stopping.Store(true)
		working.Wait()
	}
}

var errChanged = errors.New("the client has changed its mind")

// transact runs a transaction of a random kind until it goes through.
func (s *stress) transact(rnd *rand.Rand, client uint64) error {
	tx := stressTxn{id: s.ids.Add(1)}
	registers := []uint64{1 + rnd.Uint64N(hotRegisters)}
	if rnd.IntN(2) == 0 {
		registers[0] = 100 + client
	} else if rnd.IntN(3) == 0 {
		registers = []uint64{1, 2 + rnd.Uint64N(hotRegisters-1)}
	}
	first := tx.edges(registers, rnd)
	body := func(ctx context.Context, t *Txn) error { return tx.readAndMark(ctx, t, rnd) }
	ctx := context.Background()
	var err error
	switch kind := rnd.IntN(10); {
	case kind == 0:
		_, err = s.db.RunTxn(ctx, first, func(context.Context, *Txn) error { return errChanged })
		if errors.Is(err, errChanged) {
			return nil
		}
		return err
	case kind < 4:
		tx.ackedBefore = s.acked.Load()
		tx.commit, err = s.db.RunTxn(ctx, first, body)
	case kind < 7:
		tx.ackedBefore = s.acked.Load()
		tx.commit, err = s.db.RunTxn(ctx, nil, func(ctx context.Context, t *Txn) error {
			if err := body(ctx, t); err != nil {
				return err
			}
			_, err := t.Mutate(ctx, first)
			return err
		}, Expect(first))
	default:
		err = s.untilCommitted(ctx, &tx, first, body)
	}
	if err == nil {
		s.acknowledged(tx)
	}
	return err
}

// untilCommitted does without the gate.
func (s *stress) untilCommitted(ctx context.Context, tx *stressTxn, first []mutation.Edge, body func(context.Context, *Txn) error) error {
	for {
		tx.ackedBefore = s.acked.Load()
		t, err := s.db.Begin(ctx)
		if err != nil {
			return err
		}
		if _, err = t.Mutate(ctx, first); err == nil {
			err = body(ctx, t)
		}
		if err == nil {
			tx.commit, err = t.Commit(ctx)
		}
		t.Discard()
		if !errors.Is(err, conflict.ErrConflict) {
			return err
		}
	}
}

func (s *stress) acknowledged(tx stressTxn) {
	for {
		old := s.acked.Load()
		if old >= tx.commit || s.acked.CompareAndSwap(old, tx.commit) {
			break
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.committed = append(s.mu.committed, tx)
}

func intValue(n int64) value.Value {
	return value.Value{Type: value.Int, Data: value.AppendInt(nil, n)}
}

// edges are what the transaction writes first: its number into the registers,
// and something in which others have a share.
func (tx *stressTxn) edges(registers []uint64, rnd *rand.Rand) []mutation.Edge {
	tx.writes = registers
	var edges []mutation.Edge
	for _, r := range registers {
		edges = append(edges, mutation.Edge{Subject: r, Predicate: "reg", Value: intValue(tx.id)})
	}
	edges = append(edges, mutation.Edge{Subject: doneFirst, Predicate: "done", Value: intValue(tx.id)})
	switch rnd.IntN(6) {
	case 0:
		e := mutation.Edge{Subject: 1 + rnd.Uint64N(50), Predicate: "pal", Object: mutation.ObjectUID, Target: 1 + rnd.Uint64N(5)}
		e.Op = mutation.Op(rnd.IntN(2))
		edges = append(edges, e)
	case 1:
		mail := []byte("m" + strconv.Itoa(rnd.IntN(20)))
		edges = append(edges, mutation.Edge{Subject: 1 + rnd.Uint64N(50), Predicate: "mail", Value: value.Value{Type: value.String, Data: mail}})
	}
	return edges
}

// readAndMark reads some registers as they were when the transaction began, and
// leaves the transaction's number once more.
func (tx *stressTxn) readAndMark(ctx context.Context, t *Txn, rnd *rand.Rand) error {
	tx.startTS, tx.reads = t.StartTS(), map[uint64]int64{}
	for _, r := range append(rangeOf(hotRegisters), tx.writes...) {
		v, ok, err := t.View().Value(r, "reg")
		if err != nil {
			return err
		}
		n := int64(0)
		if ok {
			n = int64(binary.LittleEndian.Uint64(v.Data))
		}
		if n != tx.id { // What it wrote itself tells nothing.
			tx.reads[r] = n
		}
	}
	_, err := t.Mutate(ctx, []mutation.Edge{{Subject: doneSecond, Predicate: "done", Value: intValue(tx.id)}})
	return err
}

func rangeOf(n uint64) (numbers []uint64) {
	for i := range n {
		numbers = append(numbers, i+1)
	}
	return numbers
}

// check holds the history against what is promised. With timestamps in hand no
// search for an order is needed; the order is that of the commit timestamps.
//
//   - Each transaction read, of every register, the number of the transaction
//     with the greatest commit timestamp below its start: snapshot reads.
//   - Of two that wrote one register, the later began after the earlier
//     committed: nobody's write is lost under another's that had not seen it.
//   - So a transaction that reads only what it writes read what stood there
//     immediately before it in the order of commits: those are serializable. (One
//     that writes elsewhere than it reads is not promised to be.)
//   - A transaction that began after another one had been acknowledged began at a
//     timestamp above that one's commit: the order agrees with the clock.
func (s *stress) check(t *testing.T) {
	t.Helper()
	committed := slices.SortedFunc(slices.Values(s.mu.committed), func(a, b stressTxn) int {
		return cmp.Compare(a.commit, b.commit)
	})
	writers := map[uint64][]stressTxn{}
	for i, tx := range committed {
		require.Greater(t, tx.commit, tx.startTS)
		require.GreaterOrEqual(t, tx.startTS, tx.ackedBefore)
		if i > 0 {
			require.NotEqual(t, tx.commit, committed[i-1].commit, "two have one commit timestamp")
		}
		for _, r := range tx.writes {
			if w := writers[r]; len(w) > 0 {
				require.Greater(t, tx.startTS, w[len(w)-1].commit, "register %d: a lost update", r)
			}
			writers[r] = append(writers[r], tx)
		}
	}
	for _, tx := range committed {
		for r, n := range tx.reads {
			require.Equal(t, newestBefore(writers[r], tx.startTS), n, "register %d read at %d", r, tx.startTS)
		}
	}
	s.checkStored(t, writers)
}

// newestBefore is the number of the last writer that had committed at ts.
func newestBefore(writers []stressTxn, ts uint64) int64 {
	n, _ := slices.BinarySearchFunc(writers, ts, func(tx stressTxn, ts uint64) int { return cmp.Compare(tx.commit, ts) })
	if n == 0 {
		return 0
	}
	return writers[n-1].id
}

// checkStored: every acknowledged transaction is there, whole, and no other.
func (s *stress) checkStored(t *testing.T, writers map[uint64][]stressTxn) {
	t.Helper()
	v, err := s.db.View(context.Background(), 0)
	require.NoError(t, err)
	defer v.Close()
	for r, w := range writers {
		got, _, err := v.Value(r, "reg")
		require.NoError(t, err)
		require.Equal(t, w[len(w)-1].id, int64(binary.LittleEndian.Uint64(got.Data)), "register %d", r)
	}
	var want []int64
	for _, tx := range s.mu.committed {
		want = append(want, tx.id)
	}
	slices.Sort(want)
	for _, subject := range []uint64{doneFirst, doneSecond} {
		require.Equal(t, want, doneNumbers(t, v, subject))
	}
	verifyClean(t, s.db)
}

func doneNumbers(t *testing.T, v *View, subject uint64) (numbers []int64) {
	t.Helper()
	values, err := v.Values(subject, "done")
	require.NoError(t, err)
	for _, v := range values {
		numbers = append(numbers, int64(binary.LittleEndian.Uint64(v.Value.Data)))
	}
	slices.Sort(numbers)
	return numbers
}

// stressOptions are those of a small store that is slow where it matters.
func stressOptions(dir string) Options {
	return Options{Dir: dir, MemTableSize: 4 << 20, Commit: posting.CommitOptions{Reserve: -1}}
}

func TestStress(t *testing.T) { stressWith(t, stressOptions(t.TempDir())) }

// TestStressSlowDisk is TestStress with commits that are on their way for long.
func TestStressSlowDisk(t *testing.T) {
	opts := stressOptions(t.TempDir())
	opts.Commit.FS = slowLog{upTo: 4 * time.Millisecond}
	opts.CacheBytes = 1 << 20
	stressWith(t, opts)
}

func stressWith(t *testing.T, opts Options) {
	db, err := Open(context.Background(), opts)
	require.NoError(t, err)
	defer db.Close()
	require.NoError(t, db.Alter(context.Background(), stressSchema))
	s := &stress{db: db}
	stop := s.run(stressClients)
	time.Sleep(1500 * time.Millisecond)
	stop()
	require.Empty(t, s.mu.failed)
	t.Logf("%d transactions, %+v", len(s.mu.committed), db.Stats())
	s.check(t)
	stats := db.Stats()
	require.Zero(t, stats.Gate.InFlight)
	require.Zero(t, stats.Oracle.Open)
	require.Positive(t, stats.Oracle.Conflicts)
	require.Positive(t, stats.Gate.Waits)
}

// TestCloseUnderLoad: Close comes while all clients are at work; it is quick,
// they learn of it, and what was acknowledged is there afterwards.
func TestCloseUnderLoad(t *testing.T) {
	dir := t.TempDir()
	db, err := Open(context.Background(), stressOptions(dir))
	require.NoError(t, err)
	require.NoError(t, db.Alter(context.Background(), stressSchema))
	s := &stress{db: db}
	stop := s.run(stressClients)
	done := s.busyElsewhere(t)
	time.Sleep(300 * time.Millisecond)
	begun := time.Now()
	require.NoError(t, db.Close())
	took := time.Since(begun)
	t.Logf("closed in %v", took)
	require.Less(t, took, 5*time.Second)
	stop()
	done()
	require.Len(t, s.mu.failed, stressClients)
	for _, err := range s.mu.failed {
		require.ErrorIs(t, err, ErrClosed)
	}
	s.db, err = Open(context.Background(), stressOptions(dir))
	require.NoError(t, err)
	defer s.db.Close()
	s.check(t)
}

// busyElsewhere has a large batch applied, a schema changed and the store
// verified, over and over until the DB closes.
func (s *stress) busyElsewhere(t *testing.T) (wait func()) {
	var large []mutation.Edge
	for i := range uint64(200_000) {
		large = append(large, mutation.Edge{Subject: 1<<20 + i, Predicate: "mail", Value: value.Value{Type: value.String, Data: []byte("x")}})
	}
	ctx := context.Background()
	n := 0
	var working sync.WaitGroup
	for _, f := range []func() error{
		func() error {
			txn, err := s.db.Begin(ctx)
			if err == nil {
				defer txn.Discard()
				_, err = txn.Mutate(ctx, large)
			}
			return err
		},
		func() error {
			n++
			return s.db.Alter(ctx, fmt.Sprintf("extra%d: string .", n))
		},
		func() error { _, err := s.db.Verify(ctx, VerifyOptions{}); return err },
	} {
		working.Go(func() {
			var err error
			for err == nil {
				err = f()
			}
			if !errors.Is(err, ErrClosed) {
				t.Errorf("not closed, but: %v", err)
			}
		})
	}
	return working.Wait
}
