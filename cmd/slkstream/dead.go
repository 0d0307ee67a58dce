package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/topic"
)

var deadCommand = command{
	name: "dead", short: "list, show or replay dead letters",
	of: []command{
		{
			name:  "dead list",
			short: "list dead letters",
			long: "list prints one line a dead letter, oldest first, and how many there are of each reason. With --json it prints one object a\n" +
				"line and no more.",
			example: "  slkstream dead list --out named --since 1h",
			run:     onKafka(listDead),
		},
		{
			name:    "dead show",
			short:   "show dead letters whole, with what to do about them",
			long:    "show prints each dead letter with its headers and its value, why it is there and what can be done about it.",
			example: "  slkstream dead show --out named --count 3",
			run:     onKafka(showDead),
		},
		{
			name:  "dead replay",
			short: "send the records of dead letters to their topics again",
			long: "replay sends the records that dead letters keep to the partitions they came from. Their results have ids of\n" +
				"their own and name the first as replayOf. A letter that was replayed is marked in its topic and left out from then on, unless --again is given;\n" +
				"one that was cut to fit its topic cannot be replayed.",
			example: "  slkstream dead replay --out named --reason dimension --dry-run\n  slkstream dead replay --out named --reason dimension",
			run:     onKafka(replayDead),
		},
	},
}

// deadLetter is a printed dead letter.
type deadLetter struct {
	Position string            `json:"letter"` // PARTITION/OFFSET in the topic of dead letters
	ID       string            `json:"id"`
	Time     time.Time         `json:"time"`    // of the record
	Written  time.Time         `json:"written"` // of the letter
	Stream   string            `json:"stream"`
	Reason   string            `json:"reason"`
	Bytes    int               `json:"bytes"`
	Cut      bool              `json:"truncated,omitempty"`
	Replayed bool              `json:"replayed,omitempty"`
	Headers  map[string]string `json:"headers,omitempty"` // in show only
	Value    string            `json:"value,omitempty"`   // in show only
	ToDo     string            `json:"todo,omitempty"`    // in show only

	at     topic.TopicPartition // of the letter
	offset int64
}

func listDead(ctx context.Context, c *call, client *topic.Client) error {
	letters, err := chosenLetters(ctx, c, client)
	if err != nil {
		return err
	}
	p := newList(c, "LETTER\tWRITTEN\tID\tSTREAM\tBYTES\tSTATE\tREASON")
	for _, l := range letters {
		p.print(l, "%s\t%s\t%s\t%s\t%d\t%s\t%s", l.Position, l.Written.UTC().Format(time.RFC3339), l.ID, l.Stream,
			l.Bytes, l.state(), l.Reason)
	}
	if err := p.close(); err != nil || p.json || len(letters) == 0 {
		return err
	}
	fmt.Fprintln(c.Out)
	p = newList(c, "LETTERS\tFIRST\tLAST\tSTREAMS\tREASON")
	for _, r := range byReason(letters) {
		p.print(nil, "%d\t%s\t%s\t%d\t%s", r.count, r.first.UTC().Format(time.RFC3339),
			r.last.UTC().Format(time.RFC3339), len(r.streams), r.example)
	}
	return p.close()
}

func (l *deadLetter) state() string {
	switch {
	case l.Replayed:
		return "replayed"
	case l.Cut:
		return "cut"
	}
	return "-"
}

func showDead(ctx context.Context, c *call, client *topic.Client) error {
	letters, err := chosenLetters(ctx, c, client)
	if err != nil {
		return err
	}
	reader, lines := newRecordReader(client), json.NewEncoder(c.Out)
	for i := range letters {
		l := letters[i] // a copy, so that the texts added to it are freed
		letter, err := l.whole(ctx, reader)
		if err != nil {
			return err
		}
		l.Headers = map[string]string{}
		for _, h := range letter.Raw.Headers {
			l.Headers[h.Key] = c.text(string(h.Value), 1000)
		}
		l.Value, l.ToDo = c.text(string(letter.Raw.Value), 2000), advice(&letter)
		if c.Config.Output.JSON {
			if err := lines.Encode(&l); err != nil {
				return err
			}
			continue
		}
		fmt.Fprintf(c.Out, "letter  %s, written %s, %s\nid      %s\nstream  %s\ntime    %s\nwhy     %s\nto do   %s\n",
			l.Position, l.Written.UTC().Format(time.RFC3339), strings.Replace(l.state(), "-", "not replayed", 1),
			c.text(l.ID, 1000), c.text(l.Stream, 200), l.Time.UTC().Format(time.RFC3339Nano),
			c.text(l.Reason, 1000), l.ToDo)
		for _, name := range slices.Sorted(maps.Keys(l.Headers)) {
			fmt.Fprintf(c.Out, "header  %s: %s\n", c.text(name, 100), l.Headers[name])
		}
		fmt.Fprintf(c.Out, "value   %d bytes: %s\n\n", l.Bytes, l.Value)
	}
	return nil
}

