package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/topic"
)

// besideTopic is a second input of the hostile scenario, which is deleted and created again.
const besideTopic = "beside"

const (
	hostileMemory = 512 << 20 // GOMEMLIMIT of each stage
	hostileInput  = 64 << 20  // largest record of the input in bytes
	usualMessage  = 1048588   // Kafka's own limit on a record

	// hostileSamples is how many seconds a stage must live for its memory to be checked: every harm, records of
	// many MiB included, then falls into each third of its life.
	hostileSamples = 900
)

// hostile is a long run of two stages against senders that do every harm we know of, while topics reject,
// vanish, grow and are created again. The first stage is never killed, so that its memory can be observed;
// the second is killed again and again.
type hostile struct {
	*scenario
	waits  *waits
	sender *topic.Sender
	make   *hostileFeed
	table  *table

	beside     sync.RWMutex // locked while the second input is written to or created again
	partitions int          // partitions of the labels topic
	reading    func()       // stops the readers of the output
	bombs      []string     // positions of records that inflate excessively
}

// hostile plays for the given time, then waits for the remaining answers, and checks.
func (s *scenario) hostile(ctx context.Context) (string, error) {
	h := &hostile{
		scenario: s, waits: newWaits(s.h), partitions: 1,
		sender: &topic.Sender{Client: s.client, Compression: func(string) topic.Compression { return "zstd" }},
		make:   &hostileFeed{random: rand.New(rand.NewPCG(s.seed, 3)), good: s.feed, at: time.Now},
	}
	if err := h.topics(ctx); err != nil {
		return "", err
	}
	var err error
	if h.table, err = newTable(s.csv); err != nil {
		return "", err
	}
	defer h.table.close()
	for range 2 {
		if err := s.launch(groupName, outTopic, s.delivery); err != nil {
			return "", err
		}
	}
	if err := h.read(ctx); err != nil {
		return "", err
	}
	playing, stop := context.WithTimeout(ctx, s.long)
	defer stop()
	var parts sync.WaitGroup
	failures := make(chan error, 2)
	parts.Go(func() { failures <- h.feedFor(playing, ctx) })
	parts.Go(func() { failures <- h.disturbFor(playing, ctx) })
	watched, end := context.WithCancel(ctx)
	var watching sync.WaitGroup
	watching.Go(func() { h.watch(watched) })
	parts.Wait()
	err = errors.Join(<-failures, <-failures)
	if err == nil {
		s.h.note("the time is over, and peace begins")
		for h.waits.left() > 0 && !h.waits.late() && ctx.Err() == nil {
			time.Sleep(200 * time.Millisecond)
		}
		err = s.awaitLag(ctx, time.Minute)
	}
	end()
	watching.Wait()
	h.reading()
	if err != nil {
		return "", err
	}
	s.leave()
	return h.judge(ctx)
}

func (h *hostile) topics(ctx context.Context) error {
	large := map[string]string{maxMessage: strconv.Itoa(hostileInput), "retention.ms": "-1"}
	if err := h.client.Ensure(ctx, topic.Description{
		Name: besideTopic, Partitions: 2,
		Settings: large,
	}); err != nil {
		return err
	}
	if err := limitTopic(h.client, inTopic, hostileInput); err != nil {
		return err
	}
	if err := setTopic(h.client, inTopic, "retention.ms", "-1"); err != nil { // else records of 1999 delete more
		return err
	}
	return h.client.Ensure(ctx, topic.Description{Name: outTopic + "-dead", Partitions: 2})
}

// feedFor writes records at the given rate until playing ends.
func (h *hostile) feedFor(playing, ctx context.Context) error {
	const beat = 250 * time.Millisecond
	ticker := time.NewTicker(beat)
	defer ticker.Stop()
	for due := 0.; ; {
		select {
		case <-playing.Done():
			return ctx.Err()
		case <-ticker.C:
		}
		for due += h.rate * beat.Seconds(); due >= 1; due-- {
			if err := h.feedOne(ctx); err != nil {
				return err
			}
		}
	}
}

func (h *hostile) feedOne(ctx context.Context) error {
	records, items := h.make.next(h.rubbish)
	name := records[0].Topic
	if name == besideTopic {
		h.beside.RLock()
		defer h.beside.RUnlock()
	}
	h.waits.sent(items, name)
	return h.sender.Write(ctx, records)
}

// watch adds a line to the table every five seconds.
func (h *hostile) watch(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Second):
		}
		h.waits.late()
		if seconds := int(time.Since(h.h.begin).Seconds()); seconds%5 == 0 {
			lag, _ := h.lag(ctx, inTopic, besideTopic) // -1 while brokers do not answer
			h.table.add(row{
				seconds: seconds, steady: h.all[0].last(), other: h.procs[len(h.procs)-1].last(), lag: lag,
				counts: h.waits.counts(),
			})
		}
	}
}

// lag returns the number of records of inputs that are not committed.
func (s *scenario) lag(ctx context.Context, inputs ...string) (int64, error) {
	sum := int64(0)
	for _, name := range inputs {
		n, err := s.client.Partitions(ctx, name)
		if err != nil {
			return -1, err
		}
		for p := range int32(n) {
			end, err := s.client.Offset(ctx, name, p, topic.Latest, true)
			if err != nil {
				return -1, err
			}
			at, err := s.client.Committed(ctx, groupName, name, p)
			if err != nil {
				return -1, err
			}
			sum += max(end-max(at, 0), 0)
		}
	}
	return sum, nil
}

