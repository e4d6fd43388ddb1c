package ingest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/edgemill/edgemill/mutation"
	"github.com/edgemill/edgemill/schema/value"
	"github.com/stretchr/testify/require"
)

// counter hands out uids in order.
type counter struct {
	last  atomic.Uint64
	calls atomic.Int64
}

func (c *counter) NewUIDs(ctx context.Context, n uint64) (start, end uint64, err error) {
	c.calls.Add(1)
	end = c.last.Add(n)
	return end - n + 1, end, ctx.Err()
}

func resolve(t *testing.T, r *Resolver, text, scope string) []mutation.Edge {
	quads, err := readText(text)
	require.NoError(t, err)
	edges, err := r.Edges(context.Background(), nil, quads, scope)
	require.NoError(t, err)
	require.Len(t, edges, len(quads))
	return edges
}

func TestResolver(t *testing.T) {
	var uids counter
	r := NewResolver(NewNames(), &uids, ResolverOptions{Lease: 2})
	edges := resolve(t, r, "_:a <p> <a> .\n<7> <p> _:a .\n_:b <q> \"x\"@en (f=1) .\n<a> <p> <7> .", "")
	require.Equal(t, []mutation.Edge{
		{Subject: 1, Predicate: "p", Object: mutation.ObjectUID, Target: 2},
		{Subject: 7, Predicate: "p", Object: mutation.ObjectUID, Target: 1},
		{Subject: 3, Predicate: "q", Value: value.Value{Type: value.String, Data: []byte("x")}, Lang: "en", Facets: edges[2].Facets},
		{Subject: 2, Predicate: "p", Object: mutation.ObjectUID, Target: 7},
	}, edges)
	require.Len(t, edges[2].Facets, 1)
	require.EqualValues(t, 2, uids.calls.Load())
	require.Equal(t, []mutation.UIDRange{{First: 1, Last: 3}}, r.Fresh())
	require.Empty(t, r.Fresh(), "fresh once")

	resolve(t, r, "_:a <p> _:c .\n<8> <p> <9> .", "")
	require.Equal(t, []mutation.UIDRange{{First: 4, Last: 4}}, r.Fresh(), "known names and stated uids are not fresh")
}

func TestUnnamedNodes(t *testing.T) {
	var uids counter
	var told []string
	r := NewResolver(NewNames(), &uids, ResolverOptions{OnNew: func(n Node, uid uint64) {
		told = append(told, fmt.Sprint(n, "=", uid))
	}})
	const text = `[{"a":1,"pal":{"b":2,"pal":{"uid":"_:x"}}},{"a":1}]`
	edges := resolve(t, r, text, "")
	require.Equal(t, []uint64{1, 1, 2, 2, 4}, subjects(edges))
	require.EqualValues(t, 2, edges[1].Target)
	require.Equal(t, []uint64{5, 5, 6, 6, 7}, subjects(resolve(t, r, text, "")), "new nodes each time")
	require.Equal(t, []string{"[1]=1", "[2]=2", "_:x=3", "[3]=4", "[1]=5", "[2]=6", "[3]=7"}, told)
	require.Equal(t, []mutation.UIDRange{{First: 1, Last: 7}}, r.Fresh())
}

func subjects(edges []mutation.Edge) (s []uint64) {
	for _, e := range edges {
		s = append(s, e.Subject)
	}
	return s
}

func TestScopedBlanks(t *testing.T) {
	var uids counter
	names := NewNames()
	r := NewResolver(names, &uids, ResolverOptions{ScopedBlanks: true})
	const text = "_:a <p> <a> .\n_:a <p> <b> ."
	one, two := resolve(t, r, text, "one.nq"), resolve(t, r, text, "two.nq")
	require.Equal(t, one[0].Subject, one[1].Subject)
	require.NotEqual(t, one[0].Subject, two[0].Subject)
	require.Equal(t, one[0].Target, two[0].Target, "an IRI is one node everywhere")
	require.Equal(t, one, resolve(t, r, text, "one.nq"))
	require.Equal(t, 4, names.Len())
}

