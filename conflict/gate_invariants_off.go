//go:build !invariants

package conflict

func (g *Gate) assert() {}
