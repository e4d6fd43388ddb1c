package mutation

import (
	"cmp"
	"slices"

	"github.com/edgemill/edgemill/conflict"
	"github.com/edgemill/edgemill/posting"
	"github.com/edgemill/edgemill/schema/value"
)

// family is a kind of derived keys of one predicate, as their owners see it.
type family struct {
	pp     *predicatePlan
	kind   posting.Kind
	prefix []byte
	// counted says that the delta rules of @count lists hold.
	counted bool
	// from are the records of each part, in the parts' order.
	from []*derived
}

// family fills in what owners see of the predicate's keys of a kind.
func (pp *predicatePlan) family(f *family, kind posting.Kind) {
	*f = family{pp: pp, kind: kind, from: f.from[:0]}
	if kind == posting.KindCountReverse {
		f.prefix = pp.countReverseKey
		for i := range pp.moves {
			f.from = append(f.from, &pp.moves[i])
		}
		return
	}
	switch kind {
	case posting.KindIndex:
		f.prefix = pp.indexKey
	case posting.KindReverse:
		f.prefix, f.counted = pp.reverseKey, pp.p.Count
	case posting.KindCount:
		f.prefix = pp.countKey
	}
	for i := range pp.parts {
		f.from = append(f.from, pp.parts[i].derived(kind))
	}
}

// ownedKey is a derived key and where its records begin.
type ownedKey struct {
	hash uint64
	// first and last link the key's segments, in the parts' order.
	first, last int32
}

// segment is the records that one part has for a key.
type segment struct {
	part int32
	id   uint32
	next int32
}

// ownPart is the second pass, and the third: the owner takes the records of
// its keys from every part, in the parts' order, folds them and writes the
// lists' deltas. The keys with this owner's hash belong to this worker until
// the pass is joined (I1).
func (w *worker) ownPart(f *family, owner int) error {
	w.gather(f, owner)
	if f.kind == posting.KindReverse && f.pp.p.Count {
		if err := w.recount(f, owner); err != nil {
			return err
		}
	}
	for i := range w.owned {
		if i%contextEvery == 0 {
			if err := w.b.stopped(); err != nil {
				return err
			}
		}
		recs := w.records(f, &w.owned[i])
		if err := w.writeDerived(f, w.ownedTerm(f, &w.owned[i]), recs); err != nil {
			return err
		}
	}
	return nil
}

// gather lists the owner's keys with their segments.
func (w *worker) gather(f *family, owner int) {
	w.owned, w.segments = w.owned[:0], w.segments[:0]
	w.merge.reset()
	for n, d := range f.from {
		for _, id := range d.owned(owner) {
			seg := int32(len(w.segments))
			w.segments = append(w.segments, segment{part: int32(n), id: id, next: -1})
			hash := d.keys.hashes[id]
			if len(f.from) == 1 {
				w.owned = append(w.owned, ownedKey{hash, seg, seg})
				continue
			}
			k := w.merge.id(hash, d.keys.at(id))
			if int(k) == len(w.owned) {
				w.owned = append(w.owned, ownedKey{hash, seg, seg})
				continue
			}
			o := &w.owned[k]
			w.segments[o.last].next, o.last = seg, seg
		}
	}
}

func (w *worker) ownedTerm(f *family, o *ownedKey) []byte {
	s := &w.segments[o.first]
	return f.from[s.part].keys.at(s.id)
}

// records returns a key's records in ascending uid, those of one uid in the
// order of the edges. The parts are ranges of subjects, so that laid end to end
// their records are in order already; only targets in count buckets come mixed.
func (w *worker) records(f *family, o *ownedKey) []record {
	s := &w.segments[o.first]
	recs := f.from[s.part].of(s.id)
	if s.next >= 0 {
		w.recs = append(w.recs[:0], recs...)
		for n := s.next; n >= 0; n = w.segments[n].next {
			s = &w.segments[n]
			w.recs = append(w.recs, f.from[s.part].of(s.id)...)
		}
		recs = w.recs
	}
	byUID := func(a, b record) int { return cmp.Compare(a.uid, b.uid) }
	if f.kind == posting.KindCountReverse && !slices.IsSortedFunc(recs, byUID) {
		w.recs = append(w.recs[:0], recs...)
		slices.SortStableFunc(w.recs, byUID)
		recs = w.recs
	}
	assertAscending(recs)
	return recs
}

