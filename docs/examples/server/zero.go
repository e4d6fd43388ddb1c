package main

import (
	"context"

	"github.com/edgemill/edgemill/conflict"
)

// zero is an arbiter that knows only exclusive keys: it remembers the last
// commit of each, and nothing else. It is for one goroutine at a time.
type zero struct {
	last    uint64
	commits map[uint64]uint64
}

var _ conflict.Arbiter = (*zero)(nil)

// newZero goes on above the timestamps handed out before. What it does not know
// of was committed below them, and every transaction of before is over.
func newZero(last uint64) *zero { return &zero{last: last, commits: make(map[uint64]uint64)} }

func (z *zero) next() uint64 {
	z.last++
	return z.last
}

// Commit implements conflict.Arbiter. The keys are taken as conflict.Safe has
// them: two transactions that add to one list conflict, which an arbiter that
// knows shared keys would let pass.
func (z *zero) Commit(ctx context.Context, startTS uint64, keys conflict.Set) (uint64, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	all := keys.Keys(conflict.Safe)
	for _, key := range all {
		if ts := z.commits[key]; ts > startTS {
			return 0, &conflict.ConflictError{Key: key, StartTS: startTS, CommitTS: ts}
		}
	}
	ts := z.next()
	for _, key := range all {
		z.commits[key] = ts
	}
	return ts, nil
}

// Acknowledged implements conflict.Arbiter. Who begins takes a new timestamp,
// above every commit.
func (z *zero) Acknowledged(uint64) {}

// Visible implements conflict.Arbiter. Each replica waits for its own commits.
func (z *zero) Visible(uint64) {}

// Abandoned implements conflict.Arbiter. A decision is in the log, so no commit
// is given up: it is made again when the replica is opened again.
func (z *zero) Abandoned(uint64) {}
