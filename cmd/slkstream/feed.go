package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/slkstream/slkstream/internal/array"
	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/table"
	"github.com/slkstream/slkstream/internal/telemetry"
	"github.com/slkstream/slkstream/internal/topic"
)

var feedCommand = command{
	name:  "feed",
	short: "send a file of vectors to a topic, at a rate",
	long: "feed sends each row of a file as one JSON record, with the row's fields; without a time, and with --loop, its time is\n" +
		"the moment it is sent. The first SIGINT or SIGTERM sends what was begun and\n" +
		"stops; a stop is no failure.",
	example: "  slkstream feed --input X.npy --key cam-7 --out embeddings --rate 50 --loop",
	run:     feed,
}

// batchOfFeed bounds the records of one send.
const batchOfFeed = 500

func feed(ctx context.Context, c *call) error {
	labels, err := readColumn("labels-file", c.Config.Feed.LabelsFile, array.ReadLabels)
	if err != nil {
		return err
	}
	keys, err := readColumn("keys", c.Config.Feed.Keys, func(path string) (keys []string, err error) {
		numbers, err := array.ReadIntegers(path)
		for _, n := range numbers {
			keys = append(keys, strconv.Itoa(int(n)))
		}
		return keys, err
	})
	if err != nil {
		return err
	}
	client, err := c.kafka(ctx)
	if err != nil {
		return err
	}
	out := c.Config.Topics.Out
	made := topic.Description{Name: out, Partitions: defaultPartitions}
	if err := c.prepareTopic(ctx, client, made); err != nil {
		return err
	}
	f := &feeder{
		client: client, topic: out, key: c.Config.Feed.Key, labels: labels, keys: keys, again: c.Config.Feed.Loop,
		pace: pace{c.Config.Feed.Rate, time.Now()},
	}
	defer c.report(f.figures)()
	for again := true; again; {
		total, err := f.file(ctx, c)
		if err != nil && !errors.Is(err, context.Canceled) {
			return err
		}
		again = err == nil && total > 0 && c.Config.Feed.Loop
	}
	about := []any{"records", f.sent.Load(), "topic", out, "took", time.Since(f.began).Round(time.Millisecond)}
	if f.named {
		about = append(about, "labels_are_corrected_by", "teach --stream "+f.key)
	}
	c.Log.Info("fed", about...)
	return nil
}

// defaultPartitions is the number of partitions of a topic that feed or teach creates on the embedded broker.
const defaultPartitions = 4

// prepareTopic creates a topic of the embedded broker on first use. On Kafka the topic must exist; check
// --create creates it.
func (c *call) prepareTopic(ctx context.Context, client *topic.Client, d topic.Description) error {
	if c.broker != nil {
		return client.Ensure(ctx, d)
	}
	for wait := 100 * time.Millisecond; ; wait = min(2*wait, 2*time.Second) {
		_, err := client.Partitions(ctx, d.Name)
		if err == nil {
			return nil
		}
		switch last := !topic.Temporary(err) || wait >= 2*time.Second; {
		case last && topic.IsMissing(err):
			return fmt.Errorf("%w; slkstream check --create makes the topics of a stage", err)
		case last:
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(wait):
		}
	}
}

// feeder sends rows to a topic, no faster than its rate.
type feeder struct {
	client *topic.Client
	topic  string
	key    string
	labels column
	keys   column
	again  bool // the file is sent again and again
	named  bool // rows with a label have the key for their stream
	pace
	sent  atomic.Int64
	rows  atomic.Int64 // of the file, -1 if known only after reading it
	speed telemetry.Rate
}

// figures returns the values to report while sending.
func (f *feeder) figures() []figure {
	sent := f.sent.Load()
	speed := f.speed.Add(time.Now(), sent)
	return []figure{
		{"sent", sent, progressLine(f.topic, sent, f.rows.Load(), 0)},
		{"per_second", int64(speed), thousands(int64(speed)) + "/s"},
	}
}

