package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/topic"
)

var tailCommand = command{
	name: "tail", args: "TOPIC...",
	short: "read results, or any other topic of the stage, as they come",
	long: "tail reads topics until it is stopped, until --count records were shown, or up to --to: results, episodes, reviews,\n" +
		"dead letters, labels, embeddings. First answers, of --now, are marked with ~.\n" +
		"On a terminal it prints a table, into a pipe or a file one JSON object per line,\n" +
		"whose long attributes, such as pictures, are cut unless --full.",
	example: "  slkstream tail results --from earliest --count 20\n  slkstream tail results --to latest\n" +
		"  slkstream tail results --unknown | jq .itemId",
	run: onKafka(tail),
}

func tail(ctx context.Context, c *call, client *topic.Client) error {
	var partitions []topic.TopicPartition
	for _, name := range c.Args {
		n, err := client.Partitions(ctx, name)
		if err != nil {
			return err
		}
		for p := range int32(n) {
			partitions = append(partitions, topic.TopicPartition{Topic: name, Partition: p})
		}
	}
	if c.Config.Backfill.To != "" && !c.Config.Given("from") {
		c.Config.Backfill.From = "earliest"
	}
	ctx, stop := context.WithCancel(ctx)
	read, ended, running := make(chan *record.Raw), make(chan error), len(partitions)
	for _, at := range partitions {
		go func() { ended <- follow(ctx, c, client, at, read) }()
	}
	defer func() { // the readers must end before the client closes
		stop()
		for range running {
			<-ended
		}
	}()
	if c.Config.Backfill.To == "" {
		c.tellEmpty(ctx, client)
	}
	file, ok := c.Out.(*os.File)
	p := &tailPrinter{
		out: c.Out, table: ok && term.IsTerminal(int(file.Fd())), stream: c.Config.Select.Stream,
		unknown: c.Config.Select.Unknown, full: c.Config.Output.Full, raw: c.Config.Output.Raw,
	}
	for count := 0; running > 0 && (c.Config.Select.Count == 0 || count < c.Config.Select.Count); {
		select {
		case <-ctx.Done():
			return nil
		case err := <-ended:
			running--
			if err != nil && ctx.Err() == nil {
				return err
			}
		case raw := <-read:
			took, err := p.take(raw)
			if err != nil {
				return err
			}
			if took {
				count++
			}
		}
	}
	return nil
}

// tellEmpty says which topics have no records, because tail then shows nothing until one comes.
func (c *call) tellEmpty(ctx context.Context, client *topic.Client) {
	for _, name := range c.Args {
		spans, err := client.Spans(ctx, c.Config.Delivery.Isolation == "read-committed", name)
		if err == nil && !slices.ContainsFunc(spans, func(s topic.Span) bool { return s.From < s.To }) {
			c.Log.Info("the topic has no records yet: waiting for the first", "topic", name)
		}
	}
}

