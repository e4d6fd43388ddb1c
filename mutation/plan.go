package mutation

import (
	"cmp"
	"math/bits"
	"slices"
	"unsafe"

	"github.com/edgemill/edgemill/conflict"
	"github.com/edgemill/edgemill/posting"
	"github.com/edgemill/edgemill/schema"
)

// subjectEdge is an edge as the passes sort it: its subject, and its place in
// the batch.
type subjectEdge struct {
	subject uint64
	edge    uint32
}

// predicatePlan is a predicate's share of a batch. It is written before the
// first pass and only read afterwards, but for the parts, which belong each to
// the worker that runs it.
type predicatePlan struct {
	p     *schema.Predicate
	rules conflict.Rules
	// edges are the predicate's edges, in the batch's order, and ascending by
	// subject where sorted says so.
	edges  []subjectEdge
	sorted bool
	// needsOld says that some edge depends on what stood before.
	needsOld bool
	grant    int
	parts    []part
	// dataKey and the others are the keys up to the kind byte.
	dataKey, indexKey, reverseKey, countKey, countReverseKey []byte
	// keys is the memory of these.
	keys []byte
	// moves are the steps of targets between buckets of reverse counts, by the
	// owner of the reverse key that took them.
	moves []derived
	fill  int
}

// plan is a batch split by predicate.
type plan struct {
	predicates []*predicatePlan
	byName     map[string]*predicatePlan
	// recent finds a predicate by where its name lies in memory: edges of one
	// source share the string.
	recent [64]recentName
	// of is the predicate of each edge, nil for one that stars all.
	of   []*predicatePlan
	subs []subjectEdge
	pool []*predicatePlan
	// stars says that an edge stars every predicate.
	stars bool
	// uniqueLang says that an edge is on a @unique predicate that is @lang.
	uniqueLang bool
}

type recentName struct {
	data *byte
	size int
	plan *predicatePlan
}

// reset empties the plan and keeps its memory.
func (pl *plan) reset() {
	for _, pp := range pl.predicates {
		pp.reset()
		pl.pool = append(pl.pool, pp)
	}
	pl.predicates = pl.predicates[:0]
	clear(pl.byName)
	pl.recent = [64]recentName{}
	clear(pl.of)
	pl.of, pl.subs, pl.stars, pl.uniqueLang = pl.of[:0], pl.subs[:0], false, false
}

// reads reports whether the passes may read the store: an old state of a subject
// that is not fresh, the number of a target's sources, or who holds a @unique value.
// Where it is wrong the wait for what can't be read yet comes inside a pass, and
// keeps a helper from others.
func (pl *plan) reads(b *Batch) bool {
	old := pl.stars
	for _, pp := range pl.predicates {
		if pp.p.Unique || (pp.p.Reverse && pp.p.Count) {
			return true
		}
		old = old || pp.mayNeedOld()
	}
	return old && !b.allFresh()
}

// mayNeedOld reports whether an edge may depend on what stood before, as far as
// its predicate tells.
func (pp *predicatePlan) mayNeedOld() bool {
	return pp.p.Count || pp.p.Indexed() || pp.p.Lang || pp.needsOld
}

func (pp *predicatePlan) reset() {
	pp.p, pp.edges, pp.sorted, pp.needsOld, pp.grant, pp.fill = nil, nil, false, false, 0, 0
	for i := range pp.parts {
		pp.parts[i].reset()
	}
	for i := range pp.moves {
		pp.moves[i].reset()
	}
	pp.parts, pp.moves = pp.parts[:0], pp.moves[:0]
}

// prepareMoves makes room for what each owner of reverse keys derives.
func (pp *predicatePlan) prepareMoves() {
	if pp.p.Count {
		pp.moves = slices.Grow(pp.moves, len(pp.parts))[:len(pp.parts)]
	}
}

// touched reports whether an edge of the batch was on the predicate; one that
// stars every predicate is only where it found something.
func (pp *predicatePlan) touched() bool {
	return pp.fill > 0 || slices.ContainsFunc(pp.parts, func(pt part) bool { return pt.starred })
}

