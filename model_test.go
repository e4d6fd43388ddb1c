package edgemill

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/edgemill/edgemill/conflict"
	"github.com/edgemill/edgemill/mutation"
	"github.com/edgemill/edgemill/posting"
	"github.com/edgemill/edgemill/schema"
	"github.com/edgemill/edgemill/schema/token"
	"github.com/edgemill/edgemill/schema/value"
)

var (
	modelSeed   = flag.Uint64("seed", 0, "seed of the first round of the model test; 0 for the time")
	modelRounds = flag.Int("rounds", 0, "rounds of the model test for each applier; 0 for about two seconds of them")
)

// modelAppliers are the ways of applying batches that are held against the
// model.
var modelAppliers = map[string]mutation.Options{
	"serial":   {MinEdges: 0, Parallelism: mutation.Off},
	"parallel": {MinEdges: 1, Parallelism: mutation.Workers(4), EdgesPerWorker: 1},
}

// TestModel holds random schemas, edges, batches and transactions against the
// model: every list at several timestamps, within transactions and after
// rollups, the conflict keys, the answers of views, and Verify's.
func TestModel(t *testing.T) {
	for name, opts := range modelAppliers {
		t.Run(name, func(t *testing.T) {
			seed := *modelSeed
			if seed == 0 {
				seed = uint64(time.Now().UnixNano())
			}
			began := time.Now()
			for round := 0; ; round++ {
				if *modelRounds > 0 && round == *modelRounds || *modelRounds == 0 && time.Since(began) > 2*time.Second {
					t.Logf("%d rounds", round)
					return
				}
				runModel(t, seed+uint64(round), opts)
			}
		})
	}
}

// modelRun is a store and the model beside it.
type modelRun struct {
	*generator
	t    *testing.T
	db   *DB
	snap *schema.Snapshot
	now  mState
	// past is the state at the commits so far.
	past    []modelPast
	open    []*modelOpen
	several bool
}

type modelPast struct {
	ts    uint64
	state mState
	keys  mKeys
}

// modelOpen is an open transaction.
type modelOpen struct {
	txn   *Txn
	model *mTxn
}

func runModel(t *testing.T, seed uint64, opts mutation.Options) {
	defer func() {
		if t.Failed() {
			t.Logf("again with -run %s -args -seed %d -rounds 1", t.Name(), seed)
		}
	}()
	m := newModelRun(t, seed, opts)
	defer func() { require.NoError(t, m.db.Close()) }()
	for range 10 + m.IntN(20) {
		m.step()
	}
	for len(m.open) > 0 {
		m.end(0)
	}
	m.verify()
	m.rollUp(100)
	m.compareCommitted()
	m.verify()
}

func newModelRun(t *testing.T, seed uint64, opts mutation.Options) *modelRun {
	ctx := context.Background()
	m := &modelRun{t: t, now: mState{}, generator: newGenerator(rand.New(rand.NewPCG(seed, 2)))}
	m.several = m.chance(50)
	var cache int64
	if m.chance(50) {
		cache = 1 << 20
	}
	var err error
	m.db, err = Open(ctx, Options{InMemory: true, MemTableSize: 2 << 20, CacheBytes: cache, Mutation: &opts})
	require.NoError(t, err)
	text := m.generator.schema(!m.several)
	require.NoError(t, m.db.Alter(ctx, text), text)
	m.snap = m.db.Schema()
	m.preds = slices.Collect(m.snap.All())
	ts, release, err := m.db.oracle.Timestamp(ctx)
	require.NoError(t, err)
	release()
	m.past = []modelPast{{ts: ts, state: mState{}}}
	return m
}

// step does one thing.
func (m *modelRun) step() {
	switch n := m.IntN(100); {
	case len(m.open) == 0 || (m.several && len(m.open) < 3 && n < 20):
		m.begin()
	case n < 70:
		m.batchIn(pick(m.generator, m.open))
	case n < 90:
		m.end(m.IntN(len(m.open)))
	case n < 95:
		m.rollUp(30)
	default:
		m.compareCommitted()
	}
}

func (m *modelRun) begin() {
	txn, err := m.db.Begin(context.Background())
	require.NoError(m.t, err)
	m.open = append(m.open, &modelOpen{txn: txn, model: newModelTxn(m.snap, m.now)})
}

