package posting

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/dgraph-io/badger/v4"
)

// Errors of opening a store.
var (
	// ErrNoStore: the directory holds no store, and none may be made there.
	ErrNoStore = errors.New("no store")
	// ErrInUse: another process, or another Store of this one, has it open.
	ErrInUse = errors.New("store is in use")
	// ErrNewerFormat: a newer program wrote the engine's state.
	ErrNewerFormat = errors.New("store is of a newer format")
	// ErrBadState: the engine's state cannot be read.
	ErrBadState = errors.New("unreadable state")
)

// Options say where a store is and how it is opened. The zero value of each
// field but Dir is a sane default.
type Options struct {
	// Dir is the store's directory. The Badger directory is Dir/p, the engine's
	// own state is in Dir/edgemill; where Dir itself is a Badger directory it is
	// opened in place, and the state is in Dir.edgemill.
	Dir string
	// InMemory keeps everything in memory, and Dir is not looked at. Values, which
	// the deltas of one transaction to one list are, have to be below 1 MiB, and
	// below a tenth of MemTableSize.
	InMemory bool
	// MustExist refuses to make a new store.
	MustExist bool
	// MemTableSize is Badger's, in bytes; default 64 MiB. Where a process that was
	// killed left larger memory tables, theirs is taken.
	MemTableSize int64
	// Commit bounds groups of commits and says how safe an answer is.
	Commit CommitOptions
	// CacheBytes is how many bytes of decoded lists a cache keeps for Snapshots;
	// 0 for no cache.
	CacheBytes int64
	// Logger takes what Badger has to say, at debug level and above; default
	// none.
	Logger *slog.Logger
}

// DefaultMemTableSize is the size in bytes of Badger's active memory table.
const DefaultMemTableSize = 64 << 20

// Store is an open Badger directory in Dgraph's layout, with the engine's own
// state beside it. Its methods may be called from any goroutine; Close is
// called once, when nothing else runs.
type Store struct {
	db        *badger.DB
	committer *Committer
	state     *stateDir // nil in memory
	memory    struct {  // takes the place of state
		sync.Mutex
		state State
	}
	opts Options

	marks  *marks
	cache  *listCache // nil for none
	hot    atomic.Pointer[hotKeys]
	newest atomic.Uint64 // the greatest version in Badger
	// byOthers is what WrittenByOthers reports.
	byOthers bool
	horizon  horizon
}

// Open opens the store in opts.Dir, or makes one in a folder that is missing
// or empty.
func Open(opts Options) (*Store, error) {
	if opts.MemTableSize == 0 {
		opts.MemTableSize = DefaultMemTableSize
	}
	s := &Store{opts: opts, marks: newMarks(cacheStripes(opts.CacheBytes))}
	if opts.InMemory {
		if err := s.openBadger(""); err != nil {
			return nil, err
		}
		return s, errors.Join(s.openCommitter(), s.openCache())
	}
	data, state, err := layout(opts.Dir, opts.MustExist)
	if err != nil {
		return nil, err
	}
	if s.state, err = openStateDir(state); err != nil {
		return nil, err
	}
	if err = s.notLost(data); err == nil {
		err = s.openBadger(data)
	}
	if err != nil {
		s.state.close()
		return nil, err
	}
	s.openHorizon()
	if err := s.openCommitter(data, state); err != nil {
		return nil, errors.Join(err, s.db.Close(), s.state.close())
	}
	return s, s.openCache()
}

// layout finds the Badger directory and the folder of the state.
func layout(dir string, mustExist bool) (data, state string, err error) {
	if dir == "" {
		return "", "", fmt.Errorf("%w: no directory given", ErrNoStore)
	}
	dir = filepath.Clean(dir)
	data, state = filepath.Join(dir, "p"), filepath.Join(dir, "edgemill")
	switch {
	case hasManifest(dir):
		return dir, dir + ".edgemill", nil
	case hasManifest(data):
		return data, state, nil
	case mustExist:
		return "", "", fmt.Errorf("%s: %w", dir, ErrNoStore)
	}
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", "", err
	}
	for _, e := range entries {
		if e.Name() != "edgemill" && e.Name() != "p" {
			return "", "", fmt.Errorf("%s: %w: it holds %q, which is not part of one", dir, ErrNoStore, e.Name())
		}
	}
	return data, state, nil
}

