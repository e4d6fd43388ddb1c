package mutation_test

import (
	"testing"

	"go.uber.org/goleak"
)

// TestMain checks that no goroutine is left (I5).
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