// split sorts the batch's edges by predicate, keeping their order, and checks
// what can be checked without a value. ns is the batch's namespace.
func (pl *plan) split(snap *schema.Snapshot, b *Batch) error {
	if pl.byName == nil {
		pl.byName = make(map[string]*predicatePlan)
	}
	pl.of = slices.Grow(pl.of, len(b.Edges))
	stars := 0
	for i := range b.Edges {
		e := &b.Edges[i]
		err := checkSubject(e)
		var pp *predicatePlan
		if err == nil && e.Predicate == StarPredicate {
			stars++
		} else if err == nil {
			pp, err = pl.find(snap, b.Namespace, e.Predicate)
		}
		if err == nil && pp != nil {
			err = checkObject(pp.p, e)
			pp.fill++
			pp.needsOld = pp.needsOld || needsOld(pp.p, e)
			pl.uniqueLang = pl.uniqueLang || (pp.p.Unique && pp.p.Lang)
		}
		if err != nil {
			return &EdgeError{Index: i, Predicate: e.Predicate, Subject: e.Subject, Err: err}
		}
		pl.of = append(pl.of, pp)
	}
	if pl.stars = stars > 0; pl.stars {
		pl.addAll(snap, b.Namespace)
	}
	pl.scatter(b, stars)
	return nil
}

func (pl *plan) find(snap *schema.Snapshot, ns uint64, name string) (*predicatePlan, error) {
	data := unsafe.StringData(name)
	slot := &pl.recent[(uintptr(unsafe.Pointer(data))>>3^uintptr(unsafe.Pointer(data))>>9)%64]
	if slot.data == data && slot.size == len(name) && slot.plan != nil {
		return slot.plan, nil
	}
	pp, ok := pl.byName[name]
	if !ok {
		p, err := allowedPredicate(snap, ns, name)
		if err != nil {
			return nil, err
		}
		pp = pl.add(p)
	}
	*slot = recentName{data, len(name), pp}
	return pp, nil
}

func (pl *plan) add(p *schema.Predicate) *predicatePlan {
	var pp *predicatePlan
	if n := len(pl.pool); n > 0 {
		pp, pl.pool = pl.pool[n-1], pl.pool[:n-1]
	} else {
		pp = &predicatePlan{}
	}
	pp.p, pp.rules = p, conflict.RulesOf(p)
	pp.keys = slices.Grow(pp.keys[:0], 5*posting.PrefixLen(p.Name))
	pp.dataKey = pp.prefix(posting.KindData)
	pp.indexKey = pp.prefix(posting.KindIndex)
	pp.reverseKey = pp.prefix(posting.KindReverse)
	pp.countKey = pp.prefix(posting.KindCount)
	pp.countReverseKey = pp.prefix(posting.KindCountReverse)
	pl.byName[p.Name] = pp
	pl.predicates = append(pl.predicates, pp)
	return pp
}

// prefix is the keys of a kind up to the kind byte, in the plan's memory.
func (pp *predicatePlan) prefix(kind posting.Kind) []byte {
	from := len(pp.keys)
	pp.keys = posting.AppendPrefix(pp.keys, pp.p.Namespace, pp.p.Name, kind)
	return pp.keys[from:len(pp.keys):len(pp.keys)]
}

// addAll plans every predicate of the namespace, for edges that star all.
func (pl *plan) addAll(snap *schema.Snapshot, ns uint64) {
	for p := range snap.Namespace(ns) {
		if _, ok := pl.byName[p.Name]; !ok {
			pl.add(p)
		}
	}
}

// scatter gives each predicate its edges. An edge that stars all goes to every
// predicate, at its place in the order.
func (pl *plan) scatter(b *Batch, stars int) {
	total := 0
	for _, pp := range pl.predicates {
		total += pp.fill + stars
	}
	pl.subs = slices.Grow(pl.subs, total)[:total]
	next := 0
	for _, pp := range pl.predicates {
		end := next + pp.fill + stars
		pp.edges, pp.sorted = pl.subs[next:next:end], true
		next = end
	}
	for i, pp := range pl.of {
		se := subjectEdge{b.Edges[i].Subject, uint32(i)}
		if pp != nil {
			pp.take(se)
			continue
		}
		for _, pp := range pl.predicates {
			pp.take(se)
		}
	}
	// The largest first, so that the last part to end is a small one.
	slices.SortStableFunc(pl.predicates, func(a, b *predicatePlan) int {
		return cmp.Or(cmp.Compare(len(b.edges), len(a.edges)), cmp.Compare(a.p.Name, b.p.Name))
	})
}

func (pp *predicatePlan) take(se subjectEdge) {
	n := len(pp.edges)
	pp.sorted = pp.sorted && (n == 0 || pp.edges[n-1].subject <= se.subject)
	pp.edges = append(pp.edges, se)
}

