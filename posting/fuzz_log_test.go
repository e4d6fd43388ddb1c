package posting

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
)

// Any bytes as an encoded commit are entries or an error.
func FuzzReadCommit(f *testing.F) {
	f.Add(logCommit(f, 7, 40).data)
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := readCommit(data)
		if err != nil {
			return
		}
		for left := len(r.rest); r.more(); left = len(r.rest) {
			e, err := r.next()
			if err != nil {
				require.ErrorContains(t, err, "byte ")
				return
			}
			require.Less(t, len(r.rest), left)
			require.LessOrEqual(t, len(e.Key)+len(e.Value), left)
		}
	})
}

// Any bytes behind a segment's head, as the last segment or as one within, are
// groups or an error that names the file; what is replayed can be gone on from.
func FuzzSegment(f *testing.F) {
	fs, places := filledLog(f, 3, 1<<20)
	f.Add(fs.names[places[0].name].data, false)
	f.Add(fs.names[places[0].name].data[:places[2].end-3], true)
	f.Fuzz(func(t *testing.T, data []byte, within bool) {
		fs := newMemFS()
		name := places[0].name
		fs.names[name] = &memInode{data: clone(data)}
		if within {
			l := commitLog{dir: testLogDir}
			head := segmentHead{number: 2, before: uint64(len(data))}
			fs.names[l.segmentName(2)] = &memInode{data: head.append(nil)}
		}
		before, l, err := replayed(fs)
		if err != nil {
			require.ErrorContains(t, err, testLogDir)
			require.True(t, errors.Is(err, ErrBadState) || errors.Is(err, ErrNewerFormat), err)
			return
		}
		require.NoError(t, l.append([]encodedCommit{logCommit(t, 9, 40)}, true))
		after, _, err := replayed(fs)
		require.NoError(t, err)
		require.Equal(t, append(before, []uint64{9}), after)
	})
}
