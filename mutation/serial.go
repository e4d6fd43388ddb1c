package mutation

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/edgemill/edgemill/conflict"
	"github.com/edgemill/edgemill/posting"
	"github.com/edgemill/edgemill/schema"
	"github.com/edgemill/edgemill/schema/token"
	"github.com/edgemill/edgemill/schema/value"
)

// serial is the plain applier: one edge after another, each reading what it
// depends on and folding its writes into the lists' deltas before the next
// edge is looked at. It is the model that the parallel applier is compared
// with, so it shares the rules with it (what an edge may be, how a value is
// stored, how a delta is folded) but none of the way in which work is cut.
type serial struct {
	txn   *Txn
	snap  *schema.Snapshot
	batch *Batch

	lists   map[string]*working
	keys    conflict.Buffer
	touched map[Name]struct{}
	reads   int

	key          []byte // scratch
	newer, older token.Buffer
	facets       facetEncoder
}

// working is a list that the batch has touched.
type working struct {
	delta posting.Delta
	// base is the list in the transaction's snapshot; read says whether it has
	// been asked for.
	base *posting.List
	read bool
	// n is the number of live postings now, found that in the base; for lists
	// of @count predicates.
	n, found int
	// earlier says that the transaction had a delta before this batch.
	earlier bool
}

// contextEvery is how many edges are applied between two looks at the context.
const contextEvery = 256

func newSerial(txn *Txn, snap *schema.Snapshot, b *Batch) *serial {
	return &serial{
		txn: txn, snap: snap, batch: b,
		lists: make(map[string]*working), touched: make(map[Name]struct{}),
	}
}

// run applies the batch and publishes it.
func (s *serial) run(ctx context.Context) (*posting.Run, error) {
	for i := range s.batch.Edges {
		if i%contextEvery == 0 && ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		e := &s.batch.Edges[i]
		if err := s.edge(e); err != nil {
			return nil, &EdgeError{Index: i, Predicate: e.Predicate, Subject: e.Subject, Err: err}
		}
	}
	run := s.encode()
	s.txn.publish(&written{
		runs: []*posting.Run{run}, keys: []*conflict.Buffer{&s.keys}, touched: slices.Collect(maps.Keys(s.touched)),
	})
	return run, nil
}

func (s *serial) encode() *posting.Run {
	run := &posting.Run{}
	var value []byte
	for key, w := range s.lists {
		switch {
		case !w.delta.Empty():
			value = w.delta.AppendTo(value[:0], s.txn.startTS)
			run.Add([]byte(key), value)
		case w.earlier:
			run.Add([]byte(key), nil)
		}
	}
	return run
}

func (s *serial) edge(e *Edge) error {
	if err := checkSubject(e); err != nil {
		return err
	}
	if e.Predicate == StarPredicate {
		return s.starAll(e)
	}
	p, err := predicateOf(s.snap, s.batch.Namespace, e)
	if err != nil {
		return err
	}
	return s.apply(p, e)
}

func (s *serial) apply(p *schema.Predicate, e *Edge) error {
	s.touched[Name{p.Namespace, p.Name}] = struct{}{}
	old := needsOld(p, e) && !s.fresh(e.Subject)
	data, fp, err := s.list(posting.AppendDataKey(s.key[:0], p.Namespace, p.Name, e.Subject), p.Count, old)
	if err != nil {
		return err
	}
	c := &change{s: s, p: p, rules: conflict.RulesOf(p), subject: e.Subject, data: data, fp: fp, before: data.n}
	switch {
	case e.Object == ObjectStar && e.Lang != "":
		err = c.starLang(e.Lang)
	case e.Object == ObjectStar:
		err = c.star()
	case e.Object == ObjectUID && e.Op == Set:
		err = c.setTarget(e)
	case e.Object == ObjectUID:
		err = c.deleteTarget(e)
	case e.Op == Set:
		err = c.setValue(e)
	default:
		err = c.deleteValue(e)
	}
	if err == nil && p.Count {
		err = c.move(posting.KindCount, e.Subject, c.before, data.n, data.found)
	}
	return err
}

// starAll stars every predicate in which the subject has a posting now.
func (s *serial) starAll(e *Edge) error {
	for p := range s.snap.All() {
		if p.Namespace != s.batch.Namespace {
			continue
		}
		key := posting.AppendDataKey(s.key[:0], p.Namespace, p.Name, e.Subject)
		data, _, err := s.list(key, p.Count, !s.fresh(e.Subject))
		if err != nil {
			return err
		}
		some := false
		data.delta.Current(func(posting.Posting) bool { some = true; return false })
		if !some {
			continue
		}
		if err := p.Unsupported(); err != nil {
			return fmt.Errorf("%w: %s: %w", ErrBadEdge, p.Name, err)
		}
		if err := s.apply(p, e); err != nil {
			return fmt.Errorf("%s: %w", p.Name, err)
		}
	}
	return nil
}

