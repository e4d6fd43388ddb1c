package ingest

import (
	"bytes"
	"errors"
	"strconv"

	"github.com/edgemill/edgemill/mutation"
	"github.com/edgemill/edgemill/schema/value"
)

// jsonEmitter turns JSON objects into quads.
type jsonEmitter struct {
	*Parser
	place
	op  mutation.Op
	dst []Quad
	// unnamed counts the nodes without a name.
	unnamed int
	// path is where the value at hand stands, for errors: [3].friend[0].name.
	path []byte
	// row is how many line ends lie before rowAt.
	row, rowAt int
}

// edge is what the quads of one key share.
type edge struct {
	subject   Node
	predicate string
	lang      string
	// key is the key as it is spelled.
	key  []byte
	line int
	// object is where facets may stand beside the key; nil if the facets that
	// are spelled so belong to the edge which led to the object.
	object *jsonValue
}

func (e *jsonEmitter) fail(v *jsonValue, format string, args ...any) error {
	return e.failAt(v.from, nil, format, args...)
}

func (e *jsonEmitter) failAt(pos int, cause error, format string, args ...any) error {
	err := e.errorAt(pos, cause, format, args...)
	if len(e.path) > 0 {
		err.Msg = string(e.path) + ": " + err.Msg
	}
	return err
}

// lineAt gives the line of data[pos]; cheaply if asked for ascending positions.
func (e *jsonEmitter) lineAt(pos int) int {
	if pos < e.rowAt {
		return e.line + countLines(e.data[:pos])
	}
	e.row += countLines(e.data[e.rowAt:pos])
	e.rowAt = pos
	return e.line + e.row
}

// root emits a top-level object. In a delete, one with a uid only stands for
// all that its node has.
func (e *jsonEmitter) root(v *jsonValue) error {
	if v.kind != jsonObject {
		return e.fail(v, "%s where an object is expected", v.kind)
	}
	n, err := e.nodeOf(v)
	if err != nil {
		return err
	}
	if e.op == mutation.Delete && len(v.members) == 1 {
		e.dst = append(e.dst, Quad{
			Subject: n, Predicate: mutation.StarPredicate, Line: e.lineAt(v.from),
			Op: e.op, Object: mutation.ObjectStar,
		})
		return nil
	}
	return e.object(v, n, nil)
}

// nodeOf gives the node that an object is about. One without a uid is a new
// node; a delete has to name its nodes.
func (e *jsonEmitter) nodeOf(v *jsonValue) (Node, error) {
	uid := v.member([]byte("uid"))
	if uid == nil || uid.kind == jsonString && len(uid.text) == 0 {
		if e.op == mutation.Delete {
			return Node{}, e.fail(v, "an object without a uid in a delete")
		}
		e.unnamed++
		return Node{Unnamed: e.unnamed}, nil
	}
	if uid.kind != jsonString && uid.kind != jsonNumber {
		return Node{}, e.fail(uid, "a uid can't be %s", uid.kind)
	}
	if n, ok := labelLength(uid.text); ok && n == len(uid.text) {
		return Node{Name: uid.text}, nil
	}
	n, err := parseUID(uid.text)
	switch {
	case errors.Is(err, errUIDRange):
		return Node{}, e.fail(uid, "uid %s: %v", uid.text, err)
	case err != nil:
		return Node{}, e.fail(uid, "uid %q: want 0x1f, 31, or a blank node such as _:a", uid.text)
	}
	return Node{UID: n}, nil
}

// object emits the quads of an object's keys. incoming is the predicate that led
// to the object, whose facets stand in it; nil at the top.
func (e *jsonEmitter) object(v *jsonValue, n Node, incoming []byte) error {
	for i := range v.members {
		m := &v.members[i]
		size := len(e.path)
		e.path = append(append(e.path, '.'), m.key...)
		if err := e.member(v, m, n, incoming); err != nil {
			return err
		}
		e.path = e.path[:size]
	}
	return nil
}

func (e *jsonEmitter) member(v *jsonValue, m *jsonMember, n Node, incoming []byte) error {
	if string(m.key) == "uid" {
		return nil
	}
	if owner, name, ok := bytes.Cut(m.key, []byte{'|'}); ok {
		return e.checkFacet(v, m, owner, name, incoming)
	}
	from := edge{subject: n, key: m.key, line: e.lineAt(m.at), object: v}
	if incoming != nil && bytes.Equal(m.key, incoming) {
		from.object = nil
	}
	if err := e.splitKey(&from, m); err != nil {
		return err
	}
	if m.value.kind == jsonArray {
		return e.list(&m.value, &from)
	}
	return e.one(&m.value, &from, -1)
}

