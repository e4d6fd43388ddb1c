package edgemill

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync/atomic"

	"github.com/edgemill/edgemill/conflict"
	"github.com/edgemill/edgemill/posting"
)

// calls counts the calls that use the store, so that Close can come at any
// moment: it ends those that wait, waits for those that run, and lets none in
// afterwards. Entering takes no lock, since every client does it.
type calls struct {
	// running is the number of calls; closing is added when the DB closes, which
	// makes it negative from then on.
	running atomic.Int64
	// idle is sent to when a call leaves as the last one of a DB that closes.
	idle chan struct{}
	// open is cancelled when the DB closes.
	open context.Context
	end  context.CancelCauseFunc
}

const closing = math.MinInt64 / 2

func newCalls() *calls {
	c := &calls{idle: make(chan struct{}, 1)}
	c.open, c.end = context.WithCancelCause(context.Background())
	return c
}

// enter lets a call use the store until leave, or is ErrClosed.
func (c *calls) enter() error {
	if c.running.Add(1) < 0 {
		c.leave()
		return ErrClosed
	}
	return nil
}

func (c *calls) leave() {
	if c.running.Add(-1) != closing {
		return
	}
	select {
	case c.idle <- struct{}{}:
	default: // Another one has said so.
	}
}

// close lets no call in any more, and ends those that look at the contexts of
// enterLong and stoppable. It reports whether this was the first close.
func (c *calls) close() bool {
	for {
		n := c.running.Load()
		if n < 0 {
			return false
		}
		if c.running.CompareAndSwap(n, n+closing) {
			c.end(ErrClosed)
			return true
		}
	}
}

// wait returns when no call runs any more. It follows close.
func (c *calls) wait() {
	for c.running.Load() != closing {
		<-c.idle
	}
}

// enterLong is enter for a call that may take long: it returns a context that
// ends also when the DB closes, then with the cause ErrClosed, and what to call in
// place of leave.
func (c *calls) enterLong(ctx context.Context) (context.Context, func(), error) {
	if err := c.enter(); err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(c.open, func() { cancel(ErrClosed) })
	return ctx, func() {
		stop()
		cancel(nil)
		c.leave()
	}, nil
}

// closedError makes ErrClosed of an error that came about because the DB
// closes: of what the rooms below say, and of a context of enterLong.
func (c *calls) closedError(ctx context.Context, err error) error {
	switch {
	case err == nil || errors.Is(err, ErrClosed):
		return err
	case errors.Is(err, conflict.ErrClosed), errors.Is(err, posting.ErrClosed), context.Cause(ctx) == ErrClosed,
		// open ends a moment before the contexts that end with it.
		c.open.Err() != nil && errors.Is(err, context.Canceled):
		return fmt.Errorf("%w: %w", ErrClosed, err)
	}
	return err
}

// stoppable is a context that ends when the DB closes, for who only asks it for
// its error: it costs no lock that all clients share.
func (c *calls) stoppable(ctx context.Context) context.Context { return stoppable{ctx, c} }

// stoppable is a context that has an error when the DB closes.
type stoppable struct {
	context.Context
	calls *calls
}

// Err is ErrClosed when the DB closes.
func (s stoppable) Err() error {
	if err := s.Context.Err(); err != nil {
		return err
	}
	if s.calls.running.Load() < 0 {
		return ErrClosed
	}
	return nil
}