// file sends the file once and returns its number of rows.
func (f *feeder) file(ctx context.Context, c *call) (rows int64, err error) {
	source, err := openInput(c, false)
	if err != nil {
		return 0, err
	}
	f.rows.Store(source.Rows)
	if n := source.Rows; n >= 0 { // else the end of the file tells
		if err := f.fits(n); err != nil {
			return 0, errors.Join(err, source.Close())
		}
	}
	if c.Config.Feed.Loop {
		f.rows.Store(-1)
	}
	before, batch := f.sent.Load(), make([]record.Out, 0, batchOfFeed)
	skipped, first, skip := 0, (*table.BadRow)(nil), (func(*table.BadRow) error)(nil)
	if c.Config.Files.SkipBad {
		skip = func(bad *table.BadRow) error {
			skipped, first = skipped+1, cmp.Or(first, bad)
			rows++
			return nil
		}
	}
	err = eachRowOf(source, func(row table.Row) error {
		out, err := f.record(row, rows)
		if err != nil {
			return err
		}
		batch = append(batch, out)
		rows++
		early := f.due(f.sent.Load()+int64(len(batch)), time.Now()) > 0
		if len(batch) < batchOfFeed && !early {
			return nil
		}
		err = f.send(ctx, batch)
		batch = batch[:0]
		return err
	}, skip)
	if len(batch) > 0 { // also the rows before a bad one
		err = errors.Join(err, f.send(ctx, batch))
	}
	err = cmp.Or(err, f.fits(rows))
	if sent := f.sent.Load() - before; err != nil && sent > 0 {
		err = fmt.Errorf("%w; %d rows were sent: feed a file of those behind them, as a row that is sent again is answered "+
			"again (with the same itemId)", err, sent)
	}
	if skipped > 0 {
		c.Log.Warn("rows that are bad are left out", "rows", skipped, "first", first)
	}
	return rows, err
}

func (f *feeder) fits(rows int64) error { return errors.Join(f.labels.fits(rows), f.keys.fits(rows)) }

// pace limits the rate of records.
type pace struct {
	rate  float64 // records per second; 0: unlimited
	began time.Time
}

// due returns how long after now so many records may have been sent.
func (p pace) due(records int64, now time.Time) time.Duration {
	if p.rate == 0 {
		return 0
	}
	return time.Duration(float64(records)/p.rate*float64(time.Second)) - now.Sub(p.began)
}

// wait waits until so many records may have been sent, or ctx ends.
func (p pace) wait(ctx context.Context, records int64) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(p.due(records, time.Now())):
		return nil
	}
}

// send waits until the batch is due and writes it.
func (f *feeder) send(ctx context.Context, batch []record.Out) error {
	if err := f.wait(ctx, f.sent.Load()+int64(len(batch))); err != nil {
		return err
	}
	if err := f.client.Write(ctx, batch); err != nil {
		return fmt.Errorf("topic %s: %w", f.topic, err)
	}
	f.sent.Add(int64(len(batch)))
	return nil
}

// record makes a row's record.
func (f *feeder) record(row table.Row, number int64) (record.Out, error) {
	label, noLabel := f.labels.at(number)
	key, noKey := f.keys.at(number)
	now := time.Now()
	e := record.Example{
		ID: cmp.Or(row.ID, strconv.FormatInt(number, 10)), Stream: row.Stream, Label: row.Label, Model: row.Model,
		Frame: row.Frame, Track: row.Track, Vector: row.Vector, Time: now, Attributes: row.Attributes,
	}
	if !row.Time.IsZero() && !f.again { // the second time round it would go back
		e.Time = row.Time
	}
	if f.labels.setting != "" {
		e.Label = label
	}
	out := record.Out{Topic: f.topic, Partition: -1, Time: now, Value: record.AppendExample(nil, &e)}
	f.named = f.named || e.Label != "" && row.Stream == "" && key == "" && f.key != ""
	if key = cmp.Or(key, f.key, row.Stream); key != "" {
		out.Key = []byte(key)
	}
	return out, errors.Join(noLabel, noKey)
}
