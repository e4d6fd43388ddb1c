package edgemill

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/edgemill/edgemill/conflict"
	"github.com/edgemill/edgemill/mutation"
	"github.com/edgemill/edgemill/posting"
	"github.com/edgemill/edgemill/schema"
)

// ErrDataInTheWay: the data that is there does not allow the change of the
// schema.
var ErrDataInTheWay = errors.New("the data does not allow it")

// AlterError says on which predicate an Alter failed, at whose data, and why.
type AlterError struct {
	Predicate string
	// Subject is the one whose data was the cause, 0 where no one's was.
	Subject uint64
	Err     error
}

// Error names the predicate, the subject and the reason.
func (e *AlterError) Error() string {
	if e.Subject == 0 {
		return fmt.Sprintf("predicate %q: %v", shorten(e.Predicate), e.Err)
	}
	return fmt.Sprintf("predicate %q, subject %#x: %v", shorten(e.Predicate), e.Subject, e.Err)
}

// Unwrap returns the reason.
func (e *AlterError) Unwrap() error { return e.Err }

// shownName is how many bytes of a predicate's name an error shows.
const shownName = 80

func shorten(name string) string {
	if len(name) > shownName {
		return name[:shownName] + "..."
	}
	return name
}

// Alter reads a schema text and puts it in force: what it states is added or
// takes the place of what was stated under the name before, all else stays. It
// returns when all that the new schema keeps has been built of the data that is
// there, and all that it keeps no more is gone.
//
// It is all there or not at all: on an error, also that of a cancelled context,
// and after a crash. A *schema.Error is about the text, an *AlterError about a
// predicate and its data; it wraps ErrDataInTheWay, mutation.ErrNotUnique or what
// a tokenizer or a key's length had to say.
//
// Transactions go on meanwhile, under the old schema. Those that touched a
// predicate that is altered fail with ErrSchemaChanged when they commit. One
// Alter runs at a time, others wait. Only while single values become lists does
// everything wait that begins or commits.
func (db *DB) Alter(ctx context.Context, text string) error {
	parsed, err := schema.ParseIn(text, db.opts.Namespace)
	if err != nil {
		return err
	}
	ctx, leave, err := db.calls.enterLong(ctx)
	if err != nil {
		return fmt.Errorf("alter: %w", err)
	}
	defer leave()
	if err := db.alter(ctx, parsed); err != nil {
		return fmt.Errorf("alter: %w", db.calls.closedError(ctx, err))
	}
	return nil
}

func (db *DB) alter(ctx context.Context, parsed *schema.Schema) error {
	if err := db.altering.lock(ctx); err != nil {
		return err
	}
	defer db.altering.unlock()
	if err := db.recoverAlter(ctx); err != nil {
		return fmt.Errorf("finishing the one before: %w", err)
	}
	a := db.planAlter(parsed)
	if len(a.steps)+len(a.types) == 0 {
		return nil
	}
	return a.run(ctx)
}

// alterLock is held by the one Alter that runs. Waiting for it can be given up.
type alterLock chan struct{}

func newAlterLock() alterLock { return make(alterLock, 1) }