func replayDead(ctx context.Context, c *call, client *topic.Client) error {
	letters, err := chosenLetters(ctx, c, client)
	if err != nil {
		return err
	}
	replayed, before, cut, dry := 0, 0, 0, c.Config.Change.DryRun
	reader := newRecordReader(client)
	speed := pace{c.Config.Feed.Rate, time.Now()}
	for i := range letters {
		l := &letters[i]
		if l.Replayed && !c.Config.Change.Again {
			before++
			continue
		}
		letter, err := l.whole(ctx, reader)
		if err != nil {
			return err
		}
		out, err := letter.Replay()
		switch {
		case errors.Is(err, record.ErrTruncated):
			cut++
			c.Log.Warn("a dead letter cannot be replayed",
				"letter", l.Position, "id", printable(l.ID, 200), "error", err)
			continue
		case err != nil:
			return err
		}
		replayed++
		if dry {
			fmt.Fprintf(c.Out, "%s\t%s\n", l.Position, printable(l.ID, 200))
			continue
		}
		if err := speed.wait(ctx, int64(replayed)); err != nil {
			return err
		}
		partitions, err := client.Partitions(ctx, out.Topic)
		if err != nil {
			return fmt.Errorf("dead letter %s: topic %s: %w", l.Position, out.Topic, err)
		}
		if int(out.Partition) >= partitions {
			return fmt.Errorf("dead letter %s: topic %s has no partition %d: was it made again?",
				l.Position, out.Topic,
				out.Partition)
		}
		if err := client.Write(ctx, []record.Out{out}); err != nil {
			return fmt.Errorf("dead letter %s: %w", l.Position, err)
		}
		// If this fails, a later replay may send the record twice.
		if err := client.Write(ctx, []record.Out{letter.Mark()}); err != nil {
			return fmt.Errorf("dead letter %s was replayed, but cannot be marked: %w", l.Position, err)
		}
	}
	verb := "replayed"
	if dry {
		verb = "to be replayed"
	}
	fmt.Fprintf(c.Out, "%d %s, %d replayed before, %d cut\n", replayed, verb, before, cut)
	if before > 0 && !dry {
		c.Log.Warn("letters that were replayed before are left out; --again replays them too", "letters", before)
	}
	return nil
}

// chosenLetters reads the topic of dead letters to its end, and returns those that the settings select, oldest
// first and without their records.
func chosenLetters(ctx context.Context, c *call, client *topic.Client) (letters []deadLetter, err error) {
	chosen, name := &c.Config.Select, c.Config.Topics.DeadTopic()
	wanted := strings.ToLower(chosen.Reason)
	spans, err := client.SpansOf(ctx, true, name)
	if err != nil {
		return nil, err
	}
	replayed, all := map[string]bool{}, 0
	for raw, err := range client.Records(ctx, spans...) {
		if err != nil {
			return nil, err
		}
		if letter, ok := record.ReplayedLetter(raw); ok {
			replayed[letter] = true
		}
		l, ok := record.ReadLetter(raw)
		if ok {
			all++
		}
		letter := deadLetter{
			Position: l.Position(), ID: l.ID, Time: l.Time, Written: raw.Time, Stream: streamOf(raw), Reason: l.Reason,
			Bytes: len(raw.Value), Cut: l.Truncated, offset: raw.Offset,
			at: topic.TopicPartition{Topic: name, Partition: raw.Partition},
		}
		if ok && !letter.Written.Before(chosen.After) && strings.Contains(strings.ToLower(letter.Reason), wanted) &&
			(chosen.Stream == "" || letter.Stream == chosen.Stream) {
			letters = append(letters, letter)
		}
	}
	if len(letters) == 0 {
		c.Log.Info("there are no such dead letters", "topic", name, "letters", all)
	}
	for i := range letters {
		letters[i].Replayed = replayed[letters[i].Position]
	}
	slices.SortStableFunc(letters, func(a, b deadLetter) int { return a.Written.Compare(b.Written) })
	if n := chosen.Count; n > 0 && len(letters) > n {
		letters = letters[len(letters)-n:]
	}
	return letters, nil
}

// whole returns a chosen letter with its record.
func (l *deadLetter) whole(ctx context.Context, reader recordReader) (record.Letter, error) {
	raw, err := reader.at(ctx, l.at, l.offset)
	if err != nil {
		return record.Letter{}, fmt.Errorf("dead letter %s: %w", l.Position, err)
	}
	letter, _ := record.ReadLetter(raw)
	return letter, nil
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
