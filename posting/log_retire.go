package posting

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// retirer removes log segments whose commits are durable without them. It
// belongs to the goroutine of the writer.
//
// That a commit was written to Badger says nothing: it lies in a memory table
// whose own log is not synced. It is durable once that table was flushed, which
// writes and syncs a table file and the manifest. Badger does not tell, but
// while a memory table is not flushed, at most NumMemtables full ones and the
// active one can stand behind it before writes wait; and a memory table takes
// at most one batch more than MemTableSize. So what was in the memory tables
// when Badger had taken n bytes is flushed when it has taken
//
//	n + (NumMemtables + 2) x (MemTableSize + MaxBatchSize)
//
// bytes of keys and of values that are not in the value log. The files of the
// value log, and the folder that the tables are in, Badger leaves unsynced; the
// retirer syncs them.
type retirer struct {
	log    *commitLog
	writer *badgerWriter
	dir    string
	// grace is how many bytes Badger has to take after a segment's last commit.
	grace int64
	// current is the segment whose commits are being written.
	current uint64
	// sealed are the segments before it, oldest first.
	sealed []sealedSegment
	// spilled is how many values had gone to the value log when it was last
	// synced, and valueFile the newest of its files then.
	spilled   int64
	valueFile uint64
}

// sealedSegment is a segment whose commits are all in Badger.
type sealedSegment struct {
	// due is when it may go, as badgerWriter.taken counts.
	due int64
	// spilled is how many values had gone to the value log by its end.
	spilled int64
}

func newRetirer(log *commitLog, w *badgerWriter) *retirer {
	opts := w.db.Opts()
	return &retirer{
		log: log, writer: w, dir: opts.Dir,
		grace: int64(opts.NumMemtables+2) * (opts.MemTableSize + w.db.MaxBatchSize()),
	}
}

// reached notes that the next commits to be written are of a segment, so that
// those of the segments before it all are in Badger.
func (r *retirer) reached(segment uint64) {
	for ; r.current < segment; r.current++ {
		r.sealed = append(r.sealed, sealedSegment{due: r.writer.taken + r.grace, spilled: r.writer.spilled})
	}
}

// retire removes the segments that are no longer needed. After an error it
// waits for more bytes before it tries again.
func (r *retirer) retire() error {
	for len(r.sealed) > 0 && r.writer.taken > r.sealed[0].due {
		err := r.settle(r.sealed[0])
		if err == nil {
			err = r.log.removeOldest()
		}
		if err != nil {
			r.sealed[0].due = r.writer.taken + r.grace/16
			return fmt.Errorf("commit log: remove a segment: %w", err)
		}
		r.sealed = r.sealed[1:]
	}
	return nil
}

// settle makes durable what Badger leaves unsynced of a flushed segment.
func (r *retirer) settle(s sealedSegment) error {
	if s.spilled > r.spilled {
		if err := r.syncValues(); err != nil {
			return err
		}
	}
	return syncDir(r.dir)
}

// valueSuffix ends the names of the value log's files, which begin with their
// number.
const valueSuffix = ".vlog"

// syncValues syncs the files of the value log that may have been written to
// since it was last called.
func (r *retirer) syncValues() error {
	spilled := r.writer.spilled
	numbers, err := numberedFiles(r.dir, valueSuffix)
	if err != nil {
		return err
	}
	for _, n := range numbers {
		if n < r.valueFile {
			continue
		}
		if err := syncFile(filepath.Join(r.dir, fmt.Sprintf("%06d%s", n, valueSuffix))); err != nil {
			return err
		}
	}
	if len(numbers) > 0 {
		r.valueFile = numbers[len(numbers)-1]
	}
	r.spilled = spilled
	return nil
}

// numberedFiles returns the numbers of a folder's files with a suffix,
// ascending.
func numberedFiles(dir, suffix string) ([]uint64, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var numbers []uint64
	for _, e := range entries {
		digits, ok := strings.CutSuffix(e.Name(), suffix)
		if n, err := strconv.ParseUint(digits, 10, 64); ok && err == nil {
			numbers = append(numbers, n)
		}
	}
	slices.Sort(numbers)
	return numbers, nil
}

// syncFile syncs a file that somebody else has mapped; one that is gone needs
// no sync.
func syncFile(name string) error {
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
