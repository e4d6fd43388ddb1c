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

// pair is one posting of a list that is derived from the data.
type pair struct {
	// key is the list's key from the kind byte on.
	key []byte
	uid uint64
	// rich is the posting's wire form where it carries more than the uid.
	rich []byte
}

// pairSorter sorts any number of pairs by key in bounded memory; pairs with one
// key stay in the order in which they came.
//
// A derived list takes from data lists all over the predicate, so either all
// lists are open at once, in memory or as deltas that pile up in the store, or
// the pairs are sorted first and each list is written once, complete. The
// latter takes the memory of a buffer: when it is full its pairs are sorted
// and written to a scratch file as a run, and at the end the runs are merged.
//
// It belongs to one goroutine.
type pairSorter struct {
	store *posting.Store
	// limit is the size of the buffer in bytes.
	limit int

	buf  []byte
	refs []pairRef
	file *posting.Scratch
	end  int64
	runs []pairRun
}

// pairRef finds a pair in the buffer. Most comparisons end with the head.
type pairRef struct {
	// head is the first bytes of the key, big-endian and filled up with zeros.
	head uint64
	at   uint32
}

const pairRefSize = 16

// pairRun is where a run lies in the file.
type pairRun struct{ from, size int64 }

// add takes a pair and keeps nothing of its memory.
func (s *pairSorter) add(p pair) error {
	if len(s.refs) > 0 && len(s.buf)+len(p.key)+len(p.rich)+pairRefSize*len(s.refs) >= s.limit {
		if err := s.spill(); err != nil {
			return err
		}
	}
	s.refs = append(s.refs, pairRef{head: keyHead(p.key), at: uint32(len(s.buf))})
	s.buf = appendPair(s.buf, p)
	return nil
}

func keyHead(key []byte) uint64 {
	if len(key) >= 8 {
		return binary.BigEndian.Uint64(key)
	}
	var b [8]byte
	copy(b[:], key)
	return binary.BigEndian.Uint64(b[:])
}

// appendPair appends the lengths of key and rich as uvarints, both, and the uid.
func appendPair(dst []byte, p pair) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(p.key)))
	dst = binary.AppendUvarint(dst, uint64(len(p.rich)))
	dst = append(append(dst, p.key...), p.rich...)
	return binary.LittleEndian.AppendUint64(dst, p.uid)
}

// pairAt reads a pair of the buffer, which it aliases.
func pairAt(b []byte) (p pair, rest []byte) {
	klen, n := binary.Uvarint(b)
	rlen, m := binary.Uvarint(b[n:])
	b = b[n+m:]
	p.key, b = b[:klen], b[klen:]
	p.rich, b = b[:rlen], b[rlen:]
	p.uid = binary.LittleEndian.Uint64(b)
	return p, b[8:]
}

func (s *pairSorter) sort() {
	slices.SortFunc(s.refs, func(a, b pairRef) int {
		if c := cmp.Compare(a.head, b.head); c != 0 {
			return c
		}
		p, _ := pairAt(s.buf[a.at:])
		q, _ := pairAt(s.buf[b.at:])
		return cmp.Or(bytes.Compare(p.key, q.key), cmp.Compare(a.at, b.at))
	})
}

// spill writes the buffer to the file as a run.
func (s *pairSorter) spill() error {
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
		_, rest := pairAt(s.buf[ref.at:])
		if _, err := w.Write(s.buf[ref.at : len(s.buf)-len(rest)]); err != nil {
			return err
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	run := pairRun{from: s.end, size: int64(len(s.buf))}
	s.runs, s.end = append(s.runs, run), s.end+run.size
	s.buf, s.refs = s.buf[:0], s.refs[:0]
	return nil
}

// each calls f with every pair in order. The pair's slices are good until f
// returns. Nothing is added afterwards.
func (s *pairSorter) each(f func(pair) error) error {
	if len(s.runs) == 0 {
		s.sort()
		for _, ref := range s.refs {
			p, _ := pairAt(s.buf[ref.at:])
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

func (s *pairSorter) merge(f func(pair) error) error {
	var h runHeap
	for i, run := range s.runs {
		r := &runReader{order: i, from: bufio.NewReaderSize(io.NewSectionReader(s.file, run.from, run.size), 64<<10)}
		if more, err := r.next(); err != nil {
			return err
		} else if more {
			h = append(h, r)
		}
	}
	heap.Init(&h)
	for len(h) > 0 {
		if err := f(h[0].pair); err != nil {
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
func (s *pairSorter) close() error {
	s.buf, s.refs = nil, nil
	if s.file == nil {
		return nil
	}
	return s.file.Close()
}

// runReader reads a run; pair is the one in hand.
type runReader struct {
	order int
	from  *bufio.Reader
	pair  pair
	buf   []byte
}

func (r *runReader) next() (more bool, err error) {
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
	r.pair = pair{key: r.buf[:klen], rich: r.buf[klen : klen+rlen], uid: binary.LittleEndian.Uint64(r.buf[klen+rlen:])}
	return true, nil
}

// runHeap has the run with the least pair on top.
type runHeap []*runReader

func (h runHeap) Len() int      { return len(h) }
func (h runHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *runHeap) Push(x any)   { *h = append(*h, x.(*runReader)) }

func (h runHeap) Less(i, j int) bool {
	return cmp.Or(bytes.Compare(h[i].pair.key, h[j].pair.key), cmp.Compare(h[i].order, h[j].order)) < 0
}

func (h *runHeap) Pop() any {
	last := len(*h) - 1
	r := (*h)[last]
	*h = (*h)[:last]
	return r
}
