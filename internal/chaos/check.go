package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/topic"
)

// promise holds the guarantees that a run is checked against.
type promise struct {
	once bool // each answer occurs once
	same bool // each answer equals that of an undisturbed run
}

// answers holds the output topic, as a reader of committed records sees it.
type answers struct {
	byID    map[string][][]byte              // results in their order in the topic
	streams map[string][]record.ResultSource // of each stream, in their order in the topic
	total   int
	at      map[string]time.Time // when the first result of an id was written
}

// truth holds the input topic.
type truth struct {
	items  map[string]string    // id -> stream
	poison map[string]bool      // position
	sent   map[string]time.Time // by id, if the feed records it
}

// readAll reads the visible records of a topic to its end, partition by partition.
func readAll(ctx context.Context, client *topic.Client, name string, each func(*record.Raw) error) error {
	n, err := client.Partitions(ctx, name)
	if err != nil {
		return err
	}
	for p := range int32(n) {
		first, err := endOf(ctx, client, name, p, topic.Earliest)
		if err != nil {
			return err
		}
		end, err := endOf(ctx, client, name, p, topic.Latest)
		if err != nil {
			return err
		}
		r := client.NewReader(topic.ReaderSettings{Topic: name, Partition: p, Offset: first})
		for r.Position() < end {
			b, err := r.Read(ctx)
			if err != nil {
				return err
			}
			for i := range b.Records {
				if err := each(&b.Records[i]); err != nil {
					return err
				}
			}
			r.Recycle(b)
		}
	}
	return nil
}

