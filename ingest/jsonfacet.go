package ingest

import (
	"bytes"
	"strconv"
	"unicode"

	"github.com/edgemill/edgemill/mutation"
	"github.com/edgemill/edgemill/posting"
	"github.com/edgemill/edgemill/schema/value"
)

// checkFacet looks at a member `owner|name` of the object v, so that no facet is
// lost: its owner has to stand beside it or to have led to v (incoming), and a
// facet of an array has to be an object of index and value.
func (e *jsonEmitter) checkFacet(v *jsonValue, m *jsonMember, owner, name, incoming []byte) error {
	if len(name) == 0 || bytes.IndexFunc(name, unicode.IsSpace) >= 0 {
		return e.failAt(m.at, nil, "%q is no facet key", name)
	}
	if incoming != nil && bytes.Equal(owner, incoming) {
		return nil
	}
	x := v.member(owner)
	switch {
	case x == nil:
		return e.failAt(m.at, nil, "a facet of %q, which isn't here", owner)
	case x.kind != jsonArray || m.value.kind == jsonNull:
		return nil
	case m.value.kind != jsonObject:
		return e.fail(&m.value, `%s where the facets of an array are expected: {"0": value, ...}`, m.value.kind)
	}
	return e.checkIndexes(&m.value, len(x.elements))
}

func (e *jsonEmitter) checkIndexes(facets *jsonValue, elements int) error {
	for i := range facets.members {
		m := &facets.members[i]
		index, err := strconv.Atoi(string(m.key))
		if err != nil || strconv.Itoa(index) != string(m.key) || index < 0 || index >= elements {
			return e.failAt(m.at, nil, "%q is no index of the array's %d elements", m.key, elements)
		}
	}
	return nil
}

// facetsOf collects the facets of one edge or value: what stands beside its key
// (by index, for an element of an array) and what the node x that it leads to
// says inside. A delete has none.
func (e *jsonEmitter) facetsOf(from *edge, x *jsonValue, index int) ([]mutation.Facet, error) {
	if e.op == mutation.Delete {
		return nil, nil
	}
	e.pending = e.pending[:0]
	if err := e.addFacets(from.object, from.key, index); err != nil {
		return nil, err
	}
	if err := e.addFacets(x, from.key, -1); err != nil {
		return nil, err
	}
	return e.facets.copy(e.pending), nil
}

// addFacets adds the facets of key that stand in the object v.
func (e *jsonEmitter) addFacets(v *jsonValue, key []byte, index int) error {
	if v == nil {
		return nil
	}
	for _, i := range v.facets[string(key)] {
		m := &v.members[i]
		x := &m.value
		if index >= 0 {
			x = x.member(strconv.AppendInt(nil, int64(index), 10))
		}
		if x == nil || x.kind == jsonNull {
			continue
		}
		if err := e.addFacet(m.at, m.key[len(key)+1:], x); err != nil {
			return err
		}
	}
	return nil
}

func (e *jsonEmitter) addFacet(at int, name []byte, x *jsonValue) error {
	f := mutation.Facet{Key: e.keys.string(name)}
	for i := range e.pending {
		if e.pending[i].Key == f.Key {
			return e.failAt(at, nil, "facet %s stands there twice", f.Key)
		}
	}
	var err error
	if f.Type, f.Value, err = e.facetValue(x); err != nil {
		return err
	}
	e.pending = append(e.pending, f)
	return nil
}

// facetValue gives a facet's value by the JSON kind: a string stays a string,
// whatever it looks like.
func (e *jsonEmitter) facetValue(x *jsonValue) (posting.FacetType, []byte, error) {
	switch x.kind {
	case jsonString:
		return posting.FacetString, x.text, nil
	case jsonArray, jsonObject:
		return 0, nil, e.fail(x, "%s where a facet's value is expected", x.kind)
	}
	v, err := e.literal(x)
	switch v.Type {
	case value.Bool:
		return posting.FacetBool, v.Data, err
	case value.Float:
		return posting.FacetFloat, v.Data, err
	}
	return posting.FacetInt, v.Data, err
}
