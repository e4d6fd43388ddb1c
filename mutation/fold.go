package mutation

import (
	"github.com/edgemill/edgemill/conflict"
	"github.com/edgemill/edgemill/posting"
	"github.com/edgemill/edgemill/schema/value"
)

// foldMany folds a subject's edges one after another into the delta of its
// data list, and derives the records that follow.
func (w *worker) foldMany(edges []subjectEdge) error {
	p := w.pp.p
	w.arena = w.arena[:0]
	w.held.end()
	w.delta.Reset(w.base, p.Count)
	if w.own != nil {
		if err := w.delta.Load(w.own); err != nil {
			return w.b.edgeError(edges[0].edge, err)
		}
	}
	w.fp = conflict.Fingerprint(w.dataKey(w.subject))
	w.n = 0
	if p.Count {
		w.n = w.base.Len()
	}
	found := w.n
	if p.Count && w.own != nil {
		w.n = 0
		w.delta.Current(func(posting.Posting) bool { w.n++; return true })
	}
	first := w.n
	for i, se := range edges {
		if i%contextEvery == contextEvery-1 {
			if err := w.b.stopped(); err != nil {
				return err
			}
		}
		before := w.n
		w.edge = se.edge
		if err := w.foldEdge(&w.b.batch.Edges[se.edge]); err != nil {
			return w.b.edgeError(se.edge, err)
		}
		if p.Count {
			w.moveCount(w.subject, before, w.n)
		}
	}
	if p.Count && first != w.n {
		w.settleCount(first, w.n, found)
	}
	w.writeDelta(w.dataKey(w.subject), w.own != nil)
	return nil
}

// settleCount derives what is left of the subject's way through the count
// buckets: the difference to the bucket in which the transaction found it.
func (w *worker) settleCount(first, last, found int) {
	for _, n := range [2]int{first, last} {
		if n > 0 {
			w.addCount(n, bucketOp(n == last, n == found))
		}
	}
}

// bucketOp is what is written for a uid in a bucket.
func bucketOp(in, found bool) recordOp {
	switch {
	case in == found:
		return opForget
	case in:
		return opSet
	}
	return opDelete
}

// writeDelta encodes the delta in hand under the key. Where it came to nothing
// and the transaction had one before, that one is taken back.
func (w *worker) writeDelta(key []byte, had bool) {
	if w.delta.Empty() {
		if had {
			w.run.Add(key, nil)
		}
		return
	}
	w.value = w.delta.AppendTo(w.value[:0], w.b.txn.startTS)
	w.run.Add(key, w.value)
}

func (w *worker) foldEdge(e *Edge) error {
	switch {
	case e.Predicate == StarPredicate:
		return w.foldStarAll()
	case e.Object == ObjectStar && e.Lang != "":
		return w.foldStarLang(e.Lang)
	case e.Object == ObjectStar:
		return w.foldStar()
	case e.Object == ObjectUID && e.Op == Set:
		return w.foldSetTarget(e)
	case e.Object == ObjectUID:
		w.foldDeleteTarget(e)
		return nil
	case e.Op == Set:
		return w.foldSetValue(e)
	}
	return w.foldDeleteValue(e)
}

// current collects the uids that the list holds now.
func (w *worker) current() []uint64 {
	w.uids = w.uids[:0]
	w.delta.Current(func(p posting.Posting) bool { w.uids = append(w.uids, p.UID); return true })
	return w.uids
}

func (w *worker) foldSetTarget(e *Edge) error {
	raw, err := w.arenaFacets(e)
	if err != nil {
		return err
	}
	w.emitData(w.fp, e.Target)
	had := w.delta.Has(e.Target)
	if !w.pp.p.List {
		for _, target := range w.current() {
			if target != e.Target {
				w.unlink(target)
			}
		}
		w.delta.DeleteAll()
		w.n = 0
	}
	w.delta.Set(posting.Posting{UID: e.Target, ValType: value.UID, Facets: raw, StartTS: w.b.txn.startTS})
	if !had || !w.pp.p.List {
		w.n++
	}
	w.link(e.Target, raw, had)
	return nil
}

