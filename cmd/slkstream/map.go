package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/table"
)

var mapCommand = command{
	name: "map", args: "FILE|TOPIC",
	short: "show what a record, or a row of a file, becomes under the mapping",
	long: "map shows the first rows of a file, or the latest records of a topic, as fields: reads them: the item that each becomes, what is\n" +
		"not read, and why one would be a dead letter. It takes the settings of run that say how records are read, and changes nothing.\n" +
		"It exits with 1 if a record or row cannot be read.",
	example: "  slkstream map crops.parquet --vector-field feat --stream-field camera\n  slkstream map detections --config slkstream.yaml",
	run:     mapFields,
}

func mapFields(ctx context.Context, c *call) error {
	name := c.Args[0]
	m := &mapper{out: c.Out, found: foundFields{}}
	info, err := os.Stat(name)
	switch isFile := err == nil && !info.IsDir(); {
	case isFile && isLines(name):
		err = m.lines(ctx, c, name)
	case isFile:
		err = m.rows(c, name)
	case table.IsName(name):
		return fmt.Errorf("%s: no such file", name)
	default:
		err = m.topic(ctx, c, name)
	}
	if err == nil {
		err = m.summary()
	}
	if err == nil && m.bad > 0 {
		err = fmt.Errorf("%d of %d cannot be read", m.bad, m.shown)
	}
	return err
}

func isLines(path string) bool {
	end := strings.ToLower(filepath.Ext(path))
	return end == ".jsonl" || end == ".ndjson"
}

// mapper prints items, and counts what was found in them.
type mapper struct {
	out               io.Writer
	shown, items, bad int
	found             foundFields
	left              bool  // something is not read
	failed            error // of writing
}

// say prints what may hold texts of a sender.
func (m *mapper) say(format string, args ...any) {
	if _, err := fmt.Fprintf(m.out, format+"\n", withoutEscapes(args)...); m.failed == nil {
		m.failed = err
	}
}

// mappedFields are the fields in the order in which they are shown.
var mappedFields = []string{"vector", "id", "stream", "time", "label", "frame", "track", "model", "attributes"}

// values returns what an item has, in the order of mappedFields; "" what it has not.
func values(i *record.Item, received time.Time) []string {
	numbers := strings.Trim(fmt.Sprint(i.Vector[:min(3, len(i.Vector))]), "[]")
	if len(i.Vector) > 3 {
		numbers += " ..."
	}
	at := ""
	if !i.Time.IsZero() && !i.Time.Equal(received) {
		at = i.Time.Format(time.RFC3339Nano)
	}
	attributes := string(i.Attributes)
	if len(attributes) > attributeShown {
		attributes = strings.ToValidUTF8(attributes[:attributeShown], "") + "..."
	}
	return []string{
		fmt.Sprintf("%d numbers: %s", len(i.Vector), numbers), i.ItemID, i.Stream, at, i.Label, i.Frame, i.Track, i.Model, attributes,
	}
}

// foundFields counts the items that have a field, by the field's name.
type foundFields map[string]int

func (f foundFields) add(i *record.Item, received time.Time) {
	for at, value := range values(i, received) {
		if value != "" {
			f[mappedFields[at]]++
		}
	}
}

func (f foundFields) String() string {
	var parts []string
	for _, name := range mappedFields {
		parts = append(parts, fmt.Sprintf("%s %d", name, f[name]))
	}
	return strings.Join(parts, ", ")
}

// allLabelled tells what it means if every item has a label; "": not every one has.
func (f foundFields) allLabelled(items int) string {
	if items == 0 || f["label"] < items {
		return ""
	}
	return "each of these items has a label, so that it teaches and is not answered: if these are no labels, " +
		"--label-field names another field, --label-field - none"
}

// item prints an item.
func (m *mapper) item(i *record.Item, received time.Time) {
	m.items++
	m.found.add(i, received)
	for at, value := range values(i, received) {
		if value != "" {
			m.say("  %-11s%s", mappedFields[at], value)
		}
	}
}

