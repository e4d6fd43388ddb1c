package posting

import (
	"cmp"
	"slices"
)

// Delta is the change that one transaction makes to one list, folded op by op
// in the order of the transaction's edges. It holds the rules that readers of
// the format rely on (docs/format.md, Deltas):
//
//   - an op on a uid replaces what the delta held for it, so each uid has one
//     posting; a delete-all forgets every op before it;
//   - behind a delete-all marker every posting is a set, and a delete only
//     takes back what was set behind it;
//   - in a counted list (one of an @count predicate) a set of what the
//     transaction found there is an overwrite, and a delete of what it did not
//     find there is not written. So a reader gets the length by adding +1 for
//     each set and -1 for each delete;
//   - a marker never stands beside a value posting of its own uid: the deletes
//     are spelled out instead.
//
// A Delta belongs to one goroutine. Its postings alias what they were made
// from until AppendTo has encoded them.
type Delta struct {
	// base is the list as it stood when the transaction began; nil where that
	// is known to be empty, or where no rule asks for it.
	base    *List
	counted bool

	all bool
	// posts are in order of first touch; one with op 0 has been taken back.
	posts []Posting
	live  int
	// index finds a uid's posting once there are too many to scan.
	index map[uint64]int32
}

// scanLimit is how many postings a Delta looks through before it builds an
// index of them.
const scanLimit = 16

// Reset empties the delta for another list and keeps its memory.
func (d *Delta) Reset(base *List, counted bool) {
	clear(d.posts)
	d.base, d.counted, d.all, d.posts, d.live = base, counted, false, d.posts[:0], 0
	clear(d.index)
}

// SetBase gives the delta the list as the transaction found it, where that was
// not read at Reset.
func (d *Delta) SetBase(base *List) { d.base = base }

// All reports whether a delete-all marker stands in the delta.
func (d *Delta) All() bool { return d.all }

// Load takes up the encoded delta that earlier batches of the transaction left
// for this list. It is called right after Reset; the postings alias data.
func (d *Delta) Load(data []byte) error {
	for len(data) > 0 {
		p, rest, err := DecodePosting(data)
		if err != nil {
			return err
		}
		data = rest
		if p.IsDeleteAll() {
			d.all = true
			continue
		}
		d.put(p)
	}
	return nil
}

// BeginsWithDeleteAll reports whether an encoded delta has a delete-all marker.
func BeginsWithDeleteAll(delta []byte) bool {
	p, _, err := DecodePosting(delta)
	return err == nil && p.IsDeleteAll()
}

// Set folds in a posting whose op is not yet decided.
func (d *Delta) Set(p Posting) {
	d.SetKnown(p, d.counted && d.base.Has(p.UID))
}

// SetKnown is Set where the caller knows whether the transaction found the
// posting's uid in the list (false will do in a list that is not counted).
func (d *Delta) SetKnown(p Posting, found bool) {
	if d.all && p.UID == DeleteAllUID && p.Type != PostingRef {
		d.spellOut(p.StartTS)
	}
	p.Op = OpSet
	if d.counted && found && !d.all {
		p.Op = OpOverwrite
	}
	d.put(p)
}

// Delete folds in the removal of one uid.
func (d *Delta) Delete(p Posting) {
	d.DeleteKnown(p, d.counted && d.base.Has(p.UID))
}

// DeleteKnown is Delete where the caller knows whether the transaction found
// the uid in the list.
func (d *Delta) DeleteKnown(p Posting, found bool) {
	if d.all || (d.counted && !found) {
		d.Forget(p.UID)
		return
	}
	d.put(Posting{UID: p.UID, Op: OpDelete, Type: p.Type, ValType: p.ValType, Lang: p.Lang, StartTS: p.StartTS})
}

// DeleteAll folds in the removal of everything.
func (d *Delta) DeleteAll() {
	clear(d.posts)
	d.all, d.posts, d.live = true, d.posts[:0], 0
	clear(d.index)
}

