package main

import (
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"strings"
	"text/tabwriter"

	"github.com/edgemill/edgemill/mutation"
	"github.com/edgemill/edgemill/posting"
	"github.com/edgemill/edgemill/schema/value"
)

// printJSON prints a value on one line.
func printJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// printTable prints rows with their columns aligned.
func printTable(w io.Writer, rows [][]string) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		fmt.Fprintln(t, strings.TrimRight(strings.Join(row, "\t"), "\t")) // Flush gives its error
	}
	return t.Flush()
}

// printUIDs prints uids one a line, or all as one JSON object.
func printUIDs(w io.Writer, asJSON bool, uids iter.Seq2[uint64, error]) error {
	if asJSON {
		found, err := collectHex(uids)
		if err != nil {
			return err
		}
		return printJSON(w, map[string][]string{"uids": found})
	}
	for uid, err := range uids {
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(w, "%#x\n", uid); err != nil {
			return err
		}
	}
	return nil
}

// facetsOf makes the JSON of facets.
func facetsOf(fs []mutation.Facet) map[string]facet {
	if len(fs) == 0 {
		return nil
	}
	out := make(map[string]facet, len(fs))
	for _, f := range fs {
		v := value.Value{Type: facetTypes[f.Type], Data: f.Value}
		text, err := v.AppendLiteral(nil)
		if err != nil {
			text = f.Value
		}
		out[f.Key] = facet{Value: string(text), Type: v.Type.String()}
	}
	return out
}

// facetTypes are the value types of the facet types' names.
var facetTypes = map[posting.FacetType]value.Type{
	posting.FacetString: value.String, posting.FacetInt: value.Int, posting.FacetFloat: value.Float,
	posting.FacetBool: value.Bool, posting.FacetDateTime: value.DateTime,
}
