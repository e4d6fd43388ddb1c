package mutation

import (
	"encoding/binary"

	"github.com/edgemill/edgemill/conflict"
	"github.com/edgemill/edgemill/posting"
	"github.com/edgemill/edgemill/schema/value"
)

// part is a range of subjects of one predicate: the unit of the first pass. It
// belongs to the worker that folds it; once the pass is joined, the owners of
// the derived keys read what it derived.
type part struct {
	// low and high bound the subjects, high not included, where the
	// predicate's edges are not sorted.
	low, high uint64
	// edges are ordered by subject, those of one subject as in the batch (I2).
	edges []subjectEdge
	own   []subjectEdge

	index, reverse, count derived
	// facets are the encoded facets that reverse records refer to.
	facets     []byte
	facetsEnds []uint32

	values valueCache
	// starred says that an edge that stars every predicate found something.
	starred bool
}

func (pt *part) reset() {
	pt.edges, pt.own, pt.low, pt.high = nil, pt.own[:0], 0, 0
	pt.index.reset()
	pt.reverse.reset()
	pt.count.reset()
	pt.facets, pt.facetsEnds = pt.facets[:0], pt.facetsEnds[:0]
	pt.values.reset()
	pt.starred = false
}

// derived is what the part derived for keys of a kind.
func (pt *part) derived(kind posting.Kind) *derived {
	switch kind {
	case posting.KindIndex:
		return &pt.index
	case posting.KindReverse:
		return &pt.reverse
	}
	return &pt.count
}

// keepFacets stores encoded facets and returns how records refer to them.
func (pt *part) keepFacets(raw []byte) uint32 {
	if len(raw) == 0 {
		return 0
	}
	pt.facets = append(pt.facets, raw...)
	pt.facetsEnds = append(pt.facetsEnds, uint32(len(pt.facets)))
	return uint32(len(pt.facetsEnds))
}

func (pt *part) facetsAt(ref uint32) []byte {
	if ref == 0 {
		return nil
	}
	from := uint32(0)
	if ref > 1 {
		from = pt.facetsEnds[ref-2]
	}
	return pt.facets[from:pt.facetsEnds[ref-1]]
}

// sizeSamples is how many edges are looked at to guess at the size of all.
const sizeSamples = 8

// dataSize guesses at the size of a data key with its delta.
func (w *worker) dataSize(edges []subjectEdge) int {
	size := len(w.pp.dataKey) + 8 + posting.RefPostingSize(value.UID, posting.OpSet, w.b.txn.startTS)
	if w.pp.p.Type == value.UID {
		if !w.pp.p.List {
			size += posting.DeleteAllSize(w.b.txn.startTS)
		}
		return size
	}
	n := min(len(edges), sizeSamples)
	longest := 0
	for i := range n {
		longest = max(longest, len(w.b.batch.Edges[edges[i*len(edges)/n].edge].Value.Data))
	}
	return size + min(longest, maxGuess) + valueFields
}

const (
	// maxGuess bounds what a few long values make of the guess, and valueFields
	// is what a value's posting has beyond a uid's.
	maxGuess    = 256
	valueFields = 6
)

// sweepSubjects is how many subjects' old lists are read before they are
// folded.
const sweepSubjects = 256

// foldPart is the first pass: it folds the edges of each subject of the part
// in order, writes the data lists' deltas, and derives the records of the
// other lists.
func (w *worker) foldPart(pp *predicatePlan, n int) error {
	pt := &pp.parts[n]
	if !pp.sorted {
		pt.pick(pp.edges, &w.sorter)
	}
	w.begin(pp, pt, n)
	w.sweep = w.b.txn.reader.Sweep(pp.dataKey)
	defer w.sweep.Close()
	w.run.Grow(len(pt.edges), len(pt.edges)*w.dataSize(pt.edges))
	for rest := pt.edges; len(rest) > 0; {
		if err := w.b.stopped(); err != nil {
			return err
		}
		m := w.sweepOld(rest)
		for _, old := range w.olds[:m] {
			if err := w.foldSubject(rest[:old.edges], old); err != nil {
				return err
			}
			rest = rest[old.edges:]
		}
	}
	owners := len(pp.parts)
	pt.index.seal(owners)
	pt.reverse.seal(owners)
	pt.count.seal(owners)
	return nil
}

