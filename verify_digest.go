package edgemill

import (
	"bytes"
	"slices"

	"github.com/dgryski/go-farm"

	"github.com/edgemill/edgemill/posting"
)

// derived is a kind of list that follows from others.
type derived int

const (
	derivedIndex derived = iota
	derivedReverse
	derivedCount
	derivedCountReverse
	// derivedKinds is how many there are.
	derivedKinds = 4
)

// kind is what its keys have.
func (d derived) kind() posting.Kind {
	return [...]posting.Kind{posting.KindIndex, posting.KindReverse, posting.KindCount, posting.KindCountReverse}[d]
}

// source is the kind of the lists from which it follows.
func (d derived) source() posting.Kind {
	if d == derivedCountReverse {
		return posting.KindReverse
	}
	return posting.KindData
}

// side says whether a posting is asked for by the lists from which it follows, or
// stands there.
type side int

const (
	expected side = iota
	found
	sides = 2
)

// buckets is into how many sums the postings of one kind are cut.
const buckets = 256

// sum is an order-independent sum of postings: of their 128-bit hashes, modulo
// 2^64 in each half.
type sum struct {
	lo, hi uint64
	// n postings have size bytes.
	n, size uint64
}

func (s *sum) add(o *sum) {
	s.lo, s.hi, s.n, s.size = s.lo+o.lo, s.hi+o.hi, s.n+o.n, s.size+o.size
}

func (s *sum) equal(o *sum) bool { return s.lo == o.lo && s.hi == o.hi && s.n == o.n }

// digest is the sums of one side of one kind, by bucket.
type digest [buckets]sum

// bucketOf is the bucket of a posting, whatever its facets are. The record is its
// list's key and its uid.
func bucketOf(record []byte) int { return int(farm.Fingerprint64(record) % buckets) }

// tally is what one job, or all jobs of a predicate, gathered. It belongs to
// one goroutine.
type tally struct {
	report PredicateReport
	// digests are made when the first posting comes.
	digests [derivedKinds][sides]*digest
	// unknown is about lists of a predicate that is not in the schema.
	unknown map[posting.Kind]unknownLists
}

type unknownLists struct {
	first []byte
	lists uint64
}

func (t *tally) digest(d derived, s side) *digest {
	if t.digests[d][s] == nil {
		t.digests[d][s] = new(digest)
	}
	return t.digests[d][s]
}

// posting adds a posting to the sums. The record is its list's key and its
// uid, with the facets appended behind n bytes.
func (t *tally) posting(d derived, s side, record []byte, n int) {
	b := &t.digest(d, s)[bucketOf(record[:n])]
	lo, hi := farm.Fingerprint128(record)
	b.add(&sum{lo: lo, hi: hi, n: 1, size: uint64(len(record))})
}

// add adds another tally.
func (t *tally) add(o *tally) {
	t.report.add(&o.report)
	for d := range o.digests {
		for s, from := range o.digests[d] {
			if from == nil {
				continue
			}
			to := t.digest(derived(d), side(s))
			for i := range from {
				to[i].add(&from[i])
			}
		}
	}
	for kind, u := range o.unknown {
		t.unknownList(kind, u.first, u.lists)
	}
}

func (t *tally) unknownList(kind posting.Kind, key []byte, lists uint64) {
	if t.unknown == nil {
		t.unknown = make(map[posting.Kind]unknownLists)
	}
	u := t.unknown[kind]
	if u.first == nil || bytes.Compare(key, u.first) < 0 {
		u.first = bytes.Clone(key)
	}
	u.lists += lists
	t.unknown[kind] = u
}

// differ are the buckets whose two sides differ.
func (t *tally) differ(d derived) []int {
	want, got := t.digests[d][expected], t.digests[d][found]
	if want == nil {
		want = new(digest)
	}
	if got == nil {
		got = new(digest)
	}
	var list []int
	for i := range buckets {
		if !want[i].equal(&got[i]) {
			list = append(list, i)
		}
	}
	return list
}

// size is about how many bytes the postings of a bucket take in a closer look.
func (t *tally) size(d derived, bucket int) uint64 {
	var total uint64
	for _, dig := range t.digests[d] {
		if dig != nil {
			total += dig[bucket].size + pairOverhead*dig[bucket].n
		}
	}
	return total
}

func (r *PredicateReport) add(o *PredicateReport) {
	r.Subjects += o.Subjects
	r.Postings += o.Postings
	r.Tokens += o.Tokens
	r.IndexEntries += o.IndexEntries
	r.Targets += o.Targets
	r.ReverseEntries += o.ReverseEntries
	r.CountEntries += o.CountEntries
	r.ReverseCountEntries += o.ReverseCountEntries
}

// sortedKeys sorts the keys in place and drops repetitions.
func sortedKeys(keys [][]byte) [][]byte {
	slices.SortFunc(keys, bytes.Compare)
	return slices.CompactFunc(keys, bytes.Equal)
}
