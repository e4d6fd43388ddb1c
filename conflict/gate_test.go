package conflict

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func enter(t testing.TB, g *Gate, keys Set) *Pass {
	t.Helper()
	p, err := g.Enter(t.Context(), keys)
	require.NoError(t, err)
	return p
}

// comer enters in a goroutine of its own.
type comer struct {
	keys   Set
	cancel context.CancelFunc
	pass   *Pass
	err    error
	done   atomic.Bool
}

func come(g *Gate, keys Set) *comer {
	ctx, cancel := context.WithCancel(context.Background())
	c := &comer{keys: keys, cancel: cancel}
	go func() {
		c.pass, c.err = g.Enter(ctx, keys)
		c.done.Store(true)
	}()
	synctest.Wait()
	return c
}

func (c *comer) in() bool { return c.done.Load() && c.err == nil }

func requireEmpty(t require.TestingT, g *Gate) {
	require.Zero(t, g.mu.queues.used)
	for _, queue := range g.mu.queues.slots {
		require.Nil(t, queue.head)
	}
	stats := g.Stats()
	require.Zero(t, stats.Waiting+stats.InFlight)
}

func TestGateOrder(t *testing.T) {
	for _, test := range []struct {
		name   string
		comers []Set
		in     []bool // at first
		after  []bool // after the first one's release
	}{
		{"no keys", []Set{{}, {}}, []bool{true, true}, []bool{true, true}},
		{"different keys", []Set{exclusive(1), exclusive(2)}, []bool{true, true}, []bool{true, true}},
		{"one key, in order", []Set{exclusive(1), exclusive(1), exclusive(1)},
			[]bool{true, false, false}, []bool{true, true, false}},
		{"shared beside shared", []Set{shared(1), shared(1)}, []bool{true, true}, []bool{true, true}},
		{"a shared one does not overtake", []Set{shared(1), exclusive(1), shared(1)},
			[]bool{true, false, false}, []bool{true, true, false}},
		{"all shared ones at once", []Set{exclusive(1), shared(1), shared(1), exclusive(1)},
			[]bool{true, false, false, false}, []bool{true, true, true, false}},
		{"who waits for one key keeps his place at the others", []Set{exclusive(1), exclusive(1, 2), exclusive(2)},
			[]bool{true, false, false}, []bool{true, true, false}},
		{"who meets nobody passes by", []Set{exclusive(1), exclusive(1, 2), exclusive(3)},
			[]bool{true, false, true}, []bool{true, true, true}},
		{"a shared one beside a shared one that waits elsewhere", []Set{exclusive(1), NewSet([]uint64{1}, []uint64{2}), shared(2)},
			[]bool{true, false, true}, []bool{true, true, true}},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := NewGate(0)
				var comers []*comer
				in := func() (in []bool) {
					synctest.Wait()
					for _, c := range comers {
						in = append(in, c.in())
					}
					return in
				}
				for _, keys := range test.comers {
					comers = append(comers, come(g, keys))
				}
				require.Equal(t, test.in, in())
				comers[0].pass.Release()
				require.Equal(t, test.after, in())
				for i := range comers {
					synctest.Wait()
					require.True(t, comers[i].in(), "all get in, in order")
					comers[i].pass.Release()
					comers[i].pass.Release()
					comers[i].cancel()
				}
				requireEmpty(t, g)
			})
		})
	}
}

