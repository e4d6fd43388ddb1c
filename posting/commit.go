package posting

import (
	"context"
	"errors"
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
	// Reserve is how many bytes have to be free on the disk, beside what a group
	// takes; default 8 x MemTableSize, none if negative.
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

// Commit writes a transaction, all of it or nothing, and returns when it is
// durable. It is readable a little later (Commit.Readable). Any number of
// goroutines may call it; what c refers to is theirs again when it returns.
//
// An error means that nothing of c is stored or will be: ErrNoSpace,
// ErrReadOnly, ErrClosed, ErrBadCommit, the context's, or the cause that the
// log could not be written. The context is looked at until the commit has been
// taken into a group; from then on the outcome is waited for.
func (s *Store) Commit(ctx context.Context, c Commit) error { panic("unwritten") }

// Flush waits until every commit that was begun before is durable (also with
// NoSync) and in Badger. Its error joins the causes of all commits that failed
// since the last Flush that told them; a Flush whose context ended told none.
func (s *Store) Flush(ctx context.Context) error { panic("unwritten") }

// CommitStats returns the counts as they stand.
func (s *Store) CommitStats() CommitStats { panic("unwritten") }

// Applied returns the greatest mark that a durable commit carried, or that the
// state names.
func (s *Store) Applied() uint64 { panic("unwritten") }
