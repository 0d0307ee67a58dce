//go:build unix

package telemetry

import (
	"syscall"
	"time"
)

// Spent returns the processor time of this process so far; 0: it is not known.
func Spent() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
