package edgemill

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/edgemill/edgemill/posting"
)

const (
	// pairBytes is how much memory a closer look takes at once, in bytes.
	pairBytes = 64 << 20
	// pairOverhead is what a posting takes beside its record.
	pairOverhead = 128
)

// compared is what the two sides say of one posting.
type compared struct {
	there  [sides]bool
	facets [sides]string
}

// compare holds the two sides of a kind of derived lists against each other
// and reports where they differ. The caller holds the check.
func (c *predicateCheck) compare(ctx context.Context, d derived) error {
	t := &c.mu.tally
	var look []int
	var size uint64
	for _, b := range t.differ(d) {
		if more := t.size(d, b); len(look) > 0 && size+more > c.v.pairBytes {
			if err := c.look(ctx, d, look); err != nil {
				return err
			}
			look, size = look[:0], 0
		}
		look, size = append(look, b), size+t.size(d, b)
	}
	if len(look) == 0 {
		return nil
	}
	return c.look(ctx, d, look)
}

// look reads the predicate again and compares the postings of some buckets one
// by one.
func (c *predicateCheck) look(ctx context.Context, d derived, buckets []int) error {
	pairs := make(map[string]compared)
	lists := newListCheck(c, &tally{})
	lists.closer = true
	lists.take = func(of derived, s side, listKey []byte, uid uint64, facets []byte) {
		lists.record = appendRecord(lists.record[:0], listKey, uid)
		if of != d || !slices.Contains(buckets, bucketOf(lists.record)) {
			return
		}
		p := pairs[string(lists.record)]
		p.there[s], p.facets[s] = true, string(facets)
		pairs[string(lists.record)] = p
	}
	for _, kind := range []posting.Kind{d.source(), d.kind()} {
		prefix := posting.AppendPrefix(nil, c.name.Namespace, c.name.Predicate, kind)
		err := c.v.walk(ctx, keyRange{prefix: prefix}, func(key []byte, versions []posting.Version) error {
			lists.key(key, versions)
			return nil
		})
		if err != nil {
			return err
		}
	}
	for _, record := range slices.Sorted(maps.Keys(pairs)) {
		p := pairs[record]
		if what := p.differs(d); what != "" {
			at := len(record) - 8
			c.v.violation([]byte(record[:at]), lastUID([]byte(record)), what)
		}
	}
	return nil
}

// differs says in words how the two sides differ, "" where they do not.
func (p *compared) differs(d derived) string {
	switch {
	case p.there[expected] && !p.there[found]:
		return missing[d]
	case !p.there[expected]:
		return superfluous[d]
	case p.facets[expected] != p.facets[found]:
		return fmt.Sprintf("the reverse posting has the facets %s, the edge %s",
			facetText(p.facets[found]), facetText(p.facets[expected]))
	}
	return ""
}

var missing = [derivedKinds]string{
	derivedIndex:        "missing from the index, and a value of this subject has the token",
	derivedReverse:      "missing from the reverse list, and this subject has the edge",
	derivedCount:        "missing from the bucket, and this subject has so many values or targets",
	derivedCountReverse: "missing from the bucket, and so many subjects point to this target",
}

var superfluous = [derivedKinds]string{
	derivedIndex:        "in the index, and no value of this subject has the token",
	derivedReverse:      "in the reverse list, and this subject has no such edge",
	derivedCount:        "in the bucket, and this subject has another number of values or targets",
	derivedCountReverse: "in the bucket, and another number of subjects point to this target",
}

// facetText shows facets in a message.
func facetText(raw string) string {
	fs, err := posting.DecodeFacets([]byte(raw))
	if err != nil {
		return fmt.Sprintf("%x", raw)
	}
	var b strings.Builder
	b.WriteByte('(')
	for i, f := range fs {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%s=%x", f.Key, f.Value)
	}
	b.WriteByte(')')
	return b.String()
}
