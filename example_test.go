package edgemill_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/edgemill/edgemill"
	"github.com/edgemill/edgemill/conflict"
	"github.com/edgemill/edgemill/mutation"
	"github.com/edgemill/edgemill/schema/value"
)

// text is an untyped literal, which becomes a value of the predicate's type.
func text(s string) value.Value { return value.Value{Type: value.Default, Data: []byte(s)} }

// open makes a small graph in memory for the examples.
func open(ctx context.Context) *edgemill.DB {
	db, err := edgemill.Open(ctx, edgemill.Options{InMemory: true})
	if err != nil {
		log.Fatal(err)
	}
	err = db.Alter(ctx, `
		name: string @index(exact, term) .
		friend: [uid] @reverse @count .
	`)
	if err != nil {
		log.Fatal(err)
	}
	txn, err := db.Begin(ctx)
	if err != nil {
		log.Fatal(err)
	}
	defer txn.Discard()
	_, err = txn.Mutate(ctx, []mutation.Edge{
		{Subject: 1, Predicate: "name", Value: text("Ann Lee")},
		{Subject: 2, Predicate: "name", Value: text("Bob Lee")},
		{Subject: 3, Predicate: "name", Value: text("Cy Young")},
		{Subject: 1, Predicate: "friend", Object: mutation.ObjectUID, Target: 2},
		{Subject: 1, Predicate: "friend", Object: mutation.ObjectUID, Target: 3},
		{Subject: 2, Predicate: "friend", Object: mutation.ObjectUID, Target: 3},
	})
	if err != nil {
		log.Fatal(err)
	}
	if _, err := txn.Commit(ctx); err != nil {
		log.Fatal(err)
	}
	return db
}

// The way of an edge: a schema says what the predicates are, a transaction
// takes edges, a view reads what was committed.
func Example() {
	ctx := context.Background()
	db, err := edgemill.Open(ctx, edgemill.Options{InMemory: true})
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	if err := db.Alter(ctx, `name: string @index(exact) .`); err != nil {
		log.Fatal(err)
	}

	txn, err := db.Begin(ctx)
	if err != nil {
		log.Fatal(err)
	}
	defer txn.Discard()
	fresh, err := db.NewUIDs(1)
	if err != nil {
		log.Fatal(err)
	}
	txn.Fresh(fresh)
	_, err = txn.Mutate(ctx, []mutation.Edge{
		{Subject: fresh.First, Predicate: "name", Value: text("Ann")},
	})
	if err != nil {
		log.Fatal(err)
	}
	if _, err := txn.Commit(ctx); err != nil {
		log.Fatal(err)
	}

	view, err := db.View(ctx, 0)
	if err != nil {
		log.Fatal(err)
	}
	defer view.Close()
	found, err := view.Lookup("name", "exact", "Ann", "")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(found), found[0] == fresh.First)
	// Output: 1 true
}

func ExampleView_Lookup() {
	ctx := context.Background()
	db := open(ctx)
	defer db.Close()
	view, err := db.View(ctx, 0)
	if err != nil {
		log.Fatal(err)
	}
	defer view.Close()
	// What is found has all the words, in any order.
	for uid, err := range view.LookupFrom("name", "term", "lee", "", 0) {
		if err != nil {
			log.Fatal(err)
		}
		name, _, err := view.Value(uid, "name")
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%#x %s\n", uid, name.Data)
	}
	// Output:
	// 0x1 Ann Lee
	// 0x2 Bob Lee
}

func ExampleView_Sources() {
	ctx := context.Background()
	db := open(ctx)
	defer db.Close()
	view, err := db.View(ctx, 0)
	if err != nil {
		log.Fatal(err)
	}
	defer view.Close()
	sources, err := view.Sources(3, "friend")
	if err != nil {
		log.Fatal(err)
	}
	popular, err := view.ByReverseCount("friend", 2)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("friends of 3:", sources)
	fmt.Println("with two such friends:", popular)
	// Output:
	// friends of 3: [1 2]
	// with two such friends: [3]
}

// A transaction sees its own batches, and nobody else does before it commits.
func ExampleTxn_View() {
	ctx := context.Background()
	db := open(ctx)
	defer db.Close()
	txn, err := db.Begin(ctx)
	if err != nil {
		log.Fatal(err)
	}
	defer txn.Discard()
	_, err = txn.Mutate(ctx, []mutation.Edge{
		{Subject: 1, Predicate: "friend", Op: mutation.Delete, Object: mutation.ObjectStar},
	})
	if err != nil {
		log.Fatal(err)
	}
	outside, err := db.View(ctx, 0)
	if err != nil {
		log.Fatal(err)
	}
	defer outside.Close()
	for _, view := range []*edgemill.View{txn.View(), outside} {
		n, err := view.Count(1, "friend")
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(n)
	}
	// Output:
	// 0
	// 2
}

// Of two transactions that write the same, the one that commits first wins. The
// other one is begun again.
func ExampleTxn_Commit() {
	ctx := context.Background()
	db := open(ctx)
	defer db.Close()
	var txns []*edgemill.Txn
	for _, name := range []string{"Ann", "Annie"} {
		txn, err := db.Begin(ctx)
		if err != nil {
			log.Fatal(err)
		}
		defer txn.Discard()
		if _, err := txn.Mutate(ctx, []mutation.Edge{{Subject: 1, Predicate: "name", Value: text(name)}}); err != nil {
			log.Fatal(err)
		}
		txns = append(txns, txn)
	}
	for _, txn := range txns {
		_, err := txn.Commit(ctx)
		fmt.Println(errors.Is(err, conflict.ErrConflict))
	}
	// Output:
	// false
	// true
}

func ExampleDB_Verify() {
	ctx := context.Background()
	db := open(ctx)
	defer db.Close()
	report, err := db.Verify(ctx, edgemill.VerifyOptions{
		Violation: func(v edgemill.Violation) { fmt.Println(v) },
	})
	if err != nil {
		log.Fatal(err)
	}
	for _, p := range report.Predicates {
		fmt.Println(p.Predicate, p.Subjects, p.Postings)
	}
	fmt.Println("nothing wrong:", report.OK())
	// Output:
	// friend 2 3
	// name 3 3
	// nothing wrong: true
}
