package edgemill

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/edgemill/edgemill/mutation"
	"github.com/edgemill/edgemill/posting"
)

// ErrNoUIDs: all uids below 2^63 are taken.
var ErrNoUIDs = errors.New("no uids left below 2^63")

const (
	// maxLeased is the first uid that is never handed out.
	maxLeased = uint64(1) << 63
	// leaseBlock is how many uids one durable lease covers at least.
	leaseBlock = 1 << 17
)

// uidLease hands out uids. A uid is handed out only below the lease, which is
// durable: after a crash they go on above it, and what was leased and not used
// is lost. Its methods may be called from any goroutine.
type uidLease struct {
	store *posting.Store
	mu    struct {
		sync.Mutex
		next, end uint64
	}
}

// openUIDs goes on where the state says, or where a scan of the store says if
// the state is missing or another program has written since.
func openUIDs(ctx context.Context, store *posting.Store) (*uidLease, error) {
	u := &uidLease{store: store}
	state := store.State()
	u.mu.next = max(state.NextUID, 1)
	if state.NextUID == 0 || store.WrittenByOthers() {
		greatest, err := store.MaxUID(ctx, maxLeased)
		if err != nil {
			return nil, fmt.Errorf("finding the greatest uid: %w", err)
		}
		u.mu.next = max(u.mu.next, greatest+1)
	}
	u.mu.end = u.mu.next
	return u, u.keep(u.mu.end)
}

// take hands out n uids in a row.
func (u *uidLease) take(n uint64) (mutation.UIDRange, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if n == 0 || n > maxLeased-u.mu.next {
		return mutation.UIDRange{}, fmt.Errorf("%d uids: %w", n, ErrNoUIDs)
	}
	first := u.mu.next
	if err := u.extend(first + n); err != nil {
		return mutation.UIDRange{}, err
	}
	u.mu.next = first + n
	return mutation.UIDRange{First: first, Last: first + n - 1}, nil
}

// observe keeps a uid that somebody named from being handed out.
func (u *uidLease) observe(uid uint64) error {
	if uid >= maxLeased {
		return nil
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if uid < u.mu.next {
		return nil
	}
	if err := u.extend(uid + 1); err != nil {
		return err
	}
	u.mu.next = uid + 1
	return nil
}

// extend makes the lease cover all uids below to. The caller holds the lock.
func (u *uidLease) extend(to uint64) error {
	if to <= u.mu.end {
		return nil
	}
	end := min(to+leaseBlock, maxLeased)
	if err := u.keep(end); err != nil {
		return err
	}
	u.mu.end = end
	return nil
}

// keep makes it durable that no uid below end is to be handed out again, and
// that uids are leased.
func (u *uidLease) keep(end uint64) error {
	err := u.store.UpdateState(func(s *posting.State) { s.NextUID, s.Leasing = max(s.NextUID, end), true })
	if err != nil {
		return fmt.Errorf("leasing uids: %w", err)
	}
	return nil
}

// unused is the first uid that was not handed out.
func (u *uidLease) unused() uint64 {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.mu.next
}

// NewUIDs hands out n uids in a row that nobody has had or named. A
// transaction that uses them right away says so with Txn.Fresh.
func (db *DB) NewUIDs(n uint64) (mutation.UIDRange, error) {
	if err := db.calls.enter(); err != nil {
		return mutation.UIDRange{}, err
	}
	defer db.calls.leave()
	return db.uids.take(n)
}