// awaitLag waits until the lag is zero.
func (s *scenario) awaitLag(ctx context.Context, patience time.Duration) error {
	for began := time.Now(); ; time.Sleep(500 * time.Millisecond) {
		lag, err := s.lag(ctx, inTopic, besideTopic)
		if err == nil && lag == 0 {
			return nil
		}
		if time.Since(began) > patience {
			s.h.violation("stuck: %d records of the inputs are not committed: %v", lag, err)
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

// read follows the output from its start with one reader per partition, and passes every answer to waits.
func (h *hostile) read(ctx context.Context) error {
	n, err := h.client.Partitions(ctx, outTopic)
	if err != nil {
		return err
	}
	reading, stop := context.WithCancel(ctx)
	var readers sync.WaitGroup
	for p := range int32(n) {
		readers.Go(func() {
			r := h.client.NewReader(topic.ReaderSettings{
				Topic: outTopic, Partition: p,
				MaxWait: 300 * time.Millisecond,
			})
			for reading.Err() == nil {
				b, err := r.Read(reading)
				if err != nil {
					if reading.Err() == nil {
						h.h.note("the output's partition %d cannot be read: %v", p, err)
						time.Sleep(time.Second)
					}
					continue
				}
				for i := range b.Records {
					h.waits.result(b.Records[i].Value)
				}
				h.waits.read(p, b.Next)
				r.Recycle(b)
			}
		})
	}
	h.reading = func() { stop(); readers.Wait() }
	return nil
}

// drained waits until the whole output has been read.
func (h *hostile) drained(ctx context.Context) error {
	for ctx.Err() == nil {
		n, err := h.client.Partitions(ctx, outTopic)
		behind := 0
		for p := range int32(n) {
			end, failed := h.client.Offset(ctx, outTopic, p, topic.Latest, true)
			if err = errors.Join(err, failed); end > h.waits.position(p) {
				behind++
			}
		}
		if err == nil && behind == 0 {
			return nil
		}
		time.Sleep(200 * time.Millisecond)
	}
	return ctx.Err()
}

// judge compares the dead letters with the records that cannot be answered, and memory with its limit.
func (h *hostile) judge(ctx context.Context) (string, error) {
	in, err := readTruth(ctx, h.client, inTopic)
	if err != nil {
		return "", err
	}
	letters, err := readLetters(ctx, h.client, outTopic+"-dead")
	if err != nil {
		return "", err
	}
	few := limited{h: h.h}
	for _, position := range h.bombs { // reading them does not give their kind
		in.poison[position] = true
	}
	for position := range in.poison {
		if letters[position] == 0 {
			few.say("letter lost", "bad record %s is in no dead letter", position)
		}
	}
	for id := range in.items {
		if letters[id] > 0 {
			few.say("letter strange", "good record %s is in a dead letter", id)
		}
	}
	few.sum()
	largest := h.judgeMemory(hostileSamples)
	if largest > hostileMemory+hostileMemory/4 {
		h.h.violation("memory: a stage held %d MiB with a limit of %d", largest>>20, hostileMemory>>20)
	}
	if err := h.table.draw(h.graph); err != nil {
		return "", err
	}
	c := h.waits.counts()
	return fmt.Sprintf(
		"%d good records: %d lost or late, %d repeats, longest wait %v, longest after a harm %v; %d gone with their topic; %d bad records, %d dead letters; largest stage %d MiB; violations: %d",
		c.sent,
		c.overdue,
		c.repeats,
		c.longest.Round(time.Millisecond),
		c.longestAfter.Round(time.Millisecond),
		c.gone,
		len(in.poison),
		len(letters),
		largest>>20,
		len(h.h.failed()),
	), nil
}

// remake creates a topic, and retries while its deleted namesake lingers.
func (h *hostile) remake(ctx context.Context, d topic.Description) error {
	for began := time.Now(); ; time.Sleep(300 * time.Millisecond) {
		err := h.client.Create(ctx, d)
		if err == nil || time.Since(began) > 30*time.Second {
			return err
		}
	}
}

// killOther ends the second stage as kill -9 does, and starts another.
func (h *hostile) killOther() error {
	other := h.procs[len(h.procs)-1]
	h.h.note("%s is killed", other.name)
	other.end(syscall.SIGKILL)
	h.procs = h.procs[:1]
	return h.launch(groupName, outTopic, h.delivery)
}

// teach writes good examples, and some of a wrong or missing dimension.
func (h *hostile) teach(ctx context.Context) error {
	lessons := []record.Out{
		h.teacher.lesson(labelsTopic), h.make.badLesson(labelsTopic),
		h.make.badLesson(labelsTopic),
	}
	return h.sender.Write(ctx, lessons)
}

// environment returns the environment of the stages of a hostile run.
func environment(limit int64) []string {
	return append(os.Environ(), fmt.Sprint("GOMEMLIMIT=", limit))
}