// oldState is a subject at the head of a part: how many edges it has, and its
// list as the transaction found it, as far as it was needed.
type oldState struct {
	edges int
	base  *posting.List
	read  bool
	err   error
}

// sweepOld looks at the next subjects, and reads in one sweep, in key order,
// the lists of those whose edges depend on them.
func (w *worker) sweepOld(edges []subjectEdge) int {
	w.olds = w.olds[:0]
	for len(edges) > 0 && len(w.olds) < sweepSubjects {
		subject := edges[0].subject
		k := 1
		for k < len(edges) && edges[k].subject == subject {
			k++
		}
		old := oldState{edges: k}
		if w.mayNeedOld && w.dependsOnOld(edges[:k]) && !isFresh(w.b.batch.Fresh, subject) {
			old.base, old.err = w.sweep.List(w.dataKey(subject))
			old.read = true
			w.reads++
		}
		w.olds = append(w.olds, old)
		edges = edges[k:]
	}
	return len(w.olds)
}

// dependsOnOld reports whether one of a subject's edges depends on what stood
// before. Languages have to be deleted one by one where an untagged value is set
// behind a star of the same transaction (see posting.Delta).
func (w *worker) dependsOnOld(edges []subjectEdge) bool {
	starred := false
	for _, se := range edges {
		e := &w.b.batch.Edges[se.edge]
		if e.Predicate == StarPredicate || needsOld(w.pp.p, e) {
			return true
		}
		if !w.pp.p.Lang || e.Lang != "" {
			continue
		}
		if e.Object == ObjectStar {
			starred = true
		} else if starred || w.starredEarlier(se.subject) {
			return true
		}
	}
	return false
}

// starredEarlier reports whether earlier batches left a delete-all marker.
func (w *worker) starredEarlier(subject uint64) bool {
	if !w.earlier {
		return false
	}
	own, ok := w.b.txn.deltas.Get(w.dataKey(subject))
	return ok && posting.BeginsWithDeleteAll(own)
}

func (w *worker) dataKey(subject uint64) []byte {
	w.key = binary.BigEndian.AppendUint64(append(w.key[:0], w.pp.dataKey...), subject)
	return w.key
}

// foldSubject folds one subject's edges.
func (w *worker) foldSubject(edges []subjectEdge, old oldState) error {
	if old.err != nil {
		return w.b.edgeError(edges[0].edge, old.err)
	}
	w.subject, w.base = edges[0].subject, old.base
	w.own = nil
	if w.earlier {
		w.own, _ = w.b.txn.deltas.Get(w.dataKey(w.subject))
	}
	if len(edges) == 1 && w.base == nil && w.own == nil {
		if done, err := w.foldOnly(edges[0].edge); done || err != nil {
			return w.b.edgeError(edges[0].edge, err)
		}
	}
	return w.foldMany(edges)
}

// foldOnly folds the only edge of a subject of which nothing stands, where it
// is the plain one that sets something: no delta is built, the posting goes
// straight into the run.
func (w *worker) foldOnly(n uint32) (done bool, err error) {
	e := &w.b.batch.Edges[n]
	if e.Op != Set {
		return false, nil
	}
	w.edge = n
	if w.facets, err = w.facetEncoder.append(w.facets[:0], e.Facets); err != nil {
		return true, err
	}
	if e.Object == ObjectUID {
		w.onlyTarget(e)
		return true, nil
	}
	return true, w.onlyValue(e)
}

func (w *worker) onlyTarget(e *Edge) {
	p, ts := w.pp.p, w.b.txn.startTS
	size := len(w.pp.dataKey) + 8 + posting.RefPostingSize(value.UID, posting.OpSet, ts) + len(w.facets)
	if !p.List {
		size += posting.DeleteAllSize(ts)
	}
	if len(w.facets) > 0 {
		size += facetsLenBytes
	}
	buf := binary.BigEndian.AppendUint64(append(w.run.Space(size), w.pp.dataKey...), w.subject)
	klen := len(buf)
	w.emitData(conflict.Fingerprint(buf), e.Target)
	if !p.List {
		buf = posting.AppendDeleteAll(buf, ts)
	}
	buf = w.appendRef(buf, e.Target, value.UID, posting.OpSet, w.facets)
	w.run.Take(buf, klen)
	if p.Reverse {
		w.addReverse(e.Target, opSet, w.pt.keepFacets(w.facets), flagUp|flagEmit)
	}
	if p.Count {
		w.moveCount(w.subject, 0, 1)
		w.addCount(1, opSet)
	}
}