// notLost refuses a store of which the state is there and Badger's files are not: a
// new one in its place would be empty without a word, and a log that feeds it would
// go on behind what is gone. Where the process ended without a Close the log may
// have it all.
func (s *Store) notLost(data string) error {
	st := s.State()
	if hasManifest(data) || st.LastTS == 0 && st.Applied == 0 {
		return nil
	}
	return fmt.Errorf("%s: %w: Badger's files are missing, and %s is of a store that had commits; remove it to begin anew",
		data, ErrNoStore, s.state.path)
}

func hasManifest(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, badger.ManifestFilename))
	return err == nil
}

// maxBadgerValue is the size from which Badger keeps a value in its value log.
const maxBadgerValue = 1 << 20

// valueThreshold is that size in a store with these options.
func (o *Options) valueThreshold() int64 { return min(maxBadgerValue, o.MemTableSize/10) }

func (s *Store) openBadger(dir string) error {
	if !s.opts.InMemory {
		if err := dropUnfinished(dir); err != nil {
			return err
		}
		left, err := tablesLeft(dir)
		if err != nil {
			return err
		}
		s.opts.MemTableSize = max(s.opts.MemTableSize, left)
	}
	o := badger.DefaultOptions(dir).
		WithInMemory(s.opts.InMemory).
		WithNumVersionsToKeep(math.MaxInt32).
		WithDetectConflicts(false).
		WithMetricsEnabled(false).
		WithMemTableSize(s.opts.MemTableSize).
		WithValueThreshold(s.opts.valueThreshold()).
		WithLogger(badgerLogger{s.opts.Logger})
	db, err := badger.OpenManaged(o)
	if err != nil && strings.Contains(strings.ToLower(err.Error()), "directory lock") {
		err = ErrInUse
	}
	if err != nil {
		return fmt.Errorf("%s: %w", dir, err)
	}
	s.db = db
	s.newest.Store(db.MaxVersion())
	return nil
}

// State returns the engine's own state.
func (s *Store) State() State {
	if s.state != nil {
		return s.state.get()
	}
	s.memory.Lock()
	defer s.memory.Unlock()
	return s.memory.state
}

// UpdateState changes the state, durably before it returns. Reads go by a
// horizon in it from then on.
func (s *Store) UpdateState(change func(*State)) error {
	err := s.updateState(change)
	if err == nil {
		s.horizon.take(s.State().Horizon)
	}
	return err
}

func (s *Store) updateState(change func(*State)) error {
	if s.state != nil {
		return s.state.update(change)
	}
	s.memory.Lock()
	defer s.memory.Unlock()
	change(&s.memory.state)
	return nil
}

// MaxVersion returns the greatest version that Badger holds. A commit counts from
// when a read finds it, which can be after it was answered. Any goroutine may
// call it.
func (s *Store) MaxVersion() uint64 { return s.newest.Load() }

// WrittenByOthers reports whether Badger held a version, when the store was
// opened, that somebody wrote who does not lease uids, as another program: its
// greatest version is above the timestamp of the last clean close, and is not in
// the log of a process that had State.Leasing set.
func (s *Store) WrittenByOthers() bool { return s.byOthers }

// Close closes the store.
func (s *Store) Close() error {
	s.cache.close()
	err := errors.Join(s.closeCommitter(), s.db.Close())
	if err == nil {
		err = s.forgetLog()
	}
	if s.state != nil {
		err = errors.Join(err, s.state.close())
	}
	return err
}

// badgerLogger hands Badger's lines to a slog.Logger, if there is one.
type badgerLogger struct{ to *slog.Logger }

func (l badgerLogger) log(level slog.Level, format string, args []any) {
	ctx := context.Background()
	if l.to != nil && l.to.Enabled(ctx, level) {
		l.to.Log(ctx, level, "badger: "+strings.TrimSpace(fmt.Sprintf(format, args...)))
	}
}

func (l badgerLogger) Errorf(f string, a ...any)   { l.log(slog.LevelError, f, a) }
func (l badgerLogger) Warningf(f string, a ...any) { l.log(slog.LevelWarn, f, a) }
func (l badgerLogger) Infof(f string, a ...any)    { l.log(slog.LevelDebug, f, a) }
func (l badgerLogger) Debugf(f string, a ...any)   { l.log(slog.LevelDebug, f, a) }
