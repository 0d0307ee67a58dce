package main

import (
	"bufio"
	"math"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
)

// fallbackMemory stands for what is available where the system does not tell.
const fallbackMemory = 4 << 30

// availableMemory is what this process may still take: what the machine has left, what its control group
// leaves it, and GOMEMLIMIT, whichever is least.
func availableMemory() int64 {
	least := min(debug.SetMemoryLimit(-1), groupMemory("/sys/fs/cgroup", "/proc/self/cgroup"))
	if machine := memoryLeft("/proc/meminfo"); machine > 0 {
		return min(least, machine)
	}
	return min(least, fallbackMemory)
}

// memoryLeft reads MemAvailable, 0 where it is not told.
func memoryLeft(path string) int64 {
	file, err := os.Open(path)
	if err != nil {
		return 0
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		if rest, ok := strings.CutPrefix(lines.Text(), "MemAvailable:"); ok {
			kilobytes, _ := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(rest, "kB")), 10, 64)
			return kilobytes << 10
		}
	}
	return 0
}

// groupMemory is the least that the control groups above this process leave it, by version 2 of the interface
// or by version 1.
func groupMemory(root, membership string) int64 {
	number := func(folder, name string) (int64, bool) {
		text, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			return 0, false
		}
		n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
		return n, err == nil
	}
	least := int64(math.MaxInt64)
	hold := func(folder, limit, used string) {
		if most, ok := number(folder, limit); ok {
			now, _ := number(folder, used)
			least = min(least, max(0, most-now))
		}
	}
	hold(filepath.Join(root, "memory"), "memory.limit_in_bytes", "memory.usage_in_bytes")
	own := "/"
	if text, err := os.ReadFile(membership); err == nil {
		for line := range strings.Lines(string(text)) {
			if path, ok := strings.CutPrefix(strings.TrimSpace(line), "0::"); ok {
				own = path
			}
		}
	}
	for ; ; own = filepath.Dir(own) {
		hold(filepath.Join(root, own), "memory.max", "memory.current")
		if own == "/" || own == "." {
			return least
		}
	}
}
