package posting

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// TestMain checks that no goroutine is left. Where a crash test started the
// program again, it is the child that commits until it is killed.
func TestMain(m *testing.M) {
	if dir := os.Getenv(crashDirEnv); dir != "" {
		crashChild(dir)
	}
	goleak.VerifyTestMain(m)
}