// endOf returns the first or the end offset of a partition. It retries while the leader moves.
func endOf(ctx context.Context, client *topic.Client, name string, partition int32, end int64) (int64, error) {
	for {
		offset, err := client.Offset(ctx, name, partition, end, false)
		if !topic.Temporary(err) || ctx.Err() != nil {
			return offset, err
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func readTruth(ctx context.Context, client *topic.Client, name string) (*truth, error) {
	t := &truth{map[string]string{}, map[string]bool{}, map[string]time.Time{}}
	return t, readAll(ctx, client, name, func(r *record.Raw) error {
		kind, _ := r.Header(kindHeader)
		switch string(kind) {
		case kindItem:
			id := record.Source{Topic: r.Topic, Partition: r.Partition, Offset: r.Offset, Object: -1}.ID()
			t.items[id] = string(r.Key)
			if text, ok := r.Header(sentHeader); ok {
				at, err := time.Parse(time.RFC3339Nano, string(text))
				if err != nil {
					return err
				}
				t.sent[id] = at
			}
		case kindPoison:
			t.poison[fmt.Sprintf("%s/%d/%d", r.Topic, r.Partition, r.Offset)] = true
		}
		return nil
	})
}

func readAnswers(ctx context.Context, client *topic.Client, name string) (*answers, error) {
	a := &answers{byID: map[string][][]byte{}, streams: map[string][]record.ResultSource{}, at: map[string]time.Time{}}
	return a, readAll(ctx, client, name, func(r *record.Raw) error {
		var result record.Result
		if err := json.Unmarshal(r.Value, &result); err != nil {
			return fmt.Errorf("%s/%d/%d is no result: %w", r.Topic, r.Partition, r.Offset, err)
		}
		if at, ok := a.at[result.ID]; !ok || r.Time.Before(at) {
			a.at[result.ID] = r.Time
		}
		a.byID[result.ID] = append(a.byID[result.ID], bytes.Clone(r.Value))
		a.streams[result.Stream] = append(a.streams[result.Stream], result.Source)
		a.total++
		return nil
	})
}

// leaveOut drops the answers to the items of a topic.
func (a *answers) leaveOut(name string) {
	for id, list := range a.byID {
		if strings.HasPrefix(id, name+"/") {
			delete(a.byID, id)
			a.total -= len(list)
		}
	}
	for stream, sources := range a.streams {
		a.streams[stream] = slices.DeleteFunc(sources, func(s record.ResultSource) bool { return s.Topic == name })
	}
}

// readLetters counts the dead letters of each position.
func readLetters(ctx context.Context, client *topic.Client, name string) (map[string]int, error) {
	letters := map[string]int{}
	return letters, readAll(ctx, client, name, func(r *record.Raw) error {
		var parts []string
		for _, h := range []string{record.TopicHeader, record.PartitionHeader, record.OffsetHeader} {
			v, _ := r.Header(h)
			parts = append(parts, string(v))
		}
		letters[strings.Join(parts, "/")]++
		return nil
	})
}

// longestWait returns the longest time from an item's sending to the writing of its first answer.
func longestWait(in *truth, got *answers) (longest time.Duration) {
	for id, sent := range in.sent {
		if at, ok := got.at[id]; ok {
			longest = max(longest, at.Sub(sent))
		}
	}
	return longest
}

// standstills returns each input partition's longest time without an answer while the input was fed, in
// ascending order.
func standstills(in *truth, got *answers) []time.Duration {
	type span struct {
		first, last time.Time // when its items were sent
		answers     []time.Time
	}
	spans := map[string]*span{}
	for id, sent := range in.sent {
		parts := strings.Split(id, "/")
		s := spans[parts[1]]
		if s == nil {
			s = &span{first: sent, last: sent}
			spans[parts[1]] = s
		}
		if sent.Before(s.first) {
			s.first = sent
		}
		if sent.After(s.last) {
			s.last = sent
		}
		if at, ok := got.at[id]; ok {
			s.answers = append(s.answers, at)
		}
	}
	var gaps []time.Duration
	for _, s := range spans {
		slices.SortFunc(s.answers, time.Time.Compare)
		var longest time.Duration
		before := time.Time{}
		for _, at := range s.answers {
			if !before.IsZero() && before.Before(s.last) {
				longest = max(longest, at.Sub(before))
			}
			before = at
		}
		gaps = append(gaps, longest)
	}
	slices.Sort(gaps)
	return gaps
}

// verify checks the output against the input.
func verify(h *history, p promise, in *truth, got *answers, letters map[string]int, calm *answers) {
	few := limited{h: h}
	for id := range in.items {
		switch n := len(got.byID[id]); {
		case n == 0:
			few.say("lost", "%s has no answer", id)
		case n > 1 && p.once:
			few.say("twice", "%s is answered %d times", id, n)
		}
	}
	for id, list := range got.byID {
		if _, ok := in.items[id]; !ok {
			few.say("strange", "an answer to %s, which is no item of the input", id)
			continue
		}
		if !p.same {
			continue
		}
		want := calm.byID[id]
		if len(want) == 0 {
			few.say("calm", "the undisturbed run has no answer to %s", id)
			continue
		}
		for _, text := range list {
			if !bytes.Equal(text, want[0]) {
				few.say("differs", "%s is answered %s, undisturbed %s", id, text, want[0])
				break
			}
		}
	}
	for position := range in.poison {
		if n := letters[position]; n == 0 {
			few.say("letter lost", "bad record %s is in no dead letter", position)
		} else if n > 1 && p.once {
			few.say("letter twice", "bad record %s is in %d dead letters", position, n)
		}
	}
	for position := range letters {
		if !in.poison[position] {
			few.say("letter strange", "a dead letter of %s, which is no bad record", position)
		}
	}
	for stream, sources := range got.streams {
		if before, after, ok := disorder(sources, p.once); !ok {
			few.say(
				"order",
				"stream %s: the answer to %d/%d follows that to %d/%d",
				stream,
				after.Partition,
				after.Offset,
				before.Partition,
				before.Offset,
			)
		}
	}
	few.sum()
}

// disorder finds an answer that precedes the answer to an earlier item of its stream and partition. If
// repeats are allowed, only the first answer to an item counts.
func disorder(sources []record.ResultSource, once bool) (before, after record.ResultSource, ok bool) {
	seen := map[record.ResultSource]bool{}
	last := map[int32]record.ResultSource{}
	for _, s := range sources {
		if seen[s] && !once {
			continue
		}
		seen[s] = true
		if l, found := last[s.Partition]; found && s.Offset <= l.Offset {
			return l, s, false
		}
		last[s.Partition] = s
	}
	return before, after, true
}

// limited reports the first few violations of each kind, and their total number.
type limited struct {
	h      *history
	counts map[string]int
}

func (l *limited) say(kind, format string, args ...any) {
	if l.counts == nil {
		l.counts = map[string]int{}
	}
	if l.counts[kind]++; l.counts[kind] <= 3 {
		l.h.violation(kind+": "+format, args...)
	}
}

func (l *limited) sum() {
	kinds := make([]string, 0, len(l.counts))
	for k, n := range l.counts {
		kinds = append(kinds, k+" "+strconv.Itoa(n))
	}
	slices.Sort(kinds)
	if len(kinds) > 0 {
		l.h.note("violations by kind: %s", strings.Join(kinds, ", "))
	}
}

// offsets checks that committed offsets never move backwards.
type offsets struct {
	h     *history
	group string
	topic string
	high  map[int32]int64
}

func newOffsets(h *history, group, topic string) *offsets {
	return &offsets{h, group, topic, map[int32]int64{}}
}

// read reads each partition's offset once. A broker that does not answer is skipped.
func (o *offsets) read(ctx context.Context, client *topic.Client, partitions int32) {
	for p := range partitions {
		at, err := client.Committed(ctx, o.group, o.topic, p)
		if err != nil || at < 0 {
			continue
		}
		if at < o.high[p] {
			o.h.violation("backwards: the committed offset of %s/%d moved from %d to %d", o.topic, p, o.high[p], at)
		}
		o.high[p] = at
	}
}

// reached reports whether everything up to the end of the input is committed.
func (o *offsets) reached(ctx context.Context, client *topic.Client, partitions int32) (bool, string) {
	o.read(ctx, client, partitions)
	var missing []string
	for p := range partitions {
		end, err := client.Offset(ctx, o.topic, p, topic.Latest, true)
		if err != nil {
			missing = append(missing, fmt.Sprintf("%d: %v", p, err))
		} else if o.high[p] < end {
			missing = append(missing, fmt.Sprintf("%d: %d of %d", p, o.high[p], end))
		}
	}
	return len(missing) == 0, strings.Join(missing, ", ")
}
