package edgemill

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"

	"github.com/edgemill/edgemill/conflict"
	"github.com/edgemill/edgemill/mutation"
	"github.com/edgemill/edgemill/posting"
	"github.com/edgemill/edgemill/schema"
	"github.com/edgemill/edgemill/schema/token"
	"github.com/edgemill/edgemill/schema/value"
)

// Errors of a View.
var (
	// ErrNotKept: the schema does not keep what the question needs: an index
	// with that tokenizer, @reverse or @count.
	ErrNotKept = errors.New("not kept by the schema")
	// ErrWrongKind: the question is about values and the predicate holds uids,
	// or the other way round; or it is about the one value of a list.
	ErrWrongKind = errors.New("the predicate is of another kind")
)

// View reads the graph at one timestamp, or as a transaction sees it, in the
// namespace of the DB. Commits, rollups and Alters that come later do not change
// what it gives. What it returns is the caller's own.
//
// Any number of goroutines may use it, also while its transaction applies
// batches: each read sees whole batches. The sequences take their answer in pieces, so
// that their loops may do what they like, also end the View.
type View struct {
	db   *DB
	snap *schema.Snapshot
	ts   uint64

	// A transaction's View reads through txn, another one through reader.
	txn    *Txn
	reader *posting.Reader

	// past says that the timestamp was asked for, so that versions may be gone;
	// altered are then the predicates that were altered above it.
	past    bool
	altered map[mutation.Name]uint64

	mu struct {
		// A read holds it shared, Close exclusively.
		sync.RWMutex
		closed bool
	}
}

// Value is one of a subject's values.
type Value struct {
	Value value.Value
	// Lang is its language tag, "" for none.
	Lang string
	// Facets are in the order of their keys.
	Facets []mutation.Facet
}

// View opens a view of all that is committed at or below ts, or for 0 of all
// that has been committed when it is called. Close ends it. A ts above the
// newest timestamp handed out is conflict.ErrUnknownTimestamp, one from which
// on versions may be gone is conflict.ErrTooOld; the latter can also come from
// a read whose list was rolled up since and cannot be told any more.
func (db *DB) View(ctx context.Context, ts uint64) (*View, error) {
	if err := db.calls.enter(); err != nil {
		return nil, fmt.Errorf("view: %w", err)
	}
	defer db.calls.leave()
	// As in Begin: the timestamp and the schema belong together.
	db.schema.RLock()
	defer db.schema.RUnlock()
	v := &View{db: db, snap: db.schema.snap, ts: ts, past: ts != 0}
	if err := v.register(ctx); err != nil {
		return nil, fmt.Errorf("view: %w", db.calls.closedError(ctx, err))
	}
	if err := v.open(); err != nil {
		db.oracle.DoneRead(v.ts)
		return nil, fmt.Errorf("view: %w", tooOld(err))
	}
	return v, nil
}

// open opens the reader, when the timestamp is registered.
func (v *View) open() (err error) {
	if v.past {
		v.reader, err = v.db.store.Past(v.ts)
		return err
	}
	v.reader = v.db.store.Snapshot(v.ts)
	return nil
}

// tooOld adds conflict.ErrTooOld to what the store says of an old timestamp.
func tooOld(err error) error {
	if errors.Is(err, posting.ErrTooOld) {
		return fmt.Errorf("%w: %w", conflict.ErrTooOld, err)
	}
	return err
}

// register opens the view's timestamp with the oracle. The caller holds the
// schema state.
func (v *View) register(ctx context.Context) (err error) {
	if !v.past {
		v.ts, err = v.db.oracle.BeginRead(ctx)
		return err
	}
	if horizon := v.db.store.Horizon(); v.ts < horizon {
		return fmt.Errorf("%w: %d is below the horizon %d", conflict.ErrTooOld, v.ts, horizon)
	}
	for name, ts := range v.db.schema.changed {
		if ts > v.ts {
			if v.altered == nil {
				v.altered = make(map[mutation.Name]uint64)
			}
			v.altered[name] = ts
		}
	}
	return v.db.oracle.ReadAt(ctx, v.ts)
}

// View returns a view of what the transaction sees: its snapshot with its own
// batches on top, those that come later included. The first read waits until that
// can be read: in RunTxn no longer than its context lasts. The view ends with the
// transaction; its reads give ErrClosed then.
func (t *Txn) View() *View {
	return &View{db: t.db, snap: t.snap, ts: t.StartTS(), txn: t}
}

