package schema

import (
	"slices"
	"strings"
)

// TypeDef is a type definition: a name for a set of predicates. Once it is in a
// Snapshot nobody changes it.
type TypeDef struct {
	Namespace uint64
	Name      string
	// Fields are predicates of the same namespace, by name, which need not be in
	// the schema; a name after ~ stands for the reverse of its predicate.
	Fields []string
}

// Equal says whether t and u say the same.
func (t *TypeDef) Equal(u *TypeDef) bool {
	return t.Namespace == u.Namespace && t.Name == u.Name && slices.Equal(t.Fields, u.Fields)
}

// String gives the type as a block of the schema language, without a last line
// end. Parse reads an equal type from it.
func (t *TypeDef) String() string {
	var b strings.Builder
	writeNamespace(&b, t.Namespace)
	b.WriteString("type ")
	writeName(&b, t.Name)
	b.WriteString(" {\n")
	for _, f := range t.Fields {
		b.WriteByte('\t')
		writeName(&b, f)
		b.WriteByte('\n')
	}
	b.WriteString("}")
	return b.String()
}
