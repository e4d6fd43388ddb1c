package mutation

import (
	"errors"
	"fmt"
)

// Errors that an EdgeError wraps.
var (
	// ErrUnknownPredicate: the schema has no such predicate.
	ErrUnknownPredicate = errors.New("predicate is not in the schema")
	// ErrBadEdge: the edge's parts do not go together, or not with the schema.
	ErrBadEdge = errors.New("edge not possible")
	// ErrNotUnique: another subject holds the value of a @unique predicate.
	ErrNotUnique = errors.New("value is held by another subject")
)

// EdgeError says which edge failed a batch, and why.
type EdgeError struct {
	// Index is the edge's place in Batch.Edges.
	Index     int
	Predicate string
	Subject   uint64
	Err       error
}

// shownName is how many bytes of a predicate's name an error shows.
const shownName = 80

// Error names the predicate, the subject and the reason.
func (e *EdgeError) Error() string {
	name := e.Predicate
	if len(name) > shownName {
		name = name[:shownName] + "..."
	}
	return fmt.Sprintf("predicate %q, subject %#x: %v", name, e.Subject, e.Err)
}

// Unwrap returns the reason.
func (e *EdgeError) Unwrap() error { return e.Err }

func badEdge(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrBadEdge}, args...)...)
}
