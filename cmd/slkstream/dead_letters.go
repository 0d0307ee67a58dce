package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/topic"
)

// chosenLetters returns the dead letters that the settings select, oldest first and without their records.
func chosenLetters(ctx context.Context, c *call, client *topic.Client) ([]deadLetter, error) {
	d, name := &c.Config.Select, c.Config.Topics.DeadTopic()
	since := d.SinceTime(time.Now())
	letters, err := readLetters(ctx, client, name, func(l *deadLetter) bool {
		return !l.Written.Before(since) && strings.Contains(strings.ToLower(l.Reason), strings.ToLower(d.Reason)) &&
			(c.Config.Select.Stream == "" || l.Stream == c.Config.Select.Stream)
	})
	if n := c.Config.Select.Count; n > 0 && len(letters) > n {
		letters = letters[len(letters)-n:]
	}
	return letters, err
}

// whole returns a letter that readLetters has listed, with its record.
func (l *deadLetter) whole(ctx context.Context, reader recordReader) (record.Letter, error) {
	raw, err := reader.at(ctx, l.at, l.offset)
	if err != nil {
		return record.Letter{}, fmt.Errorf("dead letter %s: %w", l.Position, err)
	}
	letter, _ := record.ReadLetter(raw)
	return letter, nil
}

// readLetters reads a topic of dead letters to its end and returns those that keep accepts.
func readLetters(ctx context.Context, client *topic.Client, name string, keep func(*deadLetter) bool) ([]deadLetter, error) {
	if _, err := client.Partitions(ctx, name); err != nil {
		return nil, err
	}
	spans, err := client.Spans(ctx, true, name)
	if err != nil {
		return nil, err
	}
	var letters []deadLetter
	replayed := map[string]bool{}
	for raw, err := range client.Records(ctx, spans...) {
		if err != nil {
			return nil, err
		}
		if letter, ok := record.ReplayedLetter(raw); ok {
			replayed[letter] = true
		}
		l, ok := record.ReadLetter(raw)
		letter := deadLetter{
			Position: l.Position(), ID: l.ID, Time: l.Time, Written: raw.Time, Stream: streamOf(raw), Reason: l.Reason,
			Bytes: len(raw.Value), Cut: l.Truncated, offset: raw.Offset,
			at: topic.TopicPartition{Topic: name, Partition: raw.Partition},
		}
		if ok && keep(&letter) {
			letters = append(letters, letter)
		}
	}
	for i := range letters {
		letters[i].Replayed = replayed[letters[i].Position]
	}
	slices.SortStableFunc(letters, func(a, b deadLetter) int { return a.Written.Compare(b.Written) })
	return letters, nil
}

// streamOf returns the stream that a record names, else its key.
func streamOf(raw *record.Raw) string {
	var named struct{ Stream, SensorID string }
	if bytes.HasPrefix(bytes.TrimSpace(raw.Value), []byte("{")) && json.Unmarshal(raw.Value, &named) == nil {
		if name := cmp.Or(named.Stream, named.SensorID); name != "" {
			return name
		}
	}
	return string(raw.Key)
}

// reason summarises the letters of one reason; numbers in its text do not distinguish reasons.
type reason struct {
	example     string
	count       int
	first, last time.Time
	streams     map[string]bool
}

// byReason groups letters by reason, the most frequent first.
func byReason(letters []deadLetter) []*reason {
	reasons := map[string]*reason{}
	var all []*reason
	for i := range letters {
		l := &letters[i]
		kind := strings.Map(func(r rune) rune {
			if r >= '0' && r <= '9' {
				return -1
			}
			return r
		}, l.Reason)
		r := reasons[kind]
		if r == nil {
			r = &reason{example: l.Reason, first: l.Written, streams: map[string]bool{}}
			reasons[kind] = r
			all = append(all, r)
		}
		r.count++
		r.last = l.Written
		r.streams[l.Stream] = true
	}
	slices.SortStableFunc(all, func(a, b *reason) int { return b.count - a.count })
	return all
}

// advice says how to deal with a letter.
func advice(l *record.Letter) string {
	for _, known := range []struct{ reason, todo string }{
		{"dimension", "the sender changed its embedder, or the stage learned a wrong dimension: set --dimension, or a --model for each embedder, and replay"},
		{"the output rejects", "raise max.message.bytes of the output, or send smaller attributes and keys, and replay"},
		{"rejected by", "raise max.message.bytes of the topic that it names"},
		{"inflates", "the record is above 16 MiB once decompressed: send its items in several records"},
		{"bytes long", "the record is above 16 MiB: send its items in several records"},
		{"neither JSON", "say what the bytes are, with a content-type header or --format, and replay"},
		{"NaN", "the sender's embedder gives numbers that are none: mend it; the record itself is lost"},
		{"Inf", "the sender's embedder gives numbers that are none: mend it; the record itself is lost"},
		{"zero", "a vector of zeros has no direction: mend the sender; the record itself is lost"},
	} {
		if strings.Contains(l.Reason, known.reason) {
			if l.Truncated {
				return known.todo + "; this letter was cut and cannot be replayed"
			}
			return known.todo
		}
	}
	if l.Truncated {
		return "it was cut to fit the topic: send the record itself again once the reason is cured"
	}
	return "cure the reason, then replay"
}
