//go:build unix

package kill_test

import (
	"os"
	"runtime/debug"
	"testing"
)

// TestMain is the worker of a round if it was started as one.
func TestMain(m *testing.M) {
	if spec := os.Getenv(workerEnv); spec != "" {
		os.Exit(workerMain(spec))
	}
	debug.SetGCPercent(400) // many small tables, and nothing stays
	os.Exit(m.Run())
}
