package conflict

import (
	"encoding/binary"
	"testing"

	"github.com/dgryski/go-farm"
	"github.com/stretchr/testify/require"
)

// kind is the byte after a predicate's name in a key.
type kind byte

const (
	dataKey         kind = 0x00
	indexKey        kind = 0x02
	countKey        kind = 0x08
	reverseCountKey kind = 0x0c
)

// fingerprint is that of a whole key: its rest is a uid, a count or a token.
func fingerprint(predicate string, kind kind, rest []byte) uint64 {
	key := make([]byte, 9, 32)
	key = binary.BigEndian.AppendUint16(key, uint16(len(predicate)))
	key = append(key, predicate...)
	key = append(key, byte(kind))
	return farm.Fingerprint64(append(key, rest...))
}

func uid(n uint64) []byte    { return binary.BigEndian.AppendUint64(nil, n) }
func bucket(n uint32) []byte { return binary.BigEndian.AppendUint32(nil, n) }
func exact(s string) []byte  { return append([]byte{0x02}, s...) }
func data(p string, s uint64) uint64 {
	return fingerprint(p, dataKey, uid(s))
}

// value is what a single-valued predicate's data posting stands under.
const value = ^uint64(0)

// Two transactions that both began before either committed, with the keys that
// their writes have; the right outcomes are facts about the keys' meeting.
func TestOracleCases(t *testing.T) {
	list := data("pal", 1)
	countOf := func(n uint32) uint64 { return fingerprint("pal", countKey, bucket(n)) ^ 1 }
	reverseCountOf := func(n uint32) uint64 { return fingerprint("likes", reverseCountKey, bucket(n)) ^ 9 }
	token := fingerprint("mail", indexKey, exact("k"))
	for _, test := range []struct {
		name   string
		ta, tb Set
		both   bool
	}{
		{"count: two adds to one empty list",
			NewSet([]uint64{list ^ 2, countOf(1)}, []uint64{list}),
			NewSet([]uint64{list ^ 3, list ^ 4, countOf(1), countOf(2)}, []uint64{list}), false},
		{"the same without count",
			NewSet([]uint64{list ^ 2}, []uint64{list}),
			NewSet([]uint64{list ^ 3, list ^ 4}, []uint64{list}), true},
		{"reverse count: two sources of one target",
			NewSet([]uint64{data("likes", 1) ^ 9, reverseCountOf(1)}, []uint64{data("likes", 1)}),
			NewSet([]uint64{data("likes", 2) ^ 9, reverseCountOf(1)}, []uint64{data("likes", 2)}), false},
		{"the same without count",
			NewSet([]uint64{data("likes", 1) ^ 9}, []uint64{data("likes", 1)}),
			NewSet([]uint64{data("likes", 2) ^ 9}, []uint64{data("likes", 2)}), true},
		{"upsert: one token by two subjects",
			NewSet([]uint64{data("mail", 1), token}, nil),
			NewSet([]uint64{data("mail", 2), token}, nil), false},
		{"the same without upsert",
			NewSet([]uint64{data("mail", 1), token ^ 1}, nil),
			NewSet([]uint64{data("mail", 2), token ^ 2}, nil), true},
		{"different targets", NewSet([]uint64{list ^ 2}, []uint64{list}), NewSet([]uint64{list ^ 3}, []uint64{list}), true},
		{"the same target", NewSet([]uint64{list ^ 2}, []uint64{list}), NewSet([]uint64{list ^ 2}, []uint64{list}), false},
		{"a star against an add", NewSet([]uint64{list}, nil), NewSet([]uint64{list ^ 3}, []uint64{list}), false},
		{"an add against a star", NewSet([]uint64{list ^ 3}, []uint64{list}), NewSet([]uint64{list}, nil), false},
		{"one value by two", exclusive(data("nick", 1)), exclusive(data("nick", 1)), false},
		{"the value of two subjects", exclusive(data("nick", 1)), exclusive(data("nick", 2)), true},
		{"no posting uid is a data key's own", exclusive(data("nick", 1)), exclusive(data("nick", 1) ^ value), true},
	} {
		t.Run(test.name, func(t *testing.T) {
			o, g := NewOracle(0), NewGate(0)
			a, b := begin(t, o), begin(t, o)
			pass, late := enter(t, g, test.ta), enter(t, g, Set{})
			held := g.TryAdd(late, test.tb)
			_, err := commit(t, o, a, test.ta)
			require.NoError(t, err)
			_, err = commit(t, o, b, test.tb)
			if test.both {
				require.NoError(t, err)
				require.NoError(t, held)
			} else {
				require.ErrorIs(t, err, ErrConflict)
				require.ErrorIs(t, held, ErrConflict, "the gate says the same as the oracle")
				_, err = commit(t, o, begin(t, o), test.tb)
				require.NoError(t, err, "its retry")
			}
			pass.Release()
			late.Release()
		})
	}
}

// An arbiter without shared keys: what Exact lets through and Safe refuses.
func TestOracleCasesWithoutSharedKeys(t *testing.T) {
	list := data("pal", 1)
	star, add := NewSet([]uint64{list}, nil), NewSet([]uint64{list ^ 3}, []uint64{list})
	other := NewSet([]uint64{list ^ 4}, []uint64{list})
	for _, test := range []struct {
		name   string
		mode   Mode
		ta, tb Set
		both   bool
	}{
		{"exact: star and add", Exact, star, add, true},
		{"safe: star and add", Safe, star, add, false},
		{"exact: two adds", Exact, other, add, true},
		{"safe: two adds", Safe, other, add, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			o := NewOracle(0)
			a, b := begin(t, o), begin(t, o)
			_, err := commit(t, o, a, Set{Exclusive: test.ta.Keys(test.mode)})
			require.NoError(t, err)
			_, err = commit(t, o, b, Set{Exclusive: test.tb.Keys(test.mode)})
			require.Equal(t, test.both, err == nil, "%v", err)
		})
	}
}
