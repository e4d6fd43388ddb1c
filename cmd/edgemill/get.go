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
				edges, err := edgesOf(v, store.namespace, uid, args[1:])
				if err != nil {
					return err
				}
				if !asJSON {
					shorten(edges, v, store.namespace)
				}
				return printEdges(cmd.OutOrStdout(), asJSON, uid, edges)
			})
		},
	}
	store.add(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON object")
	return cmd
}

// edgesOf reads the edges of a node, of the predicates that are named or of all.
func edgesOf(v *edgemill.View, namespace, uid uint64, preds []string) ([]mutation.Edge, error) {
	var err error
	if len(preds) == 0 {
		if preds, err = v.Predicates(uid); err != nil {
			return nil, err
		}
	}
	var edges []mutation.Edge
	for _, pred := range preds {
		read := valuesOf
		if p, ok := v.Schema().Predicate(namespace, pred); ok && p.Type == value.UID {
			read = targetsOf
		} else if strings.HasPrefix(pred, "~") {
			read = sourcesOf
		}
		if edges, err = read(edges, v, uid, pred); err != nil {
			return nil, err
		}
	}
	return edges, nil
}

// shorten takes the type off strings that the schema knows to be strings, so
// that they are printed without a datatype.
func shorten(edges []mutation.Edge, v *edgemill.View, namespace uint64) {
	for i := range edges {
		e := &edges[i]
		p, ok := v.Schema().Predicate(namespace, e.Predicate)
		if ok && p.Type == value.String && e.Value.Type == value.String && e.Lang == "" {
			e.Value.Type = value.Default
		}
	}
}

func valuesOf(edges []mutation.Edge, v *edgemill.View, uid uint64, pred string) ([]mutation.Edge, error) {
	for val, err := range v.EachValue(uid, pred) {
		if err != nil {
			return nil, err
		}
		edges = append(edges, mutation.Edge{
			Subject: uid, Predicate: pred, Value: val.Value, Lang: val.Lang, Facets: val.Facets,
		})
	}
	return edges, nil
}

func targetsOf(edges []mutation.Edge, v *edgemill.View, uid uint64, pred string) ([]mutation.Edge, error) {
	for target, err := range v.TargetsFrom(uid, pred, 0) {
		if err != nil {
			return nil, err
		}
		if edges, err = appendEdge(edges, v, uid, pred, target); err != nil {
			return nil, err
		}
	}
	return edges, nil
}

func sourcesOf(edges []mutation.Edge, v *edgemill.View, uid uint64, pred string) ([]mutation.Edge, error) {
	pred = strings.TrimPrefix(pred, "~")
	for source, err := range v.SourcesFrom(uid, pred, 0) {
		if err != nil {
			return nil, err
		}
		if edges, err = appendEdge(edges, v, source, pred, uid); err != nil {
			return nil, err
		}
	}
	return edges, nil
}

func appendEdge(edges []mutation.Edge, v *edgemill.View, subject uint64, pred string, target uint64) ([]mutation.Edge, error) {
	facets, err := v.Facets(subject, pred, target)
	return append(edges, mutation.Edge{
		Subject: subject, Predicate: pred, Object: mutation.ObjectUID, Target: target, Facets: facets,
	}), err
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

func printEdges(w io.Writer, asJSON bool, uid uint64, edges []mutation.Edge) error {
	if asJSON {
		n, err := nodeOf(uid, edges)
		if err != nil {
			return err
		}
		return printJSON(w, n)
	}
	var line []byte
	for i := range edges {
		var err error
		if line, err = ingest.AppendNQuad(line[:0], &edges[i], 0); err != nil {
			return err
		}
		if _, err := w.Write(line); err != nil {
			return err
		}
	}
	return nil
}

func nodeOf(uid uint64, edges []mutation.Edge) (node, error) {
	n := node{UID: hexUID(uid), Predicates: make(map[string][]object)}
	for i := range edges {
		e := &edges[i]
		o, err := objectOf(e)
		if err != nil {
			return n, err
		}
		pred := e.Predicate
		if e.Object == mutation.ObjectUID && e.Subject != uid {
			pred, o.UID = "~"+pred, hexUID(e.Subject)
		}
		n.Predicates[pred] = append(n.Predicates[pred], o)
	}
	return n, nil
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
