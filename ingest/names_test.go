package ingest

import (
	"bytes"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestNamesAssign(t *testing.T) {
	n := NewNames()
	uid, taken, err := n.Assign([]byte("_:a"), 7)
	require.NoError(t, err)
	require.True(t, taken)
	require.EqualValues(t, 7, uid)
	uid, taken, _ = n.Assign([]byte("_:a"), 8)
	require.False(t, taken)
	require.EqualValues(t, 7, uid)
	_, taken, _ = n.Assign([]byte("<a>"), 9)
	require.True(t, taken)
	require.Equal(t, 2, n.Len())
	_, ok := n.Lookup([]byte("_:b"))
	require.False(t, ok)
	got, ok := n.Lookup([]byte("<a>"))
	require.True(t, ok)
	require.EqualValues(t, 9, got)
}

// Against a Go map, with good hashes and with ones that collide always.
func TestNamesModel(t *testing.T) {
	hashes := map[string]func(maphash.Seed, []byte) uint64{
		"maphash": maphash.Bytes,
		"equal":   func(maphash.Seed, []byte) uint64 { return 42 },
		"length":  func(_ maphash.Seed, b []byte) uint64 { return uint64(len(b)) << 48 },
	}
	for name, hash := range hashes {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				n, model := NewNames(), map[string]uint64{}
				n.hash = hash
				keys := rapid.SliceOfN(rapid.StringMatching(`_:[a-z]{1,3}`), 0, 200).Draw(t, "keys")
				for i, key := range keys {
					candidate := uint64(i + 1)
					want, known := model[key]
					if !known {
						model[key], want = candidate, candidate
					}
					uid, taken, err := n.Assign([]byte(key), candidate)
					require.NoError(t, err)
					require.Equal(t, want, uid)
					require.Equal(t, !known, taken)
				}
				require.Equal(t, len(model), n.Len())
				for key, want := range model {
					got, ok := n.Lookup([]byte(key))
					require.True(t, ok)
					require.Equal(t, want, got)
				}
			})
		})
	}
}

func TestNamesTogether(t *testing.T) {
	const readers, names = 8, 5_000
	n := NewNames()
	var got [readers][names]uint64
	var wait sync.WaitGroup
	for r := range readers {
		wait.Go(func() {
			for i := range names {
				k := (i*7 + r*911) % names
				got[r][k], _, _ = n.Assign(fmt.Appendf(nil, "_:n%d", k), uint64(1+r*names+i))
			}
		})
	}
	wait.Wait()
	seen := map[uint64]bool{}
	for i := range names {
		require.False(t, seen[got[0][i]], "two names share a uid")
		seen[got[0][i]] = true
		for r := range readers {
			require.Equal(t, got[0][i], got[r][i], "one name has two uids")
		}
	}
}

func TestLongName(t *testing.T) {
	n := NewNames()
	long := []byte("<" + strings.Repeat("x", 3*namePage) + ">")
	for _, name := range [][]byte{[]byte("_:a"), long, append(long, 'y'), []byte("_:b")} {
		_, taken, _ := n.Assign(name, uint64(len(name)))
		require.True(t, taken)
	}
	uid, ok := n.Lookup(long)
	require.True(t, ok)
	require.EqualValues(t, len(long), uid)
}

func saved(t *testing.T, n *Names) []byte {
	var b bytes.Buffer
	require.NoError(t, n.Save(&b))
	return b.Bytes()
}

func TestNamesSaved(t *testing.T) {
	n := NewNames()
	for i := range 20_000 {
		_, _, _ = n.Assign(fmt.Appendf(nil, "_:name%d", i), uint64(i)*0x123456789+1)
	}
	_, _, _ = n.Assign([]byte("<"+strings.Repeat("x", 3*namePage)+">"), maxUID)
	file := saved(t, n)
	m, err := LoadNames(bytes.NewReader(file))
	require.NoError(t, err)
	require.Equal(t, n.Len(), m.Len())
	for i := range 20_000 {
		uid, ok := m.Lookup(fmt.Appendf(nil, "_:name%d", i))
		require.True(t, ok)
		require.EqualValues(t, uint64(i)*0x123456789+1, uid)
	}
	empty, err := LoadNames(bytes.NewReader(saved(t, NewNames())))
	require.NoError(t, err)
	require.Zero(t, empty.Len())
}

func TestNamesFileErrors(t *testing.T) {
	n := NewNames()
	for i := range 10 {
		_, _, _ = n.Assign(fmt.Appendf(nil, "_:n%d", i), uint64(i+1))
	}
	file := saved(t, n)
	for cut := range file {
		_, err := LoadNames(bytes.NewReader(file[:cut]))
		require.Error(t, err, cut)
	}
	for i := range file {
		changed := bytes.Clone(file)
		changed[i] ^= 0x10
		_, err := LoadNames(bytes.NewReader(changed))
		require.Error(t, err, i)
	}
	require.ErrorIs(t, NewNames().Save(failingWriter{}), io.ErrShortWrite)
	require.ErrorIs(t, n.Save(failingWriter{}), io.ErrShortWrite)
}

type failingWriter struct{}

func (failingWriter) Write([]byte) (int, error) { return 0, io.ErrShortWrite }

func FuzzLoadNames(f *testing.F) {
	n := NewNames()
	_, _, _ = n.Assign([]byte("_:a"), 1)
	var b bytes.Buffer
	if err := n.Save(&b); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Add([]byte(nameMagic + "\xff\xff\xff\x7fabc"))
	f.Fuzz(func(t *testing.T, file []byte) {
		if m, err := LoadNames(bytes.NewReader(file)); (m == nil) == (err == nil) {
			t.Fatal(errors.New("names and an error, or neither"))
		}
	})
}
