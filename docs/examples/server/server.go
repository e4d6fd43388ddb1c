package main

import (
	"context"
	"errors"
	"path/filepath"
	"sync"

	"github.com/edgemill/edgemill/mutation"
	"github.com/edgemill/edgemill/posting"
)

// server takes the calls of clients. Any number of goroutines may use it.
type server struct {
	mu struct {
		// The lock makes timestamps and log agree: who has a start timestamp finds
		// the decisions of all commits below it in the log already.
		sync.Mutex
		log     *replicatedLog
		zero    *zero
		replica *replica
	}
}

// openServer opens the log and the replica in a folder, and feeds the replica
// with what it lacks.
func openServer(dir, schemaText string) (*server, error) {
	replica, err := openReplica(posting.Options{Dir: filepath.Join(dir, "store")}, schemaText)
	if err != nil {
		return nil, err
	}
	s := &server{}
	last := uint64(schemaTS)
	s.mu.log, err = openLog(filepath.Join(dir, "log"), func(e entry) error {
		last = max(last, e.Start, e.Commit)
		_, err := replica.feed(e)
		return err
	})
	if err != nil {
		return nil, errors.Join(err, replica.close())
	}
	s.mu.replica, s.mu.zero = replica, newZero(last)
	return s, s.abortOpen()
}

// abortOpen decides the transactions whose clients are gone.
func (s *server) abortOpen() error {
	for start := range s.mu.replica.open {
		if _, err := s.append(entry{Start: start}); err != nil {
			return err
		}
	}
	return nil
}

// append adds to the log and feeds. The caller holds the lock.
func (s *server) append(e entry) (<-chan error, error) {
	e, err := s.mu.log.append(e)
	if err != nil {
		return nil, err
	}
	return s.mu.replica.feed(e)
}

// begin begins a transaction and returns its start timestamp.
func (s *server) begin() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mu.zero.next()
}

// mutate proposes a batch of a transaction and waits until it has been applied.
func (s *server) mutate(startTS uint64, edges []mutation.Edge) error {
	s.mu.Lock()
	done, err := s.append(entry{Start: startTS, Edges: edges})
	s.mu.Unlock()
	if err != nil {
		return err
	}
	return <-done
}

// commit has the transaction decided, and returns its commit timestamp when it
// is durable.
func (s *server) commit(ctx context.Context, startTS uint64) (uint64, error) {
	done, ts, refused, err := s.decide(ctx, startTS)
	if err == nil {
		err = <-done
	}
	if err := errors.Join(refused, err); err != nil {
		return 0, err
	}
	return ts, nil
}

// decide asks the arbiter and logs what it says; refused is its no.
func (s *server) decide(ctx context.Context, startTS uint64) (done <-chan error, ts uint64, refused, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	ts, refused = s.mu.zero.Commit(ctx, startTS, s.mu.replica.keys(startTS))
	done, err = s.append(entry{Start: startTS, Commit: ts})
	return done, ts, refused, err
}

// close ends the server when no call runs.
func (s *server) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return errors.Join(s.mu.replica.close(), s.mu.log.close())
}
