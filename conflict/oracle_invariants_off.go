//go:build !invariants

package conflict

func (o *Oracle) assert() {}
