//go:build !invariants

package mutation

// schedulePoint and the assertions do their work in builds with the
// invariants tag.
func schedulePoint() {}

func assertAscending([]record) {}
