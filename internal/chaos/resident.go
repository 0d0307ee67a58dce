package main

import (
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/slkstream/slkstream/internal/vector"
)

// observe samples what a stage holds in memory until it has ended.
func (p *process) observe() {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for {
		select {
		case <-p.ended:
			return
		case <-ticker.C:
		}
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", p.cmd.Process.Pid))
		if err != nil {
			continue // not there any more, or not on Linux
		}
		var total, resident int64
		if n, _ := fmt.Sscan(string(text), &total, &resident); n == 2 {
			p.mutex.Lock()
			p.resident = append(p.resident, resident*int64(os.Getpagesize()))
			p.mutex.Unlock()
		}
	}
}

// last is what the stage held a moment ago; 0: it is not known.
func (p *process) last() int64 {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if len(p.resident) == 0 {
		return 0
	}
	return p.resident[len(p.resident)-1]
}

// Memory is flat if the last third of a stage's life takes no more than half as much again as the middle one,
// when it has every stream and its buffers; garbage that waits to be collected is worth 16 MiB.
const (
	fewSamples   = 24 // seconds
	mayGrow      = 1.5
	mayGrowBytes = 16 << 20
)

// judgeMemory holds every stage that lived for as many samples, a second each, against that, and returns the
// most that any ever took.
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