// writeDerived emits the conflict keys of a key's records and writes its
// delta.
func (w *worker) writeDerived(f *family, term []byte, recs []record) error {
	w.key = append(append(w.key[:0], f.prefix...), term...)
	w.emitDerived(f, recs)
	if f.kind == posting.KindIndex && f.pp.p.Unique && f.pp.uniqueTerm(term) {
		if err := w.checkUnique(w.key, recs); err != nil {
			return err
		}
	}
	if w.b.earlier {
		if own, ok := w.b.txn.deltas.Get(w.key); ok {
			return w.foldRecords(f, own, recs)
		}
	}
	w.encodeRecords(f, recs)
	return nil
}

func (w *worker) emitDerived(f *family, recs []record) {
	rules := f.pp.rules
	switch {
	case rules.None():
	case f.kind == posting.KindIndex:
		fp := conflict.Fingerprint(w.key)
		for i := range recs {
			w.keys.Exclusive(rules.Posting(fp, recs[i].uid))
		}
	case f.kind == posting.KindReverse && rules.HasReverse():
		if slices.ContainsFunc(recs, func(r record) bool { return r.flags&flagEmit != 0 }) {
			w.keys.Exclusive(rules.Reverse(conflict.Fingerprint(w.key)))
		}
	}
}

// foldRecords folds the records into the delta that earlier batches left.
func (w *worker) foldRecords(f *family, own []byte, recs []record) error {
	w.delta.Reset(nil, f.counted)
	if err := w.delta.Load(own); err != nil {
		return err
	}
	for i := range recs {
		r := &recs[i]
		found := r.flags&flagFound != 0
		post := posting.Posting{UID: r.uid, StartTS: w.b.txn.startTS}
		switch r.op {
		case opSet:
			post.Facets = f.pp.facetsOf(r)
			w.delta.SetKnown(post, found)
		case opDelete:
			w.delta.DeleteKnown(post, found)
		case opForget:
			w.delta.Forget(r.uid)
		}
	}
	w.writeDelta(w.key, true)
	return nil
}

func (pp *predicatePlan) facetsOf(r *record) []byte {
	if r.facets == 0 {
		return nil
	}
	return pp.parts[r.part].facetsAt(r.facets)
}

// encodeRecords writes the delta of records alone: of each uid the last one
// that writes counts.
func (w *worker) encodeRecords(f *family, recs []record) {
	ts := w.b.txn.startTS
	size := len(w.key) + len(recs)*posting.RefPostingSize(0, posting.OpOverwrite, ts)
	for i := range recs {
		if recs[i].facets != 0 {
			size += len(f.pp.facetsOf(&recs[i])) + facetsLenBytes
		}
	}
	buf := append(w.run.Space(size), w.key...)
	for len(recs) > 0 {
		last := recs[0]
		n := 1
		for ; n < len(recs) && recs[n].uid == last.uid; n++ {
			if recs[n].op != opTouch {
				last = recs[n]
			}
		}
		recs = recs[n:]
		if op := last.postingOp(f.counted); op != 0 {
			buf = w.appendRef(buf, last.uid, value.Default, op, f.pp.facetsOf(&last))
		}
	}
	if len(buf) > len(w.key) {
		w.run.Take(buf, len(w.key))
	}
}

// postingOp is the op of the posting that a record writes, 0 for none.
func (r *record) postingOp(counted bool) posting.Op {
	found := r.flags&flagFound != 0
	switch {
	case r.op == opSet && counted && found:
		return posting.OpOverwrite
	case r.op == opSet:
		return posting.OpSet
	case r.op == opDelete && (found || !counted):
		return posting.OpDelete
	}
	return 0
}

// recount walks the targets whose number of sources changes from bucket to
// bucket, in the order of the edges (I2), and hands what is left of each
// target's way to the next pass.
func (w *worker) recount(f *family, owner int) error {
	moves := &f.pp.moves[owner]
	w.counts.reset()
	for i := range w.owned {
		if i%contextEvery == 0 {
			if err := w.b.stopped(); err != nil {
				return err
			}
		}
		recs := w.records(f, &w.owned[i])
		if !slices.ContainsFunc(recs, func(r record) bool { return r.flags&(flagUp|flagDown) != 0 }) {
			continue
		}
		term := w.ownedTerm(f, &w.owned[i])
		w.key = append(append(w.key[:0], f.prefix...), term...)
		found, n, err := w.sources(w.key)
		if err != nil {
			return w.b.edgeError(recs[0].edge, err)
		}
		w.steps(f.pp, moves, uidOf(term), recs, found, n)
	}
	moves.seal(len(f.pp.parts))
	return nil
}

