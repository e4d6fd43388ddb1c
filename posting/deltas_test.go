package posting

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// runOf is a run with a value for each of so many keys.
func runOf(keys int, value string) *Run {
	r := &Run{}
	for i := range keys {
		r.Add(fmt.Appendf(nil, "key %d", i), []byte(value))
	}
	return r
}

func TestDeltasOfBatches(t *testing.T) {
	d := &Deltas{}
	require.Empty(t, d.Sorted())
	d.Publish(runOf(3, "first"))
	d.Publish(runOf(2, "second"))
	taken := &Run{}
	taken.Add([]byte("key 0"), nil)
	d.Publish(taken)
	require.Equal(t, []KeyValue{
		{Key: []byte("key 1"), Value: []byte("second")},
		{Key: []byte("key 2"), Value: []byte("first")},
	}, d.Sorted())
}

// A batch that is published, and entered into the index, while the loop runs
// hides nothing of what was there when it began.
func TestDeltasAllBesidePublish(t *testing.T) {
	const keys = 10
	for _, batches := range []int{1, 2, 3} {
		d := &Deltas{}
		for n := range batches {
			d.Publish(runOf(keys, fmt.Sprint("batch ", n)))
		}
		seen := make(map[string]string)
		for key, value := range d.All() {
			if len(seen) == 0 {
				d.Publish(runOf(keys, "later"))
				later, ok := d.Get([]byte("key 9"))
				require.True(t, ok)
				require.Equal(t, "later", string(later))
			}
			require.NotContains(t, seen, string(key))
			seen[string(key)] = string(value)
		}
		require.Len(t, seen, keys)
		for key, value := range seen {
			require.Equal(t, fmt.Sprint("batch ", batches-1), value, key)
		}
	}
}
