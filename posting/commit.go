package posting

import (
	"context"
	"errors"
	"path/filepath"
	"time"
)

// Errors of a commit.
var (
	// ErrClosed: the store is closed, or closing.
	ErrClosed = errors.New("store is closed")
	// ErrNoSpace: less than the reserve is free on the disk; nothing was
	// written. Commits go through again once there is space.
	ErrNoSpace = errors.New("not enough free space")
	// ErrReadOnly: a write that had been acknowledged did not get into Badger.
	// It is in the commit log still, and comes back when the store is reopened;
	// until then nothing is written.
	ErrReadOnly = errors.New("store is read-only after a failed write")
	// ErrBadCommit: a commit that no store can take, such as one with an empty
	// key.
	ErrBadCommit = errors.New("malformed commit")
)

// Commit is what one transaction writes.
type Commit struct {
	// TS is the commit timestamp, and the version of every delta. Not 0.
	TS uint64
	// Deltas may be nil.
	Deltas *Deltas
	// Entries are further values with versions of their own: schemas, rolled-up
	// lists.
	Entries []Entry
	// Applied is the mark of the log that feeds the engine; it becomes durable
	// with the commit. 0 for none. A mark vouches for all below it, so one is
	// not stated before the commits that belong below it are acknowledged or
	// stand in the queue before this one.
	Applied uint64
	// Readable, if not nil, is called exactly once, from any goroutine: with nil
	// when the commit is in Badger, so that a reader at its timestamp finds it,
	// else with the cause. It must not block nor call the store.
	Readable func(error)
}

// CommitOptions bound groups and choose how safe an answer is. The zero value
// of each field is a sane default.
type CommitOptions struct {
	// NoSync answers when the record was handed to the operating system: an
	// acknowledged commit survives the end of the process but not that of the
	// machine. Flush makes what came before it safe.
	NoSync bool
	// MaxGroup is how many commits a group takes; default 1024.
	MaxGroup int
	// MaxAge is how much younger than the first commit of a group its last one
	// may be; default 50 ms. After a stall, the long queue is so cut into
	// groups whose first are answered before the last are written.
	MaxAge time.Duration
	// Reserve is how many bytes have to be free on the disk, beside what a commit
	// takes in the log and in Badger, and what Badger has not been given of others;
	// default 8 x MemTableSize, none if negative.
	Reserve int64
	// SegmentSize is how many bytes a log segment takes before the next one is
	// begun; default MemTableSize.
	SegmentSize int64
	// SpaceCheck returns the free bytes of the file system that path is on;
	// default statfs.
	SpaceCheck func(path string) (free int64, err error)
	// FS is where the log lives; default the operating system's.
	FS LogFS
}

// CommitStats counts since the store was opened.
type CommitStats struct {
	// Groups and Commits were appended to the log.
	Groups, Commits uint64
	// LargestGroup is the most commits that a group had.
	LargestGroup int
	// Sizes counts groups by size: those of at most 2^i commits, and more than
	// 2^(i-1), at i; those that are larger still at the end.
	Sizes [12]uint64
	// Failed is the number of commits that were refused or lost their group.
	Failed uint64
	// Bytes of the records appended.
	Bytes uint64
	// SyncTime is spent waiting for the log to be on the disk, in Syncs calls.
	SyncTime time.Duration
	Syncs    uint64
	// WriteTime is spent putting groups into Badger.
	WriteTime time.Duration
	// Segments is the number of log segments there are.
	Segments int
}

// MeanGroup is the mean number of commits in a group, 0 before the first.
func (s CommitStats) MeanGroup() float64 {
	if s.Groups == 0 {
		return 0
	}
	return float64(s.Commits) / float64(s.Groups)
}

