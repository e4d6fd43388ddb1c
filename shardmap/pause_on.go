//go:build invariants

package shardmap

import (
	"math/rand/v2"
	"runtime"
)

// pause stands before each step that others may come between. In builds with the tag
// invariants it lets others run at random, so that tests meet many more schedules.
func pause() {
	if rand.Uint32()%8 == 0 {
		runtime.Gosched()
	}
}
