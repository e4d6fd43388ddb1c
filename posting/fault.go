package posting

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgryski/go-farm"

	"github.com/edgemill/edgemill/schema/token"
	"github.com/edgemill/edgemill/schema/value"
)

// Checker says what about stored versions is not as docs/format.md has it. It
// looks at bytes, not at the graph: what a schema allows and what must stand
// where is for who knows the graph. It belongs to one goroutine.
type Checker struct {
	// Report takes each fault, which says at which version it is; uid is that of
	// the posting, 0 where the fault is about the version as a whole.
	Report func(uid uint64, what string)

	tokens token.Buffer
	bytes  []byte
	at     uint64
	faults int
}

// Faults is how many faults there have been.
func (c *Checker) Faults() int { return c.faults }

func (c *Checker) fault(uid uint64, format string, args ...any) {
	c.faults++
	c.Report(uid, fmt.Sprintf(format, args...)+fmt.Sprintf(" (version %d)", c.at))
}

// Version checks one version of a list or of a part of one.
func (c *Checker) Version(k *Key, v *Version) {
	c.at = v.TS
	if v.Deleted {
		return
	}
	if rollup := v.Meta != MetaDelta; rollup != v.DiscardEarlier {
		c.fault(0, "user meta %#02x and discard-earlier-versions %t do not go together", v.Meta, v.DiscardEarlier)
	}
	switch {
	case v.Meta == MetaDelta && k.Space == SpacePart:
		c.fault(0, "a delta in a part of a list")
	case v.Meta == MetaDelta:
		c.delta(k, v.Value)
	case v.Meta == MetaComplete:
		c.complete(k, v.Value)
	case v.Meta == MetaEmpty && len(v.Value) > 0:
		c.fault(0, "an empty list with a value of %d bytes", len(v.Value))
	case v.Meta != MetaEmpty:
		c.fault(0, "user meta %#02x is not that of a list", v.Meta)
	}
}

func (c *Checker) delta(k *Key, data []byte) {
	posts, err := DecodeDelta(nil, data)
	switch {
	case err != nil:
		c.fault(0, "%v", err)
		return
	case len(posts) == 0:
		c.fault(0, "a delta without postings")
		return
	}
	c.bytes = c.bytes[:0]
	for i := range posts {
		c.bytes = AppendPosting(c.bytes, &posts[i])
	}
	if !bytes.Equal(c.bytes, data) {
		c.fault(0, "the bytes of the delta are not those of its postings alone, each field once, in order and not empty")
	}
	rest := posts
	if posts[0].IsDeleteAll() {
		c.marker(&posts[0], posts[1:])
		rest = posts[1:]
	}
	c.ascending(rest)
	for i := range rest {
		c.change(k, &rest[i])
	}
}

// marker checks the delete-all marker and what may not stand beside it.
func (c *Checker) marker(m *Posting, rest []Posting) {
	if m.UID != DeleteAllUID {
		c.fault(m.UID, "the delete-all marker has the uid %#x, not 2^64-1", m.UID)
	}
	c.stamps(m)
	for i := range rest {
		if p := &rest[i]; p.UID == DeleteAllUID && !p.IsDeleteAll() {
			c.fault(p.UID, "a value under the uid of the delete-all marker in one delta with it")
		}
	}
}

// ascending checks the order of a delta's postings behind the marker.
func (c *Checker) ascending(posts []Posting) {
	for i := range posts {
		if posts[i].IsDeleteAll() {
			c.fault(posts[i].UID, "a delete-all marker that is not the first posting of its delta")
		}
		if i > 0 && posts[i].UID <= posts[i-1].UID {
			c.fault(posts[i].UID, "uid %#x stands behind %#x in a delta", posts[i].UID, posts[i-1].UID)
		}
	}
}

// change checks one posting of a delta that is no marker.
func (c *Checker) change(k *Key, p *Posting) {
	if p.IsDeleteAll() {
		return
	}
	c.stamps(p)
	if p.Op == OpDelete && len(p.Value) > 0 {
		c.fault(p.UID, "a delete that carries a value")
	}
	c.posting(k, p)
}

