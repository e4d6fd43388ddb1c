package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"sync"
	"sync/atomic"

	"github.com/edgemill/edgemill/conflict"
	"github.com/edgemill/edgemill/mutation"
	"github.com/edgemill/edgemill/schema/value"
)

const graphSchema = `name: string @index(exact) .
	likes: [uid] @reverse @count .`

// Eight clients have people like a few others; what conflicts is run again. Run
// again in the same folder, the server goes on where it was.
func main() {
	dir := flag.String("dir", "", "folder of the log and the store; default a temporary one")
	clients := flag.Int("clients", 8, "clients at a time")
	txns := flag.Int("txns", 50, "transactions of each")
	flag.Parse()
	if err := run(*dir, *clients, *txns); err != nil {
		log.Fatal(err)
	}
}

func run(dir string, clients, txns int) (err error) {
	if dir == "" {
		if dir, err = os.MkdirTemp("", "edgemill-server-*"); err != nil {
			return err
		}
		defer os.RemoveAll(dir)
	} else if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	s, err := openServer(dir, graphSchema)
	if err != nil {
		return err
	}
	fmt.Printf("entries up to %d were applied before, the log has %d\n", s.mu.replica.applied(), s.mu.log.last)
	var conflicts atomic.Int64
	errs := make([]error, clients)
	var working sync.WaitGroup
	for c := range clients {
		working.Go(func() { errs[c] = work(s, c, txns, &conflicts) })
	}
	working.Wait()
	fmt.Printf("%d transactions, %d conflicts, the log has %d entries\n", clients*txns, conflicts.Load(), s.mu.log.last)
	return errors.Join(errors.Join(errs...), s.close())
}

// work is one client's.
func work(s *server, client, txns int, conflicts *atomic.Int64) error {
	for n := range txns {
		person, liked := uint64(1000+client*txns+n), uint64(1+n%7)
		for {
			err := like(s, person, liked)
			if err == nil {
				break
			}
			if !errors.Is(err, conflict.ErrConflict) {
				return err
			}
			conflicts.Add(1)
		}
	}
	return nil
}

// like is a transaction of two batches.
func like(s *server, person, liked uint64) error {
	start := s.begin()
	name := value.Value{Type: value.String, Data: fmt.Appendf(nil, "person %d", person)}
	return errors.Join(
		s.mutate(start, []mutation.Edge{{Subject: person, Predicate: "name", Value: name}}),
		s.mutate(start, []mutation.Edge{{Subject: person, Predicate: "likes", Object: mutation.ObjectUID, Target: liked}}),
		func() error { _, err := s.commit(context.Background(), start); return err }(),
	)
}
