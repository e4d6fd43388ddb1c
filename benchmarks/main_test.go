package benchmarks

import (
	"testing"

	"go.uber.org/goleak"
)

// No case leaves a goroutine behind.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
