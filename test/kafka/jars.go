package kafka

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// home is the directory of this package in the source tree, where the jars are kept. The module is asked: what the
// compiler knows of the place of a file is cut off by -trimpath.
func home(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "github.com/slkstream/slkstream").Output()
	if err != nil {
		return "", fmt.Errorf("find the source tree, where Kafka's jars are kept: %w", err)
	}
	return filepath.Join(strings.TrimSpace(string(out)), "test", "kafka"), nil
}

// jars makes sure that Kafka's jars are there and returns the class path. Several processes may ask at once.
func jars(ctx context.Context) (string, error) {
	home, err := home(ctx)
	if err != nil {
		return "", err
	}
	lib := filepath.Join(home, "lib")
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
	mvn := exec.CommandContext(ctx, "mvn", "-q", "-B", "-f", filepath.Join(home, "pom.xml"),
		"dependency:copy-dependencies")
	if out, err := mvn.CombinedOutput(); err != nil {
		return "", fmt.Errorf("copy Kafka's jars with mvn: %w\n%s", err, out)
	}
	return lib + "/*", os.WriteFile(complete, nil, 0o644)
}
