package edgemill

import (
	"context"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/dgraph-io/badger/v4"
	"github.com/stretchr/testify/require"

	"github.com/edgemill/edgemill/mutation"
	"github.com/edgemill/edgemill/posting"
)

// crash closes a store so that its own folder says that it was not closed.
func crash(t *testing.T, dir string, closeStore func() error) {
	t.Helper()
	own, kept := filepath.Join(dir, "edgemill"), filepath.Join(t.TempDir(), "edgemill")
	require.NoError(t, os.CopyFS(kept, os.DirFS(own)))
	require.NoError(t, closeStore())
	require.NoError(t, os.RemoveAll(own))
	require.NoError(t, os.Rename(kept, own))
}

// firstNewUID is the next uid of a new block.
func firstNewUID(t *testing.T, db *DB) uint64 {
	t.Helper()
	uids, err := db.NewUIDs(1)
	require.NoError(t, err)
	return uids.First
}

// someNick is a delta that sets a nick.
func someNick() []byte {
	p := posting.Posting{UID: math.MaxUint64, Op: posting.OpSet, Type: posting.PostingValue, Value: []byte("someone")}
	return posting.AppendPosting(nil, &p)
}

// commitNick commits a nick straight into a store.
func commitNick(t *testing.T, s *posting.Store, ts, subject uint64) {
	t.Helper()
	entry := posting.Entry{Key: posting.AppendDataKey(nil, 0, "nick", subject), Value: someNick(), Meta: posting.MetaDelta, Version: ts}
	require.NoError(t, s.Commit(context.Background(), posting.Commit{TS: ts, Entries: []posting.Entry{entry}}))
}

// TestUIDsBesideOpenTransactions: what a transaction has named is not handed out,
// also before it commits.
func TestUIDsBesideOpenTransactions(t *testing.T) {
	ctx := context.Background()
	db := openAlter(t, nickSchema)
	txn, err := db.Begin(ctx)
	require.NoError(t, err)
	_, err = txn.Mutate(ctx, nick(500, "ann"))
	require.NoError(t, err)
	uids, err := db.NewUIDs(1000)
	require.NoError(t, err)
	require.Equal(t, uint64(501), uids.First)
	_, err = txn.Commit(ctx)
	require.NoError(t, err)
	_, err = db.RunTxn(ctx, nick(uids.First, "bob"), nil, FreshUIDs(uids))
	require.NoError(t, err)
	verifyClean(t, db)
}

// TestFreshRanges states ranges at random, in any order and overlapping.
func TestFreshRanges(t *testing.T) {
	rnd := rand.New(rand.NewPCG(5, 5))
	for range 2000 {
		var ranges []mutation.UIDRange
		stated := map[uint64]bool{}
		for range rnd.IntN(8) {
			first := rnd.Uint64N(40)
			r := mutation.UIDRange{First: first, Last: first + rnd.Uint64N(6)}
			ranges = withRange(ranges, r)
			for uid := r.First; uid <= r.Last; uid++ {
				stated[uid] = true
			}
		}
		for i, r := range ranges {
			require.True(t, r.First <= r.Last && (i == 0 || ranges[i-1].Last+1 < r.First), "%v", ranges)
			for uid := r.First; uid <= r.Last; uid++ {
				require.True(t, stated[uid])
				delete(stated, uid)
			}
		}
		require.Empty(t, stated)
	}
	all := mutation.UIDRange{First: 0, Last: math.MaxUint64}
	require.Equal(t, []mutation.UIDRange{all}, withRange(withRange(nil, all), all))
}

// TestFreshThatIsNone: a range that ends before it begins is refused with the next
// batch.
func TestFreshThatIsNone(t *testing.T) {
	ctx := context.Background()
	db := openAlter(t, nickSchema)
	txn, err := db.Begin(ctx)
	require.NoError(t, err)
	defer txn.Discard()
	txn.Fresh(mutation.UIDRange{First: 5, Last: 4})
	_, err = txn.Mutate(ctx, nick(1, "ann"))
	require.ErrorContains(t, err, "0x5 to 0x4")
}

// TestUIDsAfterACrash: uids go on above all that were named, whoever wrote them;
// and where the log shows that all is the engine's own, no scan is needed.
func TestUIDsAfterACrash(t *testing.T) {
	const named, byServer, byOther = 1 << 20, 1 << 30, 1 << 40
	ctx := context.Background()
	dir := t.TempDir()
	db := openAlterIn(t, dir)
	require.NoError(t, db.Alter(ctx, nickSchema))
	db.mutateForTest(t, nick(named, "ann"))
	crash(t, dir, db.Close)

	for range 2 { // also where it ends before anything was committed
		db = openAlterIn(t, dir)
		require.False(t, db.store.WrittenByOthers())
		require.Greater(t, firstNewUID(t, db), uint64(named))
		verifyClean(t, db)
		crash(t, dir, db.Close)
	}

	store, err := posting.Open(posting.Options{Dir: dir})
	require.NoError(t, err)
	require.False(t, store.WrittenByOthers())
	commitNick(t, store, store.MaxVersion()+1, byServer)
	crash(t, dir, store.Close)

	db = openAlterIn(t, dir)
	require.True(t, db.store.WrittenByOthers(), "by a program that leases no uids")
	require.Equal(t, uint64(byServer+1), firstNewUID(t, db))
	last := db.store.MaxVersion()
	crash(t, dir, db.Close)

	other, err := badger.OpenManaged(badger.DefaultOptions(filepath.Join(dir, "p")).WithLogger(nil))
	require.NoError(t, err)
	txn := other.NewTransactionAt(math.MaxUint64, true)
	require.NoError(t, txn.SetEntry(&badger.Entry{
		Key: posting.AppendDataKey(nil, 0, "nick", byOther), Value: someNick(), UserMeta: posting.MetaDelta,
	}))
	require.NoError(t, txn.CommitAt(last+10, nil))
	require.NoError(t, other.Close())

	db = openAlterIn(t, dir)
	require.True(t, db.store.WrittenByOthers(), "by another program")
	db.mutateForTest(t, nick(named, "bob")) // above what the other wrote, and names nothing new
	crash(t, dir, db.Close)

	db = openAlterIn(t, dir)
	require.False(t, db.store.WrittenByOthers())
	require.Equal(t, uint64(byOther+1), firstNewUID(t, db))
	require.NoError(t, db.Close())

	db = openAlterIn(t, dir)
	require.False(t, db.store.WrittenByOthers())
	require.Equal(t, uint64(byOther+2), firstNewUID(t, db), "a clean close takes back what was not used")
	require.NoError(t, db.Close())
}
