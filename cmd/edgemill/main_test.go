package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/rogpeppe/go-internal/testscript"
	"go.uber.org/goleak"

	"github.com/edgemill/edgemill"
	"github.com/edgemill/edgemill/mutation"
	"github.com/edgemill/edgemill/schema/value"
)

// TestMain lets this binary be the command, for the scripts and for tests that
// start it.
func TestMain(m *testing.M) {
	testscript.Main(leakChecked{m}, map[string]func(){"edgemill": main})
}

// leakChecked runs the tests and looks for goroutines that are left.
type leakChecked struct{ m *testing.M }

// Run implements testscript.TestingM.
func (l leakChecked) Run() int {
	code := l.m.Run()
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

// TestScripts runs the transcripts: command lines, and what they are to print.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"gzip":    gzipFile,
			"cut":     cutFile,
			"notutf8": writeNotUTF8,
			"longkey": writeLongKey,
			"hold":    holdStore,
			"break":   breakIndex,
		},
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
	})
}

// gzipFile is `gzip FROM TO`.
func gzipFile(ts *testscript.TestScript, _ bool, args []string) {
	f, err := os.Create(ts.MkAbs(args[1]))
	ts.Check(err)
	z := gzip.NewWriter(f)
	_, err = z.Write([]byte(ts.ReadFile(args[0])))
	ts.Check(err)
	ts.Check(z.Close())
	ts.Check(f.Close())
}

// cutFile is `cut FILE`: it takes the last 9 bytes off.
func cutFile(ts *testscript.TestScript, _ bool, args []string) {
	data := ts.ReadFile(args[0])
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(data[:len(data)-9]), 0o644))
}

// writeNotUTF8 is `notutf8 FILE`: its second line is no UTF-8.
func writeNotUTF8(ts *testscript.TestScript, _ bool, args []string) {
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte("<0x1> <age> \"1\" .\n<0x1> <name> \"\xff\" .\n"), 0o644))
}

// writeLongKey is `longkey FILE`: an exact token of 70,000 bytes.
func writeLongKey(ts *testscript.TestScript, _ bool, args []string) {
	text := `<0x1> <name> "` + strings.Repeat("x", 70_000) + `" .`
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text), 0o644))
}

// holdStore is `hold DIR`: the store stays open until the script ends.
func holdStore(ts *testscript.TestScript, _ bool, args []string) {
	db, err := edgemill.Open(context.Background(), edgemill.Options{Dir: ts.MkAbs(args[0])})
	ts.Check(err)
	ts.Defer(func() { ts.Check(db.Close()) })
}

// breakIndex is `break DIR PREDICATE`: uid 1 gets another value, and its old
// one stays in the index.
func breakIndex(ts *testscript.TestScript, _ bool, args []string) {
	ctx := context.Background()
	db, err := edgemill.Open(ctx, edgemill.Options{Dir: ts.MkAbs(args[0])})
	ts.Check(err)
	txn, err := db.Begin(ctx)
	ts.Check(err)
	txn.Fresh(mutation.UIDRange{First: 1, Last: 1}) // which is not true
	_, err = txn.Mutate(ctx, []mutation.Edge{{
		Subject: 1, Predicate: args[1], Value: value.Value{Data: []byte("another")},
	}})
	ts.Check(err)
	_, err = txn.Commit(ctx)
	ts.Check(err)
	ts.Check(db.Close())
}
