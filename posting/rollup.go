package posting

import "slices"

// Entry is one value to be stored under a key at a version.
type Entry struct {
	Key, Value []byte
	// Meta is the user-meta byte. All but a delta also tell Badger that
	// earlier versions may be dropped.
	Meta    byte
	Version uint64
	// Delete says that the key is deleted at the version: it has no value and
	// no Meta, readers below the version see what they saw, and earlier
	// versions may be dropped.
	Delete bool
}

// ListEntries are the values under which a complete list is stored at a
// version: one, or the main list and the parts where it has to be split. They
// alias the list. An empty list gives an empty value.
func ListEntries(key []byte, l Complete, version uint64) []Entry {
	if l.Pack.Len() == 0 {
		return []Entry{wholeEntry(key, nil, version)}
	}
	parts := AppendParts(nil, 1, l)
	if len(parts) == 1 {
		return []Entry{wholeEntry(key, parts, version)}
	}
	return splitEntries(key, parts, nil, version)
}

// SetOnce reports that the list was read from one delta that only sets, on
// nothing. It then keeps the rules for the lists of @count predicates, whether or
// not it was written for one.
func (l *List) SetOnce() bool {
	other := func(p Posting) bool { return p.Op != OpSet }
	return l != nil && l.deltas == 1 && !l.all && len(l.parts) == 0 && !slices.ContainsFunc(l.changes, other)
}

// RollUp reads the list under the key and returns what replaces its deltas: a
// complete list, or an empty one, and the parts where the list is split, all
// at the newest commit timestamp that went in plus one. It returns nothing
// where no delta lies above the complete list.
func (r *Reader) RollUp(key []byte) ([]Entry, error) {
	return r.rollUpIf(key, func(l *List) bool { return l.deltas > 0 })
}

// rollUpIf is RollUp of a list that the condition holds for. It passes the
// cache by, which may hold the list as it was before a rollup.
func (r *Reader) rollUpIf(key []byte, due func(*List) bool) ([]Entry, error) {
	l, err := r.stored(key)
	if err != nil || l == nil || !due(l) {
		return nil, err
	}
	starts := l.starts()
	if l.all {
		// The list was read down to the marker, and the parts that it hides are
		// still to be marked as empty.
		if starts, err = r.Splits(key); err != nil {
			return nil, err
		}
	}
	return l.rolledUp(key, l.newest+1, starts), nil
}

// starts is where the parts of a split list begin; none where it is whole.
func (l *List) starts() []uint64 {
	if len(l.parts) == 0 || l.parts[0].Start == 0 {
		return nil
	}
	starts := make([]uint64, len(l.parts))
	for i := range l.parts {
		starts[i] = l.parts[i].Start
	}
	return starts
}

// rolledUp encodes the list as complete, at the version. It was split at
// starts, if there are any.
func (l *List) rolledUp(key []byte, version uint64, starts []uint64) []Entry {
	split := len(starts) > 0
	if !split {
		starts = []uint64{1}
	}
	var parts, gone []Part
	for i, start := range starts {
		c := l.merged(start, append(starts, 0)[i+1])
		if c.Pack.Len() == 0 {
			gone = append(gone, Part{Start: start})
			continue
		}
		parts = AppendParts(parts, start, c)
	}
	if !split && len(parts) <= 1 {
		return []Entry{wholeEntry(key, parts, version)}
	}
	return splitEntries(key, parts, gone, version)
}

// merged is the live postings from uid start up to end, which is not included
// (0: to the last), as a complete list.
func (l *List) merged(start, end uint64) Complete {
	var pack PackBuilder
	var rich []Posting
	for p := range l.Postings(start) {
		if end > 0 && p.UID >= end {
			break
		}
		pack.Add(p.UID)
		if len(p.Value) > 0 || len(p.Facets) > 0 || p.Type != PostingRef {
			rich = append(rich, p)
		}
	}
	return Complete{Pack: pack.Pack(), Postings: rich}
}

func wholeEntry(key []byte, parts []Part, version uint64) Entry {
	if len(parts) == 0 {
		return Entry{Key: key, Meta: MetaEmpty, Version: version}
	}
	return Entry{Key: key, Value: AppendList(nil, &parts[0].List), Meta: MetaComplete, Version: version}
}

// splitEntries are the main list, which holds only where its parts begin, and
// the parts. The first part stays, empty if need be, while there are others.
func splitEntries(key []byte, parts, gone []Part, version uint64) []Entry {
	entries := make([]Entry, 1, 1+len(parts)+len(gone))
	var splits []uint64
	for i := range parts {
		splits = append(splits, parts[i].Start)
		entries = append(entries, wholeEntry(AppendPartKey(nil, key, parts[i].Start), parts[i:i+1], version))
	}
	for i := range gone {
		entries = append(entries, wholeEntry(AppendPartKey(nil, key, gone[i].Start), nil, version))
	}
	if len(splits) == 0 {
		entries[0] = wholeEntry(key, nil, version)
		return entries
	}
	if splits[0] != 1 {
		splits = slices.Insert(splits, 0, 1)
	}
	main := Complete{Splits: splits}
	entries[0] = Entry{Key: key, Value: AppendList(nil, &main), Meta: MetaComplete, Version: version}
	return entries
}
