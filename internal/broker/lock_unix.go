//go:build unix

package broker

import (
	"errors"
	"os"
	"syscall"
)

// tryLock takes the lock on a file if nobody has it. The kernel lets go of it when the process ends, however
// it ends, so that there are no stale locks.
func tryLock(f *os.File) (bool, error) {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, err
}

// privateFiles makes whatever the process creates from now on its user's alone: the broker's library sets its
// own modes.
func privateFiles() { syscall.Umask(0o077) }
