package edgemill

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/edgemill/edgemill/conflict"
	"github.com/edgemill/edgemill/posting"
	"github.com/edgemill/edgemill/schema"
	"github.com/edgemill/edgemill/schema/token"
	"github.com/edgemill/edgemill/schema/value"
)

// listCheck checks one list after another. It belongs to one goroutine.
type listCheck struct {
	c       *predicateCheck
	p       *schema.Predicate
	tally   *tally
	checker posting.Checker
	// take is given the derived postings that the lists ask for or hold.
	take func(d derived, s side, listKey []byte, uid uint64, facets []byte)
	// closer says that the lists have been checked before: only their derived
	// postings count.
	closer bool

	current []byte // the key in hand
	tokens  token.Buffer
	seen    map[string]struct{}
	keyBuf  []byte
	record  []byte
}

func newListCheck(c *predicateCheck, t *tally) *listCheck {
	l := &listCheck{c: c, p: c.p, tally: t, seen: make(map[string]struct{})}
	l.checker.Report = l.violation
	l.take = l.sum
	return l
}

// sum adds a derived posting to the tally.
func (l *listCheck) sum(d derived, s side, listKey []byte, uid uint64, facets []byte) {
	l.record = appendRecord(l.record[:0], listKey, uid)
	n := len(l.record)
	l.record = append(l.record, facets...)
	l.tally.posting(d, s, l.record, n)
}

func appendRecord(dst, listKey []byte, uid uint64) []byte {
	return binary.BigEndian.AppendUint64(append(dst, listKey...), uid)
}

func (l *listCheck) violation(uid uint64, what string) {
	if !l.closer {
		l.c.v.violation(l.current, uid, what)
	}
}

// key checks a list, or a part of one, with all its versions.
func (l *listCheck) key(key []byte, versions []posting.Version) {
	l.current = key
	k, err := posting.ParseKey(key)
	if err != nil {
		l.violation(0, err.Error())
		return
	}
	before := l.checker.Faults()
	if !l.closer {
		for i := range versions {
			l.checker.Version(&k, &versions[i])
		}
	}
	if k.Space == posting.SpacePart {
		l.part(&k, versions)
		return
	}
	if !l.closer {
		l.whole(&k, versions)
	}
	list, err := l.c.v.reader.Assemble(key, versions)
	if err != nil {
		if l.checker.Faults() == before {
			l.violation(0, err.Error())
		}
		return
	}
	l.list(&k, list, versions)
}

// whole checks what only all versions together tell.
func (l *listCheck) whole(k *posting.Key, versions []posting.Version) {
	rollup := func(v posting.Version) bool { return v.Deleted || v.Meta != posting.MetaDelta }
	if i := slices.IndexFunc(versions, rollup); i >= 0 && versions[i].Meta == posting.MetaComplete && !versions[i].Deleted {
		l.checker.Parts(l.c.v.reader, l.current, &versions[i])
	}
	p := l.p
	if p == nil || !p.Count || p.NoConflict {
		return // without conflicts, two transactions may both set what is not there
	}
	if k.Kind == posting.KindData || (k.Kind == posting.KindReverse && p.Reverse) {
		l.checker.Counted(l.c.v.reader, l.current, versions)
	}
}

// part looks for the list that a part belongs to.
func (l *listCheck) part(k *posting.Key, versions []posting.Version) {
	if l.closer || versions[0].Deleted || versions[0].Meta != posting.MetaComplete {
		return
	}
	main := *k
	main.Space = posting.SpaceList
	splits, err := l.c.v.reader.Splits(main.Append(nil))
	if err != nil {
		return // the list's own check reports it
	}
	if _, named := slices.BinarySearch(splits, k.Start); !named {
		l.violation(0, "no list names this part")
	}
}

// list checks a list as it stands.
func (l *listCheck) list(k *posting.Key, list *posting.List, versions []posting.Version) {
	n := list.Len()
	if n == 0 {
		return
	}
	l.count(k.Kind, uint64(n))
	switch {
	case l.c.unchecked != "":
	case l.p == nil:
		l.tally.unknownList(k.Kind, l.current, 1)
	case k.Kind == posting.KindData:
		l.data(k, list, n, versions)
	default:
		l.derived(k, list, n)
	}
}

func (l *listCheck) count(kind posting.Kind, n uint64) {
	r := &l.tally.report
	switch kind {
	case posting.KindData:
		r.Subjects, r.Postings = r.Subjects+1, r.Postings+n
	case posting.KindIndex:
		r.Tokens, r.IndexEntries = r.Tokens+1, r.IndexEntries+n
	case posting.KindReverse:
		r.Targets, r.ReverseEntries = r.Targets+1, r.ReverseEntries+n
	case posting.KindCount:
		r.CountEntries += n
	case posting.KindCountReverse:
		r.ReverseCountEntries += n
	}
}