func (s *serial) fresh(subject uint64) bool { return isFresh(s.batch.Fresh, subject) }

// list returns the working state of a list and its key's fingerprint, with
// the base read if asked for; it is for a counted list, unless the list is
// fresh, at the first call. The key is not kept.
func (s *serial) list(key []byte, counted, base bool) (*working, uint64, error) {
	s.key = key
	w, ok := s.lists[string(key)]
	if !ok {
		w = &working{}
		w.delta.Reset(nil, counted)
		if own, ok := s.txn.deltas.Get(key); ok {
			w.earlier = true
			if err := w.delta.Load(own); err != nil {
				return nil, 0, err
			}
		}
		s.lists[string(key)] = w
	}
	if base && !w.read {
		if err := s.readBase(key, w); err != nil {
			return nil, 0, err
		}
	}
	if counted && !ok {
		w.found = w.base.Len()
		w.delta.Current(func(posting.Posting) bool { w.n++; return true })
	}
	return w, conflict.Fingerprint(key), nil
}

func (s *serial) readBase(key []byte, w *working) error {
	base, err := s.txn.reader.List(key)
	if err != nil {
		return err
	}
	s.reads++
	w.base, w.read = base, true
	w.delta.SetBase(base)
	return nil
}

// change is one edge at work on its data list.
type change struct {
	s       *serial
	p       *schema.Predicate
	rules   conflict.Rules
	subject uint64
	data    *working
	// fp is the fingerprint of the data key.
	fp uint64
	// before is the number of live postings before the edge.
	before int
}

// emitData emits the keys of a write to one data posting.
func (c *change) emitData(uid uint64) {
	c.s.keys.Exclusive(c.rules.Data(c.fp, uid))
	c.s.keys.Shared(c.rules.DataShared(c.fp))
}

func (c *change) setTarget(e *Edge) error {
	facets, err := c.s.facets.append(nil, e.Facets)
	if err != nil {
		return err
	}
	c.emitData(e.Target)
	had := c.data.delta.Has(e.Target)
	if !c.p.List {
		if err := c.replaceTargets(e.Target); err != nil {
			return err
		}
		c.data.delta.DeleteAll()
		c.data.n = 0
	}
	c.data.delta.Set(posting.Posting{UID: e.Target, ValType: value.UID, Facets: facets, StartTS: c.s.txn.startTS})
	if !had || !c.p.List {
		c.data.n++
	}
	return c.link(e.Target, facets, had)
}