// Close ends the view. It may be repeated; for a transaction's View it does
// nothing.
func (v *View) Close() {
	if v.txn != nil {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.mu.closed {
		return
	}
	v.mu.closed = true
	v.reader.Release()
	v.db.oracle.DoneRead(v.ts)
}

// TS returns the timestamp that is read at.
func (v *View) TS() uint64 { return v.ts }

// Schema returns the schema that the view knows.
func (v *View) Schema() *schema.Snapshot { return v.snap }

// enter lets a read use the store, until leave.
func (v *View) enter() error {
	if v.txn != nil {
		return v.txn.enterToRead()
	}
	v.mu.RLock()
	if v.mu.closed {
		v.mu.RUnlock()
		return ErrClosed
	}
	if err := v.db.calls.enter(); err != nil {
		v.mu.RUnlock()
		return err
	}
	return nil
}

func (v *View) leave() {
	if v.txn != nil {
		v.txn.leave()
		return
	}
	v.db.calls.leave()
	v.mu.RUnlock()
}

// read reads one list. It aliases nothing that ends with the view.
func (v *View) read(key []byte) (*posting.List, error) {
	if err := v.enter(); err != nil {
		return nil, err
	}
	defer v.leave()
	return v.list(key)
}

// list is read for who has entered.
func (v *View) list(key []byte) (*posting.List, error) {
	if v.txn != nil {
		return v.txn.txn.List(key)
	}
	l, err := v.reader.List(key)
	return l, tooOld(err)
}

// predicate finds a predicate of the schema.
func (v *View) predicate(pred string) (*schema.Predicate, error) {
	p, ok := v.snap.Predicate(v.db.opts.Namespace, pred)
	if !ok {
		return nil, fmt.Errorf("predicate %q: %w", pred, mutation.ErrUnknownPredicate)
	}
	return p, nil
}

func (v *View) valuePredicate(pred string) (*schema.Predicate, error) {
	p, err := v.predicate(pred)
	if err == nil && p.Type == value.UID {
		err = fmt.Errorf("predicate %q: %w: it holds uids", pred, ErrWrongKind)
	}
	return p, err
}

func (v *View) uidPredicate(pred string) (*schema.Predicate, error) {
	p, err := v.predicate(pred)
	if err == nil && p.Type != value.UID {
		err = fmt.Errorf("predicate %q: %w: it holds values of type %s", pred, ErrWrongKind, p.Type)
	}
	return p, err
}

// derived refuses a question to derived lists that an Alter built or removed
// above the view's timestamp.
func (v *View) derived(p *schema.Predicate) error {
	if ts, ok := v.altered[mutation.Name{Namespace: p.Namespace, Predicate: p.Name}]; ok {
		return fmt.Errorf("predicate %q: altered at %d, above the view's %d: %w", p.Name, ts, v.ts, ErrAltered)
	}
	return nil
}

func (v *View) data(p *schema.Predicate, uid uint64) (*posting.List, error) {
	return v.read(posting.AppendDataKey(nil, p.Namespace, p.Name, uid))
}

// Value returns the value without a language of a single-valued predicate, and
// whether there is one.
func (v *View) Value(uid uint64, pred string) (value.Value, bool, error) {
	return v.ValueLang(uid, pred, "")
}

// ValueLang returns the value with exactly the language tag, and whether there
// is one; "" is for the value without a language.
func (v *View) ValueLang(uid uint64, pred, lang string) (value.Value, bool, error) {
	post, ok, err := v.value(uid, pred, lang)
	return post.Value, ok, err
}

// ValueFacets returns the facets of the value with the language tag, in the
// order of their keys.
func (v *View) ValueFacets(uid uint64, pred, lang string) ([]mutation.Facet, error) {
	post, _, err := v.value(uid, pred, lang)
	return post.Facets, err
}

func (v *View) value(uid uint64, pred, lang string) (Value, bool, error) {
	p, err := v.valuePredicate(pred)
	if err != nil {
		return Value{}, false, err
	}
	if err := checkLang(p, lang); err != nil {
		return Value{}, false, err
	}
	if p.List {
		return Value{}, false, fmt.Errorf("predicate %q: %w: it is a list, whose values come from Values", pred, ErrWrongKind)
	}
	l, err := v.data(p, uid)
	if err != nil {
		return Value{}, false, err
	}
	at := posting.DeleteAllUID
	if lang != "" {
		at = conflict.Fingerprint([]byte(lang))
	}
	post, ok := l.Find(at)
	if !ok || string(post.Lang) != lang {
		return Value{}, false, nil
	}
	val, err := ownValue(&post)
	return val, err == nil, err
}

func checkLang(p *schema.Predicate, lang string) error {
	if lang != "" && !p.Lang {
		return fmt.Errorf("predicate %q: language %q: the predicate is not @lang", p.Name, lang)
	}
	return nil
}

// ownValue copies a posting's value.
func ownValue(post *posting.Posting) (Value, error) {
	facets, err := ownFacets(post.Facets)
	return Value{
		Value:  value.Value{Type: post.ValType, Data: slices.Clone(post.Value)},
		Lang:   string(post.Lang),
		Facets: facets,
	}, err
}

func ownFacets(raw []byte) ([]mutation.Facet, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	fs, err := posting.DecodeFacets(raw)
	if err != nil {
		return nil, err
	}
	own := make([]mutation.Facet, len(fs))
	for i, f := range fs {
		own[i] = mutation.Facet{Key: f.Key, Type: f.Type, Value: slices.Clone(f.Value)}
	}
	return own, nil
}

// Values returns all values of a subject, of all languages, in the order in
// which they are stored.
func (v *View) Values(uid uint64, pred string) ([]Value, error) {
	return collect(v.EachValue(uid, pred))
}

// EachValue is Values one by one. It ends after an error.
func (v *View) EachValue(uid uint64, pred string) iter.Seq2[Value, error] {
	return func(yield func(Value, error) bool) {
		p, err := v.valuePredicate(pred)
		if err != nil {
			yield(Value{}, err)
			return
		}
		l, err := v.data(p, uid)
		if err != nil {
			yield(Value{}, err)
			return
		}
		for post := range l.Postings(0) {
			val, err := ownValue(&post)
			if !yield(val, err) || err != nil {
				return
			}
		}
	}
}

func collect[T any](seq iter.Seq2[T, error]) ([]T, error) {
	var all []T
	for x, err := range seq {
		if err != nil {
			return nil, err
		}
		all = append(all, x)
	}
	return all, nil
}

// Targets returns the uids that a subject points to, ascending.
func (v *View) Targets(uid uint64, pred string) ([]uint64, error) {
	return collect(v.TargetsFrom(uid, pred, 0))
}

// TargetsFrom yields the targets from a uid on, ascending. It ends after an
// error.
func (v *View) TargetsFrom(uid uint64, pred string, from uint64) iter.Seq2[uint64, error] {
	return uidsFrom(from, func() (*posting.List, error) {
		p, err := v.uidPredicate(pred)
		if err != nil {
			return nil, err
		}
		return v.data(p, uid)
	})
}

// uidsFrom yields the uids of a list that is read when the loop begins.
func uidsFrom(from uint64, read func() (*posting.List, error)) iter.Seq2[uint64, error] {
	return func(yield func(uint64, error) bool) {
		l, err := read()
		if err != nil {
			yield(0, err)
			return
		}
		for uid := range l.UIDs(from) {
			if !yield(uid, nil) {
				return
			}
		}
	}
}

// Sources returns the subjects that point to a target, ascending. It needs
// @reverse.
func (v *View) Sources(uid uint64, pred string) ([]uint64, error) {
	return collect(v.SourcesFrom(uid, pred, 0))
}

// SourcesFrom yields the sources from a uid on, ascending. It ends after an
// error.
func (v *View) SourcesFrom(uid uint64, pred string, from uint64) iter.Seq2[uint64, error] {
	return uidsFrom(from, func() (*posting.List, error) {
		p, err := v.reversed(pred)
		if err != nil {
			return nil, err
		}
		return v.read(posting.AppendReverseKey(nil, p.Namespace, p.Name, uid))
	})
}

func (v *View) reversed(pred string) (*schema.Predicate, error) {
	p, err := v.uidPredicate(pred)
	if err == nil && !p.Reverse {
		err = fmt.Errorf("predicate %q: @reverse: %w", pred, ErrNotKept)
	}
	if err == nil {
		err = v.derived(p)
	}
	return p, err
}

// Facets returns the facets of the edge from uid to target, in the order of
// their keys.
func (v *View) Facets(uid uint64, pred string, target uint64) ([]mutation.Facet, error) {
	p, err := v.uidPredicate(pred)
	if err != nil {
		return nil, err
	}
	l, err := v.data(p, uid)
	if err != nil {
		return nil, err
	}
	post, _ := l.Find(target)
	return ownFacets(post.Facets)
}

// Count returns the number of values, in all languages, or of targets that a
// subject has. It does not need @count.
func (v *View) Count(uid uint64, pred string) (int, error) {
	p, err := v.predicate(pred)
	if err != nil {
		return 0, err
	}
	l, err := v.data(p, uid)
	return l.Len(), err
}

// ByCount returns the subjects that have n values or targets, ascending. It
// needs @count, and n to be at least 1.
func (v *View) ByCount(pred string, n uint32) ([]uint64, error) {
	return collect(v.ByCountFrom(pred, n, 0))
}

// ByCountFrom yields what ByCount gives from a uid on. It ends after an error.
func (v *View) ByCountFrom(pred string, n uint32, from uint64) iter.Seq2[uint64, error] {
	return v.bucket(pred, posting.KindCount, n, from)
}

// ByReverseCount returns the targets that n subjects point to, ascending. It
// needs @reverse and @count, and n to be at least 1.
func (v *View) ByReverseCount(pred string, n uint32) ([]uint64, error) {
	return collect(v.ByReverseCountFrom(pred, n, 0))
}

// ByReverseCountFrom yields what ByReverseCount gives from a uid on. It ends
// after an error.
func (v *View) ByReverseCountFrom(pred string, n uint32, from uint64) iter.Seq2[uint64, error] {
	return v.bucket(pred, posting.KindCountReverse, n, from)
}

func (v *View) bucket(pred string, kind posting.Kind, n uint32, from uint64) iter.Seq2[uint64, error] {
	return uidsFrom(from, func() (*posting.List, error) {
		p, err := v.counted(pred, kind)
		if err != nil {
			return nil, err
		}
		if n == 0 {
			return nil, fmt.Errorf("predicate %q: count 0: %w: counts begin at 1", pred, ErrNotKept)
		}
		return v.read(posting.AppendCountKey(nil, p.Namespace, p.Name, kind, n))
	})
}

func (v *View) counted(pred string, kind posting.Kind) (*schema.Predicate, error) {
	find := v.predicate
	if kind == posting.KindCountReverse {
		find = v.reversed
	}
	p, err := find(pred)
	if err == nil && !p.Count {
		err = fmt.Errorf("predicate %q: @count: %w", pred, ErrNotKept)
	}
	if err == nil {
		err = v.derived(p)
	}
	return p, err
}

// Lookup returns the subjects that the index has under every token that the
// tokenizer makes of the text, ascending. The text is input text of the
// predicate's type; lang is the language in which it is taken, and for exact on
// an @lang predicate the language of the values that are found. A tokenizer
// that keeps less than the whole value (term, float, year) finds what its
// tokens say; a text without tokens finds nothing.
func (v *View) Lookup(pred, tokenizer, text, lang string) ([]uint64, error) {
	return collect(v.LookupFrom(pred, tokenizer, text, lang, 0))
}

// LookupFrom yields what Lookup gives from a uid on. It ends after an error.
func (v *View) LookupFrom(pred, tokenizer, text, lang string, from uint64) iter.Seq2[uint64, error] {
	return func(yield func(uint64, error) bool) {
		lists, err := v.tokenLists(pred, tokenizer, text, lang)
		if err != nil {
			yield(0, err)
			return
		}
		if len(lists) == 0 {
			return
		}
		for uid := range lists[0].UIDs(from) {
			missing := func(l *posting.List) bool { return !l.Has(uid) }
			if !slices.ContainsFunc(lists[1:], missing) && !yield(uid, nil) {
				return
			}
		}
	}
}

// tokenLists reads the index lists of the text's tokens, the shortest first.
func (v *View) tokenLists(pred, tokenizer, text, lang string) ([]*posting.List, error) {
	p, err := v.indexed(pred, tokenizer)
	if err != nil {
		return nil, err
	}
	if err := checkLang(p, lang); err != nil {
		return nil, err
	}
	var tokens token.Buffer
	if err := token.Query(&tokens, tokenizer, p.Type, text, lang); err != nil {
		return nil, fmt.Errorf("predicate %q: %w", pred, err)
	}
	if err := v.enter(); err != nil {
		return nil, err
	}
	defer v.leave()
	var lists []*posting.List
	for i := range tokens.Len() {
		l, err := v.list(posting.AppendIndexKey(nil, p.Namespace, p.Name, tokens.At(i)))
		if err != nil {
			return nil, err
		}
		if l == nil {
			return nil, nil
		}
		lists = append(lists, l)
	}
	slices.SortFunc(lists, func(a, b *posting.List) int { return a.Len() - b.Len() })
	return lists, nil
}

// indexed finds a predicate that has an index with the tokenizer.
func (v *View) indexed(pred, tokenizer string) (*schema.Predicate, error) {
	p, err := v.predicate(pred)
	if err != nil {
		return nil, err
	}
	named := func(t *token.Tokenizer) bool { return t.Name() == tokenizer }
	if !slices.ContainsFunc(p.Tokenizers, named) {
		return nil, fmt.Errorf("predicate %q: index %s: %w: it has %s", pred, tokenizer, ErrNotKept, tokenizerNames(p))
	}
	return p, v.derived(p)
}

func tokenizerNames(p *schema.Predicate) string {
	var names []string
	for _, t := range p.Tokenizers {
		names = append(names, t.Name())
	}
	if len(names) == 0 {
		return "no index"
	}
	return strings.Join(names, ", ")
}

// Predicates returns the predicates of which the subject has a value or a
// target, by name.
func (v *View) Predicates(uid uint64) ([]string, error) {
	var names []string
	for p := range v.snap.Namespace(v.db.opts.Namespace) {
		l, err := v.data(p, uid)
		if err != nil {
			return nil, err
		}
		if !l.Empty() {
			names = append(names, p.Name)
		}
	}
	return names, nil
}
