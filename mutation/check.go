package mutation

import (
	"bytes"
	"fmt"
	"unicode/utf8"

	"github.com/edgemill/edgemill/conflict"
	"github.com/edgemill/edgemill/posting"
	"github.com/edgemill/edgemill/schema"
	"github.com/edgemill/edgemill/schema/token"
	"github.com/edgemill/edgemill/schema/value"
)

// checkSubject refuses an edge whose subject or star is wrong whatever the
// schema says.
func checkSubject(e *Edge) error {
	switch {
	case e.Subject == 0 || e.Subject == posting.DeleteAllUID:
		return badEdge("uid %#x is reserved", e.Subject)
	case e.Op > Delete || e.Object > ObjectStar:
		return badEdge("op %d, object kind %d", e.Op, e.Object)
	case e.Object == ObjectStar && e.Op == Set:
		return badEdge("a star can only be deleted")
	case e.Predicate == StarPredicate && e.Object != ObjectStar:
		return badEdge("a star as predicate needs a star as object")
	case e.Predicate == StarPredicate && e.Lang != "":
		return badEdge("a star as predicate takes no language")
	}
	return nil
}

// predicateOf finds the edge's predicate and refuses an edge that the schema
// does not allow.
func predicateOf(snap *schema.Snapshot, ns uint64, e *Edge) (*schema.Predicate, error) {
	p, err := allowedPredicate(snap, ns, e.Predicate)
	if err != nil {
		return nil, err
	}
	return p, checkObject(p, e)
}

// allowedPredicate finds a predicate on which edges are possible.
func allowedPredicate(snap *schema.Snapshot, ns uint64, name string) (*schema.Predicate, error) {
	if len(name) > posting.MaxPredicateLen {
		return nil, badEdge("the predicate's name has %d bytes, more than %d", len(name), posting.MaxPredicateLen)
	}
	p, ok := snap.Predicate(ns, name)
	if !ok {
		return nil, ErrUnknownPredicate
	}
	if err := p.Unsupported(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrBadEdge, err)
	}
	return p, nil
}

// checkObject refuses an edge whose object is not of the predicate's kind.
func checkObject(p *schema.Predicate, e *Edge) error {
	isUID := p.Type == value.UID
	switch {
	case e.Lang != "" && !p.Lang:
		return badEdge("a language tag %q, and the predicate is not @lang", e.Lang)
	case e.Lang != "" && !utf8.ValidString(e.Lang):
		return badEdge("a language tag that is not UTF-8")
	case e.Object == ObjectUID && !isUID:
		return badEdge("a uid as object, and the predicate holds values of type %s", p.Type)
	case e.Object == ObjectValue && isUID:
		return badEdge("a value as object, and the predicate holds uids")
	case e.Object == ObjectUID && (e.Target == 0 || e.Target == posting.DeleteAllUID):
		return badEdge("target: uid %#x is reserved", e.Target)
	case e.Object == ObjectStar && len(e.Facets) > 0:
		return badEdge("facets on a star")
	}
	return nil
}

// checkIndexKey refuses a token whose index key would be too long.
func checkIndexKey(p *schema.Predicate, term []byte) error {
	return posting.CheckKeyLen(p.Name, posting.PrefixLen(p.Name)+len(term))
}

// appendStored appends the stored form of an edge's value, converted to the
// predicate's type, and returns the type that the posting gets. In a delete, a
// plain password stays as it is.
func appendStored(dst []byte, p *schema.Predicate, e *Edge) ([]byte, value.Type, error) {
	v, to := e.Value, p.Type
	if to == value.Default {
		to = v.Type
		if to == value.UID || to == value.Object || to > value.Vector {
			return dst, 0, badEdge("a value of type %s", to)
		}
		if to == value.Password && e.Op == Delete {
			return append(dst, v.Data...), to, nil
		}
		if err := value.Check(to, v.Data); err != nil {
			return dst, 0, err
		}
		return append(dst, v.Data...), to, nil
	}
	if to == value.Password {
		if e.Op == Set && !value.IsBcrypt(v.Data) {
			return dst, 0, badEdge("a password must be a bcrypt hash")
		}
		return append(dst, v.Data...), to, nil
	}
	dst, err := value.AppendConvert(dst, v, to)
	return dst, to, err
}

// valueUID is the uid of a value's posting (docs/format.md, Which uid a
// posting has).
func valueUID(p *schema.Predicate, lang string, stored []byte) uint64 {
	switch {
	case p.List:
		return conflict.Fingerprint(stored)
	case lang != "":
		return langUID(lang)
	}
	return posting.DeleteAllUID
}

// notUnique is the error of a @unique value that another subject holds.
func notUnique(other uint64, held bool) error {
	if !held {
		return nil
	}
	return fmt.Errorf("%w: %#x", ErrNotUnique, other)
}

func langUID(lang string) uint64 { return conflict.Fingerprint([]byte(lang)) }

func valuePostingType(lang string) posting.PostingType {
	if lang != "" {
		return posting.PostingValueLang
	}
	return posting.PostingValue
}

// holds reports whether the posting that stands is the one that a delete
// names.
func holds(stands, named *posting.Posting) bool {
	if stands.ValType != named.ValType || !bytes.Equal(stands.Lang, named.Lang) {
		return false
	}
	if bytes.Equal(stands.Value, named.Value) {
		return true
	}
	return stands.ValType == value.Password && value.VerifyPassword(stands.Value, named.Value)
}

// appendTokens appends every token of a value of the predicate, in the order
// of its tokenizers, and refuses one whose key would be too long.
func appendTokens(dst *token.Buffer, p *schema.Predicate, stored []byte, lang string) error {
	for _, t := range p.Tokenizers {
		if err := t.Append(dst, value.Value{Type: p.Type, Data: stored}, lang); err != nil {
			return fmt.Errorf("tokenizer %s: %w", t.Name(), err)
		}
	}
	for i := range dst.Len() {
		if err := checkIndexKey(p, dst.At(i)); err != nil {
			return err
		}
	}
	return nil
}

// uniqueTokenizer returns the tokenizer by whose tokens a @unique predicate
// finds other holders.
func uniqueTokenizer(p *schema.Predicate) *token.Tokenizer {
	for _, t := range p.Tokenizers {
		if name := t.Name(); name == "exact" || name == "hash" || name == "int" {
			return t
		}
	}
	return nil
}

// needsOld reports whether an edge's effect depends on what stood before.
// Where it does not, the list is not read.
func needsOld(p *schema.Predicate, e *Edge) bool {
	if p.Count || p.Indexed() {
		return true
	}
	switch e.Object {
	case ObjectStar:
		return p.Reverse
	case ObjectUID:
		if e.Op == Delete {
			return p.Reverse
		}
		return p.Reverse && (!p.List || p.Upsert && !p.NoConflict)
	}
	return e.Op == Delete
}
