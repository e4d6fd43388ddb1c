package edgemill

import (
	"bufio"
	"bytes"
	"cmp"
	"container/heap"
	"encoding/binary"
	"fmt"
	"io"
	"slices"

	"github.com/edgemill/edgemill/posting"
)

// keyedPosting is one posting of a list that is derived from the data.
type keyedPosting struct {
	// key is the list's key from the kind byte on.
	key []byte
	uid uint64
	// rich is the posting's wire form where it carries more than the uid.
	rich []byte
}

// postingSorter sorts any number of postings by key in bounded memory; postings with one
// key stay in the order in which they came.
//
// A derived list takes from data lists all over the predicate, so either all
// lists are open at once, in memory or as deltas that pile up in the store, or
// the postings are sorted first and each list is written once, complete. The
// latter takes the memory of a buffer: when it is full its postings are sorted
// and written to a scratch file as a run, and at the end the runs are merged.
//
// It belongs to one goroutine.
type postingSorter struct {
	store *posting.Store
	// limit is the size of the buffer in bytes.
	limit int

	buf  []byte
	refs []sortRef
	file *posting.Scratch
	end  int64
	runs []sortRun
}

// sortRef finds a posting in the buffer. Most comparisons end with the head.
type sortRef struct {
	// head is the first bytes of the key, big-endian and filled up with zeros.
	head uint64
	at   uint32
}

const sortRefSize = 16

// sortRun is where a run lies in the file.
type sortRun struct{ from, size int64 }

// add takes a posting and keeps nothing of its memory.
func (s *postingSorter) add(p keyedPosting) error {
	if len(s.refs) > 0 && len(s.buf)+len(p.key)+len(p.rich)+sortRefSize*len(s.refs) >= s.limit {
		if err := s.spill(); err != nil {
			return err
		}
	}
	s.refs = append(s.refs, sortRef{head: sortHead(p.key), at: uint32(len(s.buf))})
	s.buf = appendKeyed(s.buf, p)
	return nil
}

func sortHead(key []byte) uint64 {
	if len(key) >= 8 {
		return binary.BigEndian.Uint64(key)
	}
	var b [8]byte
	copy(b[:], key)
	return binary.BigEndian.Uint64(b[:])
}

// appendKeyed appends the lengths of key and rich as uvarints, both, and the uid.
func appendKeyed(dst []byte, p keyedPosting) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(p.key)))
	dst = binary.AppendUvarint(dst, uint64(len(p.rich)))
	dst = append(append(dst, p.key...), p.rich...)
	return binary.LittleEndian.AppendUint64(dst, p.uid)
}

// keyedAt reads a posting of the buffer, which it aliases.
func keyedAt(b []byte) (p keyedPosting, rest []byte) {
	klen, n := binary.Uvarint(b)
	rlen, m := binary.Uvarint(b[n:])
	b = b[n+m:]
	p.key, b = b[:klen], b[klen:]
	p.rich, b = b[:rlen], b[rlen:]
	p.uid = binary.LittleEndian.Uint64(b)
	return p, b[8:]
}

func (s *postingSorter) sort() {
	slices.SortFunc(s.refs, func(a, b sortRef) int {
		if c := cmp.Compare(a.head, b.head); c != 0 {
			return c
		}
		p, _ := keyedAt(s.buf[a.at:])
		q, _ := keyedAt(s.buf[b.at:])
		return cmp.Or(bytes.Compare(p.key, q.key), cmp.Compare(a.at, b.at))
	})
}

// spill writes the buffer to the file as a run.
func (s *postingSorter) spill() error {
	if s.file == nil {
		file, err := s.store.Scratch()
		if err != nil {
			return err
		}
		s.file = file
	}
	s.sort()
	w := bufio.NewWriterSize(s.file, 1<<20)
	for _, ref := range s.refs {
		_, rest := keyedAt(s.buf[ref.at:])
		if _, err := w.Write(s.buf[ref.at : len(s.buf)-len(rest)]); err != nil {
			return err
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	run := sortRun{from: s.end, size: int64(len(s.buf))}
	s.runs, s.end = append(s.runs, run), s.end+run.size
	s.buf, s.refs = s.buf[:0], s.refs[:0]
	return nil
}

// each calls f with every posting in order. The posting's slices are good until f
// returns. Nothing is added afterwards.
func (s *postingSorter) each(f func(keyedPosting) error) error {
	if len(s.runs) == 0 {
		s.sort()
		for _, ref := range s.refs {
			p, _ := keyedAt(s.buf[ref.at:])
			if err := f(p); err != nil {
				return err
			}
		}
		return nil
	}
	if err := s.spill(); err != nil {
		return err
	}
	s.buf, s.refs = nil, nil
	return s.merge(f)
}

func (s *postingSorter) merge(f func(keyedPosting) error) error {
	var h sortHeap
	for i, run := range s.runs {
		r := &sortReader{order: i, from: bufio.NewReaderSize(io.NewSectionReader(s.file, run.from, run.size), 64<<10)}
		if more, err := r.next(); err != nil {
			return err
		} else if more {
			h = append(h, r)
		}
	}
	heap.Init(&h)
	for len(h) > 0 {
		if err := f(h[0].now); err != nil {
			return err
		}
		more, err := h[0].next()
		if err != nil {
			return err
		}
		if !more {
			heap.Pop(&h)
			continue
		}
		heap.Fix(&h, 0)
	}
	return nil
}

// close frees what the sorter holds.
func (s *postingSorter) close() error {
	s.buf, s.refs = nil, nil
	if s.file == nil {
		return nil
	}
	return s.file.Close()
}

// sortReader reads a run; now is the posting in hand.
type sortReader struct {
	order int
	from  *bufio.Reader
	now   keyedPosting
	buf   []byte
}

func (r *sortReader) next() (more bool, err error) {
	klen, err := binary.ReadUvarint(r.from)
	if err == io.EOF {
		return false, nil
	}
	var rlen uint64
	if err == nil {
		rlen, err = binary.ReadUvarint(r.from)
	}
	if err == nil {
		r.buf = slices.Grow(r.buf[:0], int(klen+rlen)+8)[:klen+rlen+8]
		_, err = io.ReadFull(r.from, r.buf)
	}
	if err != nil {
		return false, fmt.Errorf("scratch file: %w", err)
	}
	r.now = keyedPosting{key: r.buf[:klen], rich: r.buf[klen : klen+rlen], uid: binary.LittleEndian.Uint64(r.buf[klen+rlen:])}
	return true, nil
}

// sortHeap has the run with the least posting on top.
type sortHeap []*sortReader

func (h sortHeap) Len() int      { return len(h) }
func (h sortHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *sortHeap) Push(x any)   { *h = append(*h, x.(*sortReader)) }

func (h sortHeap) Less(i, j int) bool {
	return cmp.Or(bytes.Compare(h[i].now.key, h[j].now.key), cmp.Compare(h[i].order, h[j].order)) < 0
}

func (h *sortHeap) Pop() any {
	last := len(*h) - 1
	r := (*h)[last]
	*h = (*h)[:last]
	return r
}
