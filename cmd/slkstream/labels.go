package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/topic"
	"github.com/slkstream/slkstream/pipeline/labels"
)

var labelsCommand = command{
	name: "labels", short: "list, export or import the labels topic: examples, rejections, names",
	of: []command{
		{
			name:  "labels list",
			short: "list what is in force: examples, rejections and names, with author and time",
			run:   onKafka(listLabels),
		},
		{
			name:  "labels history",
			short: "list every record that the labels topic still has, oldest first",
			run:   onKafka(listLabels),
		},
		{
			name:  "labels export",
			short: "write what is in force as JSON lines: examples, rejections and names",
			long: "export writes what holds, one record per line, with its key. labels import writes all of it\n" +
				"to a topic again, and teach reads lines of examples, of which some may have been changed.",
			run: onKafka(exportLabels),
		},
		{
			name: "labels import", args: "FILE",
			short: "write to the labels topic what labels export wrote, with author and time",
			long: "import writes the examples, rejections and names of a file by export to the labels topic, under\n" +
				"their keys: what that topic has under one of these keys is replaced, all else stays. A line that\n" +
				"is none of them refuses the whole file.",
			example: "  slkstream labels import labels.jsonl --labels labels",
			run:     importLabels,
		},
	},
}

// labelEntries reads the labels topic.
func (c *call) labelEntries(ctx context.Context, client *topic.Client) ([]labels.Entry, error) {
	return labels.ReadEntries(ctx, client, c.Config.Topics.Labels, record.Options{}, c.Log)
}

// chosenLabels returns the entries of the labels topic that the settings select.
func chosenLabels(ctx context.Context, c *call, client *topic.Client) ([]labels.Entry, error) {
	all, err := c.labelEntries(ctx, client)
	s := &c.Config.Select
	return slices.DeleteFunc(all, func(e labels.Entry) bool {
		return s.Stream != "" && e.Stream() != s.Stream || s.Class != "" && !isAbout(&e, s.Class)
	}), err
}

func isAbout(e *labels.Entry, class string) bool {
	return e.Class() == class || slices.Contains(e.Called, class) ||
		e.Not != nil && slices.Contains(e.Not.Not, class)
}

// labelRow is a printed record of the labels topic.
type labelRow struct {
	Kind   string    `json:"kind"` // example, rejection, name, forgotten, undone, reset
	Key    string    `json:"key,omitempty"`
	Stream string    `json:"stream,omitempty"`
	Says   string    `json:"says"`
	Called string    `json:"called,omitempty"` // the present name of its class
	By     string    `json:"by,omitempty"`
	At     time.Time `json:"at"` // the record's own time, else when it was written
	Holds  bool      `json:"holds"`
	Why    string    `json:"why,omitempty"` // a record that is neither replaced nor forgotten is not in force
}

func labelRowOf(e *labels.Entry) labelRow {
	r := labelRow{Key: e.Key, Stream: e.Stream(), By: e.By, At: e.At, Why: e.Unused}
	r.Holds = e.Holds && e.Unused == ""
	if r.At.IsZero() {
		r.At = e.Written
	}
	switch {
	case e.Teach != nil:
		r.Kind, r.Says = "example", e.Teach.Label
	case e.Not != nil:
		r.Kind, r.Says = "rejection", "not "+strings.Join(e.Not.Not, ", ")
	case e.Reset != nil:
		r.Kind, r.Says = "reset", e.Reset.Class
	case e.Name == nil:
		r.Kind = "undone"
	case e.Name.Into == "":
		r.Kind, r.Says = "forgotten", e.Name.Name
	default:
		r.Kind, r.Says = "name", e.Name.Name+" -> "+e.Name.Into
	}
	if n := len(e.Called); n > 0 {
		r.Called = e.Called[n-1]
	}
	return r
}