func TestResolverPasswords(t *testing.T) {
	r := NewResolver(NewNames(), &counter{}, ResolverOptions{IsPassword: func(p string) bool { return p == "pass" }})
	edges := resolve(t, r, `<1> <pass> "secret" .
<1> <name> "secret" .
<1> <pass> "`+"$2a$10$abcdefghijklmnopqrstuuABCDEFGHIJKLMNOPQRSTUVWXYZ01234"+`" .`, "")
	require.Equal(t, value.Password, edges[0].Value.Type)
	require.True(t, value.VerifyPassword(edges[0].Value.Data, []byte("secret")))
	require.Equal(t, "secret", string(edges[1].Value.Data))
	require.Equal(t, "$2a$10$abcdefghijklmnopqrstuuABCDEFGHIJKLMNOPQRSTUVWXYZ01234", string(edges[2].Value.Data))

	quads, err := readDeletes(`<1> <pass> "secret" .`)
	require.NoError(t, err)
	edges, err = r.Edges(context.Background(), nil, quads, "")
	require.NoError(t, err)
	require.Equal(t, "secret", string(edges[0].Value.Data), "a delete's text is compared, not stored")

	quads, err = readText("\n<1> <pass> \"" + strings.Repeat("x", 73) + "\" .")
	require.NoError(t, err)
	_, err = r.Edges(context.Background(), nil, quads, "f")
	require.ErrorContains(t, err, "f:2: predicate pass: can't hash")
}

type allocatorFunc func(n uint64) (start, end uint64, err error)

func (f allocatorFunc) NewUIDs(_ context.Context, n uint64) (start, end uint64, err error) {
	return f(n)
}

func TestResolverErrors(t *testing.T) {
	quads, err := readText("\n<1> <p> _:b .")
	require.NoError(t, err)
	broken := errors.New("no lease")
	for _, c := range []struct {
		uids allocatorFunc
		want string
	}{
		{func(uint64) (uint64, uint64, error) { return 0, 0, broken }, "f:2: object _:b: can't get uids: no lease"},
		{func(uint64) (uint64, uint64, error) { return 0, 5, nil }, "was handed 0x0 to 0x5"},
		{func(uint64) (uint64, uint64, error) { return 5, 4, nil }, "was handed 0x5 to 0x4"},
		{func(uint64) (uint64, uint64, error) { return 5, maxUID + 1, nil }, "was handed 0x5 to 0xffffffffffffffff"},
	} {
		_, err := NewResolver(NewNames(), c.uids, ResolverOptions{}).Edges(context.Background(), nil, quads, "f")
		require.ErrorContains(t, err, c.want)
	}
	_, err = NewResolver(NewNames(), &counter{}, ResolverOptions{}).Edges(context.Background(), nil, []Quad{{}}, "f")
	require.ErrorContains(t, err, "without a uid or a name")
}

// Eight readers take the chunks of one input as they come. Each name has one
// uid, each uid is fresh once, and a second load with the saved names hands out
// none.
func TestNamesOverReaders(t *testing.T) {
	var text strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&text, "_:n%d <p> <i%d> .\n", i%9_973, i%777)
	}
	var uids counter
	names := NewNames()
	fresh := loadTogether(t, text.String(), names, &uids, 8)
	require.Equal(t, 9_973+777, names.Len())
	require.Len(t, fresh, 9_973+777)
	slices.Sort(fresh)
	require.Len(t, slices.Compact(fresh), 9_973+777, "a uid is fresh once")

	file := saved(t, names)
	again, err := LoadNames(strings.NewReader(string(file)))
	require.NoError(t, err)
	require.Empty(t, loadTogether(t, text.String(), again, &uids, 8))
}

// loadTogether resolves text with several readers and gives the fresh uids.
func loadTogether(t *testing.T, text string, names Namer, uids Allocator, readers int) (fresh []uint64) {
	src, err := NewSource("in", strings.NewReader(text))
	require.NoError(t, err)
	r, err := newChunkReader(src, 4096)
	require.NoError(t, err)
	var next, collect sync.Mutex
	var wait sync.WaitGroup
	for range readers {
		wait.Go(func() {
			var p Parser
			resolver := NewResolver(names, uids, ResolverOptions{Lease: 100})
			for {
				next.Lock()
				c, err := r.Next()
				next.Unlock()
				if err != nil {
					return
				}
				quads, _ := p.Parse(nil, c)
				_, _ = resolver.Edges(context.Background(), nil, quads, c.File)
				collect.Lock()
				for _, f := range resolver.Fresh() {
					for uid := f.First; uid <= f.Last; uid++ {
						fresh = append(fresh, uid)
					}
				}
				collect.Unlock()
			}
		})
	}
	wait.Wait()
	return fresh
}
