package posting

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"golang.org/x/sys/unix"
)

// FormatVersion is the version of the engine's own state that this package
// writes, and the newest that it reads.
const FormatVersion = 1

// State is what the engine keeps beside the Badger directory. It is small, and
// written whole.
type State struct {
	// Format is the version of the state's layout.
	Format int `json:"format"`
	// NextUID is the first uid that no lease has taken, 0 where it is not known
	// and the store has to be scanned.
	NextUID uint64 `json:"next_uid"`
	// LastTS is a timestamp that no version of the store is above, as far as
	// this engine wrote it and closed it.
	LastTS uint64 `json:"last_ts"`
	// Leasing says that whoever has the store open, or had when the process ended
	// without a Close, leases uids: NextUID is then above all that the log names.
	// Open takes it back.
	Leasing bool `json:"leasing,omitempty"`
	// Applied is the mark of a log that feeds the engine: proposals at or below
	// it need not be given again.
	Applied uint64 `json:"applied"`
	// Horizon is the timestamp below which versions may be gone.
	Horizon uint64 `json:"horizon"`
	// Alter is what a change of the schema that is under way wants to be
	// remembered, in a form that only its author reads; empty for none.
	Alter string `json:"alter,omitempty"`
}

// stateDir is the open folder of the engine's own state, and the lock on it.
// Its methods may be called from any goroutine.
type stateDir struct {
	path string
	lock *os.File
	mu   struct {
		sync.Mutex
		state State
	}
}

const (
	stateName = "state.json"
	lockName  = "LOCK"
)

// openStateDir makes the folder if need be, locks it and reads the state; a
// missing one is the zero State of the present format.
func openStateDir(path string) (*stateDir, error) {
	if err := os.MkdirAll(path, 0o755); err != nil {
		return nil, err
	}
	lock, err := os.OpenFile(filepath.Join(path, lockName), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	d := &stateDir{path: path, lock: lock}
	err = unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		err = fmt.Errorf("%s: %w", path, ErrInUse)
	}
	if err == nil {
		err = d.read()
	}
	if err != nil {
		lock.Close()
		return nil, err
	}
	return d, nil
}

func (d *stateDir) read() error {
	name := filepath.Join(d.path, stateName)
	data, err := os.ReadFile(name)
	if errors.Is(err, os.ErrNotExist) {
		d.mu.state.Format = FormatVersion
		return nil
	}
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, &d.mu.state); err != nil {
		return fmt.Errorf("%s: %w: %w", name, ErrBadState, err)
	}
	if f := d.mu.state.Format; f > FormatVersion {
		return fmt.Errorf("%s: format %d, and this program reads up to %d: %w", name, f, FormatVersion, ErrNewerFormat)
	} else if f < 1 {
		return fmt.Errorf("%s: %w: format %d", name, ErrBadState, f)
	}
	return nil
}

// get returns the state as it stands.
func (d *stateDir) get() State {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.mu.state
}

// update changes the state and makes the change durable before it returns. On
// an error the state is as it was.
func (d *stateDir) update(change func(*State)) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	next := d.mu.state
	change(&next)
	if next == d.mu.state {
		if _, err := os.Stat(filepath.Join(d.path, stateName)); err == nil {
			return nil
		}
	}
	if err := writeDurably(filepath.Join(d.path, stateName), next); err != nil {
		return fmt.Errorf("state: %w", err)
	}
	d.mu.state = next
	return nil
}

// writeDurably replaces the file by one that is synced, and syncs the folder.
func writeDurably(name string, state State) error {
	data, err := json.Marshal(state)
	if err != nil {
		return err
	}
	tmp, err := os.CreateTemp(filepath.Dir(name), ".state-*")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name())
	_, err = tmp.Write(append(data, '\n'))
	err = errors.Join(err, tmp.Sync(), tmp.Close())
	if err != nil {
		return err
	}
	if err := os.Rename(tmp.Name(), name); err != nil {
		return err
	}
	return syncDir(filepath.Dir(name))
}

func syncDir(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

func (d *stateDir) close() error { return d.lock.Close() }
