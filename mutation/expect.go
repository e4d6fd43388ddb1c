package mutation

import (
	"github.com/edgemill/edgemill/conflict"
	"github.com/edgemill/edgemill/posting"
	"github.com/edgemill/edgemill/schema"
	"github.com/edgemill/edgemill/schema/token"
)

// ExpectedKeys returns the keys with which the batch's transaction enters a
// conflict.Gate: those that follow from the edges and the schema, without a
// read. That is the data keys, the tokens of values that are named, and under
// @count the lists whose numbers of postings may change, in place of the
// numbers, which are not known yet. What the applied batch has beyond them
// comes from what it finds: the tokens of values that go, and targets that a
// star removes. Index keys that can meet only where the subject's data key
// meets too are left out.
//
// The keys may be too many, since an edge may turn out to change nothing. An
// edge that no store could take is an *EdgeError.
func ExpectedKeys(snap *schema.Snapshot, b Batch) (conflict.Set, error) {
	x := expecter{snap: snap, namespace: b.Namespace}
	for i := range b.Edges {
		e := &b.Edges[i]
		if err := x.edge(e); err != nil {
			return conflict.Set{}, &EdgeError{Index: i, Predicate: e.Predicate, Subject: e.Subject, Err: err}
		}
	}
	return x.keys.Set(), nil
}

// expecter goes through a batch for ExpectedKeys.
type expecter struct {
	snap      *schema.Snapshot
	namespace uint64
	keys      conflict.Buffer

	key, stored []byte // scratch
	tokens      token.Buffer
}

func (x *expecter) edge(e *Edge) error {
	if err := checkSubject(e); err != nil {
		return err
	}
	if e.Predicate == StarPredicate {
		for p := range x.snap.Namespace(x.namespace) {
			x.keys.Exclusive(conflict.RulesOf(p).DataStar(x.data(p, e.Subject)))
		}
		return nil
	}
	p, err := predicateOf(x.snap, x.namespace, e)
	if err != nil {
		return err
	}
	rules := conflict.RulesOf(p)
	if rules.None() {
		return nil
	}
	fp := x.data(p, e.Subject)
	if p.Count {
		x.keys.Exclusive(rules.Counted(fp))
	}
	switch e.Object {
	case ObjectStar:
		x.keys.Exclusive(rules.DataStar(fp))
	case ObjectUID:
		x.target(p, rules, fp, e.Target)
	case ObjectValue:
		return x.value(p, rules, fp, e)
	}
	return nil
}

func (x *expecter) data(p *schema.Predicate, subject uint64) uint64 {
	x.key = posting.AppendDataKey(x.key[:0], p.Namespace, p.Name, subject)
	return conflict.Fingerprint(x.key)
}

// write adds the keys of a write to a data list.
func (x *expecter) write(rules conflict.Rules, fp, uid uint64) {
	x.keys.Exclusive(rules.Data(fp, uid))
	x.keys.Shared(rules.DataShared(fp))
}

func (x *expecter) target(p *schema.Predicate, rules conflict.Rules, fp, target uint64) {
	x.write(rules, fp, target)
	if !p.Reverse || !p.Count && !rules.HasReverse() {
		return
	}
	x.key = posting.AppendReverseKey(x.key[:0], p.Namespace, p.Name, target)
	reverse := conflict.Fingerprint(x.key)
	x.keys.Exclusive(rules.Reverse(reverse))
	if p.Count {
		x.keys.Exclusive(rules.Counted(reverse))
	}
}

func (x *expecter) value(p *schema.Predicate, rules conflict.Rules, fp uint64, e *Edge) error {
	stored, _, err := appendStored(x.stored[:0], p, e)
	if err != nil {
		return err
	}
	x.stored = stored
	x.write(rules, fp, valueUID(p, e.Lang, stored))
	if !p.Indexed() || !p.Upsert && !p.List {
		return nil
	}
	x.tokens.Reset()
	if err := appendTokens(&x.tokens, p, stored, e.Lang); err != nil {
		if e.Op == Delete {
			return nil // Such a value is not there, so nothing of it is removed.
		}
		return err
	}
	for i := range x.tokens.Len() {
		x.key = posting.AppendIndexKey(x.key[:0], p.Namespace, p.Name, x.tokens.At(i))
		x.keys.Exclusive(rules.Posting(conflict.Fingerprint(x.key), e.Subject))
	}
	return nil
}