func listLabels(ctx context.Context, c *call, client *topic.Client) error {
	history := c.Config.Command() == "labels history"
	entries, err := chosenLabels(ctx, c, client)
	if err != nil {
		return err
	}
	p := newList(c, "KIND\tKEY\tSTREAM\tWHAT\tRENAMED TO\tBY\tTIME\tIN FORCE")
	shown, unused := 0, 0
	for i := range entries {
		e := &entries[i]
		statement := e.Teach != nil || e.Not != nil || e.Name != nil
		if !history && (!e.Holds || !statement) {
			continue
		}
		shown++
		r := labelRowOf(e)
		inForce := strconv.FormatBool(r.Holds)
		if r.Why != "" {
			inForce = "no: " + r.Why
			unused++
		}
		p.print(r, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s", r.Kind, r.Key, r.Stream, r.Says, r.Called, r.By,
			r.At.UTC().Format(time.RFC3339), inForce)
	}
	if unused > 0 {
		c.Log.Warn("not all that is listed is in force: the list says why; check compares it with the feed",
			"count", unused)
	}
	c.Log.Info("labels", "topic", c.Config.Topics.Labels, "shown", shown)
	return p.close()
}

func exportLabels(ctx context.Context, c *call, client *topic.Client) error {
	entries, err := chosenLabels(ctx, c, client)
	if err != nil {
		return err
	}
	lines, written := bufio.NewWriter(c.Out), 0
	for i := range entries {
		e := &entries[i]
		if !e.Holds || e.Name != nil && e.Unused != "" {
			continue
		}
		out, ok := labelRecord("", &e.Label)
		if !ok {
			continue
		}
		written++
		if err := writeKeyed(lines, &out); err != nil {
			return err
		}
	}
	c.Log.Info("exported", "topic", c.Config.Topics.Labels, "records", written)
	return lines.Flush()
}

// labelRecord returns the record that says what a label says; false: of none that is exported.
func labelRecord(topic string, l *record.Label) (record.Out, bool) {
	switch {
	case l.Teach != nil:
		t := l.Teach
		return record.Teach(topic, &record.Example{
			ID: l.Key, ItemID: l.ItemID, Stream: t.Stream, Label: t.Label, Model: t.Model, Vector: t.Vector,
			Frame: t.Frame, Track: t.Track, Attributes: t.Attributes, By: l.By, At: l.At,
		}), true
	case l.Not != nil:
		return record.Not(topic, l.Not), true
	case l.Name != nil:
		return record.NameRecord(topic, l.Name), true
	}
	return record.Out{}, false
}

// keyMember is the member of an exported line that holds the record's key; the others are those of its value.
const keyMember = "key"

// writeKeyed writes a line.
func writeKeyed(to *bufio.Writer, out *record.Out) error {
	key, err := json.Marshal(string(out.Key))
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(to, "{%q:%s,%s\n", keyMember, key, bytes.TrimPrefix(out.Value, []byte("{")))
	return err
}

func importLabels(ctx context.Context, c *call) error {
	path := c.Args[0]
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	decoder, err := record.NewDecoder(record.Options{})
	if err != nil {
		return err
	}
	// A later line may be bad, so nothing is sent yet.
	var records []record.Out
	in := json.NewDecoder(bufio.NewReader(file))
	for n := 1; ; n++ {
		line := map[string]json.RawMessage{}
		if err = in.Decode(&line); errors.Is(err, io.EOF) {
			break
		}
		var out record.Out
		if err == nil {
			out, err = labelOf(ctx, decoder, c.Config.Topics.Labels, line)
		}
		if err != nil {
			return fmt.Errorf("%s: line %d: %w", path, n, err)
		}
		records = append(records, out)
	}
	if len(records) == 0 {
		return fmt.Errorf("%s has no lines", path)
	}
	client, err := c.kafka(ctx)
	if err != nil {
		return err
	}
	if err := c.writeLabels(ctx, client, records...); err != nil {
		return err
	}
	c.Log.Info("imported", "topic", c.Config.Topics.Labels, "records", len(records))
	return nil
}

// labelOf returns the record of an exported line.
func labelOf(ctx context.Context, by *record.Decoder, topic string, line map[string]json.RawMessage) (record.Out, error) {
	key := ""
	if json.Unmarshal(line[keyMember], &key) != nil || key == "" {
		return record.Out{}, errors.New("no key: labels export writes it; teach takes examples without")
	}
	delete(line, keyMember)
	value, err := json.Marshal(line)
	if err != nil {
		return record.Out{}, err
	}
	label, err := by.DecodeLabel(ctx, &record.Raw{Topic: topic, Key: []byte(key), Value: value})
	if err != nil {
		return record.Out{}, err
	}
	out, _ := labelRecord(topic, &label) // a value that is not empty teaches, rejects or names
	return out, nil
}
