package conflict

import (
	"context"
	"errors"
	"fmt"
)

var (
	// ErrConflict says that the transaction met another one's key. It can be
	// run again from its start.
	ErrConflict = errors.New("conflict with another transaction")
	// ErrTooOld says that a timestamp lies below what is still remembered or
	// still readable.
	ErrTooOld = errors.New("timestamp too old")
	// ErrUnknownTimestamp says that a timestamp was never handed out.
	ErrUnknownTimestamp = errors.New("timestamp was never handed out")
	// ErrClosed says that the oracle has been closed.
	ErrClosed = errors.New("oracle is closed")
)

// ConflictError is an ErrConflict that names the key that was met.
type ConflictError struct {
	// Key is the first key that met: exclusive keys before shared ones, each
	// kind in numeric order.
	Key uint64
	// StartTS and CommitTS are the start of the refused transaction and the
	// commit that it met. Both are zero where a pass in flight held the key.
	StartTS, CommitTS uint64
}

// Error names the key as 16 hex digits.
func (e *ConflictError) Error() string {
	if e.CommitTS == 0 {
		return fmt.Sprintf("%v: key %016x is held by one in flight", ErrConflict, e.Key)
	}
	return fmt.Sprintf("%v: key %016x was committed at %d, after the start at %d",
		ErrConflict, e.Key, e.CommitTS, e.StartTS)
}

// Unwrap returns ErrConflict.
func (e *ConflictError) Unwrap() error { return ErrConflict }

// Arbiter decides which transactions commit, and at which timestamp. The
// Oracle is the embedded one; a server brings its own. All methods are safe
// for concurrent use.
type Arbiter interface {
	// Commit decides the transaction that began at startTS and wrote keys. It
	// returns a commit timestamp above every timestamp that was handed out
	// before the decision, or an error that wraps ErrConflict or
	// ErrTooOld. A cancelled context is an error before the decision and
	// nothing after it; where an outside arbiter may have decided and its
	// answer was lost, the implementation finds out before it returns. The
	// commit is pending until Visible or Abandoned is called for it: exactly one of
	// them must be, or nobody who begins above it ever reads, no horizon passes it
	// and no key is forgotten.
	Commit(ctx context.Context, startTS uint64, keys Set) (commitTS uint64, err error)
	// Acknowledged says that the caller of the commit is about to be told that it
	// is durable: whoever begins from now on sees it. It may come before or after
	// Visible, or not at all where nobody is told before it is visible.
	Acknowledged(commitTS uint64)
	// Visible says that the writes of the commit can be read.
	Visible(commitTS uint64)
	// Abandoned says that the commit failed after its decision, for good: none
	// of its writes will ever be read.
	Abandoned(commitTS uint64)
}

// Timestamps hands out the timestamps at which transactions start and
// snapshots read, and knows which are still in use. All methods are safe for
// concurrent use; those that take a context return its error when it ends, and
// then hold nothing.
type Timestamps interface {
	// Begin returns a start timestamp above every commit that was acknowledged,
	// settled or named in a refusal before the call; above the commit timestamp
	// given, which may be 0; and above every commit decided before that meets keys:
	// what the transaction is expected to write, as far as it is known. It does not
	// wait: commits through the timestamp may be on their way, and nothing is read
	// at it before WaitVisible has returned for it. Several transactions may get the
	// same one, and no commit does. Done must follow, once for each.
	Begin(ctx context.Context, above uint64, keys Set) (startTS uint64, err error)
	// Done says that the transaction is over, committed or not.
	Done(startTS uint64)
	// BeginRead returns a timestamp to read at, at or above every commit that was
	// acknowledged, settled or named in a refusal before the call, through which
	// every commit is visible. Several reads may get the same one. DoneRead must
	// follow, once for each.
	BeginRead(ctx context.Context) (readTS uint64, err error)
	// ReadAt registers a read at a given timestamp, as BeginRead does. It is
	// ErrTooOld below a horizon that was handed out.
	ReadAt(ctx context.Context, readTS uint64) error
	// DoneRead ends one read of BeginRead or ReadAt.
	DoneRead(readTS uint64)
	// Timestamp returns a new timestamp that no commit gets (a rollup's), through
	// which every commit is visible. It counts as a read until release is called,
	// which may be repeated.
	Timestamp(ctx context.Context) (ts uint64, release func(), err error)
	// WaitVisible returns when every commit at or below ts is settled.
	WaitVisible(ctx context.Context, ts uint64) error
	// Horizon returns the timestamp below which nothing reads any more and no
	// pending commit writes. It never falls.
	Horizon() uint64
}

var (
	_ Arbiter    = (*Oracle)(nil)
	_ Timestamps = (*Oracle)(nil)
)
