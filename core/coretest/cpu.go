package coretest

import (
	"syscall"
	"testing"
	"time"
)

// CPU returns the processor time that this process has used so far. A test that bounds what a call costs compares it
// before and after: unlike the time that passes, it does not depend on what else the machine does. Tests that run beside
// the caller's count too.
func CPU(t testing.TB) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
