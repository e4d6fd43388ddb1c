package main

import (
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/edgemill/edgemill"
	"github.com/edgemill/edgemill/ingest"
	"github.com/edgemill/edgemill/mutation"
	"github.com/edgemill/edgemill/schema/value"
)

func newGetCommand() *cobra.Command {
	var store storeFlags
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "get --dir DIR UID [PREDICATE]",
		Short: "Print a node's values and edges",
		Long: `Get prints what a node has, of all predicates or of one, as N-Quads. A predicate
with ~ before it asks for the edges that point to the node, which @reverse keeps.
A uid is decimal, or hexadecimal with 0x.`,
		Example: `  edgemill get --dir films 0x1f
  edgemill get --dir films 31 name --json
  edgemill get --dir films 0x1f ~director`,
		Args: between(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			uid, err := ingest.ParseUID(args[0])
			if err != nil {
				return wrongUsage(cmd, "%w", err)
			}
			return store.viewed(cmd, func(v *edgemill.View) error {
				n := nodeReader{view: v, namespace: store.namespace, uid: uid}
				if asJSON {
					return n.printJSON(cmd.OutOrStdout(), args[1:])
				}
				return n.printNQuads(cmd.OutOrStdout(), args[1:])
			})
		},
	}
	store.add(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON object")
	return cmd
}

// nodeReader reads what one node has.
type nodeReader struct {
	view           *edgemill.View
	namespace, uid uint64
	// asked is the predicate that each is at, as it was asked for, and reverse
	// says that it is the edges that point to the node.
	asked   string
	reverse bool
}

// each calls f with the node's edges, of the predicates that are named or of
// all; ~name is for the edges that point to the node.
func (n *nodeReader) each(preds []string, f func(*mutation.Edge) error) error {
	var err error
	if len(preds) == 0 {
		if preds, err = n.view.Predicates(n.uid); err != nil {
			return err
		}
	}
	for _, pred := range preds {
		n.asked, n.reverse = pred, strings.HasPrefix(pred, "~")
		p, ok := n.view.Schema().Predicate(n.namespace, pred)
		switch {
		case n.reverse:
			err = n.sources(pred[1:], f)
		case ok && p.Type == value.UID:
			err = n.targets(pred, f)
		default:
			err = n.values(pred, f)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (n *nodeReader) values(pred string, f func(*mutation.Edge) error) error {
	for v, err := range n.view.EachValue(n.uid, pred) {
		if err != nil {
			return err
		}
		err = f(&mutation.Edge{Subject: n.uid, Predicate: pred, Value: v.Value, Lang: v.Lang, Facets: v.Facets})
		if err != nil {
			return err
		}
	}
	return nil
}

func (n *nodeReader) targets(pred string, f func(*mutation.Edge) error) error {
	for target, err := range n.view.TargetsFrom(n.uid, pred, 0) {
		if err != nil {
			return err
		}
		if err := n.edge(n.uid, pred, target, f); err != nil {
			return err
		}
	}
	return nil
}

func (n *nodeReader) sources(pred string, f func(*mutation.Edge) error) error {
	for source, err := range n.view.SourcesFrom(n.uid, pred, 0) {
		if err != nil {
			return err
		}
		if err := n.edge(source, pred, n.uid, f); err != nil {
			return err
		}
	}
	return nil
}

// edge calls f with an edge and its facets.
func (n *nodeReader) edge(subject uint64, pred string, target uint64, f func(*mutation.Edge) error) error {
	facets, err := n.view.Facets(subject, pred, target)
	if err != nil {
		return err
	}
	return f(&mutation.Edge{Subject: subject, Predicate: pred, Object: mutation.ObjectUID, Target: target, Facets: facets})
}

// printNQuads prints the edges as statements.
func (n *nodeReader) printNQuads(w io.Writer, preds []string) error {
	var line []byte
	return n.each(preds, func(e *mutation.Edge) (err error) {
		n.shorten(e)
		if line, err = ingest.AppendNQuad(line[:0], e, 0); err != nil {
			return err
		}
		_, err = w.Write(line)
		return err
	})
}

// shorten takes the type off a string that the schema knows to be one, so that
// it is printed without a datatype.
func (n *nodeReader) shorten(e *mutation.Edge) {
	if e.Object != mutation.ObjectValue || e.Value.Type != value.String || e.Lang != "" {
		return
	}
	if p, ok := n.view.Schema().Predicate(n.namespace, e.Predicate); ok && p.Type == value.String {
		e.Value.Type = value.Default
	}
}

// node is the JSON of what a node has, or of what points to it.
type node struct {
	UID        string              `json:"uid"`
	Predicates map[string][]object `json:"predicates"`
}

// object is the JSON of a value or of the node at the other end of an edge. Its
// text is that of an N-Quads literal.
type object struct {
	UID    string           `json:"uid,omitempty"`
	Value  *string          `json:"value,omitempty"`
	Type   string           `json:"type,omitempty"`
	Lang   string           `json:"lang,omitempty"`
	Facets map[string]facet `json:"facets,omitempty"`
}

type facet struct {
	Value string `json:"value"`
	Type  string `json:"type"`
}

func (n *nodeReader) printJSON(w io.Writer, preds []string) error {
	out := node{UID: hexUID(n.uid), Predicates: make(map[string][]object)}
	err := n.each(preds, func(e *mutation.Edge) error {
		o, err := objectOf(e)
		if err != nil {
			return err
		}
		if n.reverse {
			o.UID = hexUID(e.Subject)
		}
		out.Predicates[n.asked] = append(out.Predicates[n.asked], o)
		return nil
	})
	if err != nil {
		return err
	}
	return printJSON(w, out)
}

func objectOf(e *mutation.Edge) (object, error) {
	o := object{Facets: facetsOf(e.Facets)}
	if e.Object == mutation.ObjectUID {
		o.UID = hexUID(e.Target)
		return o, nil
	}
	text, err := e.Value.AppendLiteral(nil)
	if err != nil {
		return o, err
	}
	s := string(text)
	o.Value, o.Type, o.Lang = &s, e.Value.Type.String(), e.Lang
	return o, nil
}