func TestGateTryAdd(t *testing.T) {
	for _, test := range []struct {
		name              string
		own, other, asked Set
		met               uint64
	}{
		{"a free key", exclusive(1), exclusive(2), exclusive(3), 0},
		{"one that it has", exclusive(1), exclusive(2), exclusive(1), 0},
		{"one that it has exclusively, as shared", exclusive(1), exclusive(2), shared(1), 0},
		{"one that another has", exclusive(1), exclusive(2), exclusive(2, 3), 2},
		{"a shared one beside a shared one", exclusive(1), shared(2), shared(2), 0},
		{"a shared one that another has", exclusive(1), exclusive(2), shared(2, 3), 2},
		{"an exclusive one that another shares", exclusive(1), shared(2), exclusive(2, 3), 2},
		{"its shared one as exclusive", shared(1), exclusive(2), exclusive(1), 0},
		{"its shared one as exclusive, which another shares", shared(1), shared(1), exclusive(1), 1},
		{"a free key and one that another has", exclusive(1), exclusive(4), exclusive(3, 4), 4},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := NewGate(0)
			p, other := enter(t, g, test.own), enter(t, g, test.other)
			err := g.TryAdd(p, test.asked)
			third := enter(t, g, Set{})
			if test.met == 0 {
				require.NoError(t, err)
				for _, key := range test.asked.Exclusive {
					require.ErrorIs(t, g.TryAdd(third, shared(key)), ErrConflict)
				}
				for _, key := range test.asked.Shared {
					require.ErrorIs(t, g.TryAdd(third, exclusive(key)), ErrConflict)
				}
			} else {
				var conflict *ConflictError
				require.ErrorAs(t, err, &conflict)
				require.ErrorIs(t, err, ErrConflict)
				require.Equal(t, test.met, conflict.Key)
				require.Contains(t, err.Error(), "is held by one in flight")
				require.NoError(t, g.TryAdd(third, exclusive(3)), "nothing of it stays")
				require.Equal(t, uint64(1), g.Stats().Refused)
			}
			p.Release()
			require.ErrorIs(t, g.TryAdd(p, exclusive(9)), ErrReleased)
			other.Release()
			third.Release()
			requireEmpty(t, g)
		})
	}
}

// One in flight adds keys for which others wait: they wait for it too, and
// nobody hangs.
func TestGateTryAddGoesBeforeWaiters(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewGate(0)
		holder, adder := enter(t, g, exclusive(1)), enter(t, g, shared(2))
		waiter := come(g, NewSet([]uint64{1, 3}, []uint64{2}))
		sharer := come(g, NewSet([]uint64{3}, []uint64{2}))
		require.NoError(t, g.TryAdd(adder, exclusive(2, 3)))
		holder.Release()
		synctest.Wait()
		require.False(t, waiter.in(), "2 and 3 are held")
		adder.Release()
		synctest.Wait()
		require.True(t, waiter.in())
		require.False(t, sharer.in(), "3 is held")
		waiter.pass.Release()
		synctest.Wait()
		require.True(t, sharer.in())
		sharer.pass.Release()
		requireEmpty(t, g)
	})
}

func TestGateLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewGate(1)
		first := enter(t, g, exclusive(1))
		second := come(g, exclusive(1))
		_, err := g.Enter(t.Context(), exclusive(1, 2))
		require.ErrorIs(t, err, ErrGateFull)
		enter(t, g, exclusive(2)).Release() // who need not wait is not refused
		require.Equal(t, GateStats{Waits: 1, Waiting: 1, InFlight: 1, Refused: 1}, g.Stats())
		time.Sleep(time.Second)
		first.Release()
		synctest.Wait()
		require.Equal(t, GateStats{Waits: 1, WaitTime: time.Second, InFlight: 1, Refused: 1}, g.Stats())
		second.pass.Release()
		requireEmpty(t, g)
		(*Pass)(nil).Release()
	})
}

// Who waited begins above the commits of those it waited for, and of no others.
func TestGateTellsWhatToBeginAbove(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewGate(0)
		first, second, third := enter(t, g, exclusive(1)), enter(t, g, exclusive(2)), enter(t, g, exclusive(3))
		waiter, other := come(g, exclusive(1, 2)), come(g, exclusive(3))
		second.ReleaseAt(20)
		first.ReleaseAt(10)
		first.ReleaseAt(30)
		third.Release()
		synctest.Wait()
		require.EqualValues(t, 20, waiter.pass.Above())
		require.Zero(t, other.pass.Above(), "it waited for one that did not commit")
		require.Zero(t, first.Above())
		require.Zero(t, (*Pass)(nil).Above())
		waiter.pass.ReleaseAt(40)
		require.Zero(t, enter(t, g, exclusive(4)).Above())
	})
	synctest.Test(t, func(t *testing.T) {
		g := NewGate(0)
		first, second, third := enter(t, g, exclusive(1)), come(g, exclusive(1)), come(g, exclusive(1))
		first.ReleaseAt(5)
		synctest.Wait()
		second.pass.Release()
		synctest.Wait()
		require.EqualValues(t, 5, third.pass.Above(), "it waited for the first too")
	})
	synctest.Test(t, func(t *testing.T) {
		g := NewGate(0)
		first, second, third := enter(t, g, exclusive(1)), come(g, exclusive(1)), come(g, exclusive(1))
		second.cancel()
		synctest.Wait()
		first.ReleaseAt(5)
		synctest.Wait()
		require.EqualValues(t, 5, third.pass.Above())
	})
	synctest.Test(t, func(t *testing.T) {
		g := NewGate(0)
		sharer, other := enter(t, g, shared(1)), enter(t, g, shared(1))
		waiter, behind := come(g, exclusive(1)), come(g, shared(1))
		other.ReleaseAt(9)
		sharer.ReleaseAt(5)
		synctest.Wait()
		require.EqualValues(t, 9, waiter.pass.Above(), "of both that it waited for")
		waiter.pass.Release()
		synctest.Wait()
		require.EqualValues(t, 9, behind.pass.Above())
	})
}

func TestGateCancelledWaiterLeavesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewGate(0)
		first := enter(t, g, shared(1))
		second := come(g, exclusive(1, 2))
		third := come(g, shared(1, 2))
		fourth := come(g, exclusive(2))
		second.cancel()
		synctest.Wait()
		require.ErrorIs(t, second.err, context.Canceled)
		require.True(t, third.in(), "only the cancelled one kept it")
		require.False(t, fourth.in())
		fourth.cancel()
		synctest.Wait()
		require.ErrorIs(t, fourth.err, context.Canceled)
		_, err := g.Enter(cancelled(), exclusive(5))
		require.ErrorIs(t, err, context.Canceled)
		first.Release()
		third.pass.Release()
		requireEmpty(t, g)
	})
}

func cancelled() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

// gateModel keeps everybody in one list in the order of coming. Somebody waits
// as long as one in flight, or one before him in the list, meets him.
type gateModel struct {
	g       *Gate
	limit   int
	comers  []*comer
	inModel map[*comer]bool
}

func (m *gateModel) split() (in, waiting []*comer) {
	for _, c := range m.comers {
		if m.inModel[c] {
			in = append(in, c)
		} else {
			waiting = append(waiting, c)
		}
	}
	return in, waiting
}

func (m *gateModel) enter(t *rapid.T) {
	keys := drawSet(t)
	_, waiting := m.split()
	waits := slices.ContainsFunc(m.comers, func(c *comer) bool { return meet(c.keys, keys) })
	c := come(m.g, keys)
	if waits && m.limit > 0 && len(waiting) >= m.limit {
		require.ErrorIs(t, c.err, ErrGateFull)
		c.cancel()
		return
	}
	m.comers = append(m.comers, c)
}

func (m *gateModel) tryAdd(t *rapid.T) {
	in, _ := m.split()
	if len(in) == 0 {
		t.Skip("nobody in flight")
	}
	c, keys := rapid.SampledFrom(in).Draw(t, "pass"), drawSet(t)
	met := slices.ContainsFunc(in, func(other *comer) bool { return other != c && meet(other.keys, keys) })
	err := m.g.TryAdd(c.pass, keys)
	if met {
		require.ErrorIs(t, err, ErrConflict)
		return
	}
	require.NoError(t, err)
	c.keys = NewSet(slices.Concat(c.keys.Exclusive, keys.Exclusive), slices.Concat(c.keys.Shared, keys.Shared))
}

func (m *gateModel) release(t *rapid.T) {
	in, _ := m.split()
	if len(in) == 0 {
		t.Skip("nobody in flight")
	}
	c := rapid.SampledFrom(in).Draw(t, "pass")
	c.pass.Release()
	m.remove(c)
}

func (m *gateModel) cancel(t *rapid.T) {
	_, waiting := m.split()
	if len(waiting) == 0 {
		t.Skip("nobody waits")
	}
	c := rapid.SampledFrom(waiting).Draw(t, "waiter")
	c.cancel()
	synctest.Wait()
	require.ErrorIs(t, c.err, context.Canceled)
	m.remove(c)
}

func (m *gateModel) remove(c *comer) {
	c.cancel()
	delete(m.inModel, c)
	m.comers = slices.DeleteFunc(m.comers, func(other *comer) bool { return other == c })
}

func (m *gateModel) check(t *rapid.T) {
	synctest.Wait()
	in, waiting := m.split()
	for i, c := range waiting {
		meets := func(other *comer) bool { return meet(other.keys, c.keys) }
		if !slices.ContainsFunc(in, meets) && !slices.ContainsFunc(waiting[:i], meets) {
			m.inModel[c] = true
		}
	}
	for _, c := range m.comers {
		require.Equal(t, m.inModel[c], c.in())
	}
	in, waiting = m.split()
	stats := m.g.Stats()
	require.Equal(t, len(in), stats.InFlight)
	require.Equal(t, len(waiting), stats.Waiting)
}

