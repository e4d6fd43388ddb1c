package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
)

// Exit codes.
const (
	exitOK = iota
	// exitFailure: the data or the store did not allow it, or it was interrupted.
	exitFailure
	// exitUsage: the command line makes no sense.
	exitUsage
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// run is the whole command; it returns the exit code.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	ctx, stop := untilInterrupted(context.Background(), stderr)
	defer stop()
	out := bufio.NewWriter(stdout)
	root := newRootCommand()
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(out)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	if flushed := out.Flush(); err == nil && flushed != nil {
		err = fmt.Errorf("writing the result: %w", flushed)
	}
	return tell(err, stderr)
}

// tell tells an error and returns its exit code.
func tell(err error, stderr io.Writer) int {
	var usage *usageError
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &usage):
		fmt.Fprintf(stderr, "edgemill: %v\nusage: %s\nSee '%s --help'.\n", err, usage.cmd.UseLine(), usage.cmd.CommandPath())
		return exitUsage
	case errors.Is(err, syscall.EPIPE):
		// Who reads the result has seen enough.
	case errors.Is(err, context.Canceled):
		fmt.Fprintf(stderr, "edgemill: interrupted: %v\n", err)
	default:
		fmt.Fprintf(stderr, "edgemill: %v\n", err)
	}
	return exitFailure
}
