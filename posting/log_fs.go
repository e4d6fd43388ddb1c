package posting

import (
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// LogFS is the few file operations that the commit log needs, so that tests
// can make them fail, and can forget what was not synced. It is used from two
// goroutines at once, on different files.
type LogFS interface {
	// Create makes a file for reading and writing; one of that name that is
	// there is emptied.
	Create(name string) (LogFile, error)
	// Open opens a file that is there, for reading.
	Open(name string) (LogFile, error)
	// Rename puts a file in the place of another, at once or not at all.
	Rename(from, to string) error
	// Remove removes a file.
	Remove(name string) error
	// List returns the base names of a folder's files, in any order.
	List(dir string) ([]string, error)
	// MkdirAll makes a folder and those above it.
	MkdirAll(dir string) error
	// SyncDir makes what was created, renamed and removed in a folder durable.
	SyncDir(dir string) error
}

// LogFile is one open file of a LogFS.
type LogFile interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
	// Sync makes the file's bytes and its size durable.
	Sync() error
	Truncate(size int64) error
	// Allocate grows the file to a size in bytes, with zeros, so that the syncs
	// of later writes below it need not record a new size.
	Allocate(size int64) error
	Size() (int64, error)
}

// osFS is the operating system's file system.
type osFS struct{}

func (osFS) Create(name string) (LogFile, error) {
	return openFile(name, os.O_RDWR|os.O_CREATE|os.O_TRUNC)
}

func (osFS) Open(name string) (LogFile, error) { return openFile(name, os.O_RDONLY) }
func (osFS) Rename(from, to string) error      { return os.Rename(from, to) }
func (osFS) Remove(name string) error          { return os.Remove(name) }
func (osFS) MkdirAll(dir string) error         { return os.MkdirAll(dir, 0o755) }
func (osFS) SyncDir(dir string) error          { return syncDir(dir) }

func (osFS) List(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	return names, nil
}

type osFile struct{ *os.File }

func openFile(name string, flag int) (LogFile, error) {
	f, err := os.OpenFile(name, flag, 0o644)
	if err != nil {
		return nil, err
	}
	return osFile{f}, nil
}

// Sync leaves out the times of the file, which nobody reads.
func (f osFile) Sync() error {
	return f.retry(func() error { return unix.Fdatasync(int(f.Fd())) })
}

func (f osFile) Allocate(size int64) error {
	return f.retry(func() error { return unix.Fallocate(int(f.Fd()), 0, 0, size) })
}

// retry repeats a system call that a signal interrupted.
func (f osFile) retry(call func() error) error {
	for {
		if err := call(); err != unix.EINTR {
			return err
		}
	}
}

func (f osFile) Size() (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}
