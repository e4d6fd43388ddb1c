package posting

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
)

// ErrTooOld: what the store held at that timestamp is not known any more.
var ErrTooOld = errors.New("the timestamp is too old")

// horizon is the timestamp below which versions may be gone.
type horizon struct {
	at atomic.Uint64
	// raising is held by who raises it.
	raising sync.Mutex
}

// take raises it to the timestamp.
func (h *horizon) take(ts uint64) {
	for {
		at := h.at.Load()
		if at >= ts || h.at.CompareAndSwap(at, ts) {
			return
		}
	}
}

// openHorizon takes up the horizon that the state names.
func (s *Store) openHorizon() {
	h := s.State().Horizon
	s.horizon.take(h)
	s.db.SetDiscardTs(h)
}

// Horizon returns the timestamp below which every read is ErrTooOld.
func (s *Store) Horizon() uint64 { return s.horizon.at.Load() }

// RaiseHorizon lets Badger drop, as it compacts, the versions that nobody sees
// who reads at or above the timestamp. The caller answers for it that nobody
// reads below, now or later, and nothing is committed at or below that is not
// readable yet. Where a log feeds the store (Commit.Applied), the horizon does
// not pass its mark. It never falls.
//
// The horizon is durable before the first version goes, so that also after a
// crash nobody takes for the whole what is left of it.
func (s *Store) RaiseHorizon(ts uint64) error {
	s.horizon.raising.Lock()
	defer s.horizon.raising.Unlock()
	if mark := s.Applied(); mark > 0 {
		ts = min(ts, mark)
	}
	if ts <= s.Horizon() {
		return nil
	}
	err := s.UpdateState(func(st *State) { st.Horizon = max(st.Horizon, ts) })
	if err != nil {
		return fmt.Errorf("horizon: %w", err)
	}
	s.db.SetDiscardTs(ts)
	return nil
}

// readable refuses a timestamp below the horizon.
func (s *Store) readable(ts uint64) error {
	if h := s.Horizon(); ts < h {
		return fmt.Errorf("%w: %d is below the horizon %d", ErrTooOld, ts, h)
	}
	return nil
}