// splitKey takes a key apart: a predicate, or a predicate, @ and a language tag.
func (e *jsonEmitter) splitKey(from *edge, m *jsonMember) error {
	name, tag, tagged := bytes.Cut(m.key, []byte{'@'})
	if tagged {
		if len(tag) == 0 || langLength(tag) != len(tag) {
			return e.failAt(m.at, nil, "%q is no language tag", tag)
		}
		from.lang = e.langs.string(tag)
	}
	if len(name) == 0 || string(name) == mutation.StarPredicate {
		return e.failAt(m.at, nil, "%q is no predicate", name)
	}
	from.predicate = e.names.string(name)
	return nil
}

// list emits a quad for each element of an array.
func (e *jsonEmitter) list(array *jsonValue, from *edge) error {
	for i := range array.elements {
		element := &array.elements[i]
		size := len(e.path)
		e.path = appendIndex(e.path, i)
		switch {
		case element.kind == jsonArray:
			return e.fail(element, "an array in an array")
		case element.kind == jsonNull && e.op == mutation.Delete:
			return e.fail(element, "null in an array of a delete: the star is null in place of the array")
		}
		if err := e.one(element, from, i); err != nil {
			return err
		}
		e.path = e.path[:size]
	}
	return nil
}

// one emits the quad of one value, and those of the object that it is. index is
// its place in an array, -1 outside one. A null says nothing in a set, and is
// the star in a delete.
func (e *jsonEmitter) one(x *jsonValue, from *edge, index int) error {
	q := Quad{Subject: from.subject, Predicate: from.predicate, Lang: from.lang, Line: from.line, Op: e.op}
	switch {
	case x.kind == jsonNull && e.op == mutation.Set:
		return nil
	case x.kind == jsonNull:
		q.Object = mutation.ObjectStar
	case x.kind == jsonObject && !isGeometry(x):
		return e.child(x, from, index, q)
	default:
		literal, err := e.literal(x)
		if err != nil {
			return err
		}
		if from.lang != "" && literal.Type == value.Default {
			literal.Type = value.String
		}
		q.Object, q.Value = mutation.ObjectValue, literal
		if q.Facets, err = e.facetsOf(from, nil, index); err != nil {
			return err
		}
	}
	e.dst = append(e.dst, q)
	return nil
}

// child emits the edge to an object and then the object's own quads.
func (e *jsonEmitter) child(x *jsonValue, from *edge, index int, q Quad) (err error) {
	if from.lang != "" {
		return e.fail(x, "a language tag on an edge to a node")
	}
	q.Object = mutation.ObjectUID
	if q.Target, err = e.nodeOf(x); err != nil {
		return err
	}
	if q.Facets, err = e.facetsOf(from, x, index); err != nil {
		return err
	}
	e.dst = append(e.dst, q)
	return e.object(x, q.Target, from.key)
}

// literal gives a scalar's value. A number written as an integer is an int, if
// int64 can hold it, any other a float; a string has no type of its own.
func (e *jsonEmitter) literal(x *jsonValue) (value.Value, error) {
	switch x.kind {
	case jsonString:
		return value.Value{Type: value.Default, Data: x.text}, nil
	case jsonTrue, jsonFalse:
		return value.Value{Type: value.Bool, Data: value.AppendBool(nil, x.kind == jsonTrue)}, nil
	case jsonObject:
		return e.parsed(x, value.Geo, e.data[x.from:x.to])
	}
	if n, err := strconv.ParseInt(string(x.text), 10, 64); err == nil {
		return value.Value{Type: value.Int, Data: value.AppendInt(nil, n)}, nil
	}
	return e.parsed(x, value.Float, x.text)
}

func (e *jsonEmitter) parsed(x *jsonValue, t value.Type, text []byte) (value.Value, error) {
	v, err := value.Parse(t, string(text))
	if err != nil {
		return value.Value{}, e.failAt(x.from, err, "bad value")
	}
	return v, nil
}

// isGeometry tells GeoJSON geometries (RFC 7946) from nodes.
func isGeometry(x *jsonValue) bool {
	t := x.member([]byte("type"))
	if t == nil || t.kind != jsonString {
		return false
	}
	inside := "coordinates"
	switch string(t.text) {
	case "Point", "LineString", "Polygon", "MultiPoint", "MultiLineString", "MultiPolygon":
	case "GeometryCollection":
		inside = "geometries"
	default:
		return false
	}
	c := x.member([]byte(inside))
	return c != nil && c.kind == jsonArray
}

// appendIndex appends [i].
func appendIndex(path []byte, i int) []byte {
	return append(strconv.AppendInt(append(path, '['), int64(i), 10), ']')
}
