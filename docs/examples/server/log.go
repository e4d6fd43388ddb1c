package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/edgemill/edgemill/mutation"
)

// entry is a proposal, if it has edges, or else a decision.
type entry struct {
	// Index counts entries from 1 on.
	Index uint64
	// Start is the start timestamp, and with it the name, of the transaction.
	Start uint64
	// Edges are a batch of the transaction.
	Edges []mutation.Edge `json:",omitempty"`
	// Commit is the commit timestamp of a decision, 0 for a transaction that does
	// not commit.
	Commit uint64 `json:",omitempty"`
}

func (e *entry) isProposal() bool { return len(e.Edges) > 0 }

// replicatedLog stands in for a log that several machines agree on: a file of
// one entry a line. An append is durable when it returns. It is for one goroutine
// at a time.
type replicatedLog struct {
	file *os.File
	last uint64
}

// openLog opens the file, or makes it, and calls each with what it holds. A last
// line that was not written to its end is cut off: nobody was told of it.
func openLog(path string, each func(entry) error) (*replicatedLog, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	l := &replicatedLog{file: file}
	if err := l.read(each); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: entry %d: %w", path, l.last+1, err), file.Close())
	}
	return l, nil
}

func (l *replicatedLog) read(each func(entry) error) error {
	lines := bufio.NewReader(l.file)
	size := int64(0)
	for {
		line, err := lines.ReadBytes('\n')
		if err == io.EOF {
			_, err = l.file.Seek(size, io.SeekStart)
			return errors.Join(err, l.file.Truncate(size))
		}
		if err != nil {
			return err
		}
		var e entry
		if err := json.Unmarshal(line, &e); err != nil {
			return err
		}
		if err := each(e); err != nil {
			return err
		}
		size += int64(len(line))
		l.last = e.Index
	}
}

// append gives the entry the next index and makes it durable.
func (l *replicatedLog) append(e entry) (entry, error) {
	e.Index = l.last + 1
	line, err := json.Marshal(e)
	if err != nil {
		return e, err
	}
	if _, err := l.file.Write(append(line, '\n')); err != nil {
		return e, err
	}
	l.last = e.Index
	return e, l.file.Sync()
}

func (l *replicatedLog) close() error { return l.file.Close() }
