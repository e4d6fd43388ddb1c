package posting

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"sync"
)

// memFS is a LogFS in memory that knows what was synced and can forget the
// rest, and whose operations can be made to fail.
type memFS struct {
	mu sync.Mutex
	// names is the folders as a process sees them, durable as the disk has them.
	names, durable map[string]*memInode
	// fault, if not nil, is asked before each operation. Where it returns an
	// error the operation fails; done says whether it has happened all the same,
	// in whole or (a write) in half.
	fault func(op, name string) (done bool, err error)
	// step, if not nil, is called before each operation.
	step func(op, name string)
}

// memInode is one file's bytes, written and synced.
type memInode struct {
	data, durable []byte
}

func newMemFS() *memFS {
	return &memFS{names: map[string]*memInode{}, durable: map[string]*memInode{}}
}

// crash returns what is left when the machine stops now.
func (m *memFS) crash() *memFS {
	m.mu.Lock()
	defer m.mu.Unlock()
	left := newMemFS()
	for name, inode := range m.durable {
		kept := &memInode{data: clone(inode.durable), durable: clone(inode.durable)}
		left.names[name], left.durable[name] = kept, kept
	}
	return left
}

// kill returns what is left when the process ends now: all that was written.
func (m *memFS) kill() *memFS {
	m.mu.Lock()
	defer m.mu.Unlock()
	left := newMemFS()
	for name, inode := range m.names {
		left.names[name] = &memInode{data: clone(inode.data), durable: clone(inode.durable)}
	}
	for name, inode := range m.durable {
		if m.names[name] == inode {
			left.durable[name] = left.names[name]
		}
	}
	return left
}

func clone(b []byte) []byte { return append([]byte(nil), b...) }

// do runs an operation, or fails it.
func (m *memFS) do(op, name string, f func() error) error {
	if m.step != nil {
		m.step(op, name)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fault != nil {
		if done, err := m.fault(op, name); err != nil {
			if done {
				_ = f()
			}
			return err
		}
	}
	return f()
}

func (m *memFS) Create(name string) (f LogFile, err error) {
	err = m.do("create", name, func() error {
		inode := &memInode{}
		m.names[name] = inode
		f = &memFile{fs: m, name: name, inode: inode}
		return nil
	})
	return f, err
}

func (m *memFS) Open(name string) (f LogFile, err error) {
	err = m.do("open", name, func() error {
		inode := m.names[name]
		if inode == nil {
			return &os.PathError{Op: "open", Path: name, Err: os.ErrNotExist}
		}
		f = &memFile{fs: m, name: name, inode: inode}
		return nil
	})
	return f, err
}

func (m *memFS) Rename(from, to string) error {
	return m.do("rename", to, func() error {
		m.names[to] = m.names[from]
		delete(m.names, from)
		return nil
	})
}

func (m *memFS) Remove(name string) error {
	return m.do("remove", name, func() error {
		if m.names[name] == nil {
			return &os.PathError{Op: "remove", Path: name, Err: os.ErrNotExist}
		}
		delete(m.names, name)
		return nil
	})
}

func (m *memFS) List(dir string) (names []string, err error) {
	err = m.do("list", dir, func() error {
		for name := range m.names {
			if filepath.Dir(name) == dir {
				names = append(names, filepath.Base(name))
			}
		}
		return nil
	})
	return names, err
}

func (m *memFS) MkdirAll(dir string) error {
	return m.do("mkdir", dir, func() error { return nil })
}

func (m *memFS) SyncDir(dir string) error {
	return m.do("syncdir", dir, func() error {
		for name := range m.durable {
			if filepath.Dir(name) == dir && m.names[name] == nil {
				delete(m.durable, name)
			}
		}
		for name, inode := range m.names {
			if filepath.Dir(name) == dir {
				m.durable[name] = inode
			}
		}
		return nil
	})
}

// memFile is an open file of a memFS.
type memFile struct {
	fs    *memFS
	name  string
	inode *memInode
}

func (f *memFile) ReadAt(b []byte, off int64) (n int, err error) {
	err = f.fs.do("read", f.name, func() error {
		if off < int64(len(f.inode.data)) {
			n = copy(b, f.inode.data[off:])
		}
		if n < len(b) {
			return io.EOF
		}
		return nil
	})
	return n, err
}

var errHalf = errors.New("half written")

func (f *memFile) WriteAt(b []byte, off int64) (int, error) {
	n := len(b)
	err := f.fs.do("write", f.name, func() error {
		f.grow(off + int64(n))
		copy(f.inode.data[off:], b)
		return nil
	})
	if errors.Is(err, errHalf) {
		n /= 2
		f.fs.mu.Lock()
		defer f.fs.mu.Unlock()
		f.grow(off + int64(n))
		copy(f.inode.data[off:], b[:n])
		return n, err
	}
	if err != nil {
		return 0, err
	}
	return n, nil
}

func (f *memFile) grow(size int64) {
	if n := size - int64(len(f.inode.data)); n > 0 {
		f.inode.data = append(f.inode.data, make([]byte, n)...)
	}
}

func (f *memFile) Sync() error {
	return f.fs.do("sync", f.name, func() error {
		f.inode.durable = clone(f.inode.data)
		return nil
	})
}

func (f *memFile) Truncate(size int64) error {
	return f.fs.do("truncate", f.name, func() error {
		f.grow(size)
		f.inode.data = f.inode.data[:size:size]
		return nil
	})
}

func (f *memFile) Allocate(size int64) error {
	return f.fs.do("allocate", f.name, func() error {
		f.grow(min(size, int64(len(f.inode.data))+256)) // a little, to keep tests quick
		return nil
	})
}

func (f *memFile) Size() (int64, error) {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	return int64(len(f.inode.data)), nil
}

func (f *memFile) Close() error { return f.fs.do("close", f.name, func() error { return nil }) }
