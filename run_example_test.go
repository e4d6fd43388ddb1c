package edgemill_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"log"
	"sync"

	"github.com/edgemill/edgemill"
	"github.com/edgemill/edgemill/mutation"
	"github.com/edgemill/edgemill/schema/value"
)

// Fifty clients count visits of one page. Each reads the number and writes the
// next one; RunTxn lets them wait for each other, and does again what met
// another one all the same.
func ExampleDB_RunTxn() {
	ctx := context.Background()
	db, err := edgemill.Open(ctx, edgemill.Options{InMemory: true})
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	if err := db.Alter(ctx, "visits: int ."); err != nil {
		log.Fatal(err)
	}
	const page = 1
	visits := func(n int64) []mutation.Edge {
		v := value.Value{Type: value.Int, Data: value.AppendInt(nil, n)}
		return []mutation.Edge{{Subject: page, Predicate: "visits", Value: v}}
	}
	visit := func(ctx context.Context, txn *edgemill.Txn) error {
		var n int64
		now, ok, err := txn.View().Value(page, "visits")
		if err != nil {
			return err
		}
		if ok {
			n = int64(binary.LittleEndian.Uint64(now.Data))
		}
		_, err = txn.Mutate(ctx, visits(n+1))
		return err
	}
	var clients sync.WaitGroup
	for range 50 {
		clients.Go(func() {
			// What visit writes depends on what it reads, so there is no first batch;
			// Expect says on which subject and predicate it will be.
			if _, err := db.RunTxn(ctx, nil, visit, edgemill.Expect(visits(0))); err != nil {
				log.Fatal(err)
			}
		})
	}
	clients.Wait()

	view, err := db.View(ctx, 0)
	if err != nil {
		log.Fatal(err)
	}
	defer view.Close()
	total, _, err := view.Value(page, "visits")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(binary.LittleEndian.Uint64(total.Data), "visits")
	// Output: 50 visits
}
