package edgemill

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/dgryski/go-farm"

	"github.com/edgemill/edgemill/mutation"
	"github.com/edgemill/edgemill/posting"
	"github.com/edgemill/edgemill/schema"
	"github.com/edgemill/edgemill/schema/token"
	"github.com/edgemill/edgemill/schema/value"
)

// The model of a graph: plain maps of what each subject has, changed edge by
// edge as the documents say, from which everything else is derived anew
// whenever it is asked for. Of the product it uses the schema's statements, the
// conversions of values and the tokenizers, and nothing of how edges are applied,
// stored or read.

// mPosting is a value or a target, comparable.
type mPosting struct {
	uid    uint64 // under which it is stored
	ref    bool
	typ    value.Type
	data   string
	lang   string
	facets string
}

// mSubject is what a subject has under one predicate, by what makes one
// posting take another's place.
type mSubject map[string]mPosting

// mState is what each subject has, by predicate.
type mState map[string]map[uint64]mSubject

func (s mState) clone() mState {
	c := make(mState, len(s))
	for p, subjects := range s {
		c[p] = make(map[uint64]mSubject, len(subjects))
		for uid, have := range subjects {
			c[p][uid] = maps.Clone(have)
		}
	}
	return c
}

func (s mState) subject(pred string, uid uint64) mSubject {
	if s[pred] == nil {
		s[pred] = make(map[uint64]mSubject)
	}
	if s[pred][uid] == nil {
		s[pred][uid] = make(mSubject)
	}
	return s[pred][uid]
}

// sources are the subjects that point to a target.
func (s mState) sources(pred string, target uint64) []uint64 {
	var subjects []uint64
	for uid, have := range s[pred] {
		if _, ok := have[targetSlot(target)]; ok {
			subjects = append(subjects, uid)
		}
	}
	slices.Sort(subjects)
	return subjects
}

func targetSlot(target uint64) string { return string(binary.BigEndian.AppendUint64(nil, target)) }

// mWrite is what a transaction does to one subject's postings.
type mWrite struct {
	clear   bool
	changes map[string]*mPosting // nil deletes
}

// mKeys are conflict keys.
type mKeys struct{ exclusive, shared map[uint64]bool }

func newKeys() mKeys { return mKeys{map[uint64]bool{}, map[uint64]bool{}} }

func (k mKeys) clone() mKeys { return mKeys{maps.Clone(k.exclusive), maps.Clone(k.shared)} }

// sorted are the distinct keys; what is both is exclusive, and zero is none.
func (k mKeys) sorted() (exclusive, shared []uint64) {
	for key := range k.exclusive {
		if key != 0 {
			exclusive = append(exclusive, key)
		}
	}
	for key := range k.shared {
		if key != 0 && !k.exclusive[key] {
			shared = append(shared, key)
		}
	}
	slices.Sort(exclusive)
	slices.Sort(shared)
	return exclusive, shared
}

func (k mKeys) meets(o mKeys) bool {
	for key := range k.exclusive {
		if key != 0 && (o.exclusive[key] || o.shared[key]) {
			return true
		}
	}
	for key := range k.shared {
		if key != 0 && o.exclusive[key] {
			return true
		}
	}
	return false
}

// mTxn is a transaction of the model.
type mTxn struct {
	snap   *schema.Snapshot
	state  mState
	writes map[string]map[uint64]*mWrite
	keys   mKeys
}

func newModelTxn(snap *schema.Snapshot, committed mState) *mTxn {
	return &mTxn{snap: snap, state: committed.clone(), writes: map[string]map[uint64]*mWrite{}, keys: newKeys()}
}

// batch applies the edges, or on an error none of them.
func (t *mTxn) batch(edges []mutation.Edge) error {
	was := mTxn{snap: t.snap, state: t.state.clone(), writes: t.cloneWrites(), keys: t.keys.clone()}
	for i := range edges {
		if err := t.edge(&edges[i]); err != nil {
			*t = was
			return err
		}
	}
	return nil
}

func (t *mTxn) cloneWrites() map[string]map[uint64]*mWrite {
	c := make(map[string]map[uint64]*mWrite)
	for pred, subjects := range t.writes {
		c[pred] = make(map[uint64]*mWrite)
		for uid, w := range subjects {
			c[pred][uid] = &mWrite{clear: w.clear, changes: maps.Clone(w.changes)}
		}
	}
	return c
}

