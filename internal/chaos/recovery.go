package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/topic"
)

// Recovery kills a stage with much state, which must answer again within its target and in little memory. The
// input has the bytes of two hours, sent as fast as the stage reads it.
const (
	recoveryDimension = 512
	recoveryMemory    = 4 << 30 // GOMEMLIMIT of the stage
	recoveryStreams   = 10_000
)

// recover plays the scenario. Half of the input that is left after the kill is for the new owner to answer.
func (s *scenario) recover(ctx context.Context) (string, error) {
	s.feed = newFeed(s.seed, feedSettings{
		Topic: inTopic, Partitions: scenarioPartitions, Streams: s.streams, Records: s.records,
		Dimension: recoveryDimension, Classes: 5,
		Step: 2 * time.Hour / time.Duration(s.records),
	})
	s.feed.begin = time.Now().Add(-2 * time.Hour)
	if err := writeSupport(filepath.Join(s.dir, "support.jsonl"), s.feed); err != nil {
		return "", err
	}
	if err := s.pourAll(ctx); err != nil {
		return "", err
	}
	s.h.note("the input is fed")
	if err := errors.Join(s.settle(), s.launch(groupName, outTopic, s.delivery)); err != nil {
		return "", err
	}
	began := time.Now()
	const killedAt = .8 // share of the input
	most := func(committed, end int64) bool { return float64(committed) >= killedAt*float64(end) }
	if err := s.answeredTo(ctx, most, time.Hour); err != nil {
		return "", err
	}
	first := s.procs[0]
	worked, work := time.Since(began), first.spent()
	first.end(syscall.SIGKILL)
	s.procs = nil
	s.h.note("the stage is killed")
	before, err := s.committed(ctx)
	if err != nil {
		return "", err
	}
	if err := s.launch(groupName, outTopic, s.delivery); err != nil {
		return "", err
	}
	began = time.Now()
	for p := range before { // the slowest partition decides
		moved := func(committed, end int64) bool { return committed > before[p] || before[p] == end } // nothing was left
		if err := s.waitFor(ctx, p, moved, 10*time.Minute); err != nil {
			return "", err
		}
	}
	took, spent := time.Since(began).Round(100*time.Millisecond), s.procs[0].spent()
	s.h.note("new records are answered in every partition")
	nearlyAll := func(committed, end int64) bool { return committed >= end*99/100 }
	if err := s.answeredTo(ctx, nearlyAll, time.Hour); err != nil {
		return "", err
	}
	s.leave()
	for _, p := range s.all {
		<-p.observed
	}
	largest := [2]int64{slices.Max(append(s.all[0].resident, 0)), slices.Max(append(s.all[1].resident, 0))}
	if took > s.session+s.target {
		s.h.violation("recovery: answers again after %v; the dead one's session takes %v, the target is %v",
			took, s.session, s.target)
	}
	for i, n := range largest {
		if n > recoveryMemory+recoveryMemory/10 {
			s.h.violation("memory: stage %d held %d MiB with a limit of %d", i+1, n>>20, recoveryMemory>>20)
		}
	}
	state, err := sizeOf(ctx, s.client, groupName+"-state")
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%d streams of %d dimensions, %d records, %d MiB; state topic: %d MiB\n"+
		"the first stage answered %.0f%% in %v and %v of CPU and held %d MiB\n"+
		"the second answered new records after %v and %v of CPU (the dead one's session is %v) and held %d MiB; violations: %d",
		s.streams, recoveryDimension, s.records, int64(s.records)*recoveryDimension*4>>20, state>>20,
		100*killedAt, worked.Round(time.Second), work, largest[0]>>20,
		took, spent, s.session, largest[1]>>20, len(s.h.failed())), nil
}

// settle has all stages listen at one address, one after the other.
func (s *scenario) settle() error {
	socket, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	s.listen = socket.Addr().String()
	return socket.Close()
}

// pourAll feeds everything at once. It repeats a few vectors, as only their number matters.
func (s *scenario) pourAll(ctx context.Context) error {
	const drawn, share = 4096, 2000
	values := make([][]byte, drawn)
	for i := range values {
		values[i] = raw(s.feed.vector(i % s.feed.Classes))
	}
	for n := 0; n < s.records; {
		var out []record.Out
		for ; len(out) < share && n < s.records; n++ {
			s.feed.n = n
			out = append(out, s.feed.record(n%s.feed.Streams, values[s.random.IntN(drawn)], kindItem, nil))
		}
		if err := s.client.Write(ctx, out); err != nil {
			return err
		}
	}
	var markers []record.Out // so that every item can be answered
	for stream := range s.feed.Streams {
		mark := []record.Header{{Key: record.MarkerHeader}}
		markers = append(markers, s.feed.record(stream, []byte{}, kindMarker, mark))
	}
	return s.client.Write(ctx, markers)
}

// committed returns the committed offset of each partition of the input.
func (s *scenario) committed(ctx context.Context) ([]int64, error) {
	list := make([]int64, s.partitions.Load())
	for p := range list {
		var err error
		if list[p], err = s.client.Committed(ctx, groupName, inTopic, int32(p)); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// progress reports whether a partition's committed offset is far enough.
type progress func(committed, end int64) bool

// answeredTo waits until enough of every partition is committed.
func (s *scenario) answeredTo(ctx context.Context, enough progress, limit time.Duration) error {
	for p := range int(s.partitions.Load()) {
		if err := s.waitFor(ctx, p, enough, limit); err != nil {
			return err
		}
	}
	return nil
}

// waitFor waits until enough of one partition is committed.
func (s *scenario) waitFor(ctx context.Context, p int, enough progress, limit time.Duration) error {
	for began := time.Now(); ; time.Sleep(100 * time.Millisecond) {
		end, err := s.client.Offset(ctx, inTopic, int32(p), topic.Latest, false)
		var at int64
		if err == nil {
			at, err = s.client.Committed(ctx, groupName, inTopic, int32(p))
		}
		switch {
		case err == nil && enough(at, end):
			return nil
		case err != nil && !topic.Temporary(err):
			return err
		case time.Since(began) > limit:
			return fmt.Errorf("partition %d stands at %d of %d: %w", p, at, end, err)
		}
	}
}

// sizeOf returns the bytes of keys and values of a topic.
func sizeOf(ctx context.Context, client *topic.Client, name string) (size int64, err error) {
	return size, readAll(ctx, client, name, func(r *record.Raw) error {
		size += int64(len(r.Key) + len(r.Value))
		return nil
	})
}

// writeSupport writes the feed's examples to a file.
func writeSupport(path string, f *feed) error {
	var lines strings.Builder
	for _, e := range f.support() {
		line, err := json.Marshal(e)
		if err != nil {
			return err
		}
		lines.Write(append(line, '\n'))
	}
	return os.WriteFile(path, []byte(lines.String()), 0o644)
}
