package ingest

import (
	"bytes"
	"fmt"

	"github.com/edgemill/edgemill/schema/value"
)

const (
	xmlSchema   = "http://www.w3.org/2001/XMLSchema#"
	shortSchema = "xs:"
)

// datatype gives the type that a datatype IRI stands for. XML Schema's types may
// be written with their whole IRI or with xs:. An absolute IRI that is not known
// gives value.Default, as if the literal had none: RDF lets any IRI be a
// datatype. Under xs:, which is Dgraph's own short form, an unknown name is an
// error, and so is a relative IRI.
func datatype(iri []byte) (value.Type, error) {
	if name, ok := bytes.CutPrefix(iri, []byte(xmlSchema)); ok {
		t, _ := xmlType(name)
		return t, nil
	}
	if name, ok := bytes.CutPrefix(iri, []byte(shortSchema)); ok {
		return shortType(name)
	}
	switch string(iri) {
	case "geo:geojson":
		return value.Geo, nil
	case "float32vector":
		return value.Vector, nil
	}
	if !isAbsolute(iri) {
		return 0, fmt.Errorf("the datatype <%s> is a relative IRI and none of Dgraph's names", iri)
	}
	return value.Default, nil
}

// xmlType knows the types of XML Schema that have a type of their own here.
func xmlType(name []byte) (value.Type, bool) {
	switch string(name) {
	case "string":
		return value.String, true
	case "int", "integer", "long", "positiveInteger":
		return value.Int, true
	case "float", "double", "decimal":
		return value.Float, true
	case "boolean":
		return value.Bool, true
	case "dateTime", "date", "gYear", "gYearMonth":
		return value.DateTime, true
	}
	return value.Default, false
}

// shortType knows the names under xs:, Dgraph's additions included.
func shortType(name []byte) (value.Type, error) {
	switch string(name) {
	case "password":
		return value.Password, nil
	case "float32vector":
		return value.Vector, nil
	case "bigfloat":
		return value.BigFloat, nil
	}
	t, ok := xmlType(name)
	if !ok {
		return 0, fmt.Errorf("unknown datatype <%s%s>", shortSchema, name)
	}
	return t, nil
}

// datatypeOf gives the datatype that a value of type t is written with; "" for
// none, and false if t has no text.
func datatypeOf(t value.Type) (string, bool) {
	switch t {
	case value.Default:
		return "", true
	case value.String:
		return "xs:string", true
	case value.Int:
		return "xs:int", true
	case value.Float:
		return "xs:float", true
	case value.Bool:
		return "xs:boolean", true
	case value.DateTime:
		return "xs:dateTime", true
	case value.Geo:
		return "geo:geojson", true
	case value.Password:
		return "xs:password", true
	case value.BigFloat:
		return "xs:bigfloat", true
	case value.Vector:
		return "xs:float32vector", true
	}
	return "", false
}