// commit puts the transaction's writes onto what is committed.
func (t *mTxn) commit(committed mState) {
	for pred, subjects := range t.writes {
		for uid, w := range subjects {
			have := committed.subject(pred, uid)
			if w.clear {
				clear(have)
			}
			for slot, p := range w.changes {
				if p == nil {
					delete(have, slot)
				} else {
					have[slot] = *p
				}
			}
		}
	}
}

var errModel = errors.New("the model refuses")

func (t *mTxn) edge(e *mutation.Edge) error {
	reserved := func(uid uint64) bool { return uid == 0 || uid == ^uint64(0) }
	star := e.Object == mutation.ObjectStar
	if reserved(e.Subject) || (star && e.Op == mutation.Set) || (e.Predicate == "*" && (!star || e.Lang != "")) {
		return errModel
	}
	if e.Predicate == "*" {
		for p := range t.snap.All() {
			if len(t.state[p.Name][e.Subject]) > 0 {
				t.change(p, e.Subject, func(c *mChange) { c.star() })
			}
		}
		return nil
	}
	p, ok := t.snap.Predicate(0, e.Predicate)
	switch {
	case !ok,
		e.Lang != "" && !p.Lang,
		e.Object == mutation.ObjectUID && (p.Type != value.UID || reserved(e.Target)),
		e.Object == mutation.ObjectValue && p.Type == value.UID:
		return errModel
	}
	switch {
	case star && e.Lang != "":
		t.change(p, e.Subject, func(c *mChange) { c.starLang(e.Lang) })
	case star:
		t.change(p, e.Subject, func(c *mChange) { c.star() })
	case e.Object == mutation.ObjectUID:
		return t.target(p, e)
	default:
		return t.value(p, e)
	}
	return nil
}

// mChange is one edge's change of one subject under one predicate.
type mChange struct {
	t       *mTxn
	p       *schema.Predicate
	subject uint64
	have    mSubject
	write   *mWrite
	fp      uint64 // of the data key
}

// change runs f on the subject's postings, and emits the keys that follow from
// what stood before and after.
func (t *mTxn) change(p *schema.Predicate, subject uint64, f func(*mChange)) {
	if t.writes[p.Name] == nil {
		t.writes[p.Name] = make(map[uint64]*mWrite)
	}
	w := t.writes[p.Name][subject]
	if w == nil {
		w = &mWrite{changes: make(map[string]*mPosting)}
		t.writes[p.Name][subject] = w
	}
	have := t.state.subject(p.Name, subject)
	before := maps.Clone(have)
	c := &mChange{t: t, p: p, subject: subject, have: have, write: w,
		fp: farm.Fingerprint64(mListKey(p.Name, 0x00, be8(subject)))}
	f(c)
	c.follow(before)
}

// follow emits the keys of counts, reverse lists and reverse counts.
func (c *mChange) follow(before mSubject) {
	p := c.p
	if p.Count {
		c.move(0x08, len(before), len(c.have), c.subject)
	}
	if !p.Reverse {
		return
	}
	for slot, post := range before {
		if _, stays := c.have[slot]; !stays {
			n := len(c.t.state.sources(p.Name, post.uid))
			c.edgeMoved(post.uid, n+1, n)
		}
	}
	for slot, post := range c.have {
		if _, was := before[slot]; !was {
			n := len(c.t.state.sources(p.Name, post.uid))
			c.edgeMoved(post.uid, n-1, n)
		}
	}
}

func (c *mChange) edgeMoved(target uint64, from, to int) {
	if c.p.Upsert && !c.p.NoConflict {
		c.t.keys.exclusive[farm.Fingerprint64(mListKey(c.p.Name, 0x04, be8(target)))] = true
	}
	if c.p.Count {
		c.move(0x0c, from, to, target)
	}
}

func (c *mChange) move(kind byte, from, to int, uid uint64) {
	if from == to {
		return
	}
	for _, n := range []int{from, to} {
		if n > 0 {
			c.derived(mListKey(c.p.Name, kind, binary.BigEndian.AppendUint32(nil, uint32(n))), uid)
		}
	}
}

// derived emits the key of a posting of an index or count list.
func (c *mChange) derived(key []byte, uid uint64) {
	switch fp := farm.Fingerprint64(key); {
	case c.p.NoConflict:
	case c.p.Upsert:
		c.t.keys.exclusive[fp] = true
	default:
		c.t.keys.exclusive[fp^uid] = true
	}
}

