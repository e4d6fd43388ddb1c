package edgemill

import (
	"context"

	"github.com/edgemill/edgemill/posting"
)

// write stores the entries as one commit and waits until they can be read. With
// an error, durable says whether they will be there when the store is opened
// again.
func (db *DB) write(ctx context.Context, ts uint64, entries []posting.Entry) (durable bool, err error) {
	if err := db.alterLimits.reach(atWrite); err != nil {
		return false, err
	}
	readable := make(chan error, 1)
	c := posting.Commit{TS: ts, Entries: entries, Readable: func(err error) { readable <- err }}
	if err := db.store.Commit(ctx, c); err != nil {
		return false, err
	}
	return true, <-readable
}

// entryWriter stores entries in commits of bounded size, each at a timestamp of
// its own, or all at one that the caller has. They become readable commit by
// commit; who must not see some without the others is kept away by its user.
type entryWriter struct {
	db *DB
	// fixed is the timestamp of all commits, 0 where each takes its own.
	fixed uint64

	ts      uint64
	release func()
	entries []posting.Entry
	size    int
}

// entryOverhead is about what an entry takes in memory beside its key and value.
const entryOverhead = 96

// version returns the timestamp of the commit that the next entries go into.
func (w *entryWriter) version(ctx context.Context) (uint64, error) {
	if w.fixed != 0 {
		return w.fixed, nil
	}
	if w.release == nil {
		ts, release, err := w.db.oracle.Timestamp(ctx)
		if err != nil {
			return 0, err
		}
		w.ts, w.release = ts, release
	}
	return w.ts, nil
}

// add takes entries that belong together; it keeps them and what they alias.
func (w *entryWriter) add(ctx context.Context, entries ...posting.Entry) error {
	for i := range entries {
		w.size += len(entries[i].Key) + len(entries[i].Value) + entryOverhead
	}
	w.entries = append(w.entries, entries...)
	if w.size < w.db.alterLimits.commit {
		return nil
	}
	return w.flush(ctx)
}

// flush stores what was added. It is called at the end.
func (w *entryWriter) flush(ctx context.Context) error {
	if len(w.entries) == 0 {
		return nil
	}
	ts, err := w.version(ctx)
	if err == nil {
		_, err = w.db.write(ctx, ts, w.entries)
	}
	w.entries, w.size = nil, 0
	w.close()
	return err
}

// close gives the timestamp back; what was not flushed is dropped. It may be
// repeated.
func (w *entryWriter) close() {
	if w.release != nil {
		w.release()
		w.release = nil
	}
}

// alterLimits bound the memory of an Alter, in bytes.
type alterLimits struct {
	// postings is for the postings of derived lists that wait to be sorted.
	postings int
	// commit is about the size of one commit.
	commit int
	// at, if not nil, is called before each write of an Alter, which fails with
	// its error: tests let a crash or a fault come there.
	at func(alterPoint) error
}

// alterPoint is what an Alter is about to do.
type alterPoint int

const (
	// atWrite: write a commit.
	atWrite alterPoint = iota
	// atNote: write the note, or take it away.
	atNote
)

func (l *alterLimits) reach(p alterPoint) error {
	if l.at == nil {
		return nil
	}
	return l.at(p)
}

func defaultAlterLimits() alterLimits { return alterLimits{postings: 64 << 20, commit: 4 << 20} }
