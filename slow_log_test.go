package edgemill

import (
	"math/rand/v2"
	"os"
	"time"

	"github.com/edgemill/edgemill/posting"
)

// slowLog is a commit log's file system whose syncs take up to a time, at random,
// and keep nothing durable: so commits that were decided together are on their way
// for long, and become readable at different times.
type slowLog struct{ upTo time.Duration }

var _ posting.LogFS = slowLog{}

func (l slowLog) Create(name string) (posting.LogFile, error) {
	return l.open(name, os.O_RDWR|os.O_CREATE|os.O_TRUNC)
}

func (l slowLog) Open(name string) (posting.LogFile, error) { return l.open(name, os.O_RDONLY) }

func (l slowLog) open(name string, flag int) (posting.LogFile, error) {
	f, err := os.OpenFile(name, flag, 0o644)
	if err != nil {
		return nil, err
	}
	return slowLogFile{f, l.upTo}, nil
}

func (slowLog) Rename(from, to string) error { return os.Rename(from, to) }
func (slowLog) Remove(name string) error     { return os.Remove(name) }
func (slowLog) MkdirAll(dir string) error    { return os.MkdirAll(dir, 0o755) }
func (slowLog) SyncDir(string) error         { return nil }

func (slowLog) List(dir string) (names []string, err error) {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names, err
}

type slowLogFile struct {
	*os.File
	upTo time.Duration
}

func (f slowLogFile) Sync() error {
	time.Sleep(rand.N(f.upTo))
	return nil
}

func (f slowLogFile) Allocate(int64) error { return nil }

func (f slowLogFile) Size() (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}
