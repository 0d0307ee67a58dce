package kafka

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
)

// home is the directory of this package in the source tree, where the jars are kept.
func home() string {
	_, file, _, _ := runtime.Caller(0)
	return filepath.Dir(file)
}

// jars makes sure that Kafka's jars are there and returns the class path. Several processes may ask at once.
func jars(ctx context.Context) (string, error) {
	lib := filepath.Join(home(), "lib")
	if err := os.MkdirAll(lib, 0o755); err != nil {
		return "", err
	}
	lock, err := os.OpenFile(filepath.Join(lib, ".lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return "", err
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return "", err
	}
	complete := filepath.Join(lib, ".complete")
	if _, err := os.Stat(complete); err == nil {
		return lib + "/*", nil
	}
	mvn := exec.CommandContext(ctx, "mvn", "-q", "-B", "-f", filepath.Join(home(), "pom.xml"),
		"dependency:copy-dependencies")
	if out, err := mvn.CombinedOutput(); err != nil {
		return "", fmt.Errorf("copy Kafka's jars with mvn: %w\n%s", err, out)
	}
	return lib + "/*", os.WriteFile(complete, nil, 0o644)
}
