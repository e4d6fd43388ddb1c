package loader

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/edgemill/edgemill/ingest"
)

// readNames reads a file of names; one that is missing has none.
func readNames(path string) (*ingest.Names, error) {
	f, err := os.Open(path)
	if os.IsNotExist(err) {
		return ingest.NewNames(), nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return ingest.LoadNames(f)
}

// writeNames replaces the file by one that is synced, so that a crash leaves
// the old one or the new one.
func writeNames(path string, names *ingest.Names) error {
	tmp, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name())
	err = names.Save(tmp)
	if err = errors.Join(err, tmp.Chmod(0o644), tmp.Sync(), tmp.Close()); err != nil {
		return err
	}
	if err := os.Rename(tmp.Name(), path); err != nil {
		return err
	}
	return syncDir(filepath.Dir(path))
}

func syncDir(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