// stamps checks the timestamps of a delta's posting.
func (c *Checker) stamps(p *Posting) {
	if p.StartTS == 0 {
		c.fault(p.UID, "a delta's posting without start_ts")
	}
	if p.CommitTS != 0 {
		c.fault(p.UID, "a delta's posting with the commit_ts %d", p.CommitTS)
	}
}

// posting checks what deltas and complete lists have in common.
func (c *Checker) posting(k *Key, p *Posting) {
	if p.UID == 0 {
		c.fault(0, "a posting with the uid 0")
	}
	switch {
	case p.Type == PostingRef:
		c.ref(k, p)
	case k.Kind != KindData:
		c.fault(p.UID, "posting type %d in a list of uids", p.Type)
	default:
		c.value(p)
	}
	c.facets(k, p)
}

func (c *Checker) ref(k *Key, p *Posting) {
	want := value.Default
	if k.Kind == KindData {
		want = value.UID
	}
	if p.UID == DeleteAllUID {
		c.fault(p.UID, "the uid 2^64-1 as that of a node")
	}
	if p.ValType != want {
		c.fault(p.UID, "val_type %d in a uid posting, not %d", p.ValType, want)
	}
	if len(p.Value) > 0 && p.Op != OpDelete {
		c.fault(p.UID, "a value of %d bytes in a uid posting", len(p.Value))
	}
	if len(p.Lang) > 0 {
		c.fault(p.UID, "the language tag %q in a uid posting", p.Lang)
	}
}

func (c *Checker) value(p *Posting) {
	switch tagged := p.Type == PostingValueLang; {
	case tagged != (len(p.Lang) > 0):
		c.fault(p.UID, "posting type %d with the language tag %q", p.Type, p.Lang)
	case tagged && !utf8.Valid(p.Lang):
		c.fault(p.UID, "the language tag %q is not UTF-8", p.Lang)
	case tagged && p.UID != farm.Fingerprint64(p.Lang):
		c.fault(p.UID, "the posting of language %q has not the uid that is the tag's fingerprint, %#x", p.Lang, farm.Fingerprint64(p.Lang))
	}
	if p.Op == OpDelete {
		return
	}
	if err := value.Check(p.ValType, p.Value); err != nil {
		c.fault(p.UID, "val_type %d: %v", p.ValType, err)
	}
}

// facetValueTypes are the value types of the same name.
var facetValueTypes = [...]value.Type{
	FacetString:   value.String,
	FacetInt:      value.Int,
	FacetFloat:    value.Float,
	FacetBool:     value.Bool,
	FacetDateTime: value.DateTime,
}

func (c *Checker) facets(k *Key, p *Posting) {
	if len(p.Facets) == 0 {
		return
	}
	if k.Kind != KindData && k.Kind != KindReverse {
		c.fault(p.UID, "facets in a list of kind %s", k.Kind)
	}
	fs, err := DecodeFacets(p.Facets)
	if err != nil {
		c.fault(p.UID, "facets: %v", err)
		return
	}
	for i := range fs {
		c.facet(p.UID, &fs[i])
	}
	// What DecodeFacets takes has known types and ordered keys, so that it
	// encodes.
	if raw, err := AppendFacets(nil, fs); err != nil || !bytes.Equal(raw, p.Facets) {
		c.fault(p.UID, "the bytes of the facets are not those of their fields, each once, in order and not empty")
	}
}

func (c *Checker) facet(uid uint64, f *Facet) {
	if err := value.Check(facetValueTypes[f.Type], f.Value); err != nil {
		c.fault(uid, "facet %q: %v", f.Key, err)
		return
	}
	var want []string
	if f.Type == FacetString {
		c.tokens.Reset()
		if err := token.FacetTokens(&c.tokens, string(f.Value)); err != nil {
			c.fault(uid, "facet %q: %v", f.Key, err)
			return
		}
		for i := range c.tokens.Len() {
			want = append(want, string(c.tokens.At(i)))
		}
	}
	if !slices.Equal(want, f.Tokens) {
		c.fault(uid, "facet %q has the tokens %q, not %q", f.Key, f.Tokens, want)
	}
}