// data checks what a subject has, and asks for the postings that follow.
func (l *listCheck) data(k *posting.Key, list *posting.List, n int, versions []posting.Version) {
	p := l.p
	if k.UID == 0 || k.UID == posting.DeleteAllUID {
		l.violation(0, "the subject's uid is reserved")
	}
	if !p.List && !p.Lang && n > 1 {
		l.violation(0, fmt.Sprintf("a single-valued predicate with %d values", n))
	}
	clear(l.seen)
	for post := range list.Postings(0) {
		if p.Type == value.UID {
			l.target(k, &post, versions)
			continue
		}
		l.value(&post)
		l.index(k, &post, n > 1)
	}
	if p.Count {
		l.bucket(derivedCount, uint32(n), k.UID)
	}
}

// target checks an edge to a node.
func (l *listCheck) target(k *posting.Key, post *posting.Posting, versions []posting.Version) {
	p := l.p
	if post.Type != posting.PostingRef {
		l.violation(post.UID, fmt.Sprintf("a value where the predicate has the type %s", p.Type))
		return
	}
	if post.UID == posting.DeleteAllUID {
		l.violation(post.UID, "the target's uid is reserved")
	}
	if !p.List && !l.closer && setWithoutMarker(post.UID, versions) {
		l.violation(post.UID, "a single target that was set without the delete-all marker before it")
	}
	if p.Reverse {
		l.keyBuf = posting.AppendReverseKey(l.keyBuf[:0], p.Namespace, p.Name, post.UID)
		l.take(derivedReverse, expected, l.keyBuf, k.UID, post.Facets)
	}
}

// setWithoutMarker reports whether the uid, which stands in a list, was put
// there by a delta that does not begin with the delete-all marker.
func setWithoutMarker(uid uint64, versions []posting.Version) bool {
	for i := range versions {
		if versions[i].Deleted || versions[i].Meta != posting.MetaDelta {
			return false
		}
		posts, err := posting.DecodeDelta(nil, versions[i].Value)
		if err != nil {
			return false
		}
		if slices.ContainsFunc(posts, func(p posting.Posting) bool { return p.UID == uid && !p.IsDeleteAll() }) {
			return !posts[0].IsDeleteAll()
		}
	}
	return false
}

// value checks a value against the schema.
func (l *listCheck) value(post *posting.Posting) {
	p := l.p
	if post.Type == posting.PostingRef {
		l.violation(post.UID, fmt.Sprintf("a uid where the predicate has the type %s", p.Type))
		return
	}
	if want := p.StoredType(post.ValType); post.ValType != want {
		l.violation(post.UID, fmt.Sprintf("val_type %d where the predicate has the type %s (%d)", post.ValType, want, want))
	}
	switch tagged := len(post.Lang) > 0; {
	case tagged && !p.Lang:
		l.violation(post.UID, fmt.Sprintf("the language tag %q, and the predicate is not @lang", post.Lang))
	case tagged:
	case p.List && post.UID != conflict.Fingerprint(post.Value):
		l.violation(post.UID, fmt.Sprintf("the uid is not the fingerprint of the value, %#x", conflict.Fingerprint(post.Value)))
	case !p.List && post.UID != posting.DeleteAllUID:
		l.violation(post.UID, "the uid of a single value is not 2^64-1")
	}
}

// index asks for the tokens of a value. Where the subject has several values,
// a token that two of them share is asked for once.
func (l *listCheck) index(k *posting.Key, post *posting.Posting, several bool) {
	p := l.p
	l.tokens.Reset()
	for _, t := range p.Tokenizers {
		if err := t.Append(&l.tokens, value.Value{Type: p.Type, Data: post.Value}, string(post.Lang)); err != nil {
			l.violation(post.UID, err.Error())
		}
	}
	for i := range l.tokens.Len() {
		term := l.tokens.At(i)
		if several {
			if _, seen := l.seen[string(term)]; seen {
				continue
			}
			l.seen[string(term)] = struct{}{}
		}
		l.keyBuf = posting.AppendIndexKey(l.keyBuf[:0], p.Namespace, p.Name, term)
		l.take(derivedIndex, expected, l.keyBuf, k.UID, nil)
	}
}

// bucket asks for a uid in the bucket of a number.
func (l *listCheck) bucket(d derived, n uint32, uid uint64) {
	l.keyBuf = posting.AppendCountKey(l.keyBuf[:0], l.p.Namespace, l.p.Name, d.kind(), n)
	l.take(d, expected, l.keyBuf, uid, nil)
}

// derived takes the postings of a derived list.
func (l *listCheck) derived(k *posting.Key, list *posting.List, n int) {
	d := map[posting.Kind]derived{
		posting.KindIndex: derivedIndex, posting.KindReverse: derivedReverse,
		posting.KindCount: derivedCount, posting.KindCountReverse: derivedCountReverse,
	}[k.Kind]
	for post := range list.Postings(0) {
		l.take(d, found, l.current, post.UID, post.Facets)
	}
	if k.Kind == posting.KindReverse && l.p.Reverse && l.p.Count {
		l.bucket(derivedCountReverse, uint32(n), k.UID)
	}
}