func (m *modelRun) batchIn(o *modelOpen) {
	if m.chance(10) {
		m.freshUID(o)
	}
	edges := m.batch()
	_, got := o.txn.Mutate(context.Background(), edges)
	want := o.model.batch(edges)
	require.Equal(m.t, want == nil, got == nil, "the model says %v, the store %v, of\n%s\n%s", want, got, m.db.SchemaText(), describe(edges))
	if got != nil {
		var bad *mutation.EdgeError
		require.ErrorAs(m.t, got, &bad)
	}
	m.compareKeys(o, edges)
	m.compareTxn(o, edges)
}

// freshUID adds a uid that the transaction says nobody has used.
func (m *modelRun) freshUID(o *modelOpen) {
	fresh, err := m.db.NewUIDs(2)
	require.NoError(m.t, err)
	if len(m.open) == 1 && m.chance(80) {
		o.txn.Fresh(fresh)
	}
	m.uids = append(m.uids, fresh.First)
}

func (m *modelRun) compareKeys(o *modelOpen, edges []mutation.Edge) {
	keys := o.txn.txn.ConflictKeys()
	exclusive, shared := o.model.keys.sorted()
	if !slices.Equal(exclusive, keys.Exclusive) || !slices.Equal(shared, keys.Shared) {
		m.t.Fatalf("conflict keys (-want +got) exclusive:\n%s\nshared:\n%s\n%s\n%s",
			cmp.Diff(exclusive, keys.Exclusive), cmp.Diff(shared, keys.Shared), m.db.SchemaText(), describe(edges))
	}
}

// end commits or discards a transaction.
func (m *modelRun) end(i int) {
	o := m.open[i]
	m.open = slices.Delete(m.open, i, i+1)
	if m.chance(20) {
		o.txn.Discard()
		_, err := o.txn.View().Predicates(1)
		require.ErrorIs(m.t, err, ErrClosed)
		return
	}
	ts, err := o.txn.Commit(context.Background())
	if m.conflicts(o) {
		require.ErrorIs(m.t, err, conflict.ErrConflict)
		return
	}
	require.NoError(m.t, err)
	if ts == o.txn.StartTS() {
		require.Empty(m.t, o.txn.txn.Deltas().Sorted())
		return // it wrote nothing, so that it has no commit timestamp
	}
	o.model.commit(m.now)
	m.past = append(m.past, modelPast{ts: ts, state: m.now.clone(), keys: o.model.keys})
}

func (m *modelRun) conflicts(o *modelOpen) bool {
	return slices.ContainsFunc(m.past, func(p modelPast) bool {
		return p.ts > o.txn.StartTS() && o.model.keys.meets(p.keys)
	})
}

// rollUp rolls up some of the lists.
func (m *modelRun) rollUp(percent int) {
	ctx := context.Background()
	ts, release, err := m.db.oracle.Timestamp(ctx)
	require.NoError(m.t, err)
	defer release()
	r := m.db.store.Reader(ts)
	defer r.Release()
	var entries []posting.Entry
	err = r.Walk(ctx, []byte{byte(posting.SpaceList)}, func(key []byte) error {
		if !m.chance(percent) {
			return nil
		}
		rolled, err := r.RollUp(slices.Clone(key))
		entries = append(entries, rolled...)
		return err
	})
	require.NoError(m.t, err)
	if len(entries) == 0 {
		return
	}
	done := make(chan error, 1)
	require.NoError(m.t, m.db.store.Commit(ctx, posting.Commit{TS: ts, Entries: entries, Readable: func(err error) { done <- err }}))
	require.NoError(m.t, <-done)
}

// compareTxn compares what a transaction sees.
func (m *modelRun) compareTxn(o *modelOpen, edges []mutation.Edge) {
	got := m.lists(o.txn.StartTS(), o.txn.txn.List, o.txn.txn.Deltas())
	if diff := diffLists(o.model.state.lists(m.snap), got); diff != "" {
		m.t.Fatalf("within the transaction (-want +got):\n%s\n%s\n%s", diff, m.db.SchemaText(), describe(edges))
	}
	m.compareView(o.txn.View(), o.model.state)
}

// compareCommitted compares the newest state and an older one.
func (m *modelRun) compareCommitted() {
	ctx := context.Background()
	newest, err := m.db.View(ctx, 0)
	require.NoError(m.t, err)
	defer newest.Close()
	m.compareAt(newest, m.now)
	past := pick(m.generator, m.past)
	older, err := m.db.View(ctx, past.ts)
	require.NoError(m.t, err)
	defer older.Close()
	m.compareAt(older, past.state)
}