// replaceTargets unlinks every target but the one that takes their place.
func (c *change) replaceTargets(by uint64) error {
	for _, target := range c.targets() {
		if target != by {
			if err := c.unlink(target); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *change) targets() []uint64 {
	var uids []uint64
	c.data.delta.Current(func(p posting.Posting) bool { uids = append(uids, p.UID); return true })
	return uids
}

func (c *change) deleteTarget(e *Edge) error {
	had := c.data.delta.Has(e.Target)
	if !had && c.p.Count {
		return nil
	}
	c.emitData(e.Target)
	c.data.delta.Delete(posting.Posting{UID: e.Target, ValType: value.UID, StartTS: c.s.txn.startTS})
	if !had {
		return nil
	}
	c.data.n--
	return c.unlink(e.Target)
}

// link writes the reverse posting of an edge that is set; had says that the
// edge stood before.
func (c *change) link(target uint64, facets []byte, had bool) error {
	rev, fp, err := c.reverse(target)
	if rev == nil || err != nil {
		return err
	}
	if !had {
		c.s.keys.Exclusive(c.rules.Reverse(fp))
	}
	found := c.data.base.Has(target)
	rev.delta.SetKnown(posting.Posting{UID: c.subject, Facets: facets, StartTS: c.s.txn.startTS}, found)
	if had || !c.p.Count {
		return nil
	}
	rev.n++
	return c.move(posting.KindCountReverse, target, rev.n-1, rev.n, rev.found)
}

// unlink takes away the reverse posting of an edge that goes.
func (c *change) unlink(target uint64) error {
	rev, fp, err := c.reverse(target)
	if rev == nil || err != nil {
		return err
	}
	c.s.keys.Exclusive(c.rules.Reverse(fp))
	found := c.data.base.Has(target)
	rev.delta.DeleteKnown(posting.Posting{UID: c.subject, StartTS: c.s.txn.startTS}, found)
	if !c.p.Count {
		return nil
	}
	rev.n--
	return c.move(posting.KindCountReverse, target, rev.n+1, rev.n, rev.found)
}

// reverse is the target's reverse list, nil where the predicate keeps none.
func (c *change) reverse(target uint64) (*working, uint64, error) {
	if !c.p.Reverse {
		return nil, 0, nil
	}
	return c.s.list(posting.AppendReverseKey(c.s.key[:0], c.p.Namespace, c.p.Name, target), c.p.Count, c.p.Count)
}

// move takes a uid from the bucket of one number to that of another. What is
// written is only the difference to the bucket in which the transaction found
// the uid.
func (c *change) move(kind posting.Kind, uid uint64, from, to, found int) error {
	if from == to {
		return nil
	}
	for _, n := range []int{from, to} {
		if n == 0 {
			continue
		}
		key := posting.AppendCountKey(c.s.key[:0], c.p.Namespace, c.p.Name, kind, uint32(n))
		bucket, fp, err := c.s.list(key, false, false)
		if err != nil {
			return err
		}
		c.s.keys.Exclusive(c.rules.Posting(fp, uid))
		ref := posting.Posting{UID: uid, StartTS: c.s.txn.startTS}
		switch in := n == to; {
		case in == (n == found):
			bucket.delta.Forget(uid)
		case in:
			bucket.delta.SetKnown(ref, false)
		default:
			bucket.delta.DeleteKnown(ref, true)
		}
	}
	return nil
}

// valuePosting is the posting that an edge with a value sets or deletes; its
// memory is its own.
func (c *change) valuePosting(e *Edge) (posting.Posting, error) {
	stored, typ, err := appendStored(nil, c.p, e)
	if err != nil {
		return posting.Posting{}, err
	}
	post := posting.Posting{
		UID: valueUID(c.p, e.Lang, stored), Type: valuePostingType(e.Lang), ValType: typ,
		Value: stored, Lang: []byte(e.Lang), StartTS: c.s.txn.startTS,
	}
	if e.Op == Set {
		post.Facets, err = c.s.facets.append(nil, e.Facets)
	}
	return post, err
}

func (c *change) setValue(e *Edge) error {
	post, err := c.valuePosting(e)
	if err != nil {
		return err
	}
	if c.data.delta.All() && c.p.Lang && post.UID == posting.DeleteAllUID && !c.data.read && !c.s.fresh(c.subject) {
		if err := c.s.readBase(posting.AppendDataKey(c.s.key[:0], c.p.Namespace, c.p.Name, c.subject), c.data); err != nil {
			return err
		}
	}
	c.emitData(post.UID)
	old, had := c.data.delta.Find(post.UID)
	if err := c.reindex(&post, old, had); err != nil {
		return err
	}
	c.data.delta.Set(post)
	if !had {
		c.data.n++
	}
	return nil
}

// reindex takes the tokens of the value that goes, and gives those of the one
// that comes.
func (c *change) reindex(post *posting.Posting, old posting.Posting, had bool) error {
	if !c.p.Indexed() {
		return nil
	}
	newer := &c.s.newer
	newer.Reset()
	if err := appendTokens(newer, c.p, post.Value, string(post.Lang)); err != nil {
		return err
	}
	if c.p.Unique {
		if err := c.unique(post); err != nil {
			return err
		}
	}
	if had {
		if err := c.unindex(&old, newer); err != nil {
			return err
		}
	}
	for i := range newer.Len() {
		idx, fp, err := c.index(newer.At(i), false)
		if err != nil {
			return err
		}
		c.s.keys.Exclusive(c.rules.Posting(fp, c.subject))
		idx.delta.SetKnown(posting.Posting{UID: c.subject, StartTS: c.s.txn.startTS}, false)
	}
	return nil
}

func (c *change) index(term []byte, base bool) (*working, uint64, error) {
	return c.s.list(posting.AppendIndexKey(c.s.key[:0], c.p.Namespace, c.p.Name, term), false, base)
}

// unindex takes away the tokens of a posting that goes, but for those that
// stay (may be nil) and those of the subject's other values.
func (c *change) unindex(old *posting.Posting, stay *token.Buffer) error {
	if !c.p.Indexed() {
		return nil
	}
	older := &c.s.older
	older.Reset()
	if err := appendTokens(older, c.p, old.Value, string(old.Lang)); err != nil {
		return err
	}
	kept, err := c.tokensOfOthers(old.UID)
	if err != nil {
		return err
	}
	if stay != nil {
		for i := range stay.Len() {
			kept[string(stay.At(i))] = true
		}
	}
	for i := range older.Len() {
		idx, fp, err := c.index(older.At(i), false)
		if err != nil {
			return err
		}
		c.s.keys.Exclusive(c.rules.Posting(fp, c.subject))
		if !kept[string(older.At(i))] {
			idx.delta.DeleteKnown(posting.Posting{UID: c.subject, StartTS: c.s.txn.startTS}, true)
		}
	}
	return nil
}

// tokensOfOthers is the tokens of the subject's values but the one under uid.
func (c *change) tokensOfOthers(uid uint64) (map[string]bool, error) {
	kept := make(map[string]bool)
	if !c.p.List && !c.p.Lang {
		return kept, nil
	}
	var buf token.Buffer
	var err error
	c.data.delta.Current(func(p posting.Posting) bool {
		if p.UID != uid {
			err = appendTokens(&buf, c.p, p.Value, string(p.Lang))
		}
		return err == nil
	})
	for i := range buf.Len() {
		kept[string(buf.At(i))] = true
	}
	return kept, err
}

// unique refuses a value that another subject holds.
func (c *change) unique(post *posting.Posting) error {
	var buf token.Buffer
	if err := uniqueTokenizer(c.p).Append(&buf, value.Value{Type: c.p.Type, Data: post.Value}, string(post.Lang)); err != nil {
		return err
	}
	for i := range buf.Len() {
		idx, _, err := c.index(buf.At(i), true)
		if err != nil {
			return err
		}
		var others []uint64
		idx.delta.Current(func(p posting.Posting) bool {
			if p.UID != c.subject {
				others = append(others, p.UID)
			}
			return true
		})
		for _, other := range others {
			if same, err := c.holdsValue(other, post); err != nil || same {
				return errors.Join(err, notUnique(other, same))
			}
		}
	}
	return nil
}

// holdsValue reports whether another subject holds the value. Equal tokens
// are equal values, but where there are languages: collation keys are equal for
// different texts, and hashes for one text in two languages, which are two
// values.
func (c *change) holdsValue(other uint64, post *posting.Posting) (bool, error) {
	if !c.p.Lang {
		return true, nil
	}
	key := posting.AppendDataKey(c.s.key[:0], c.p.Namespace, c.p.Name, other)
	data, _, err := c.s.list(key, c.p.Count, !c.s.fresh(other))
	if err != nil {
		return false, err
	}
	held, ok := data.delta.Find(post.UID)
	return ok && bytes.Equal(held.Value, post.Value), nil
}

func (c *change) deleteValue(e *Edge) error {
	post, err := c.valuePosting(e)
	if err != nil {
		return err
	}
	old, had := c.data.delta.Find(post.UID)
	if (had && !holds(&old, &post)) || (!had && c.p.Count) {
		return nil
	}
	c.emitData(post.UID)
	if had {
		if err := c.unindex(&old, nil); err != nil {
			return err
		}
		c.data.n--
	}
	c.data.delta.Delete(post)
	return nil
}

// star removes every value or target.
func (c *change) star() error {
	c.s.keys.Exclusive(c.rules.DataStar(c.fp))
	for _, uid := range c.targets() {
		if c.p.Type == value.UID {
			if err := c.unlink(uid); err != nil {
				return err
			}
			continue
		}
		// The values go one by one, so that a token that two of them share goes
		// with the last.
		old, _ := c.data.delta.Find(uid)
		if err := c.unindex(&old, nil); err != nil {
			return err
		}
		c.data.delta.DeleteKnown(old, true)
	}
	c.data.delta.DeleteAll()
	c.data.n = 0
	return nil
}

// starLang removes the value of one language.
func (c *change) starLang(lang string) error {
	c.s.keys.Exclusive(c.rules.DataStar(c.fp))
	named := posting.Posting{
		UID: langUID(lang), Type: posting.PostingValueLang, Lang: []byte(lang), StartTS: c.s.txn.startTS,
	}
	old, had := c.data.delta.Find(named.UID)
	switch {
	case had && string(old.Lang) != lang:
		return nil
	case !had && c.p.Count:
		return nil
	case had:
		if err := c.unindex(&old, nil); err != nil {
			return err
		}
		c.data.n--
	}
	c.data.delta.Delete(named)
	return nil
}
