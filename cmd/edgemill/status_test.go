package main

import (
	"bytes"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func mustUint(t *testing.T, text string) uint64 {
	t.Helper()
	n, err := strconv.ParseUint(text, 10, 64)
	require.NoError(t, err)
	return n
}

func TestPlainLine(t *testing.T) {
	require.Equal(t, "edgemill: 5 statements, 12% of the input, 3s", plainLine(12, 100, "5 statements", 2600*time.Millisecond))
	require.Equal(t, "edgemill: 5 keys, 3s", plainLine(0, 0, "5 keys", 3*time.Second))
}

// TestPlainStatus: lines come only every so often.
func TestPlainStatus(t *testing.T) {
	var b bytes.Buffer
	s := newStatus(&b)
	s.tell(1, 2, "one")
	require.Empty(t, b.String())
	s.due = time.Now()
	s.tell(1, 2, "two")
	s.tell(1, 2, "three")
	s.end()
	require.Equal(t, "edgemill: two, 50% of the input, 0s\n", b.String())
}

// TestTerminalStatus: one line is written over and over, and is gone at the
// end.
func TestTerminalStatus(t *testing.T) {
	for _, total := range []int64{200, 0} {
		var b bytes.Buffer
		s := newStatus(&b)
		s.terminal = true
		s.tell(100, total, "7 statements")
		s.tell(150, total, "8 statements")
		s.end()
		require.Contains(t, b.String(), "statements")
		require.NotContains(t, b.String(), "\n")
	}
}

func TestFlags(t *testing.T) {
	for text, want := range map[string]string{
		"1MiB": "1MiB", "67108864": "64MiB", "1572864": "1536KiB", "1GiB": "1GiB", "2097153": "2097153",
		"": "error", "MiB": "error", "2GiB": "error", "-1MiB": "error", "1.5MiB": "error", "99999999999999999999": "error",
		"9223372036854775807GiB": "error", "1000": "error",
	} {
		var s size
		got := "error"
		if s.Set(text) == nil {
			got = s.String()
		}
		require.Equal(t, want, got, text)
	}
}