func (w *worker) foldDeleteTarget(e *Edge) {
	had := w.delta.Has(e.Target)
	if !had && w.pp.p.Count {
		return
	}
	w.emitData(w.fp, e.Target)
	w.delta.Delete(posting.Posting{UID: e.Target, ValType: value.UID, StartTS: w.b.txn.startTS})
	if had {
		w.n--
		w.unlink(e.Target)
	}
}

// link derives the reverse posting of an edge that is set; had says that it
// stood before.
func (w *worker) link(target uint64, facets []byte, had bool) {
	if !w.pp.p.Reverse {
		return
	}
	flags := w.found(target)
	if !had {
		flags |= flagUp | flagEmit
	}
	w.addReverse(target, opSet, w.pt.keepFacets(facets), flags)
}

func (w *worker) unlink(target uint64) {
	if w.pp.p.Reverse {
		w.addReverse(target, opDelete, 0, w.found(target)|flagDown|flagEmit)
	}
}

func (w *worker) found(uid uint64) uint8 {
	if w.pp.p.Count && w.base.Has(uid) {
		return flagFound
	}
	return 0
}

// arenaFacets encodes an edge's facets into the memory that the subject's
// delta lives on until it is encoded.
func (w *worker) arenaFacets(e *Edge) (raw []byte, err error) {
	from := len(w.arena)
	w.arena, err = w.facetEncoder.append(w.arena, e.Facets)
	return w.arena[from:len(w.arena):len(w.arena)], err
}

// valuePosting is the posting that an edge with a value sets or deletes, in
// the same memory.
func (w *worker) valuePosting(e *Edge) (post posting.Posting, err error) {
	from := len(w.arena)
	var typ value.Type
	if w.arena, typ, err = appendStored(w.arena, w.pp.p, e); err != nil {
		return post, err
	}
	mid := len(w.arena)
	w.arena = append(w.arena, e.Lang...)
	stored, lang := w.arena[from:mid:mid], w.arena[mid:len(w.arena):len(w.arena)]
	post = posting.Posting{
		UID: valueUID(w.pp.p, e.Lang, stored), Type: valuePostingType(e.Lang), ValType: typ,
		Value: stored, Lang: lang, StartTS: w.b.txn.startTS,
	}
	if e.Op == Set {
		post.Facets, err = w.arenaFacets(e)
	}
	return post, err
}

func (w *worker) foldSetValue(e *Edge) error {
	post, err := w.valuePosting(e)
	if err != nil {
		return err
	}
	w.emitData(w.fp, post.UID)
	old, had := w.delta.Find(post.UID)
	if w.pp.p.Indexed() {
		if err := w.reindex(&post, &old, had); err != nil {
			return err
		}
	}
	w.delta.Set(post)
	if !had {
		w.n++
	}
	return nil
}

// reindex derives the tokens that go with the old value and those that come
// with the new one.
func (w *worker) reindex(post, old *posting.Posting, had bool) error {
	ids, err := w.tokenIDs(post.Value, string(post.Lang))
	if err != nil {
		return err
	}
	w.newIDs = append(w.newIDs[:0], ids...)
	if had {
		if err := w.unindex(old, w.newIDs); err != nil {
			return err
		}
	}
	for _, id := range w.newIDs {
		w.addIndex(id, opSet)
	}
	w.held.add(w.newIDs, 1)
	return nil
}

// unindex derives the tokens that go with a posting. Those that stay, and
// those of the subject's other values, are only touched.
func (w *worker) unindex(old *posting.Posting, stay []uint32) error {
	if !w.pp.p.Indexed() {
		return nil
	}
	ids, err := w.tokenIDs(old.Value, string(old.Lang))
	if err != nil {
		return err
	}
	w.oldIDs = append(w.oldIDs[:0], ids...)
	if err := w.countHeld(); err != nil {
		return err
	}
	w.held.add(w.oldIDs, -1)
	w.kept.next()
	w.kept.add(stay)
	for _, id := range w.oldIDs {
		op := opDelete
		if w.kept.has(id) || w.held.has(id) {
			op = opTouch
		}
		w.addIndex(id, op)
	}
	return nil
}