// withDefaults fills in what is zero.
func (o CommitOptions) withDefaults(memTableSize int64) CommitOptions {
	if o.MaxGroup <= 0 {
		o.MaxGroup = 1024
	}
	if o.MaxAge <= 0 {
		o.MaxAge = 50 * time.Millisecond
	}
	if o.Reserve == 0 {
		o.Reserve = 8 * memTableSize
	}
	if o.SegmentSize <= 0 {
		o.SegmentSize = memTableSize
	}
	if o.SpaceCheck == nil {
		o.SpaceCheck = statFree
	}
	if o.FS == nil {
		o.FS = osFS{}
	}
	return o
}

// Commit writes a transaction, all of it or nothing, and returns when it is
// durable. It is readable a little later (Commit.Readable). Any number of
// goroutines may call it; what c refers to is theirs again when it returns. In
// memory, it returns when the commit is readable.
//
// An error means that nothing of c is stored or will be: ErrNoSpace,
// ErrReadOnly, ErrClosed, ErrBadCommit, the context's, or the cause that the
// log could not be written. The context is looked at until the commit has been
// taken into a group; from then on the outcome is waited for.
func (s *Store) Commit(ctx context.Context, c Commit) error { return s.committer.Commit(ctx, c) }

// Flush waits until every commit that was begun before is durable (also with
// NoSync) and in Badger. Its error joins the causes of all commits that failed
// since the last Flush that told them; a Flush whose context ended told none.
// After ErrReadOnly every Flush tells it.
func (s *Store) Flush(ctx context.Context) error { return s.committer.Flush(ctx) }

// CommitStats returns the counts as they stand.
func (s *Store) CommitStats() CommitStats { return s.committer.Stats() }

// Applied returns the greatest mark that a durable commit carried, or that the
// state names. It may be called at any time.
func (s *Store) Applied() uint64 { return s.committer.Applied() }

// Committer returns what Commit, Flush, CommitStats and Applied are calls of.
func (s *Store) Committer() *Committer { return s.committer }

// openCommitter replays what the log in the folder of the state holds into
// Badger, and takes commits from then on. dirs are where Badger and the state
// are; in memory there are none.
func (s *Store) openCommitter(dirs ...string) error {
	opts := s.opts.Commit.withDefaults(s.opts.MemTableSize)
	w := newBadgerWriter(s.db, s.opts.valueThreshold())
	w.marks, w.hot, w.newest = s.marks, &s.hot, &s.newest
	c := &Committer{opts: opts, limits: w.limits(), put: w.put, logger: s.opts.Logger}
	s.committer = c
	if len(dirs) == 0 {
		c.start()
		return nil
	}
	log, err := openLog(opts.FS, filepath.Join(dirs[1], logDirName), opts.SegmentSize)
	if err != nil {
		return err
	}
	c.space = spaceGuard{paths: onePerFileSystem(dirs[0], dirs[1]), reserve: max(opts.Reserve, 0), check: opts.SpaceCheck}
	c.log, c.retirer = log, newRetirer(log, w)
	w.sought = s.MaxVersion()
	if err := c.replay(); err != nil {
		return err
	}
	if err := s.judgeNewest(w.sought, w.found); err != nil {
		return err
	}
	c.applied.Store(max(log.applied, s.State().Applied))
	c.log.applied = c.applied.Load()
	c.start()
	return nil
}

// judgeNewest settles who wrote the newest version in Badger; inLog says that a
// commit of the log did.
func (s *Store) judgeNewest(newest uint64, inLog bool) error {
	state := s.State()
	s.byOthers = newest > state.LastTS && !(inLog && state.Leasing)
	if !state.Leasing {
		return nil
	}
	return s.UpdateState(func(st *State) { st.Leasing = false })
}

// closeCommitter settles what was committed, before Badger is closed.
func (s *Store) closeCommitter() error { return s.committer.close() }

// forgetLog removes the log, once Badger was closed without an error: all that
// the log holds is durable there. The mark is kept first.
func (s *Store) forgetLog() error {
	applied := s.Applied()
	if applied > s.State().Applied {
		err := s.UpdateState(func(st *State) { st.Applied = max(st.Applied, applied) })
		if err != nil {
			return err
		}
	}
	return s.committer.removeLog()
}
