package ingest

import (
	"strconv"

	"github.com/edgemill/edgemill/mutation"
	"github.com/edgemill/edgemill/schema/value"
)

// Node is a subject or an object that is a node: a uid, or else a name, or else
// an unnamed node of a JSON document.
type Node struct {
	// UID is the node's uid, from 1 to 2^64-2; 0 if it has none yet.
	UID uint64
	// Name is `_:label` or `<IRI>`, with its escapes resolved, so that no blank
	// node is called as an IRI is. It shares the chunk's bytes.
	Name []byte
	// Unnamed numbers, from 1, the nodes of a chunk that have no name: JSON
	// objects without a uid.
	Unnamed int
}

// String gives the uid in hex, the name, or `[3]` for the third unnamed node.
func (n Node) String() string {
	switch {
	case n.UID != 0:
		return "0x" + strconv.FormatUint(n.UID, 16)
	case len(n.Name) > 0:
		return string(n.Name)
	}
	return "[" + strconv.Itoa(n.Unnamed) + "]"
}

// Quad is one statement as it was read: a mutation.Edge whose nodes may still
// have names. Its byte slices share the memory of the chunk or the document
// that it was read from, which nobody writes to.
type Quad struct {
	Subject   Node
	Target    Node
	Predicate string
	Lang      string
	Value     value.Value
	Facets    []mutation.Facet
	// Line is the line of the input that the statement begins on, from 1.
	Line   int
	Op     mutation.Op
	Object mutation.ObjectKind
}