func TestGateAgainstModel(t *testing.T) {
	checkInBubble(t, func(t *rapid.T) {
		limit := rapid.IntRange(0, 6).Draw(t, "limit")
		m := &gateModel{g: NewGate(limit), limit: limit, inModel: map[*comer]bool{}}
		t.Repeat(map[string]func(*rapid.T){
			"enter": m.enter, "enter again": m.enter, "try": m.tryAdd, "release": m.release, "cancel": m.cancel, "": m.check,
		})
		for len(m.comers) > 0 {
			m.check(t)
			m.release(t) // someone is always in flight
		}
		requireEmpty(t, m.g)
	})
}

// A crowd with random sets, additions and cancellations: keys that meet are
// never held by two, everybody comes to an end, and nothing is left.
func TestGateStress(t *testing.T) {
	const workers, rounds, universe = 32, 150, 40
	g := NewGate(0)
	var holders [universe + 1]atomic.Int64 // shared count 1 each, exclusive a million
	var group sync.WaitGroup
	for w := range workers {
		group.Go(func() {
			random := rand.New(rand.NewPCG(2, uint64(w)))
			for range rounds {
				ctx, cancel := t.Context(), context.CancelFunc(func() {})
				if random.IntN(3) == 0 {
					ctx, cancel = context.WithTimeout(ctx, time.Duration(random.IntN(100))*time.Microsecond)
				}
				visit(t, ctx, g, random, &holders)
				cancel()
			}
		})
	}
	group.Wait()
	requireEmpty(t, g)
	require.NotZero(t, g.Stats().Waits)
}

func visit(t *testing.T, ctx context.Context, g *Gate, random *rand.Rand, holders *[41]atomic.Int64) {
	keys := randomSet(random, uint64(len(holders)-1), 5)
	p, err := g.Enter(ctx, keys)
	if err != nil {
		return
	}
	defer p.Release()
	held := []Set{keys}
	hold(t, holders, keys, 1)
	// What is added must be new here, or the counts would not tell.
	if more := exclusive(1 + random.Uint64N(uint64(len(holders)-1))); !meet(more, keys) && g.TryAdd(p, more) == nil {
		hold(t, holders, more, 1)
		held = append(held, more)
	}
	time.Sleep(time.Duration(random.IntN(20)) * time.Microsecond)
	for _, keys := range held {
		hold(t, holders, keys, -1)
	}
}

func hold(t *testing.T, holders *[41]atomic.Int64, keys Set, sign int64) {
	const alone = 1_000_000
	for _, key := range keys.Exclusive {
		if got := holders[key].Add(sign * alone); sign > 0 && got != alone {
			t.Errorf("key %d is held by others too: %d", key, got)
		}
	}
	for _, key := range keys.Shared {
		if got := holders[key].Add(sign); sign > 0 && got >= alone {
			t.Errorf("key %d is held exclusively: %d", key, got)
		}
	}
}

// A waiter for many busy keys gets in though others come for single ones all
// the time.
func TestGateStarvesNobody(t *testing.T) {
	g := NewGate(0)
	stop := make(chan struct{})
	var group sync.WaitGroup
	for key := range uint64(8) {
		for range 2 {
			group.Go(func() {
				for {
					select {
					case <-stop:
						return
					default:
						p, err := g.Enter(t.Context(), exclusive(key+1))
						if err != nil {
							t.Error(err)
							return
						}
						p.Release()
					}
				}
			})
		}
	}
	for range 100 {
		enter(t, g, exclusive(1, 2, 3, 4, 5, 6, 7, 8)).Release()
	}
	close(stop)
	group.Wait()
	requireEmpty(t, g)
}

// The table of queues grows with a large transaction, and shrinks once small
// ones have come for a while.
func TestGateMemory(t *testing.T) {
	const size = 20_000
	g := NewGate(0)
	keys := make([]uint64, size)
	freshKeys(keys, 1)
	p := enter(t, g, NewSet(keys, nil))
	require.Equal(t, 1<<16, len(g.mu.queues.slots))
	p.Release()
	requireEmpty(t, g)
	for n := range uint64(8 * size) {
		enter(t, g, exclusive(2*n+1, 2*n+2)).Release()
	}
	require.Equal(t, minQueues, len(g.mu.queues.slots))
	requireEmpty(t, g)
}