func (l alterLock) lock(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case l <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (l alterLock) unlock() { <-l }

// SchemaText returns the schema in force as text that Alter reads: the
// predicates by namespace and name, then the types. (What only other programs'
// stored schemas have, such as custom tokenizers, is printed and not read.)
func (db *DB) SchemaText() string {
	snap := db.Schema()
	var b strings.Builder
	statement := func(namespace uint64, text string) {
		if namespace == 0 && db.opts.Namespace != 0 {
			b.WriteString("[0x0] ")
		}
		b.WriteString(text)
		b.WriteByte('\n')
	}
	for p := range snap.All() {
		statement(p.Namespace, p.String())
	}
	for t := range snap.Types() {
		statement(t.Namespace, t.String())
	}
	return b.String()
}

// alteration is one Alter at work.
//
// The problem: a schema change touches any amount of data, which takes long and
// cannot be one commit, while readers, other transactions and a crash may come
// at any moment. The simple answer is to stop everything, change, and begin
// again from the start after a crash. It is right if the change can be repeated,
// and stops the store for as long as an index takes to build.
//
// What is done instead:
//
//	mark     the predicates: no transaction that touched one commits any more.
//	         Those that were committing have finished (schemaState), so from
//	         here on the data of the predicates stands still.
//	check    that the data allows the change
//	build    what the new schema adds. Nobody looks there under the old schema.
//	publish  with one commit, of the schema; on from its timestamp the new
//	         schema is in force. Single values become lists in this step, at
//	         that same timestamp, which nobody can read yet.
//	remove   what the new schema drops. Nobody looks there any more, but for
//	         older reads, which see older versions.
//
// A note of what is going on (alterNote) is durable before the first byte is
// written. Whether an Alter that was interrupted took place is told by the
// stored schema alone, and what has to be done about it is the same either way:
// to remove what the schema in force does not keep (removeUnkept). So undoing,
// finishing and recovering are one thing.
//
// Rejected: building as part of the publishing commit, which would take memory
// for the whole index; converting values before publishing, under the eyes of
// readers that go by the old schema, or after, under those that go by the new one.
//
// An alteration belongs to the goroutine of its Alter.
type alteration struct {
	db    *DB
	steps []*step
	types []*schema.TypeDef

	// since is the timestamp at which the data is read; from it on that of the
	// marked predicates stands still.
	since uint64
	// noted says that the note is in the state, so there may be things to remove.
	noted bool
}

// step is what an Alter does to one predicate.
type step struct {
	// old is nil for a predicate that was not in the schema.
	old, new *schema.Predicate
	change   schema.Change
	// hasKeys says that there are data lists, of which all may be empty.
	hasKeys bool
}

func (s *step) name() mutation.Name {
	return mutation.Name{Namespace: s.new.Namespace, Predicate: s.new.Name}
}

func (s *step) prefix(kind posting.Kind) []byte {
	return posting.AppendPrefix(nil, s.new.Namespace, s.new.Name, kind)
}

// fail is an error about the predicate, at a subject's data or at nobody's (0).
func (s *step) fail(subject uint64, err error) error {
	return &AlterError{Predicate: s.new.Name, Subject: subject, Err: err}
}

// planAlter finds what differs from the schema in force.
func (db *DB) planAlter(parsed *schema.Schema) *alteration {
	a := &alteration{db: db}
	snap := db.Schema()
	for _, p := range parsed.Predicates {
		old, ok := snap.Predicate(p.Namespace, p.Name)
		if !ok {
			old = nil
		} else if keepStoredOnly(p, old); p.Equal(old) {
			continue
		}
		a.steps = append(a.steps, &step{old: old, new: p, change: schema.Diff(old, p)})
	}
	for _, t := range parsed.Types {
		if old, ok := snap.Type(t.Namespace, t.Name); !ok || !t.Equal(old) {
			a.types = append(a.types, t)
		}
	}
	return a
}

// keepStoredOnly carries over what a text cannot say.
func keepStoredOnly(p, old *schema.Predicate) {
	p.NonNullable, p.NonNullableList, p.ObjectTypeName = old.NonNullable, old.NonNullableList, old.ObjectTypeName
}

// run goes through the steps of an Alter.
func (a *alteration) run(ctx context.Context) error {
	begun := time.Now()
	defer a.db.upkeep.bars.bar(a.names()...)()
	a.mark(true)
	published, err := a.prepareAndPublish(ctx)
	switch {
	case err != nil && published:
		// Badger did not take what the log holds: nothing can be written until
		// the store is opened again, which finds the new schema in the log.
		return err
	case err != nil:
		return errors.Join(err, a.undo())
	}
	// What was published is in force, so from here on nothing is given up, but
	// when the DB closes: opened again, it finds the note and goes on.
	if err := a.finish(a.db.calls.open); err != nil {
		return fmt.Errorf("the new schema is in force, but not all that it drops is removed yet: %w", err)
	}
	a.db.logAlter("schema altered", "predicates", len(a.steps), "types", len(a.types), "took", time.Since(begun))
	return nil
}

func (db *DB) logAlter(msg string, args ...any) {
	if db.opts.Logger != nil {
		db.opts.Logger.Info(msg, args...)
	}
}

func (a *alteration) prepareAndPublish(ctx context.Context) (published bool, err error) {
	if err := a.prepare(ctx); err != nil {
		return false, err
	}
	return a.publish(ctx)
}

func (a *alteration) names() []mutation.Name {
	var names []mutation.Name
	for _, s := range a.steps {
		names = append(names, s.name())
	}
	return names
}

// mark bars transactions that touched the predicates from committing, or lets
// them commit again. On return none of them is committing.
func (a *alteration) mark(barred bool) {
	s := &a.db.schema
	s.Lock()
	defer s.Unlock()
	for _, st := range a.steps {
		if barred {
			s.altering[st.name()] = true
		} else {
			delete(s.altering, st.name())
		}
	}
}

// prepare does all that can be done under the old schema.
func (a *alteration) prepare(ctx context.Context) error {
	ts, release, err := a.db.oracle.Timestamp(ctx)
	if err != nil {
		return err
	}
	defer release()
	a.since = ts
	r := a.db.store.Reader(ts)
	defer r.Release()
	for _, s := range a.steps {
		if err := s.check(ctx, r); err != nil {
			return err
		}
	}
	if err := a.note(0); err != nil {
		return err
	}
	for _, s := range a.steps {
		if err := a.build(ctx, s, r); err != nil {
			return err
		}
	}
	return a.checkUnique(ctx)
}

// publish makes the new schema the one in force. It reports whether that is
// durable, also with an error. It holds the schema state, so that nothing begins
// or commits between the timestamp's choice and the end.
func (a *alteration) publish(ctx context.Context) (published bool, err error) {
	db := a.db
	db.schema.Lock()
	defer db.schema.Unlock()
	start, release, err := db.oracle.Timestamp(ctx)
	if err != nil {
		return false, err
	}
	defer release()
	ts, err := db.oracle.Commit(ctx, start, conflict.Set{})
	if err != nil {
		return false, err
	}
	// What is under way at ts is not left half done.
	ctx = context.WithoutCancel(ctx)
	if published, err = a.publishAt(ctx, ts); err != nil {
		db.oracle.Abandoned(ts)
		return published, err
	}
	db.schema.snap = db.schema.snap.With(a.predicates(), a.types)
	for _, s := range a.steps {
		db.schema.changed[s.name()] = ts
		delete(db.schema.altering, s.name())
	}
	db.oracle.Visible(ts)
	return true, nil
}

func (a *alteration) publishAt(ctx context.Context, ts uint64) (published bool, err error) {
	if err = a.convert(ctx, ts); err == nil {
		published, err = a.db.write(ctx, ts, a.entries(ts))
	}
	if err != nil && !published {
		err = errors.Join(err, a.convertBack(ctx, ts))
	}
	return published, err
}

func (a *alteration) predicates() []*schema.Predicate {
	var preds []*schema.Predicate
	for _, s := range a.steps {
		preds = append(preds, s.new)
	}
	return preds
}

// entries are the messages of the new schema.
func (a *alteration) entries(ts uint64) []posting.Entry {
	var entries []posting.Entry
	for _, s := range a.steps {
		entries = append(entries, posting.Entry{
			Key:   posting.AppendSchemaKey(nil, s.new.Namespace, s.new.Name),
			Value: s.new.AppendUpdate(nil), Meta: posting.MetaSchema, Version: ts,
		})
	}
	for _, t := range a.types {
		entries = append(entries, posting.Entry{
			Key:   posting.AppendTypeKey(nil, t.Namespace, t.Name),
			Value: t.AppendUpdate(nil), Meta: posting.MetaSchema, Version: ts,
		})
	}
	return entries
}

// undo takes away what a failed Alter built. What cannot be taken away now is
// in nobody's way, and the next Alter or Open does it; where values were left
// converted, the predicates stay barred until then.
func (a *alteration) undo() error {
	err := a.finish(a.db.calls.open)
	if err == nil || a.db.note().ConvertTS == 0 {
		a.mark(false)
	}
	if err != nil {
		return fmt.Errorf("what was built is not removed yet: %w", err)
	}
	return nil
}

// finish removes what the schema in force does not keep, and with it the note.
func (a *alteration) finish(ctx context.Context) error {
	if !a.noted {
		return nil
	}
	return a.db.recoverAlter(ctx)
}