// Forget takes back what the delta holds for a uid, as if no edge had touched
// it.
func (d *Delta) Forget(uid uint64) {
	if i := d.find(uid); i >= 0 && d.posts[i].Op != 0 {
		d.posts[i] = Posting{UID: uid}
		d.live--
	}
}

// spellOut replaces the marker by a delete of each posting found at the start.
func (d *Delta) spellOut(startTS uint64) {
	d.all = false
	if d.base == nil {
		return
	}
	for i := range d.posts {
		if p := &d.posts[i]; p.Op != 0 && d.counted && d.base.Has(p.UID) {
			p.Op = OpOverwrite
		}
	}
	for p := range d.base.Postings(0) {
		if d.find(p.UID) < 0 || d.posts[d.find(p.UID)].Op == 0 {
			p.StartTS = startTS
			d.DeleteKnown(p, true)
		}
	}
}

func (d *Delta) find(uid uint64) int {
	if len(d.posts) <= scanLimit {
		return slices.IndexFunc(d.posts, func(p Posting) bool { return p.UID == uid })
	}
	if i, ok := d.index[uid]; ok {
		return int(i)
	}
	return -1
}

func (d *Delta) put(p Posting) {
	i := d.find(p.UID)
	if i < 0 {
		d.posts = append(d.posts, p)
		d.live++
		d.indexLast()
		return
	}
	if d.posts[i].Op == 0 {
		d.live++
	}
	d.posts[i] = p
}

// indexLast enters the posting just appended, and with the first one past the
// scan limit all before it.
func (d *Delta) indexLast() {
	n := len(d.posts)
	if n <= scanLimit {
		return
	}
	if d.index == nil {
		d.index = make(map[uint64]int32, 4*scanLimit)
	}
	if n == scanLimit+1 {
		for i := range d.posts {
			d.index[d.posts[i].UID] = int32(i)
		}
		return
	}
	d.index[d.posts[n-1].UID] = int32(n - 1)
}

// Has reports whether the list as the delta leaves it holds the uid, asking
// the list at the start where the delta says nothing.
func (d *Delta) Has(uid uint64) bool {
	if i := d.find(uid); i >= 0 && d.posts[i].Op != 0 {
		return d.posts[i].Op != OpDelete
	}
	return !d.all && d.base.Has(uid)
}

// Find returns the posting under the uid in the list as the delta leaves it.
func (d *Delta) Find(uid uint64) (Posting, bool) {
	if i := d.find(uid); i >= 0 && d.posts[i].Op != 0 {
		return d.posts[i], d.posts[i].Op != OpDelete
	}
	if d.all {
		return Posting{}, false
	}
	return d.base.Find(uid)
}

// Current calls f with each posting of the list as the delta leaves it, in
// any order, until f returns false. f must not change the delta.
func (d *Delta) Current(f func(p Posting) bool) {
	for i := range d.posts {
		if p := d.posts[i]; p.Op != 0 && p.Op != OpDelete && !f(p) {
			return
		}
	}
	if d.all || d.base == nil {
		return
	}
	for p := range d.base.Postings(0) {
		if i := d.find(p.UID); i >= 0 && d.posts[i].Op != 0 {
			continue
		}
		if !f(p) {
			return
		}
	}
}

// Empty reports whether nothing is to be written.
func (d *Delta) Empty() bool { return !d.all && d.live == 0 }

// AppendTo appends the encoded delta: the marker first, then the postings in
// ascending uid. It sorts the postings in place, so nothing is folded in
// afterwards.
func (d *Delta) AppendTo(dst []byte, startTS uint64) []byte {
	if d.all {
		dst = AppendDeleteAll(dst, startTS)
	}
	byUID := func(a, b Posting) int { return cmp.Compare(a.UID, b.UID) }
	if !slices.IsSortedFunc(d.posts, byUID) {
		slices.SortFunc(d.posts, byUID)
	}
	for i := range d.posts {
		if d.posts[i].Op != 0 {
			dst = AppendPosting(dst, &d.posts[i])
		}
	}
	return dst
}
