package posting

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// dropUnfinished removes from a Badger folder the files that a killed process
// had made but not yet given a size. There is nothing in them, and Badger, which
// gives a size to its memory tables' logs and its value log in a second step,
// does not open where it finds one. Nothing is done in a folder that is not
// there; one that another process has open is ErrInUse.
func dropUnfinished(dir string) error {
	folder, err := os.Open(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer folder.Close()
	// Badger's own lock on a folder, held while the files are looked at: they
	// might be in the making.
	err = unix.Flock(int(folder.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return fmt.Errorf("%s: %w", dir, ErrInUse)
	}
	if err != nil {
		return fmt.Errorf("lock %s: %w", dir, err)
	}
	entries, err := folder.ReadDir(-1)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if ext := filepath.Ext(e.Name()); ext == memSuffix || ext == valueSuffix {
			err = errors.Join(err, dropEmpty(filepath.Join(dir, e.Name())))
		}
	}
	return err
}

// tablesLeft is the MemTableSize that the memory tables need which a process left
// behind when it ended without a Close, 0 for none. Badger ends the process where one
// was filled under a larger size than it is opened with. It makes their files twice
// as large as the tables.
func tablesLeft(dir string) (int64, error) {
	names, err := filepath.Glob(filepath.Join(dir, "*"+memSuffix))
	if err != nil {
		return 0, err
	}
	var largest int64
	for _, name := range names {
		info, err := os.Stat(name)
		if err != nil {
			return 0, err
		}
		largest = max(largest, info.Size()/2)
	}
	return largest, nil
}

// memSuffix ends the names of the logs of Badger's memory tables.
const memSuffix = ".mem"

func dropEmpty(name string) error {
	info, err := os.Stat(name)
	if err != nil || info.Size() > 0 {
		return err
	}
	return os.Remove(name)
}
