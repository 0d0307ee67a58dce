package main

import (
	"fmt"
	"math/rand/v2"
	"time"
)

// plan holds all that the seed decides beforehand.
type plan struct {
	once          bool // exactly once
	clock         bool // the clock closes idle streams
	labels        bool // examples are taught and forgotten during the run
	grow          bool // a partition is added to the input
	hostile       bool // senders are hostile, and topics reject large records; see feed.hostile
	remake        bool // a second input is deleted and created again
	strangers     int  // new streams, each with a model of its own, that appear during the run
	ids           bool // stages have instance ids, and one that comes in the place of another has its id
	poison        float64
	marker        float64
	partitions    int
	streams       int
	records       int
	size          int
	memory        int64
	commit, state time.Duration
	stages        int
	events        int
	aim           fault // the mistake to look for; sound: any
	fault         fault // the mistake in the build
}

// draw draws the plan of a seed.
func draw(r *rand.Rand, aim, held fault) plan {
	p := plan{
		once: r.IntN(2) == 0, clock: r.IntN(4) == 0, labels: r.IntN(4) == 0, grow: r.IntN(8) == 0,
		marker: .005, partitions: 1 + r.IntN(3), streams: 1 + r.IntN(5), records: 60 + r.IntN(140),
		size: 3 + r.IntN(6), memory: 1 << 20,
		commit: time.Duration(1+r.IntN(20)) * time.Millisecond,
		state:  time.Duration(5+r.IntN(100)) * time.Millisecond,
		stages: 1 + r.IntN(3), events: 2 + r.IntN(6), aim: aim, fault: held,
	}
	if r.IntN(2) == 0 {
		p.poison = .05
	}
	if r.IntN(4) == 0 {
		p.memory = 4 << 10
	}
	p.hostile = r.IntN(3) == 0
	if aim != sound { // see aim: episodes of one size, each with a commit of its own
		p.once, p.clock, p.labels, p.grow, p.hostile, p.poison, p.marker, p.memory = aim != offsetsFirst, false, false, false, false, 0, 0, 1<<20
		p.partitions, p.streams, p.commit, p.state, p.stages = 1, 1, time.Millisecond, time.Hour, 1
	}
	return p
}

// drawMore draws the newer fields from a separate source, so that older seeds keep the rest of their plan.
func (p *plan) drawMore(seed uint64) {
	r := rand.New(rand.NewPCG(seed, 4))
	p.remake = r.IntN(4) == 0
	if r.IntN(4) == 0 {
		p.strangers = 20 + r.IntN(80)
	}
	p.ids = r.IntN(3) == 0
	if p.aim != sound {
		p.remake, p.strangers, p.ids = false, 0, false
	}
}

// promise returns what the stages must keep. Answers must equal those of an undisturbed run only if the input
// alone decides them. Added partitions move keys, whose streams then lose what they learned. Mistakes are
// found without that comparison.
func (p plan) promise() promise {
	return promise{once: p.once, same: !p.clock && !p.labels && !p.grow && p.fault == sound}
}

// patience bounds the wait for the stages to process the input after the last harm. A build with a mistake
// may never finish.
func (p plan) patience() time.Duration {
	if p.fault != sound {
		return 8 * time.Second
	}
	return historyLimit / 2
}

func (p plan) String() string {
	mode := "at least once"
	if p.once {
		mode = "exactly once"
	}
	return fmt.Sprintf(
		"%s, %d records of %d streams in %d partitions, episodes of %d, commits each %v, state each %v, %d stages, clock %v, labels %v, growth %v, hostile %v, remade input %v, %d strangers, instance ids %v, poison %g, memory %d, aimed at %q, mistake %q",
		mode,
		p.records,
		p.streams,
		p.partitions,
		p.size,
		p.commit,
		p.state,
		p.stages,
		p.clock,
		p.labels,
		p.grow,
		p.hostile,
		p.remake,
		p.strangers,
		p.ids,
		p.poison,
		p.memory,
		p.aim,
		p.fault,
	)
}
