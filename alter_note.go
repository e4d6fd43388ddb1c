package edgemill

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/edgemill/edgemill/mutation"
	"github.com/edgemill/edgemill/posting"
	"github.com/edgemill/edgemill/schema"
)

// alterNote is what an Alter leaves in the engine's state while it runs, so that
// whoever comes after a crash or a failure knows where to clean up.
type alterNote struct {
	// Predicates are those of whose lists some may be ones that the schema in
	// force does not keep.
	Predicates []notedPredicate `json:"predicates,omitempty"`
	// ConvertTS is the timestamp at which single values become lists, 0 before
	// that begins.
	ConvertTS uint64 `json:"convert_ts,omitempty"`
}

type notedPredicate struct {
	Namespace uint64 `json:"namespace"`
	Name      string `json:"name"`
	// ToList: its values become lists, so it was not one before.
	ToList bool `json:"to_list,omitempty"`
}

func (p notedPredicate) name() mutation.Name {
	return mutation.Name{Namespace: p.Namespace, Predicate: p.Name}
}

func (n *alterNote) names() []mutation.Name {
	var names []mutation.Name
	for _, p := range n.Predicates {
		names = append(names, p.name())
	}
	return names
}

// note makes durable what the Alter is about to do; nothing if it only changes
// the schema.
func (a *alteration) note(convertTS uint64) error {
	n := alterNote{ConvertTS: convertTS}
	for _, s := range a.steps {
		if s.touchesLists() {
			name := s.name()
			n.Predicates = append(n.Predicates, notedPredicate{name.Namespace, name.Predicate, s.converts()})
		}
	}
	if len(n.Predicates) == 0 {
		return nil
	}
	a.noted = true
	return a.db.setNote(n)
}

// touchesLists reports whether lists are written or removed.
func (s *step) touchesLists() bool { return s.drops() || s.hasKeys && !s.change.Empty() }

// drops reports whether something is kept no more. A custom tokenizer's index,
// which other programs build, goes when a text states the predicate anew.
func (s *step) drops() bool {
	c := &s.change
	custom := s.old != nil && len(s.old.CustomTokenizers) > 0
	return len(c.DropIndexes) > 0 || c.DropReverse || c.DropCount || custom
}

// setNote keeps the note durably; an empty one takes it away.
func (db *DB) setNote(n alterNote) error {
	if err := db.alterLimits.reach(atNote); err != nil {
		return err
	}
	text := ""
	if len(n.Predicates) > 0 {
		b, err := json.Marshal(n)
		if err != nil {
			return fmt.Errorf("noting the alter: %w", err)
		}
		text = string(b)
	}
	return db.store.UpdateState(func(s *posting.State) { s.Alter = text })
}

// note reads the note that is there. One that cannot be read is an empty one
// here: recoverAlter tells of it.
func (db *DB) note() alterNote {
	n, _ := parseNote(db.store.State().Alter)
	return n
}

func parseNote(text string) (alterNote, error) {
	var n alterNote
	if text == "" {
		return n, nil
	}
	if err := json.Unmarshal([]byte(text), &n); err != nil {
		return alterNote{}, fmt.Errorf("%w: the note of an alter: %w", posting.ErrBadState, err)
	}
	return n, nil
}

// recoverAlter finishes or undoes the Alter whose note is there, as the schema
// in force says, and takes the note away. Its caller is the only one that
// alters.
func (db *DB) recoverAlter(ctx context.Context) error {
	n, err := parseNote(db.store.State().Alter)
	if err != nil || len(n.Predicates) == 0 {
		return err
	}
	defer db.upkeep.bars.bar(n.names()...)()
	snap := db.Schema()
	for _, p := range n.Predicates {
		now, ok := snap.Predicate(p.Namespace, p.Name)
		if !ok {
			now = &schema.Predicate{Namespace: p.Namespace, Name: p.Name}
		}
		if p.ToList && n.ConvertTS > 0 && !now.List {
			if err := db.convertBack(ctx, now, n.ConvertTS); err != nil {
				return err
			}
		}
		if err := db.removeUnkept(ctx, now); err != nil {
			return err
		}
	}
	if err := db.setNote(alterNote{}); err != nil {
		return err
	}
	db.allow(n.Predicates)
	return nil
}

// recoverAtOpen is recoverAlter for a store that is being opened. Where there is
// no space for it, it is left to the next Alter, unless half of the values are
// converted: such data would read wrong.
func (db *DB) recoverAtOpen(ctx context.Context) error {
	err := db.recoverAlter(ctx)
	if err == nil {
		return nil
	}
	if errors.Is(err, posting.ErrNoSpace) && db.note().ConvertTS == 0 {
		db.logAlter("an interrupted alter is not cleaned up", "error", err)
		return nil
	}
	return fmt.Errorf("cleaning up after an interrupted alter: %w", err)
}

// allow lets transactions commit again that an Alter barred which could not be
// undone when it failed.
func (db *DB) allow(preds []notedPredicate) {
	db.schema.Lock()
	defer db.schema.Unlock()
	for _, p := range preds {
		delete(db.schema.altering, p.name())
	}
}