// countHeld counts, once a subject, how many of its values have each token.
// From then on the count follows the edges, so that a subject whose many values
// go one by one is not gone through once for each.
func (w *worker) countHeld() (err error) {
	if w.held.counting || (!w.pp.p.List && !w.pp.p.Lang) {
		return nil
	}
	w.held.begin()
	w.delta.Current(func(p posting.Posting) bool {
		var ids []uint32
		if ids, err = w.tokenIDs(p.Value, string(p.Lang)); err == nil {
			w.held.add(ids, 1)
		}
		return err == nil
	})
	return err
}

// idCounts counts token numbers. It does so between begin and end.
type idCounts struct {
	counting bool
	of       map[uint32]int
}

func (c *idCounts) begin() {
	if c.of == nil {
		c.of = make(map[uint32]int)
	}
	c.counting = true
}

// manyCounts is the size from which a map is given up rather than emptied.
const manyCounts = 1024

func (c *idCounts) end() {
	switch {
	case !c.counting:
	case len(c.of) > manyCounts:
		c.of = nil
	default:
		clear(c.of)
	}
	c.counting = false
}

func (c *idCounts) add(ids []uint32, n int) {
	if !c.counting {
		return
	}
	for _, id := range ids {
		c.of[id] += n
	}
}

func (c *idCounts) has(id uint32) bool { return c.counting && c.of[id] > 0 }

// idSet is a set of token numbers that is emptied by counting on.
type idSet struct {
	stamp uint32
	of    []uint32
}

func (s *idSet) next() {
	if s.stamp++; s.stamp == 0 {
		clear(s.of)
		s.stamp = 1
	}
}

func (s *idSet) add(ids []uint32) {
	for _, id := range ids {
		if int(id) >= len(s.of) {
			s.of = append(s.of, make([]uint32, int(id)+1-len(s.of))...)
		}
		s.of[id] = s.stamp
	}
}

func (s *idSet) has(id uint32) bool { return int(id) < len(s.of) && s.of[id] == s.stamp }

func (w *worker) foldDeleteValue(e *Edge) error {
	post, err := w.valuePosting(e)
	if err != nil {
		return err
	}
	old, had := w.delta.Find(post.UID)
	if (had && !holds(&old, &post)) || (!had && w.pp.p.Count) {
		return nil
	}
	w.emitData(w.fp, post.UID)
	if had {
		if err := w.unindex(&old, nil); err != nil {
			return err
		}
		w.n--
	}
	w.delta.Delete(post)
	return nil
}

func (w *worker) foldStar() error {
	w.keys.Exclusive(w.pp.rules.DataStar(w.fp))
	for _, uid := range w.current() {
		if w.pp.p.Type == value.UID {
			w.unlink(uid)
			continue
		}
		// The values go one by one, so that a token that two of them share goes
		// with the last.
		old, _ := w.delta.Find(uid)
		if err := w.unindex(&old, nil); err != nil {
			return err
		}
		w.delta.DeleteKnown(old, true)
	}
	w.delta.DeleteAll()
	w.n = 0
	return nil
}

func (w *worker) foldStarLang(lang string) error {
	w.keys.Exclusive(w.pp.rules.DataStar(w.fp))
	named := posting.Posting{
		UID: langUID(lang), Type: posting.PostingValueLang, Lang: []byte(lang), StartTS: w.b.txn.startTS,
	}
	old, had := w.delta.Find(named.UID)
	if (had && string(old.Lang) != lang) || (!had && w.pp.p.Count) {
		return nil
	}
	if had {
		if err := w.unindex(&old, nil); err != nil {
			return err
		}
		w.n--
	}
	w.delta.Delete(named)
	return nil
}

// foldStarAll stars the predicate if the subject has a posting of it now.
func (w *worker) foldStarAll() error {
	if len(w.current()) == 0 {
		return nil
	}
	if err := w.pp.p.Unsupported(); err != nil {
		return badEdge("%s: %v", w.pp.p.Name, err)
	}
	w.pt.starred = true
	return w.foldStar()
}
