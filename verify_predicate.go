package edgemill

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/edgemill/edgemill/mutation"
	"github.com/edgemill/edgemill/posting"
	"github.com/edgemill/edgemill/schema"
)

// predicateCheck is the check of one predicate. Its jobs each read a range of
// its keys; the last one that ends compares what they gathered.
type predicateCheck struct {
	v    *verifier
	name mutation.Name
	// p is what the schema says, nil where the lists can't be held against it.
	p *schema.Predicate
	// unchecked says why, "" for a predicate that the schema lacks.
	unchecked string

	mu struct {
		sync.Mutex
		pending int
		tally   tally
	}
}

// keyRange is the keys with the prefix from one to another, which is not
// included; nil for the prefix's own bounds.
type keyRange struct {
	prefix, from, to []byte
}

// predicate sees to the check of one predicate.
func (v *verifier) predicate(jobs *pool, n mutation.Name) {
	c := &predicateCheck{v: v, name: n}
	if p, ok := v.snap.Predicate(n.Namespace, n.Predicate); ok {
		c.p = p
		if err := p.Unsupported(); err != nil {
			c.p, c.unchecked = nil, err.Error()
		}
	} else if of := v.vectorOf(n); of != "" {
		c.unchecked = fmt.Sprintf("it belongs to the vector index of predicate %q", of)
	}
	ranges := c.ranges()
	c.mu.pending = len(ranges)
	for _, r := range ranges {
		jobs.run(func(ctx context.Context) error {
			t := &tally{}
			if err := c.read(ctx, r, t); err != nil {
				return err
			}
			return c.done(ctx, t)
		})
	}
}

// vectorSuffix begins what a vector index appends to its predicate's name for
// the predicates in which it keeps its graph.
const vectorSuffix = "__vector_"

// vectorOf is the predicate to whose vector index the name belongs, "" if to
// none.
func (v *verifier) vectorOf(n mutation.Name) string {
	at := strings.LastIndex(n.Predicate, vectorSuffix)
	if at < 0 {
		return ""
	}
	p, ok := v.snap.Predicate(n.Namespace, n.Predicate[:at])
	if !ok || len(p.IndexSpecs) == 0 {
		return ""
	}
	return p.Name
}

// ranges cuts the predicate's keys into pieces for one job each: its data and
// its derived lists, both at the bounds of Badger's tables, and its parts.
func (c *predicateCheck) ranges() []keyRange {
	head := posting.PredicatePrefix(nil, c.name.Namespace, c.name.Predicate)
	cuts := [][]byte{append(bytes.Clone(head), byte(posting.KindData)+1)}
	for _, cut := range c.v.cuts {
		if len(cut) > len(head) && bytes.HasPrefix(cut, head) && !bytes.Equal(cut, cuts[0]) {
			cuts = append(cuts, cut)
		}
	}
	ranges := cutUp(head, cuts)
	parts := posting.PartPrefix(nil, c.name.Namespace, c.name.Predicate)
	return append(ranges, keyRange{prefix: parts})
}

// read reads a range of the predicate's keys, checks each and adds what
// stands there to the tally.
func (c *predicateCheck) read(ctx context.Context, r keyRange, t *tally) error {
	lists := newListCheck(c, t)
	keys, versions := uint64(0), uint64(0)
	err := c.v.walk(ctx, r, func(key []byte, vs []posting.Version) error {
		lists.key(key, vs)
		keys, versions = keys+1, versions+uint64(len(vs))
		if keys == passedAtOnce {
			c.v.passed(keys, versions)
			keys, versions = 0, 0
		}
		return nil
	})
	c.v.passed(keys, versions)
	return err
}

// passedAtOnce is how many keys a job reads before it says so.
const passedAtOnce = 1000

// walk calls f with the keys of a range.
func (v *verifier) walk(ctx context.Context, r keyRange, f func(key []byte, versions []posting.Version) error) error {
	err := v.reader.WalkVersions(ctx, r.prefix, r.from, func(key []byte, versions []posting.Version) error {
		if r.to != nil && bytes.Compare(key, r.to) >= 0 {
			return errFound
		}
		return f(key, versions)
	})
	if errors.Is(err, errFound) {
		return nil
	}
	return err
}

// done takes a job's tally; the last job's call ends the check.
func (c *predicateCheck) done(ctx context.Context, t *tally) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.tally.add(t)
	if c.mu.pending--; c.mu.pending > 0 {
		return nil
	}
	c.unknown()
	for d := range derivedKinds {
		if err := c.compare(ctx, derived(d)); err != nil {
			return err
		}
	}
	r := c.mu.tally.report
	r.Namespace, r.Predicate, r.Unchecked = c.name.Namespace, c.name.Predicate, c.unchecked
	c.v.mu.Lock()
	defer c.v.mu.Unlock()
	c.v.mu.report.Predicates = append(c.v.mu.report.Predicates, r)
	return nil
}

// unknown reports the lists of a predicate that the schema lacks, once for
// each kind: nobody wants a line for each of a million.
func (c *predicateCheck) unknown() {
	for kind, u := range c.mu.tally.unknown {
		c.v.violation(u.first, 0, fmt.Sprintf("the predicate is not in the schema; it has %d lists of kind %s that are not empty, of which this is the first",
			u.lists, kind))
	}
}

// cutUp gives the ranges between the cuts, which need not be in order.
func cutUp(prefix []byte, cuts [][]byte) []keyRange {
	ranges := make([]keyRange, 0, len(cuts)+1)
	var from []byte
	for _, cut := range sortedKeys(cuts) {
		ranges = append(ranges, keyRange{prefix: prefix, from: from, to: cut})
		from = cut
	}
	return append(ranges, keyRange{prefix: prefix, from: from})
}
