package loader

import (
	"context"
	"fmt"

	"github.com/edgemill/edgemill"
	"github.com/edgemill/edgemill/ingest"
)

// MutateOptions say how a mutation is applied. The zero value of each field is
// a sane default.
type MutateOptions struct {
	// Names keeps the uids of node names over several calls; nil for new ones.
	Names ingest.Namer
	// Retries is how often the transaction is begun again after a conflict; 0
	// is DefaultRetries.
	Retries int
}

// Mutation is how a mutation went.
type Mutation struct {
	CommitTS   uint64
	Statements int
	// Named are the nodes that got a uid, in the order in which they came.
	Named []NamedNode
}

// NamedNode is a node's name as ingest.Node prints it (`_:label`, `<IRI>`, or
// `[3]` for the third JSON object without a name), with the uid that it got.
type NamedNode struct {
	Name string
	UID  uint64
}

// Mutate reads a mutation file (see ingest.ReadMutation) and commits it as one
// transaction. Its errors are as Load's; on an error nothing of the file is
// stored.
func Mutate(ctx context.Context, db *edgemill.DB, src *ingest.Source, opts MutateOptions) (Mutation, error) {
	m, err := mutate(ctx, db, src, opts)
	if err != nil {
		return Mutation{}, fmt.Errorf("mutate: %w", err)
	}
	return m, nil
}

func mutate(ctx context.Context, db *edgemill.DB, src *ingest.Source, opts MutateOptions) (Mutation, error) {
	quads, err := ingest.ReadMutation(src)
	if err != nil {
		return Mutation{}, err
	}
	m := Mutation{Statements: len(quads)}
	t := newTransactor(db, opts.Names, opts.Retries)
	t.onNew = func(n ingest.Node, uid uint64) {
		m.Named = append(m.Named, NamedNode{Name: n.String(), UID: uid})
	}
	b := batch{pieces: []piece{{file: src.Name(), quads: quads, unnamed: make(map[int]uint64)}}, size: len(quads)}
	r, err := t.run(ctx, &b)
	m.CommitTS = r.commitTS
	return m, err
}
