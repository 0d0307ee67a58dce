package main

import (
	"bufio"
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/topic"
	"github.com/slkstream/slkstream/pipeline/labels"
)

var labelsCommand = command{
	name: "labels", short: "list or export the labels topic: examples, rejections, names",
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
			short: "write what is in force as JSON lines: teach reads the examples back",
			long: "export writes what holds, one record per line. teach reads a file of examples back;\n" +
				"a line of a rejection or a name is the value of its record, and goes back with its key.",
			run: onKafka(exportLabels),
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
	out, written := bufio.NewWriter(c.Out), 0
	for i := range entries {
		e := &entries[i]
		if !e.Holds || e.Name != nil && e.Unused != "" {
			continue
		}
		var value []byte
		switch {
		case e.Teach != nil:
			value = record.AppendExample(nil, &record.Example{
				ID: e.Key, ItemID: e.ItemID, Stream: e.Teach.Stream, Label: e.Teach.Label, Model: e.Teach.Model, Vector: e.Teach.Vector,
				By: e.By, At: e.At,
			})
		case e.Not != nil:
			value = record.Not("", e.Not).Value
		case e.Name != nil:
			value = record.NameRecord("", e.Name).Value
		default:
			continue
		}
		written++
		if _, err := out.Write(append(value, '\n')); err != nil {
			return err
		}
	}
	c.Log.Info("exported", "topic", c.Config.Topics.Labels, "records", written)
	return out.Flush()
}
