package dump

import (
	"bufio"
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"strconv"

	"github.com/edgemill/edgemill"
	"github.com/edgemill/edgemill/posting"
	"github.com/edgemill/edgemill/schema"
	"github.com/edgemill/edgemill/schema/value"
)

// The JSON of a list: the form of the golden cases' want_lists.
type (
	listHead struct {
		KeyHex    string  `json:"key_hex"`
		Kind      string  `json:"kind"`
		Predicate string  `json:"predicate"`
		Namespace uint64  `json:"namespace,omitempty"`
		UID       string  `json:"uid,omitempty"`
		TermHex   string  `json:"term_hex,omitempty"`
		Count     *uint32 `json:"count,omitempty"`
	}
	listPosting struct {
		UID         string      `json:"uid"`
		ValueHex    string      `json:"value_hex,omitempty"`
		ValueType   value.Type  `json:"value_type,omitempty"`
		PostingType uint8       `json:"posting_type"`
		Lang        string      `json:"lang,omitempty"`
		Facets      []listFacet `json:"facets,omitempty"`
	}
	listFacet struct {
		Key       string            `json:"key"`
		ValueHex  string            `json:"value_hex"`
		ValueType posting.FacetType `json:"value_type"`
		Tokens    []string          `json:"tokens,omitempty"`
	}
)

// Lists writes every list that is not empty as a line of JSON, in the order of
// their keys: key_hex, kind, predicate, what the key says (uid, term_hex, count;
// namespace where it is not 0), and the postings in uid order (uid, and where
// there are: value_hex, value_type, lang, facets). Uids are decimal strings.
func Lists(ctx context.Context, db *edgemill.DB, w io.Writer, opts Options) error {
	out := bufio.NewWriterSize(w, writeBuffer)
	err := atPresent(ctx, db, func(r *posting.Reader, _ *schema.Snapshot) error {
		prefix := []byte{byte(posting.SpaceList)}
		err := r.WalkLists(ctx, prefix, nil, func(key []byte, l *posting.List) error {
			k, err := posting.ParseKey(key)
			if err != nil {
				return err
			}
			if l.Empty() || !opts.has(k.Namespace) {
				return nil
			}
			if err := writeList(out, key, &k, l); err != nil {
				return fmt.Errorf("%s: %w", k, err)
			}
			return nil
		})
		if err != nil {
			return err
		}
		return out.Flush()
	})
	if err != nil {
		return fmt.Errorf("dump: %w", err)
	}
	return nil
}

// writeList writes one list's line, posting after posting.
func writeList(w *bufio.Writer, key []byte, k *posting.Key, l *posting.List) error {
	head, err := json.Marshal(headOf(key, k))
	if err != nil {
		return err
	}
	w.Write(head[:len(head)-1]) // a bufio.Writer keeps its first error for the next line
	w.WriteString(`,"postings":[`)
	first := true
	for post := range l.Postings(0) {
		p, err := postingOf(&post)
		if err != nil {
			return err
		}
		text, err := json.Marshal(p)
		if err != nil {
			return err
		}
		if !first {
			w.WriteByte(',')
		}
		first = false
		w.Write(text)
	}
	_, err = w.WriteString("]}\n")
	return err
}

func headOf(key []byte, k *posting.Key) listHead {
	h := listHead{
		KeyHex: hex.EncodeToString(key), Kind: k.Kind.String(),
		Predicate: k.Predicate, Namespace: k.Namespace, TermHex: hex.EncodeToString(k.Term),
	}
	switch k.Kind {
	case posting.KindData, posting.KindReverse:
		h.UID = strconv.FormatUint(k.UID, 10)
	case posting.KindCount, posting.KindCountReverse:
		h.Count = &k.Count
	}
	return h
}

func postingOf(post *posting.Posting) (listPosting, error) {
	p := listPosting{
		UID:      strconv.FormatUint(post.UID, 10),
		ValueHex: hex.EncodeToString(post.Value), PostingType: uint8(post.Type), Lang: string(post.Lang),
	}
	if post.Type != posting.PostingRef {
		p.ValueType = post.ValType
	}
	facets, err := posting.DecodeFacets(post.Facets)
	for _, f := range facets {
		p.Facets = append(p.Facets, listFacet{f.Key, hex.EncodeToString(f.Value), f.Type, f.Tokens})
	}
	return p, err
}
