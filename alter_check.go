package edgemill

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/edgemill/edgemill/conflict"
	"github.com/edgemill/edgemill/mutation"
	"github.com/edgemill/edgemill/posting"
	"github.com/edgemill/edgemill/schema"
	"github.com/edgemill/edgemill/schema/token"
	"github.com/edgemill/edgemill/schema/value"
)

// errStop ends a walk whose answer is known.
var errStop = errors.New("stop")

// check refuses a change that the data does not allow.
func (s *step) check(ctx context.Context, r *posting.Reader) error {
	err := r.Walk(ctx, s.prefix(posting.KindData), func([]byte) error { return errStop })
	if s.hasKeys = errors.Is(err, errStop); !s.hasKeys {
		return err
	}
	refuse := s.refusal()
	if refuse == nil {
		return nil
	}
	return r.WalkLists(ctx, s.prefix(posting.KindData), nil, func(key []byte, l *posting.List) error {
		if s.old == nil && s.new.Type == value.UID && !s.new.List && l.Len() > 1 {
			return s.failAt(key, fmt.Errorf("%w: %d targets are stored, and %s was asked for", ErrDataInTheWay, l.Len(), typeText(s.new)))
		}
		for p := range l.Postings(0) {
			if err := refuse(&p); err != nil {
				return s.failAt(key, err)
			}
		}
		return nil
	})
}

// failAt is an error about the predicate at the data of a key's subject.
func (s *step) failAt(key []byte, err error) error {
	k, parseErr := posting.ParseKey(key)
	if parseErr != nil {
		return s.fail(0, parseErr)
	}
	return s.fail(k.UID, err)
}

// refusal is what to hold each posting of the data against, nil where any data
// will do.
func (s *step) refusal() func(*posting.Posting) error {
	c := &s.change
	switch {
	case s.old == nil:
		return func(p *posting.Posting) error { return misplaced(s.new, p) }
	case c.Retyped || c.ToSingle:
		return func(*posting.Posting) error {
			return fmt.Errorf("%w: it is %s and has data, and %s was asked for", ErrDataInTheWay, typeText(s.old), typeText(s.new))
		}
	case !slices.EqualFunc(s.old.IndexSpecs, s.new.IndexSpecs, sameSpec):
		return func(*posting.Posting) error {
			return fmt.Errorf("%w: it has data, of which this program can neither build nor remove an index of another kind", ErrDataInTheWay)
		}
	case c.DropLang:
		return func(p *posting.Posting) error {
			if len(p.Lang) == 0 {
				return nil
			}
			return fmt.Errorf("%w: it is @lang and has a value with the language %q, and no @lang was asked for", ErrDataInTheWay, p.Lang)
		}
	}
	return nil
}

func sameSpec(a, b schema.IndexSpec) bool {
	return a.Name == b.Name && slices.Equal(a.Options, b.Options)
}

func typeText(p *schema.Predicate) string {
	if p.List {
		return "[" + p.Type.String() + "]"
	}
	return p.Type.String()
}

// mistyped refuses a posting that holds no value, or target, of the predicate's
// type.
func mistyped(p *schema.Predicate, post *posting.Posting) error {
	switch isUID := post.Type == posting.PostingRef; {
	case isUID && p.Type != value.UID:
		return fmt.Errorf("%w: a uid is stored, and the type is %s", ErrDataInTheWay, p.Type)
	case isUID || p.Type == value.Default:
		return nil
	case post.ValType != p.Type:
		return fmt.Errorf("%w: a value of type %s is stored, and the type is %s", ErrDataInTheWay, post.ValType, p.Type)
	}
	return nil
}

// misplaced refuses a posting that the predicate, new to the schema, could not
// have written.
func misplaced(p *schema.Predicate, post *posting.Posting) error {
	if err := mistyped(p, post); err != nil || post.Type == posting.PostingRef {
		return err
	}
	if len(post.Lang) > 0 && !p.Lang {
		return fmt.Errorf("%w: a value with the language %q is stored, and no @lang was asked for", ErrDataInTheWay, post.Lang)
	}
	var want uint64
	switch {
	case p.List:
		want = conflict.Fingerprint(post.Value)
	case len(post.Lang) > 0:
		want = conflict.Fingerprint(post.Lang)
	default:
		want = posting.DeleteAllUID
	}
	if post.UID != want {
		return fmt.Errorf("%w: values are stored in another form than that of %s", ErrDataInTheWay, typeText(p))
	}
	return nil
}

// checkUnique refuses @unique where two subjects hold one value. It goes by the
// index, which is there by now, and the holders of its tokens.
func (a *alteration) checkUnique(ctx context.Context) error {
	var r *posting.Reader
	for _, s := range a.steps {
		if !s.hasKeys || !s.new.Unique || s.old != nil && s.old.Unique {
			continue
		}
		if r == nil {
			ts, release, err := a.db.oracle.Timestamp(ctx)
			if err != nil {
				return err
			}
			defer release()
			r = a.db.store.Reader(ts)
			defer r.Release()
		}
		if err := s.checkUnique(ctx, r); err != nil {
			return err
		}
	}
	return nil
}

func (s *step) checkUnique(ctx context.Context, r *posting.Reader) error {
	for _, id := range tokenIDs(uniqueTokenizer(s.new)) {
		prefix := append(s.prefix(posting.KindIndex), id)
		err := r.WalkLists(ctx, prefix, nil, func(_ []byte, l *posting.List) error { return s.checkHolders(r, l) })
		if err != nil {
			return err
		}
	}
	return nil
}

// checkHolders compares the values of the subjects that share a token. Different
// values with one token are few: collation keys tell nearly all strings apart.
func (s *step) checkHolders(r *posting.Reader, l *posting.List) error {
	if l.Len() < 2 {
		return nil
	}
	holders := make(map[string]uint64)
	for uid := range l.UIDs(0) {
		data, err := r.List(posting.AppendDataKey(nil, s.new.Namespace, s.new.Name, uid))
		if err != nil {
			return s.fail(uid, err)
		}
		for p := range data.Postings(0) {
			held := string(p.Lang) + "\x00" + string(p.Value)
			if other, ok := holders[held]; ok && other != uid {
				return s.fail(uid, fmt.Errorf("%w %#x, and @unique was asked for: %w", mutation.ErrNotUnique, other, ErrDataInTheWay))
			}
			holders[held] = uid
		}
	}
	return nil
}

// uniqueTokenizer is the one by whose tokens the holders of a value are found.
func uniqueTokenizer(p *schema.Predicate) *token.Tokenizer {
	i := slices.IndexFunc(p.Tokenizers, func(t *token.Tokenizer) bool {
		return bytes.IndexByte([]byte{token.IDExact, token.IDHash, token.IDInt}, t.ID()) >= 0
	})
	if i < 0 {
		return nil // Validate has seen to it that there is one.
	}
	return p.Tokenizers[i]
}

// tokenIDs are the identifier bytes of a tokenizer's tokens.
func tokenIDs(t *token.Tokenizer) []byte {
	switch {
	case t == nil:
		return nil
	case t.ID() == token.IDExact:
		return []byte{token.IDExact, token.IDExactLang}
	}
	return []byte{t.ID()}
}
