package telemetry

import (
	"syscall"
	"time"
)

// Spent returns the processor time of this process so far; 0: it is not known.
func Spent() time.Duration {
	var begun, ended, system, user syscall.Filetime
	process, err := syscall.GetCurrentProcess()
	if err == nil {
		err = syscall.GetProcessTimes(process, &begun, &ended, &system, &user)
	}
	if err != nil {
		return 0
	}
	ticks := func(t syscall.Filetime) time.Duration { // of 100 ns
		return time.Duration(int64(t.HighDateTime)<<32|int64(t.LowDateTime)) * 100
	}
	return ticks(system) + ticks(user)
}