func (m *modelRun) compareAt(v *View, want mState) {
	if diff := diffLists(want.lists(m.snap), m.lists(v.ts, v.reader.List, nil)); diff != "" {
		m.t.Fatalf("at %d (-want +got):\n%s\n%s", v.ts, diff, m.db.SchemaText())
	}
	m.compareView(v, want)
}

// lists reads every list that is not empty, those in the deltas too.
func (m *modelRun) lists(ts uint64, read func([]byte) (*posting.List, error), deltas *posting.Deltas) map[string][]mPosting {
	keys := make(map[string]bool)
	if deltas != nil {
		for key := range deltas.All() {
			keys[string(key)] = true
		}
	}
	r := m.db.store.Reader(ts)
	defer r.Release()
	err := r.Walk(context.Background(), []byte{byte(posting.SpaceList)}, func(key []byte) error {
		keys[string(key)] = true
		return nil
	})
	require.NoError(m.t, err)
	all := make(map[string][]mPosting)
	for key := range keys {
		l, err := read([]byte(key))
		require.NoError(m.t, err)
		for p := range l.Postings(0) {
			all[key] = append(all[key], m.posting(&p))
		}
		require.Len(m.t, all[key], l.Len())
	}
	for key := range all {
		if len(all[key]) == 0 {
			delete(all, key)
		}
	}
	return all
}

// posting is a stored posting in the model's form.
func (m *modelRun) posting(p *posting.Posting) mPosting {
	got := mPosting{uid: p.UID, ref: p.Type == posting.PostingRef, data: string(p.Value), lang: string(p.Lang)}
	if !got.ref {
		got.typ = p.ValType
	}
	require.Equal(m.t, len(p.Lang) > 0, p.Type == posting.PostingValueLang)
	fs, err := posting.DecodeFacets(p.Facets)
	require.NoError(m.t, err)
	for _, f := range fs {
		got.facets += fmt.Sprintf("%s=%d:%x%q ", f.Key, f.Type, f.Value, f.Tokens)
	}
	return got
}

func diffLists(want, got map[string][]mPosting) string {
	readable := func(lists map[string][]mPosting) map[string]string {
		text := make(map[string]string)
		for key, posts := range lists {
			k, err := posting.ParseKey([]byte(key))
			if err != nil {
				text[key] = err.Error()
				continue
			}
			text[k.String()] = fmt.Sprintf("%+v", posts)
		}
		return text
	}
	equal := len(want) == len(got)
	for key, posts := range want {
		equal = equal && slices.Equal(posts, got[key])
	}
	if equal {
		return ""
	}
	return cmp.Diff(readable(want), readable(got))
}

func describe(edges []mutation.Edge) string {
	var s string
	for _, e := range edges {
		v, err := e.Value.Text()
		if err != nil {
			v = string(e.Value.Data)
		}
		s += fmt.Sprintf("op %d: %#x %s object %d: uid %#x, %s %.80q @%q %d facets\n", e.Op, e.Subject, e.Predicate, e.Object, e.Target, e.Value.Type, v, e.Lang, len(e.Facets))
	}
	return s
}

// verify holds Verify's counts against the model's.
func (m *modelRun) verify() {
	report, err := m.db.Verify(context.Background(), VerifyOptions{Workers: 1 + m.IntN(3)})
	require.NoError(m.t, err)
	for _, v := range report.Violations {
		m.t.Error(v)
	}
	want := make(map[string]*PredicateReport)
	for _, p := range m.preds {
		want[p.Name] = &PredicateReport{Predicate: p.Name}
	}
	for key, posts := range m.now.lists(m.snap) {
		k, err := posting.ParseKey([]byte(key))
		require.NoError(m.t, err)
		l := listCheck{tally: &tally{}}
		l.count(k.Kind, uint64(len(posts)))
		want[k.Predicate].add(&l.tally.report)
	}
	require.Len(m.t, report.Predicates, len(want))
	for _, got := range report.Predicates {
		require.Equal(m.t, *want[got.Predicate], got)
	}
	if m.t.Failed() {
		m.t.Fatal(m.db.SchemaText())
	}
}