func (c *Checker) complete(k *Key, data []byte) {
	l, err := DecodeList(data)
	if err != nil {
		c.fault(0, "%v", err)
		return
	}
	if c.bytes = AppendList(c.bytes[:0], &l); !bytes.Equal(c.bytes, data) {
		c.fault(0, "the bytes of the complete list are not those of its fields, each once, in order and not empty")
	}
	if l.CommitTS != 0 {
		c.fault(0, "a complete list with the commit_ts %d of its own", l.CommitTS)
	}
	if len(l.Splits) > 0 {
		c.splits(k, &l)
		return
	}
	if l.Pack.Len() == 0 {
		c.fault(0, "a complete list without uids, which is not marked as empty")
	}
	c.pack(k, &l.Pack)
	for i := range l.Postings {
		c.kept(k, &l.Pack, &l.Postings[i])
	}
}

// splits checks the main list of a split one.
func (c *Checker) splits(k *Key, l *Complete) {
	if k.Space == SpacePart {
		c.fault(0, "a part that has parts")
	}
	if l.Pack.Len() > 0 || len(l.Postings) > 0 {
		c.fault(0, "a split list with %d uids and %d postings of its own", l.Pack.Len(), len(l.Postings))
	}
	if l.Splits[0] != 1 {
		c.fault(0, "the first part begins at %#x, not at 1", l.Splits[0])
	}
}

func (c *Checker) pack(k *Key, p *Pack) {
	var uids []uint64
	for i := range p.Blocks() {
		var err error
		if uids, err = p.AppendBlock(uids[:0], i); err != nil {
			c.fault(0, "%v", err)
			return
		}
		first, last := uids[0], uids[len(uids)-1]
		switch {
		case len(uids) > BlockUIDs:
			c.fault(0, "block %d has %d uids, more than %d", i, len(uids), BlockUIDs)
		case first>>32 != last>>32:
			c.fault(0, "block %d goes from %#x to %#x, which differ in the upper 32 bits", i, first, last)
		case first == 0:
			c.fault(0, "a posting with the uid 0")
		case last == DeleteAllUID && k.Kind != KindData:
			c.fault(last, "the uid 2^64-1 as that of a node")
		}
	}
}

// kept checks a posting of a complete list.
func (c *Checker) kept(k *Key, pack *Pack, p *Posting) {
	if ok, err := pack.Contains(p.UID); err == nil && !ok {
		c.fault(p.UID, "a posting whose uid is not in the pack")
	}
	switch p.Op {
	case OpSet, OpOverwrite:
	default:
		c.fault(p.UID, "a complete list's posting with the op %d", p.Op)
	}
	if p.StartTS == 0 || p.CommitTS == 0 {
		c.fault(p.UID, "a complete list's posting with start_ts %d and commit_ts %d", p.StartTS, p.CommitTS)
	}
	if p.Type == PostingRef && len(p.Facets) == 0 && len(p.Value) == 0 {
		c.fault(p.UID, "a complete list's posting that carries no more than its uid")
	}
	c.posting(k, p)
}

// Counted checks the ops in the deltas of a counted list, the versions of
// which are given the newest first: whether a set, overwrite or delete is
// written follows from what stood in the list before. Versions below the newest
// complete list are from the time when other rules may have held.
func (c *Checker) Counted(r *Reader, key []byte, versions []Version) {
	n := slices.IndexFunc(versions, func(v Version) bool { return v.Deleted || v.Meta != MetaDelta })
	if n < 0 {
		n = len(versions)
	}
	base, err := r.Assemble(key, versions[n:])
	if err != nil {
		return // the version's own check has reported it
	}
	h := history{base: base}
	for i := n - 1; i >= 0; i-- {
		posts, err := DecodeDelta(nil, versions[i].Value)
		if err != nil {
			return
		}
		c.at = versions[i].TS
		h.follow(posts, c.fault)
	}
}

// history is which uids a list holds as its deltas are followed.
type history struct {
	base    *List
	all     bool
	changed map[uint64]bool
}

