package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/slkstream/slkstream/internal/evaluate"
	"github.com/slkstream/slkstream/internal/recent"
	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/topic"
	"github.com/slkstream/slkstream/pipeline"
)

// relabelSection measures a running stage whose labels change.
var relabelSection = section{name: "relabel", title: "Recent items of a running stage corrected", run: benchRelabel}

func benchRelabel(ctx context.Context, b *bench) error {
	k, stop, err := startKafka()
	if err != nil {
		return err
	}
	defer stop()
	return k.corrected(ctx, b)
}

// running starts a stage with a labels topic on an input of its own, and the topics that it needs.
func (k *kafkaBench) running(ctx context.Context, change func(*pipeline.Options)) (
	o pipeline.Options, stop func() error, err error,
) {
	if o, err = k.options(fmt.Sprintf("relabel-in-%d", k.runs), false); err != nil {
		return o, nil, err
	}
	o.Labels = o.Out + "-taught"
	change(&o)
	for _, d := range []topic.Description{
		{Name: o.In[0], Partitions: streamPartitions},
		{Name: o.Out, Partitions: streamPartitions},
		{Name: o.Labels, Partitions: 1},
		{Name: o.Corrections, Partitions: streamPartitions},
	} {
		if d.Name == "" {
			continue
		}
		if err := k.client.Create(ctx, d); err != nil {
			return o, nil, err
		}
	}
	s, err := pipeline.New(k.client, o)
	if err != nil {
		return o, nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	return o, func() error { cancel(); return <-ended }, nil
}

// corrected measures how soon all corrections of recent items are written after a label or a name.
func (k *kafkaBench) corrected(ctx context.Context, b *bench) (err error) {
	n, rounds := 100_000, 5
	if b.Quick {
		n, rounds = 8000, 1
	}
	store := recent.New(512 << 20)
	o, stop, err := k.running(ctx, func(o *pipeline.Options) {
		o.Corrections, o.Recent = o.Out+"-corrections", store
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	order := turns(n / (streamStreams * streamEpisode) * streamStreams * streamEpisode)
	for from := 0; from < len(order); from += 1000 {
		list := k.records(o.In[0], order, from, min(len(order), from+1000))
		if err := k.client.Write(ctx, list); err != nil {
			return err
		}
	}
	held := func() int {
		items, _ := store.Reach()
		return items
	}
	if err := await(ctx, func() (bool, error) { return held() == len(order), nil }); err != nil {
		return err
	}
	var item recent.Item
	store.Each(func(it *recent.Item) {
		if item.Name == "" && it.Label == "class-1" {
			item = *it
		}
	})
	vector := store.Find(item.Name)[item.Name].Vector
	if vector == nil {
		return errors.New("relabel: no recent item of class-1")
	}
	changes := []struct {
		what string
		out  func() record.Out
	}{
		{"a label", func() record.Out {
			return record.Teach(o.Labels, &record.Example{ID: item.Name, Label: "class-2", Vector: vector})
		}},
		{"it is rejected again", func() record.Out {
			return record.Not(o.Labels, &record.NotThis{ID: item.Name, Not: []string{"class-2"}, Vector: vector})
		}},
		{"a name", func() record.Out {
			return record.NameRecord(o.Labels, &record.Name{Name: "class-3", Into: "anna"})
		}},
		{"the name is taken back", func() record.Out {
			return record.Forget(o.Labels, record.NameKey("class-3", ""))
		}},
	}
	times, corrections := make([][]float64, len(changes)), make([]int64, len(changes))
	for range rounds {
		for i := range changes {
			took, count, err := k.correctionsOf(ctx, o.Corrections, changes[i].out())
			if err != nil {
				return err
			}
			times[i], corrections[i] = append(times[i], took), count
		}
	}
	var rows [][]string
	var worst float64
	for i := range changes {
		took := evaluate.Median(times[i])
		worst = max(worst, took)
		rows = append(rows, []string{changes[i].what, fmt.Sprint(corrections[i]), fmt.Sprintf("%.2f", took)})
	}
	b.Text("%d recent items of %d float32 in %d partitions, %d MB. From the acknowledgement of the label to "+
		"that of the last correction; medians of %d.", held(), streamDimension, streamPartitions,
		store.Bytes()>>20, rounds)
	b.Table([]string{"change", "corrections", "seconds"}, rows)
	b.Figure("corrections-seconds", "%.2f", worst)
	return nil
}

// correctionsOf writes a record of the labels topic, and returns the time until the last of its corrections
// is written, and their number. They count as complete when none has come for two seconds.
func (k *kafkaBench) correctionsOf(ctx context.Context, name string, change record.Out) (
	took float64, count int64, err error,
) {
	before, err := k.written(ctx, name)
	if err != nil {
		return 0, 0, err
	}
	if err := k.client.Write(ctx, []record.Out{change}); err != nil {
		return 0, 0, err
	}
	begin := time.Now()
	last := begin
	err = await(ctx, func() (bool, error) {
		now, err := k.written(ctx, name)
		if now -= before; now != count {
			count, last = now, time.Now()
		}
		return count > 0 && time.Since(last) > 2*time.Second, err
	})
	return last.Sub(begin).Seconds(), count, err
}

// written returns the number of records in a topic.
func (k *kafkaBench) written(ctx context.Context, name string) (sum int64, err error) {
	for p := range int32(streamPartitions) {
		end, err := k.client.Offset(ctx, name, p, topic.Latest, false)
		if err != nil {
			return 0, err
		}
		sum += end
	}
	return sum, nil
}

// await waits until a condition holds, for at most five minutes.
func await(ctx context.Context, holds func() (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	for {
		if done, err := holds(); done || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("relabel: %w", ctx.Err())
		case <-time.After(5 * time.Millisecond):
		}
	}
}
