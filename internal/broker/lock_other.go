//go:build !unix

package broker

import (
	"errors"
	"os"
)

func tryLock(*os.File) (bool, error) {
	return false, errors.New("the embedded broker shares its directory by file locks, which this system lacks: use --brokers")
}

func freeBytes(string) (bytes int64, known bool) { return 0, false }