func (h *history) has(uid uint64) bool {
	if there, ok := h.changed[uid]; ok {
		return there
	}
	return !h.all && h.base.Has(uid)
}

// follow checks the ops of one delta and makes its changes.
func (h *history) follow(posts []Posting, fault func(uid uint64, format string, args ...any)) {
	marked := len(posts) > 0 && posts[0].IsDeleteAll()
	if marked {
		posts = posts[1:]
	}
	for i := range posts {
		p := &posts[i]
		switch there := h.has(p.UID); {
		case marked && p.Op != OpSet:
			fault(p.UID, "op %d behind a delete-all marker in a counted list, not set", p.Op)
		case marked:
		case p.Op == OpSet && there:
			fault(p.UID, "a set of what stood there already in a counted list, not an overwrite")
		case p.Op == OpOverwrite && !there:
			fault(p.UID, "an overwrite of what did not stand there in a counted list, not a set")
		case p.Op == OpDelete && !there:
			fault(p.UID, "a delete of what did not stand there in a counted list")
		}
	}
	if marked {
		h.all = true
		clear(h.changed)
	}
	if h.changed == nil {
		h.changed = make(map[uint64]bool)
	}
	for i := range posts {
		h.changed[posts[i].UID] = posts[i].Op != OpDelete
	}
}

// Parts checks that the parts of a split list are there, at its version, with
// uids in their ranges. v is the newest complete version of the list.
func (c *Checker) Parts(r *Reader, key []byte, v *Version) {
	l, err := DecodeList(v.Value)
	if err != nil {
		return // the version's own check has reported it
	}
	c.at = v.TS
	for i, start := range l.Splits {
		end := DeleteAllUID
		if i+1 < len(l.Splits) {
			end = l.Splits[i+1] - 1
		}
		c.part(r, key, start, end, i == 0 && len(l.Splits) > 1)
	}
}

// part checks one part, which may hold the uids from start to end.
func (c *Checker) part(r *Reader, key []byte, start, end uint64, mayBeEmpty bool) {
	item, err := r.txn.Get(AppendPartKey(nil, key, start))
	switch {
	case errors.Is(err, badger.ErrKeyNotFound):
		c.fault(0, "the part from %#x is missing", start)
		return
	case err != nil:
		c.fault(0, "the part from %#x: %v", start, err)
		return
	case item.Version() != c.at:
		c.fault(0, "the part from %#x has the version %d", start, item.Version())
	}
	list, _, err := r.part(key, start, c.at)
	switch n := list.Pack.Len(); {
	case err != nil:
		return // the part's own check reports it
	case n == 0 && !mayBeEmpty:
		c.fault(0, "the part from %#x is empty", start)
	case n > 0:
		first, last := list.Pack.bounds()
		if first < start || last > end {
			c.fault(0, "the part from %#x to %#x holds uids from %#x to %#x", start, end, first, last)
		}
	}
}

// bounds is the first and the last uid; of a pack that can't be read the first
// twice.
func (p *Pack) bounds() (first, last uint64) {
	uids, err := p.AppendBlock(nil, p.Blocks()-1)
	if err != nil {
		return p.Base(0), p.Base(0)
	}
	return p.Base(0), uids[len(uids)-1]
}

// Splits returns where the parts of the list begin, by its newest complete or
// empty version that the reader sees; none where the list is not split.
func (r *Reader) Splits(key []byte) ([]uint64, error) {
	opt := badger.DefaultIteratorOptions
	opt.PrefetchValues = false
	it := r.txn.NewKeyIterator(key, opt)
	defer it.Close()
	for it.Rewind(); it.Valid(); it.Next() {
		v, err := versionOf(it.Item())
		if err != nil {
			return nil, keyError(key, it.Item().Version(), err)
		}
		if v.Deleted || v.Meta == MetaEmpty {
			return nil, nil
		}
		if v.Meta != MetaComplete {
			continue
		}
		l, err := DecodeList(v.Value)
		if err != nil {
			return nil, keyError(key, v.TS, err)
		}
		return l.Splits, nil
	}
	return nil, nil
}
