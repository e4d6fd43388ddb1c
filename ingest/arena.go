package ingest

import "github.com/edgemill/edgemill/mutation"

const (
	arenaPage      = 32 << 10
	facetPage      = 256
	internedAtMost = 1 << 14
)

// arena gives out pieces of larger allocations. A piece is never moved nor
// reused: whoever holds it keeps its page alive.
type arena struct {
	page []byte
}

// space gives an empty slice with room for n bytes; take makes it permanent.
func (a *arena) space(n int) []byte {
	if cap(a.page)-len(a.page) < n {
		a.page = make([]byte, 0, max(n, arenaPage))
	}
	return a.page[len(a.page):len(a.page)]
}

// take keeps b, which was appended to the latest space within its room.
func (a *arena) take(b []byte) []byte {
	a.page = a.page[:len(a.page)+len(b)]
	return b[:len(b):len(b)]
}

// facetArena is an arena of facets.
type facetArena struct {
	page []mutation.Facet
}

func (a *facetArena) copy(fs []mutation.Facet) []mutation.Facet {
	if len(fs) == 0 {
		return nil
	}
	if cap(a.page)-len(a.page) < len(fs) {
		a.page = make([]mutation.Facet, 0, max(len(fs), facetPage))
	}
	n := len(a.page)
	a.page = append(a.page, fs...)
	return a.page[n:len(a.page):len(a.page)]
}

// interner gives one string for equal texts: predicates, language tags and
// facet keys, of which an input has few. It forgets all when it has seen too
// many, so that no input can make it grow without bound.
type interner struct {
	strings map[string]string
	last    string
}

func (in *interner) string(b []byte) string {
	if in.last == string(b) {
		return in.last
	}
	s, ok := in.strings[string(b)]
	if !ok {
		s = in.add(string(b))
	}
	in.last = s
	return s
}

func (in *interner) add(s string) string {
	if in.strings == nil || len(in.strings) >= internedAtMost {
		in.strings = make(map[string]string)
	}
	in.strings[s] = s
	return s
}
