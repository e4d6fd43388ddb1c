package posting

import (
	"fmt"
	"os"
)

// Scratch is a file for what does not fit into memory for a while. It has no
// name, so nothing of it is left when it is closed or the process ends. It is
// written by one goroutine and may then be read by any number.
type Scratch struct {
	file  *os.File
	space *spaceGuard
}

// Scratch returns an empty one, beside the engine's own state; for a store in
// memory it is where the operating system has temporary files.
func (s *Store) Scratch() (*Scratch, error) {
	dir := ""
	if s.state != nil {
		dir = s.state.path
	}
	file, err := os.CreateTemp(dir, ".scratch-*")
	if err != nil {
		return nil, fmt.Errorf("scratch file: %w", err)
	}
	if err := os.Remove(file.Name()); err != nil {
		file.Close()
		return nil, fmt.Errorf("scratch file: %w", err)
	}
	return &Scratch{file: file, space: &s.committer.space}, nil
}

// Write appends to the file. Like a commit it leaves the reserve of the disk
// alone: ErrNoSpace.
func (s *Scratch) Write(b []byte) (int, error) {
	free, err := s.space.free()
	if err != nil {
		return 0, err
	}
	if free < int64(len(b)) {
		return 0, fmt.Errorf("scratch file: %w: %d bytes are left above the reserve of %d", ErrNoSpace, free, s.space.reserve)
	}
	return s.file.Write(b)
}

// ReadAt implements io.ReaderAt.
func (s *Scratch) ReadAt(b []byte, off int64) (int, error) { return s.file.ReadAt(b, off) }

// Close gives the file's space back.
func (s *Scratch) Close() error { return s.file.Close() }
