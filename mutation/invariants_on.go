//go:build invariants

package mutation

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"time"
)

// schedulePoint shuffles the schedule: now and then a worker stands back.
func schedulePoint() {
	switch rand.IntN(8) {
	case 0:
		runtime.Gosched()
	case 1:
		time.Sleep(time.Duration(rand.IntN(50)) * time.Microsecond)
	}
}

// assertAscending panics unless a key's records are in ascending uid, and
// those of one uid in the order of the edges (I2).
func assertAscending(recs []record) {
	for i := 1; i < len(recs); i++ {
		a, b := &recs[i-1], &recs[i]
		if a.uid > b.uid || (a.uid == b.uid && a.edge > b.edge) {
			panic(fmt.Sprintf("I2: record of uid %#x, edge %d stands before uid %#x, edge %d", a.uid, a.edge, b.uid, b.edge))
		}
	}
}