// grants hands out the workers, by name.
func (pl *plan) grants(workers int) []Grant {
	grants := make([]Grant, len(pl.predicates))
	for i, pp := range pl.predicates {
		grants[i] = Grant{Predicate: pp.p.Name, Edges: len(pp.edges)}
	}
	grantWorkers(grants, workers)
	for i, pp := range pl.predicates {
		pp.grant = grants[i].Workers
	}
	slices.SortFunc(grants, func(a, b Grant) int { return cmp.Compare(a.Predicate, b.Predicate) })
	return grants
}

// cut makes the parts: ranges of subjects, ascending, so that what the parts
// derive for one key is in order when laid end to end. Sorted edges are cut in
// place; otherwise each part is told its range, and picks its edges out.
func (pp *predicatePlan) cut() {
	pp.parts = slices.Grow(pp.parts, pp.grant)[:pp.grant]
	if pp.sorted {
		pp.cutSorted()
		return
	}
	bounds := pp.bounds()
	for i := range pp.parts {
		pp.parts[i].low, pp.parts[i].high = bounds[i], bounds[i+1]
	}
}

func (pp *predicatePlan) cutSorted() {
	from := 0
	for i := range pp.parts {
		to := max(from, len(pp.edges)*(i+1)/len(pp.parts))
		for to > from && to < len(pp.edges) && pp.edges[to].subject == pp.edges[to-1].subject {
			to++
		}
		pp.parts[i].edges = pp.edges[from:to]
		from = to
	}
}

// samplesPerPart is how many subjects are looked at to find a part's bounds.
const samplesPerPart = 32

// bounds returns grant+1 ascending subjects, between each two of which lies
// about the same number of edges.
func (pp *predicatePlan) bounds() []uint64 {
	n := min(len(pp.edges), pp.grant*samplesPerPart)
	samples := make([]uint64, n)
	for i := range samples {
		samples[i] = pp.edges[i*len(pp.edges)/n].subject
	}
	slices.Sort(samples)
	bounds := make([]uint64, pp.grant+1)
	for i := 1; i < pp.grant; i++ {
		bounds[i] = samples[i*n/pp.grant]
	}
	bounds[pp.grant] = ^uint64(0)
	return bounds
}

// pick fills an unsorted predicate's part with the edges of its range, ordered
// by subject; the edges of one subject keep their order (I2).
func (pt *part) pick(edges []subjectEdge, s *sorter) {
	pt.own = pt.own[:0]
	for _, se := range edges {
		if se.subject >= pt.low && se.subject < pt.high {
			pt.own = append(pt.own, se)
		}
	}
	pt.own = s.sort(pt.own)
	pt.edges = pt.own
}

// sorter sorts edges by subject, stably, with scratch of its own.
type sorter struct {
	spare []subjectEdge
}

// radixFrom is the number of edges from which counting digits beats comparing.
const radixFrom = 128

// sort returns the edges in order; the result may be the sorter's other
// buffer, and the argument its spare from then on.
func (s *sorter) sort(edges []subjectEdge) []subjectEdge {
	if len(edges) < radixFrom {
		slices.SortStableFunc(edges, func(a, b subjectEdge) int { return cmp.Compare(a.subject, b.subject) })
		return edges
	}
	all, some := ^uint64(0), uint64(0)
	for _, se := range edges {
		all &= se.subject
		some |= se.subject
	}
	varying := all ^ some
	s.spare = slices.Grow(s.spare[:0], len(edges))[:len(edges)]
	for varying != 0 {
		shift := uint(bits.TrailingZeros64(varying))
		s.digit(edges, shift)
		edges, s.spare = s.spare, edges
		if shift >= 64-digitBits {
			break
		}
		varying = varying >> (shift + digitBits) << (shift + digitBits)
	}
	return edges
}

// digitBits is the width of a radix digit: a table of 16 KiB.
const digitBits = 11

// digit lays the edges into the spare in the order of one digit.
func (s *sorter) digit(edges []subjectEdge, shift uint) {
	var place [1 << digitBits]uint32
	for _, se := range edges {
		place[se.subject>>shift&(1<<digitBits-1)]++
	}
	sum := uint32(0)
	for i, n := range place {
		place[i] = sum
		sum += n
	}
	for _, se := range edges {
		d := se.subject >> shift & (1<<digitBits - 1)
		s.spare[place[d]] = se
		place[d]++
	}
}