// sources is the number of a target's sources as the transaction found it, and
// as it is before this batch.
func (w *worker) sources(key []byte) (found, n int, err error) {
	base, err := w.b.txn.reader.List(key)
	w.reads++
	if err != nil {
		return 0, 0, err
	}
	found = base.Len()
	if !w.b.earlier {
		return found, found, nil
	}
	own, ok := w.b.txn.deltas.Get(key)
	if !ok {
		return found, found, nil
	}
	l, err := w.b.txn.reader.ListUnder(key, own)
	return found, l.Len(), err
}

// steps emits the keys of a target's steps and derives its last move.
func (w *worker) steps(pp *predicatePlan, moves *derived, target uint64, recs []record, found, n int) {
	byEdge := func(a, b record) int { return cmp.Compare(a.edge, b.edge) }
	up := func(r record) bool { return r.flags&flagDown == 0 }
	if !slices.IsSortedFunc(recs, byEdge) && slices.ContainsFunc(recs, func(r record) bool { return !up(r) }) {
		w.ordered = append(w.ordered[:0], recs...)
		slices.SortStableFunc(w.ordered, byEdge)
		recs = w.ordered
	}
	first := n
	for i := range recs {
		before := n
		if recs[i].flags&flagUp != 0 {
			n++
		} else if recs[i].flags&flagDown != 0 {
			n--
		}
		w.moveReverse(pp, target, before, n)
	}
	if first == n {
		return
	}
	for _, bucket := range [2]int{first, n} {
		if bucket > 0 {
			moves.recs = append(moves.recs, record{
				uid: target, id: moves.keys.countID(bucket), op: bucketOp(bucket == n, bucket == found),
			})
		}
	}
}

func (w *worker) moveReverse(pp *predicatePlan, target uint64, from, to int) {
	if from == to || pp.rules.None() {
		return
	}
	for _, n := range [2]int{from, to} {
		if n > 0 {
			w.keys.Exclusive(pp.rules.Posting(w.counts.fingerprint(pp.countReverseKey, n), target))
		}
	}
}

// uniqueTerm reports whether the token is one by which the predicate's values
// are held apart.
func (pp *predicatePlan) uniqueTerm(term []byte) bool {
	return term[0] == uniqueTokenizer(pp.p).ID()
}

// checkUnique refuses a value that another subject holds when it is set. The
// records are looked at in the order of the edges (I2).
func (w *worker) checkUnique(key []byte, recs []record) error {
	if !slices.ContainsFunc(recs, func(r record) bool { return r.op == opSet }) {
		return nil // What only goes needs no look at who else is there.
	}
	base, err := w.b.txn.reader.List(key)
	w.reads++
	if err != nil {
		return w.b.edgeError(recs[0].edge, err)
	}
	w.holders.Reset(base, false)
	if own, ok := w.b.txn.deltas.Get(key); ok {
		if err := w.holders.Load(own); err != nil {
			return w.b.edgeError(recs[0].edge, err)
		}
	}
	w.ordered = append(w.ordered[:0], recs...)
	slices.SortStableFunc(w.ordered, func(a, b record) int { return cmp.Compare(a.edge, b.edge) })
	for i := range w.ordered {
		r := &w.ordered[i]
		switch r.op {
		case opSet:
			if other, held := w.otherHolder(r.uid); held {
				return w.b.edgeError(r.edge, notUnique(other, true))
			}
			w.holders.SetKnown(posting.Posting{UID: r.uid}, false)
		case opDelete:
			w.holders.DeleteKnown(posting.Posting{UID: r.uid}, true)
		}
	}
	return nil
}

func (w *worker) otherHolder(subject uint64) (other uint64, held bool) {
	w.holders.Current(func(p posting.Posting) bool {
		if p.UID != subject {
			other, held = p.UID, true
		}
		return !held
	})
	return other, held
}
