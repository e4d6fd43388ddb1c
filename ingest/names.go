package ingest

import (
	"bytes"
	"encoding/binary"
	"hash/maphash"
	"sync"
)

// Namer keeps which uid each node name has. Names is the one in memory; another
// may keep them elsewhere.
type Namer interface {
	// Assign gives the uid of a name. A name that has none gets candidate, and
	// taken is true. It doesn't keep name. Any number of goroutines may call it;
	// of those that ask for one new name, one gets taken.
	Assign(name []byte, candidate uint64) (uid uint64, taken bool, err error)
}

// Names keeps names and their uids in memory. The zero Names is not ready:
// NewNames. All its methods may be called from any goroutine.
//
// One Go map of string to uint64 costs some 80 bytes a name beside the name, and
// a lock around it makes eight readers wait for one. Here the names are cut into
// parts by their hash. A part holds its records (length, name, uid) one after
// the other in pages, which the garbage collector never looks into, and an
// open-addressing table of 8 bytes a slot that points to them: about 12 to 24
// bytes a name beside the name and its uid. A name is found by its hash and
// then compared in full, so that names whose hashes are equal are still
// different names.
type Names struct {
	seed  maphash.Seed
	hash  func(maphash.Seed, []byte) uint64
	parts [nameParts]namePart
}

const (
	nameParts = 64
	namePage  = 64 << 10
	// A slot is a tag of the hash's highest bits, the record's page from 1, and
	// its offset in the page. 0 is an empty slot.
	slotOffsetBits = 24
	slotPageBits   = 24
	slotPageShift  = slotOffsetBits
	slotTagShift   = slotOffsetBits + slotPageBits
)

// namePart is the names of one part of the hashes.
type namePart struct {
	mu struct {
		sync.Mutex
		slots []uint64
		count int
		pages [][]byte
	}
}

// NewNames makes an empty Names.
func NewNames() *Names {
	return &Names{seed: maphash.MakeSeed(), hash: maphash.Bytes}
}

// Assign implements Namer. The error is nil.
func (n *Names) Assign(name []byte, candidate uint64) (uid uint64, taken bool, err error) {
	h := n.hash(n.seed, name)
	p := &n.parts[h%nameParts]
	p.mu.Lock()
	defer p.mu.Unlock()
	if 4*(p.mu.count+1) > 3*len(p.mu.slots) {
		p.grow(n)
	}
	slot := p.find(h, name)
	if p.mu.slots[slot] != 0 {
		_, uid = p.record(p.mu.slots[slot])
		return uid, false, nil
	}
	p.mu.slots[slot] = p.append(name, candidate) | tagOf(h)
	p.mu.count++
	return candidate, true, nil
}

// Lookup gives the uid of a name, `_:label` or `<IRI>`, and whether it has one.
func (n *Names) Lookup(name []byte) (uint64, bool) {
	h := n.hash(n.seed, name)
	p := &n.parts[h%nameParts]
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.mu.slots) == 0 {
		return 0, false
	}
	slot := p.mu.slots[p.find(h, name)]
	if slot == 0 {
		return 0, false
	}
	_, uid := p.record(slot)
	return uid, true
}

// Len is the number of names.
func (n *Names) Len() int {
	sum := 0
	for i := range n.parts {
		p := &n.parts[i]
		p.mu.Lock()
		sum += p.mu.count
		p.mu.Unlock()
	}
	return sum
}

// Greatest is the greatest uid below limit that a name has, 0 if there is none.
// It goes over all names.
func (n *Names) Greatest(limit uint64) uint64 {
	var greatest uint64
	for i := range n.parts {
		n.parts[i].each(func(_ []byte, uid uint64) {
			if uid < limit {
				greatest = max(greatest, uid)
			}
		})
	}
	return greatest
}

// each calls f with each name of the part, which f doesn't keep.
func (p *namePart) each(f func(name []byte, uid uint64)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, slot := range p.mu.slots {
		if slot != 0 {
			f(p.record(slot))
		}
	}
}

// tagOf is the part of a hash that is kept in the slot, where it saves most
// comparisons of unequal names.
func tagOf(h uint64) uint64 { return h >> slotTagShift << slotTagShift }

// find gives the index of the name's slot, or of the empty one where it
// belongs.
func (p *namePart) find(h uint64, name []byte) int {
	mask := len(p.mu.slots) - 1
	tag := tagOf(h)
	for i := int(h/nameParts) & mask; ; i = (i + 1) & mask {
		slot := p.mu.slots[i]
		if slot == 0 {
			return i
		}
		if tagOf(slot) == tag {
			if known, _ := p.record(slot); bytes.Equal(known, name) {
				return i
			}
		}
	}
}

// record reads the record that a slot points to.
func (p *namePart) record(slot uint64) (name []byte, uid uint64) {
	page := p.mu.pages[slot>>slotPageShift&(1<<slotPageBits-1)-1]
	b := page[slot&(1<<slotOffsetBits-1):]
	size, n := binary.Uvarint(b)
	name = b[n : n+int(size)]
	uid, _ = binary.Uvarint(b[n+int(size):])
	return name, uid
}

// append writes a record and gives its slot without the tag. A record never
// spans pages; one larger than a page has its own.
func (p *namePart) append(name []byte, uid uint64) uint64 {
	need := len(name) + 2*binary.MaxVarintLen64
	last := len(p.mu.pages) - 1
	if last < 0 || cap(p.mu.pages[last])-len(p.mu.pages[last]) < need {
		p.mu.pages = append(p.mu.pages, make([]byte, 0, max(need, namePage)))
		last++
	}
	page := p.mu.pages[last]
	offset := len(page)
	p.mu.pages[last] = appendRecord(page, name, uid)
	return uint64(last+1)<<slotPageShift | uint64(offset)
}

// appendRecord writes length, name and uid; the numbers as unsigned varints.
func appendRecord(dst, name []byte, uid uint64) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(name)))
	dst = append(dst, name...)
	return binary.AppendUvarint(dst, uid)
}

// grow doubles the table.
func (p *namePart) grow(n *Names) {
	old := p.mu.slots
	p.mu.slots = make([]uint64, max(16, 2*len(old)))
	for _, slot := range old {
		if slot != 0 {
			name, _ := p.record(slot)
			p.mu.slots[p.find(n.hash(n.seed, name), name)] = slot
		}
	}
}