// follow reads a partition from the offset of --from to that of --to, as of the start; without --to it
// does not end.
func follow(ctx context.Context, c *call, client *topic.Client, at topic.TopicPartition,
	out chan<- *record.Raw,
) error {
	committed := c.Config.Delivery.Isolation == "read-committed"
	offset, err := client.OffsetNamed(ctx, at.Topic, at.Partition, c.Config.Backfill.From, committed)
	if err != nil {
		return fmt.Errorf("from: %w", err)
	}
	end := topic.Endless
	if to := c.Config.Backfill.To; to != "" {
		if end, err = client.OffsetNamed(ctx, at.Topic, at.Partition, to, committed); err != nil {
			return fmt.Errorf("to: %w", err)
		}
	}
	span := topic.Span{TopicPartition: at, From: offset, To: end, Uncommitted: !committed}
	for raw, err := range client.Records(ctx, span) {
		if err != nil {
			return err
		}
		select {
		case out <- raw:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// seen holds the parts of any record that are shown.
type seen struct {
	ID         string   `json:"id"`
	ItemID     string   `json:"itemId"`
	Stream     string   `json:"stream"`
	Episode    int64    `json:"episode"`
	Settled    *bool    `json:"settled"` // false: a first answer
	Label      string   `json:"label"`
	Confidence *float64 `json:"confidence"`
	Unknown    any      `json:"unknown"` // true or false in a result, a count in an episode
	Others     []struct {
		Label      string  `json:"label"`
		Confidence float64 `json:"confidence"`
	} `json:"alternatives"`
	Time   time.Time     `json:"time"`
	Guess  *record.Guess `json:"guess"`
	Closed string        `json:"closed"`
	Count  int           `json:"count"`
	Solve  float64       `json:"solveSeconds"`
	// Of corrections:
	Old   *record.Called `json:"old"`
	New   *record.Called `json:"new"`
	Cause record.Cause   `json:"cause"`
}

// tailPrinter prints records as they come: rows of a table, or JSON.
type tailPrinter struct {
	out     io.Writer
	table   bool
	heading string // last printed
	stream  string
	unknown bool
	full    bool // attributes are never cut
	raw     bool // control characters are kept
}

// take prints a record if it is wanted.
func (p *tailPrinter) take(raw *record.Raw) (took bool, err error) {
	var s seen
	_ = json.Unmarshal(raw.Value, &s) // a member of another type leaves the others as they are
	isJSON := json.Valid(raw.Value)
	unknown, _ := s.Unknown.(bool)
	if s.Guess != nil {
		unknown = s.Guess.Unknown
	}
	if p.stream != "" && p.stream != cmp.Or(s.Stream, string(raw.Key)) || p.unknown && !unknown {
		return false, nil
	}
	if !p.table {
		return true, p.json(raw, isJSON)
	}
	heading, row := rowOf(raw, &s, isJSON)
	if !p.raw {
		row = printable(row, len(row))
	}
	if heading != p.heading {
		p.heading = heading
		row = heading + "\n" + row
	}
	_, err = fmt.Fprintln(p.out, row)
	return true, err
}

// rowOf returns a record as a row, and the heading of rows of its kind.
func rowOf(raw *record.Raw, s *seen, isJSON bool) (heading, row string) {
	if s.Time.IsZero() {
		s.Time = raw.Time
	}
	at := s.Time.Local().Format("15:04:05.000")
	letter, _ := record.ReadLetter(raw) // of any program's: the error's header makes it one
	switch {
	case letter.Reason != "":
		return cells("TIME", -12, at, "FROM", -30, letter.Source.ID(), "ERROR", 0, letter.Reason)
	case s.Old != nil && s.New != nil:
		return cells("TIME", -12, at, "CORRECTED RESULT", -30, s.ID, "OLD -> NEW", -32,
			fmt.Sprintf("%s -> %s", called(s.Old), called(s.New)), "CAUSE", 0, strings.TrimSpace(s.Cause.Kind+" "+s.Cause.By))
	case s.Guess != nil:
		return cells("TIME", -12, at, "STREAM", -16, s.Stream, "ITEM TO REVIEW", -24, s.ID, "GUESS", -20,
			s.Guess.Label, "CONFIDENCE", 0, fmt.Sprintf("%3.0f %%", 100*s.Guess.Confidence))
	case s.Closed != "":
		return cells("TIME", -12, at, "STREAM", -16, s.Stream, "EPISODE", 8, s.Episode, "ITEMS", 6, s.Count,
			"CLOSED", -8, s.Closed, "SOLVED IN", 0, fmt.Sprintf("%.1f ms", 1000*s.Solve))
	case s.Confidence != nil:
		label, next := s.Label, ""
		if s.Unknown == true {
			label = "? " + label
		}
		if s.Settled != nil && !*s.Settled {
			label = "~ " + label
		}
		if len(s.Others) > 0 {
			next = fmt.Sprintf("%s %.0f %%", s.Others[0].Label, 100*s.Others[0].Confidence)
		}
		return cells("TIME", -12, at, "STREAM", -16, s.Stream, "ITEM", -24, cmp.Or(s.ItemID, s.ID),
			"LABEL (? UNKNOWN)", -20, label, "CONFIDENCE", 10, fmt.Sprintf("%3.0f %%", 100**s.Confidence),
			"NEXT BEST", 0, next)
	}
	what := s.Label
	switch {
	case len(raw.Value) == 0:
		what = "(forgotten)"
	case !isJSON:
		what = fmt.Sprintf("(%d bytes)", len(raw.Value))
	}
	return cells("TIME", -12, at, "KEY", -24, string(raw.Key), "STREAM", -16, s.Stream, "ID", -24, s.ID,
		"LABEL", 0, what)
}

// called is a label with its confidence; an item whose class was forgotten has none.
func called(c *record.Called) string {
	if c.Label == "" {
		return "(none)"
	}
	return fmt.Sprintf("%s %.0f %%", c.Label, 100*c.Confidence)
}

// cells formats a row and its heading from the name, the width (below 0: aligned at the left) and the value
// of each cell.
func cells(of ...any) (heading, row string) {
	for i := 0; i < len(of); i += 3 {
		heading += fmt.Sprintf("%*s  ", of[i+1], of[i])
		row += fmt.Sprintf("%*v  ", of[i+1], of[i+2])
	}
	return strings.TrimRight(heading, " "), strings.TrimRight(row, " ")
}

// json prints a record unchanged if it is a JSON object and not a dead letter; otherwise within an object.
func (p *tailPrinter) json(raw *record.Raw, isJSON bool) error {
	letter, _ := record.ReadLetter(raw)
	var line bytes.Buffer
	if isJSON && letter.Reason == "" {
		value := raw.Value
		if !p.full {
			value = withoutLong(value)
		}
		if err := json.Compact(&line, value); err != nil {
			return err
		}
	} else {
		holder := struct {
			Topic     string          `json:"topic"`
			Partition int32           `json:"partition"`
			Offset    int64           `json:"offset"`
			Key       string          `json:"key,omitempty"`
			Error     string          `json:"error,omitempty"`
			From      string          `json:"from,omitempty"`
			Value     json.RawMessage `json:"value"`
		}{Topic: raw.Topic, Partition: raw.Partition, Offset: raw.Offset, Key: string(raw.Key), Error: letter.Reason}
		if letter.Reason != "" && letter.Source.Topic != "" {
			holder.From = letter.Source.ID()
		}
		switch {
		case raw.Value == nil:
			holder.Value = json.RawMessage("null")
		case isJSON:
			holder.Value = raw.Value
		default:
			holder.Value = json.RawMessage(strconv.Quote(base64.StdEncoding.EncodeToString(raw.Value)))
		}
		if err := json.NewEncoder(&line).Encode(holder); err != nil {
			return errors.Join(err, fmt.Errorf("%s/%d/%d", raw.Topic, raw.Partition, raw.Offset))
		}
		line.Truncate(line.Len() - 1)
	}
	line.WriteByte('\n')
	_, err := p.out.Write(line.Bytes())
	return err
}

// attributeShown bounds the bytes shown of a text within attributes.
const attributeShown = 200

// withoutLong shortens long texts in a JSON object's attributes: a picture in each line would
// hide the answers.
func withoutLong(object []byte) []byte {
	var holder struct {
		Attributes json.RawMessage `json:"attributes"`
	}
	if len(object) < attributeShown || json.Unmarshal(object, &holder) != nil || len(holder.Attributes) < attributeShown {
		return object
	}
	var attributes any
	decoder := json.NewDecoder(bytes.NewReader(holder.Attributes))
	decoder.UseNumber()
	if decoder.Decode(&attributes) != nil {
		return object
	}
	short, err := json.Marshal(cutTexts(attributes))
	if err != nil {
		return object
	}
	return bytes.Replace(object, holder.Attributes, short, 1)
}

func cutTexts(value any) any {
	switch v := value.(type) {
	case string:
		if len(v) > attributeShown {
			return strings.ToValidUTF8(v[:attributeShown], "") + fmt.Sprintf("... (%d bytes; --full shows all)", len(v))
		}
	case []any:
		for i := range v {
			v[i] = cutTexts(v[i])
		}
	case map[string]any:
		for name := range v {
			v[name] = cutTexts(v[name])
		}
	}
	return value
}