// dataKey emits the key of one data posting.
func (c *mChange) dataKey(uid uint64) {
	switch {
	case c.p.NoConflict:
	case c.p.Upsert, !c.p.List:
		c.t.keys.exclusive[c.fp] = true
	default:
		c.t.keys.exclusive[c.fp^uid] = true
		c.t.keys.shared[c.fp] = true
	}
}

// wholeKey emits the key of a star.
func (c *mChange) wholeKey() {
	if !c.p.NoConflict {
		c.t.keys.exclusive[c.fp] = true
	}
}

func (c *mChange) set(slot string, post mPosting) {
	c.have[slot] = post
	c.write.changes[slot] = &post
}

func (c *mChange) remove(slot string) {
	delete(c.have, slot)
	c.write.changes[slot] = nil
}

func (c *mChange) clear() {
	clear(c.have)
	clear(c.write.changes)
	c.write.clear = true
}

func (c *mChange) star() {
	c.wholeKey()
	for _, post := range c.have {
		c.tokenKeys(post)
	}
	c.clear()
}

func (c *mChange) starLang(lang string) {
	c.wholeKey()
	post, ok := c.have[lang]
	if ok {
		c.tokenKeys(post)
	}
	if ok || !c.p.Count {
		c.remove(lang)
	}
}

func (c *mChange) tokenKeys(post mPosting) {
	tokens, err := mTokens(c.p, post)
	if err != nil {
		panic(err) // it went in
	}
	for _, term := range tokens {
		c.derived(mListKey(c.p.Name, 0x02, []byte(term)), c.subject)
	}
}

func (t *mTxn) target(p *schema.Predicate, e *mutation.Edge) error {
	facets, err := mFacets(e.Facets)
	if err != nil && e.Op == mutation.Set {
		return err
	}
	t.change(p, e.Subject, func(c *mChange) {
		slot := targetSlot(e.Target)
		_, had := c.have[slot]
		switch {
		case e.Op == mutation.Set:
			c.dataKey(e.Target)
			if !p.List {
				c.clear()
			}
			c.set(slot, mPosting{uid: e.Target, ref: true, facets: facets})
		case had || !p.Count:
			c.dataKey(e.Target)
			c.remove(slot)
		}
	})
	return nil
}

func (t *mTxn) value(p *schema.Predicate, e *mutation.Edge) error {
	post, err := mValue(p, e)
	if err != nil {
		return err
	}
	slot := e.Lang
	if p.List {
		slot = post.data
	}
	if e.Op == mutation.Set {
		if _, err := mTokens(p, post); err != nil {
			return err
		}
		if p.Unique && t.held(p, e.Subject, post) {
			return errModel
		}
	}
	t.change(p, e.Subject, func(c *mChange) {
		old, had := c.have[slot]
		if e.Op == mutation.Set {
			c.dataKey(post.uid)
			if had {
				c.tokenKeys(old)
			}
			c.tokenKeys(post)
			c.set(slot, post)
			return
		}
		if (had && !mSame(p, old, post)) || (!had && p.Count) {
			return
		}
		c.dataKey(post.uid)
		if had {
			c.tokenKeys(old)
		}
		c.remove(slot)
	})
	return nil
}

func mSame(p *schema.Predicate, stands, named mPosting) bool {
	if p.Type == value.Password && value.VerifyPassword([]byte(stands.data), []byte(named.data)) {
		return true
	}
	return stands.typ == named.typ && stands.data == named.data
}

// held reports whether another subject holds the value.
func (t *mTxn) held(p *schema.Predicate, subject uint64, post mPosting) bool {
	for uid, have := range t.state[p.Name] {
		for _, other := range have {
			if uid != subject && other.data == post.data && other.lang == post.lang {
				return true
			}
		}
	}
	return false
}

// mValue is the posting of an edge with a value.
func mValue(p *schema.Predicate, e *mutation.Edge) (mPosting, error) {
	v := e.Value
	switch {
	case p.Type == value.Default:
		if err := value.Check(v.Type, v.Data); err != nil {
			return mPosting{}, err
		}
	case p.Type == value.Password && e.Op == mutation.Delete:
		v.Type = value.Password
	default:
		var err error
		if v, err = value.Convert(v, p.Type); err != nil {
			return mPosting{}, err
		}
	}
	post := mPosting{typ: v.Type, data: string(v.Data), lang: e.Lang, uid: ^uint64(0)}
	switch {
	case p.List:
		post.uid = farm.Fingerprint64(v.Data)
	case e.Lang != "":
		post.uid = farm.Fingerprint64([]byte(e.Lang))
	}
	var err error
	if e.Op == mutation.Set {
		post.facets, err = mFacets(e.Facets)
	}
	return post, err
}