// compareView asks a view what can be asked about one predicate, and compares.
func (m *modelRun) compareView(v *View, want mState) {
	p := pick(m.generator, m.preds)
	have := want[p.Name]
	m.compareHas(v, p, have)
	uid := pick(m.generator, m.uids)
	n, err := v.Count(uid, p.Name)
	require.NoError(m.t, err)
	require.Equal(m.t, len(have[uid]), n)
	if p.Type == value.UID {
		m.compareTargets(v, p, want, uid)
	} else {
		m.compareValues(v, p, have[uid], uid)
	}
	var names []string
	for _, p := range m.preds {
		if len(want[p.Name][uid]) > 0 {
			names = append(names, p.Name)
		}
	}
	got, err := v.Predicates(uid)
	require.NoError(m.t, err)
	require.Equal(m.t, names, got)
}

func (m *modelRun) compareHas(v *View, p *schema.Predicate, have map[uint64]mSubject) {
	var subjects []uint64
	for uid, s := range have {
		if len(s) > 0 {
			subjects = append(subjects, uid)
		}
	}
	slices.Sort(subjects)
	from := uint64(0)
	if m.chance(50) {
		from = pick(m.generator, m.uids)
		subjects = slices.DeleteFunc(subjects, func(uid uint64) bool { return uid < from })
	}
	got, err := collect(v.hasInPages(p.Name, from, 1+m.IntN(4)))
	require.NoError(m.t, err)
	require.ElementsMatch(m.t, subjects, got)
	require.True(m.t, slices.IsSorted(got))
	if !p.Count {
		return
	}
	count := uint32(1 + m.IntN(3))
	var counted []uint64
	for uid, s := range have {
		if len(s) == int(count) {
			counted = append(counted, uid)
		}
	}
	got, err = v.ByCount(p.Name, count)
	require.NoError(m.t, err)
	require.ElementsMatch(m.t, counted, got)
}

func (m *modelRun) compareTargets(v *View, p *schema.Predicate, want mState, uid uint64) {
	var targets []uint64
	for _, post := range want[p.Name][uid] {
		targets = append(targets, post.uid)
		facets, err := v.Facets(uid, p.Name, post.uid)
		require.NoError(m.t, err)
		text, err := mFacets(facets)
		require.NoError(m.t, err)
		require.Equal(m.t, post.facets, text)
	}
	slices.Sort(targets)
	got, err := v.Targets(uid, p.Name)
	require.NoError(m.t, err)
	require.Equal(m.t, targets, got)
	got, err = v.Sources(uid, p.Name)
	if !p.Reverse {
		require.ErrorIs(m.t, err, ErrNotKept)
		return
	}
	require.NoError(m.t, err)
	require.Equal(m.t, want.sources(p.Name, uid), got)
	if n := len(got); n > 0 && p.Count {
		got, err = v.ByReverseCount(p.Name, uint32(n))
		require.NoError(m.t, err)
		require.Contains(m.t, got, uid)
	}
}

func (m *modelRun) compareValues(v *View, p *schema.Predicate, have mSubject, uid uint64) {
	values, err := v.Values(uid, p.Name)
	require.NoError(m.t, err)
	require.Len(m.t, values, len(have))
	for _, got := range values {
		slot := got.Lang
		if p.List {
			slot = string(got.Value.Data)
		}
		facets, err := mFacets(got.Facets)
		require.NoError(m.t, err)
		got := mPosting{uid: have[slot].uid, typ: got.Value.Type, data: string(got.Value.Data), lang: got.Lang, facets: facets}
		require.Equal(m.t, have[slot], got)
		m.compareLookup(v, p, have[slot], uid)
	}
	for _, lang := range []string{"", "en"} {
		got, ok, err := v.ValueLang(uid, p.Name, lang)
		if p.List || (lang != "" && !p.Lang) {
			require.Error(m.t, err)
			continue
		}
		require.NoError(m.t, err)
		want, there := have[lang]
		require.Equal(m.t, there, ok)
		require.Equal(m.t, want.data, string(got.Data))
	}
}

// compareLookup looks for a value of the subject by each of the indexes.
func (m *modelRun) compareLookup(v *View, p *schema.Predicate, post mPosting, uid uint64) {
	input, err := value.Value{Type: post.typ, Data: []byte(post.data)}.AppendLiteral(nil)
	if err != nil || len(p.Tokenizers) == 0 {
		return
	}
	by := pick(m.generator, p.Tokenizers)
	got, err := v.Lookup(p.Name, by.Name(), string(input), post.lang)
	require.NoError(m.t, err)
	one := *p
	one.Tokenizers = []*token.Tokenizer{by}
	tokens, err := mTokens(&one, post)
	require.NoError(m.t, err)
	if len(tokens) == 0 {
		require.Empty(m.t, got)
	} else {
		require.Contains(m.t, got, uid)
	}
}
