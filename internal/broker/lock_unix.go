//go:build unix

package broker

import (
	"errors"
	"os"
	"syscall"
)

// tryLock takes the lock on a file if it is free. The kernel releases it when the process ends, however it
// ends, so that there are no stale locks.
func tryLock(f *os.File) (bool, error) {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, err
}

// freeBytes returns the room that is left on the directory's disk.
func freeBytes(dir string) (bytes int64, known bool) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil {
		return 0, false
	}
	return int64(s.Bavail) * int64(s.Bsize), true
}