// mFacets is facets as text: sorted, with their tokens.
func mFacets(fs []mutation.Facet) (string, error) {
	fs = slices.Clone(fs)
	slices.SortFunc(fs, func(a, b mutation.Facet) int { return cmp.Compare(a.Key, b.Key) })
	var b strings.Builder
	for i, f := range fs {
		if f.Key == "" || (i > 0 && f.Key == fs[i-1].Key) {
			return "", errModel
		}
		var tokens []string
		if f.Type == posting.FacetString {
			var buf token.Buffer
			if err := token.FacetTokens(&buf, string(f.Value)); err != nil {
				return "", err
			}
			for i := range buf.Len() {
				tokens = append(tokens, string(buf.At(i)))
			}
		}
		fmt.Fprintf(&b, "%s=%d:%x%q ", f.Key, f.Type, f.Value, tokens)
	}
	return b.String(), nil
}

// mTokens is the distinct tokens of a value.
func mTokens(p *schema.Predicate, post mPosting) ([]string, error) {
	var buf token.Buffer
	for _, t := range p.Tokenizers {
		if err := t.Append(&buf, value.Value{Type: post.typ, Data: []byte(post.data)}, post.lang); err != nil {
			return nil, err
		}
	}
	var tokens []string
	for i := range buf.Len() {
		if len(mListKey(p.Name, 0x02, buf.At(i))) > 64992 {
			return nil, errModel
		}
		tokens = append(tokens, string(buf.At(i)))
	}
	slices.Sort(tokens)
	return slices.Compact(tokens), nil
}

// mListKey is a list's key in namespace 0.
func mListKey(pred string, kind byte, rest []byte) []byte {
	var b bytes.Buffer
	b.Write(make([]byte, 9))
	b.Write(binary.BigEndian.AppendUint16(nil, uint16(len(pred))))
	b.WriteString(pred)
	b.WriteByte(kind)
	b.Write(rest)
	return b.Bytes()
}

func be8(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }

// lists is every list that is not empty, by key, as it is to be stored.
func (s mState) lists(snap *schema.Snapshot) map[string][]mPosting {
	all := make(map[string][]mPosting)
	add := func(key []byte, post mPosting) { all[string(key)] = append(all[string(key)], post) }
	for pred, subjects := range s {
		p, _ := snap.Predicate(0, pred)
		for uid, have := range subjects {
			for _, post := range have {
				add(mListKey(pred, 0x00, be8(uid)), post)
			}
			for term := range s.tokens(p, have) {
				add(mListKey(pred, 0x02, []byte(term)), mPosting{uid: uid, ref: true})
			}
			if p.Count && len(have) > 0 {
				add(mListKey(pred, 0x08, binary.BigEndian.AppendUint32(nil, uint32(len(have)))), mPosting{uid: uid, ref: true})
			}
		}
		if p.Reverse {
			s.reverse(p, add)
		}
	}
	for _, posts := range all {
		slices.SortFunc(posts, func(a, b mPosting) int { return cmp.Compare(a.uid, b.uid) })
	}
	return all
}

// tokens is the tokens of all values of a subject.
func (s mState) tokens(p *schema.Predicate, have mSubject) map[string]bool {
	all := make(map[string]bool)
	for _, post := range have {
		tokens, err := mTokens(p, post)
		if err != nil {
			panic(err)
		}
		for _, term := range tokens {
			all[term] = true
		}
	}
	return all
}

func (s mState) reverse(p *schema.Predicate, add func([]byte, mPosting)) {
	sources := make(map[uint64]int)
	for uid, have := range s[p.Name] {
		for _, post := range have {
			add(mListKey(p.Name, 0x04, be8(post.uid)), mPosting{uid: uid, ref: true, facets: post.facets})
			sources[post.uid]++
		}
	}
	if !p.Count {
		return
	}
	for target, n := range sources {
		add(mListKey(p.Name, 0x0c, binary.BigEndian.AppendUint32(nil, uint32(n))), mPosting{uid: target, ref: true})
	}
}
