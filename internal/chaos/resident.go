package main

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/slkstream/slkstream/internal/vector"
)

// observe samples the stage's resident memory until it ends.
func (p *process) observe() {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for {
		select {
		case <-p.ended:
			return
		case <-ticker.C:
		}
		if now, ok := residentBytes(p.cmd.Process.Pid); ok {
			p.mutex.Lock()
			p.resident = append(p.resident, now)
			p.mutex.Unlock()
		}
	}
}

// residentBytes returns a process's resident memory; false if it has ended, or this is not Linux.
func residentBytes(pid int) (int64, bool) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	var total, resident int64
	if err == nil {
		_, err = fmt.Sscan(string(text), &total, &resident)
	}
	return resident * int64(os.Getpagesize()), err == nil
}

// spent returns the processor time that the stage has taken; 0: it has ended, or this is not Linux.
func (p *process) spent() time.Duration {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	_, behind, _ := strings.Cut(string(text), ") ") // the name, which may hold anything
	const user, system, tick = 11, 12, 10 * time.Millisecond
	fields := append(strings.Fields(behind), make([]string, system+1)...)
	ticks := func(i int) time.Duration {
		n, _ := strconv.Atoi(fields[i]) // 0 where there is none
		return time.Duration(n) * tick
	}
	return ticks(user) + ticks(system)
}

// last returns the latest sample; 0: none yet.
func (p *process) last() int64 {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if len(p.resident) == 0 {
		return 0
	}
	return p.resident[len(p.resident)-1]
}

// Memory is flat if the median of the last third of a stage's life is at most mayGrow times that of the
// middle third, when all streams and buffers exist, plus mayGrowBytes for garbage.
const (
	fewSamples   = 24 // seconds
	mayGrow      = 1.5
	mayGrowBytes = 16 << 20
)

// judgeMemory checks that memory is flat for every stage with at least the given number of samples, one per
// second, and returns the largest sample of all stages.
func (s *scenario) judgeMemory(samples int) (largest int64) {
	for _, p := range s.all {
		<-p.observed
		n := len(p.resident)
		if n == 0 {
			continue
		}
		largest = max(largest, slices.Max(p.resident))
		if n < samples {
			continue
		}
		middle, last := vector.Median(slices.Clone(p.resident[n/3:2*n/3])), vector.Median(slices.Clone(p.resident[2*n/3:]))
		if float64(last) > mayGrow*float64(middle)+mayGrowBytes {
			s.h.violation("memory: %s held %d MiB, and later %d MiB", p.name, middle>>20, last>>20)
		}
	}
	return largest
}