// unread prints the names that no field is read from.
func (m *mapper) unread(names []string) {
	if len(names) > 0 {
		m.left = true
		m.say("  %-11s%s", "not read", strings.Join(names, ", "))
	}
}

// record shows what a record of a topic, or a line of a file, becomes.
func (m *mapper) record(ctx context.Context, d *record.Decoder, raw *record.Raw, where string) error {
	m.shown++
	items, err := d.Decode(ctx, raw, nil)
	m.say("%s", where)
	for i := range items {
		m.item(&items[i], raw.Time)
	}
	m.unread(d.Unread(raw.Value))
	var empty *record.Empty
	var bad *record.Rejection
	switch {
	case errors.As(err, &empty):
		m.say("  nothing to answer: %s", empty.Reason)
	case errors.As(err, &bad):
		m.bad++
		m.say("  DEAD LETTER: %v", bad)
		if lists := numbersAt(raw.Value); len(items) == 0 && len(lists) > 0 {
			m.say("  numbers at %s", strings.Join(lists, ", "))
		}
	case err != nil:
		return err
	}
	return m.failed
}

func (m *mapper) summary() error {
	m.say("%d read, %d bad, %d items; of these have %s", m.shown, m.bad, m.items, m.found)
	if m.left {
		m.say("--id-field NAME, --stream-field, --time-field, --label-field and their siblings read what is not read")
	}
	if says := m.found.allLabelled(m.items); says != "" {
		m.say("%s", says)
	}
	return m.failed
}

// most is how many are shown.
func most(c *call) int { return c.Config.Select.Count }

func (m *mapper) lines(ctx context.Context, c *call, path string) error {
	d, err := mapDecoder(c)
	if err != nil {
		return err
	}
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	in := bufio.NewScanner(file)
	in.Buffer(nil, 16<<20)
	for number := 1; m.shown < most(c) && in.Scan(); number++ {
		if line := strings.TrimSpace(in.Text()); line != "" {
			if err := m.record(ctx, d, &record.Raw{Topic: path, Value: []byte(line)}, fmt.Sprintf("%s line %d", path, number)); err != nil {
				return err
			}
		}
	}
	return in.Err()
}

func (m *mapper) rows(c *call, path string) error {
	source, err := table.Open(path, table.Reading{Fields: paths(c.Config.Stage.Field), Keep: true})
	if err != nil {
		return err
	}
	defer source.Close()
	for m.shown < most(c) {
		row, err := source.Next()
		var bad *table.BadRow
		switch {
		case err == io.EOF:
			return nil
		case errors.As(err, &bad):
			m.bad++
			m.say("row %d\n  BAD: %v", m.shown, err)
		case err != nil:
			return err
		default:
			m.say("%s %s", path, row.Where())
			m.item(&record.Item{
				Vector: row.Vector, ItemID: row.ID, Stream: row.Stream, Time: row.Time, Label: row.Label, Frame: row.Frame, Track: row.Track,
			}, time.Time{})
			m.unread(source.Unread)
		}
		m.shown++
	}
	return nil
}

func (m *mapper) topic(ctx context.Context, c *call, name string) error {
	d, err := mapDecoder(c)
	if err != nil {
		return err
	}
	client, err := c.kafka(ctx)
	if err != nil {
		return err
	}
	if _, err := client.Partitions(ctx, name); err != nil {
		return err
	}
	k := &checker{config: c.Config, client: client}
	var latest []*record.Raw
	if err := k.read(ctx, name, int64(most(c)), func(raw *record.Raw) { latest = append(latest, raw) }); err != nil {
		return err
	}
	if len(latest) == 0 {
		return fmt.Errorf("topic %s has no records", name)
	}
	for _, raw := range latest {
		where := fmt.Sprintf("%s/%d/%d, key %q, %d bytes", raw.Topic, raw.Partition, raw.Offset, raw.Key, len(raw.Value))
		if err := m.record(ctx, d, raw, where); err != nil {
			return err
		}
	}
	return nil
}

func mapDecoder(c *call) (*record.Decoder, error) {
	o, err := decoding(c.Config, c.Log)
	if err != nil {
		return nil, err
	}
	return record.NewDecoder(o)
}