// facetsLenBytes is how much longer a posting's own length may get by its
// facets.
const facetsLenBytes = 9

// appendRef appends a posting of a uid.
func (w *worker) appendRef(buf []byte, uid uint64, typ value.Type, op posting.Op, facets []byte) []byte {
	if len(facets) == 0 {
		return posting.AppendRefPosting(buf, uid, typ, op, w.b.txn.startTS)
	}
	w.post = posting.Posting{UID: uid, ValType: typ, Op: op, Facets: facets, StartTS: w.b.txn.startTS}
	return posting.AppendPosting(buf, &w.post)
}

func (w *worker) onlyValue(e *Edge) error {
	p := w.pp.p
	var typ value.Type
	var err error
	if w.stored, typ, err = appendStored(w.stored[:0], p, e); err != nil {
		return err
	}
	w.lang = append(w.lang[:0], e.Lang...)
	w.post = posting.Posting{
		UID: valueUID(p, e.Lang, w.stored), Op: posting.OpSet, Type: valuePostingType(e.Lang), ValType: typ,
		Value: w.stored, Lang: w.lang, Facets: w.facets, StartTS: w.b.txn.startTS,
	}
	if p.Indexed() {
		ids, err := w.tokenIDs(w.stored, e.Lang)
		if err != nil {
			return err
		}
		for _, id := range ids {
			w.addIndex(id, opSet)
		}
	}
	size := len(w.pp.dataKey) + 8 + posting.PostingSize(&w.post)
	buf := binary.BigEndian.AppendUint64(append(w.run.Space(size), w.pp.dataKey...), w.subject)
	w.emitData(conflict.Fingerprint(buf), w.post.UID)
	w.run.Take(posting.AppendPosting(buf, &w.post), len(w.pp.dataKey)+8)
	if p.Count {
		w.moveCount(w.subject, 0, 1)
		w.addCount(1, opSet)
	}
	return nil
}

func (w *worker) emitData(fp, uid uint64) {
	w.keys.Exclusive(w.pp.rules.Data(fp, uid))
	w.keys.Shared(w.pp.rules.DataShared(fp))
}

// The add functions derive one record each, of the edge and subject in hand.

func (w *worker) addReverse(target uint64, op recordOp, facets uint32, flags uint8) {
	d := &w.pt.reverse
	d.recs = append(d.recs, record{
		uid: w.subject, edge: w.edge, id: d.keys.uidID(target), facets: facets, part: w.partNo, op: op, flags: flags,
	})
}

func (w *worker) addIndex(id uint32, op recordOp) {
	d := &w.pt.index
	d.recs = append(d.recs, record{uid: w.subject, edge: w.edge, id: id, part: w.partNo, op: op})
}

func (w *worker) addCount(n int, op recordOp) {
	d := &w.pt.count
	d.recs = append(d.recs, record{uid: w.subject, edge: w.edge, id: d.keys.countID(n), part: w.partNo, op: op})
}

// moveCount emits the keys of the subject's step from one bucket to another.
func (w *worker) moveCount(uid uint64, from, to int) {
	if from == to || w.pp.rules.None() {
		return
	}
	for _, n := range [2]int{from, to} {
		if n > 0 {
			w.keys.Exclusive(w.pp.rules.Posting(w.counts.fingerprint(w.pp.countKey, n), uid))
		}
	}
}

// bucketPrints remembers the fingerprints of the count keys of one prefix,
// until it is reset for another.
type bucketPrints struct {
	known []uint64
	key   []byte
}

// knownBuckets is how many small numbers' fingerprints are kept.
const knownBuckets = 1 << 12

func (c *bucketPrints) reset() { c.known = c.known[:0] }

func (c *bucketPrints) fingerprint(prefix []byte, n int) uint64 {
	for len(c.known) <= n && len(c.known) < knownBuckets {
		c.known = append(c.known, c.compute(prefix, len(c.known)))
	}
	if n < len(c.known) {
		return c.known[n]
	}
	return c.compute(prefix, n)
}

func (c *bucketPrints) compute(prefix []byte, n int) uint64 {
	c.key = binary.BigEndian.AppendUint32(append(c.key[:0], prefix...), uint32(n))
	return conflict.Fingerprint(c.key)
}
