package mutation

import (
	"fmt"

	"github.com/edgemill/edgemill/posting"
	"github.com/edgemill/edgemill/schema/token"
	"github.com/edgemill/edgemill/schema/value"
)

// facetEncoder turns an edge's facets into their wire form. It is scratch of
// one goroutine.
type facetEncoder struct {
	facets []posting.Facet
	tokens token.Buffer
}

// append appends the wire form.
func (c *facetEncoder) append(dst []byte, facets []Facet) ([]byte, error) {
	if len(facets) == 0 {
		return dst, nil
	}
	c.facets = c.facets[:0]
	for i := range facets {
		f, err := c.facet(&facets[i])
		if err != nil {
			return dst, err
		}
		c.facets = append(c.facets, f)
	}
	return posting.AppendFacets(dst, c.facets)
}

// facet checks a facet and gives it its tokens.
func (c *facetEncoder) facet(f *Facet) (posting.Facet, error) {
	out := posting.Facet{Key: f.Key, Type: f.Type, Value: f.Value}
	if err := checkFacet(f); err != nil || f.Type != posting.FacetString {
		return out, err
	}
	c.tokens.Reset()
	if err := token.FacetTokens(&c.tokens, string(f.Value)); err != nil {
		return out, fmt.Errorf("facet %q: %w", f.Key, err)
	}
	for i := range c.tokens.Len() {
		out.Tokens = append(out.Tokens, string(c.tokens.At(i)))
	}
	return out, nil
}

// facetValueTypes are the value types of the same name.
var facetValueTypes = [...]value.Type{
	posting.FacetString:   value.String,
	posting.FacetInt:      value.Int,
	posting.FacetFloat:    value.Float,
	posting.FacetBool:     value.Bool,
	posting.FacetDateTime: value.DateTime,
}

func checkFacet(f *Facet) error {
	if int(f.Type) >= len(facetValueTypes) {
		return badEdge("facet %q: type %d", f.Key, f.Type)
	}
	if err := value.Check(facetValueTypes[f.Type], f.Value); err != nil {
		return fmt.Errorf("facet %q: %w", f.Key, err)
	}
	return nil
}
