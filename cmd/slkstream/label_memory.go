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

// fallbackMemory is assumed to be available if the system does not report it.
const fallbackMemory = 4 << 30

// availableMemory returns how much more memory this process may use: the least of the machine's free memory,
// the rest of its control group's limit, and GOMEMLIMIT.
func availableMemory() int64 {
	least := min(debug.SetMemoryLimit(-1), groupMemory("/sys/fs/cgroup", "/proc/self/cgroup", true))
	if machine := memoryLeft("/proc/meminfo"); machine > 0 {
		return min(least, machine)
	}
	return min(least, fallbackMemory)
}

// memoryLeft reads MemAvailable; 0 if it is missing.
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

// memoryBudget returns the most memory a stage may use: the setting, else GOMEMLIMIT, else the control
// group's limit; 0: unbounded.
func memoryBudget(set int64) int64 {
	if set > 0 {
		return set
	}
	if limit := debug.SetMemoryLimit(-1); limit < math.MaxInt64 {
		return limit
	}
	budget := groupMemory("/sys/fs/cgroup", "/proc/self/cgroup", false)
	if budget >= 1<<60 { // version 1 of the interface writes a huge number for no limit
		return 0
	}
	return budget
}

// groupMemory returns the lowest limit of the control groups above this process, by version 2 of the
// interface or by version 1. With less, memory in use is subtracted from each limit.
func groupMemory(root, membership string, less bool) int64 {
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
			now := int64(0)
			if less {
				now, _ = number(folder, used)
			}
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
