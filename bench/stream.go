package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/slkstream/slkstream/config"
	"github.com/slkstream/slkstream/consumer"
	"github.com/slkstream/slkstream/internal/evaluate"
	"github.com/slkstream/slkstream/internal/recent"
	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/topic"
	"github.com/slkstream/slkstream/pipeline"
	"github.com/slkstream/slkstream/pipeline/answering"
	"github.com/slkstream/slkstream/pipeline/first"
	"github.com/slkstream/slkstream/producer"
	"github.com/slkstream/slkstream/solver/stream"
)

const (
	streamDimension  = 512
	streamClasses    = 10
	streamEpisode    = 100
	streamPartitions = 4
	streamStreams    = 16
	// streamAhead is more records than a stage reads ahead of its answers: 32 MiB of closed episodes in each
	// partition, the open ones and a fetch or two. With that many records after the measured ones, it reads
	// ahead until the measurement ends, so that each part of the run pays for its own records.
	streamAhead = 46 * streamEpisode * streamStreams
)

// streamSection compares the whole stage with passing records through unchanged.
var streamSection = section{
	name:  "stream",
	title: "The whole stage: 512-d float32, episodes of 100, ten classes",
	run:   benchStream,
}

func benchStream(ctx context.Context, b *bench) error {
	k, stop, err := startKafka()
	if err != nil {
		return err
	}
	defer stop()
	k.n = 110 * streamEpisode * streamStreams
	if b.Quick {
		k.n = 8 * streamEpisode * streamStreams
	}
	if err := k.fill(ctx); err != nil {
		return err
	}
	if b.Profile != "" {
		return profileStage(ctx, k, b.Profile, b.Rounds())
	}
	var first, spentNew []float64
	var spent [4][]float64 // CPU seconds per record
	medians, err := b.Alternate(
		func() (float64, error) {
			rate, err := k.passThrough(ctx, nil, 0, false)
			spent[0] = append(spent[0], k.spent)
			return rate, err
		},
		func() (float64, error) {
			r, err := k.stage(ctx, false, 0)
			first, spent[1] = append(first, r.first), append(spent[1], k.spent)
			spentNew = append(spentNew, k.spentNew)
			return r.rate, err
		},
		func() (float64, error) {
			r, err := k.stage(ctx, true, 0)
			spent[2] = append(spent[2], k.spent)
			return r.rate, err
		},
		func() (float64, error) {
			r, err := k.stageAsRun(ctx)
			spent[3] = append(spent[3], k.spent)
			return r.rate, err
		},
	)
	if err != nil {
		return err
	}
	half, inTransactions := medians[1]/2, medians[2]/2
	w, err := k.waits(ctx, b, half, false)
	if err != nil {
		return err
	}
	t, err := k.waits(ctx, b, inTransactions, true)
	if err != nil {
		return err
	}
	where := "on the embedded broker in the same process"
	if os.Getenv("SLKSTREAM_TEST_BROKERS") != "" {
		where = "on a real Apache Kafka on the same machine"
	}
	b.Text("%d records of %d streams in %d partitions %s, %d-d float32, episodes of %d, %d classes with "+
		"five labelled items each, results of %d bytes. Passthrough reads with kafka-go's connections in a "+
		"consumer group, decodes nothing, and writes values of the results' size with acknowledgement of "+
		"all replicas.",
		k.n, streamStreams, streamPartitions, where, streamDimension, streamEpisode, streamClasses, k.out)
	cost := func(i int) string { return fmt.Sprintf("%.1f", 1e6*evaluate.Median(spent[i])) }
	b.Table([]string{"", "records/s", "of passthrough", "CPU us a record, all of the process"}, [][]string{
		{"passthrough", fmt.Sprintf("%.0f", medians[0]), "100 %", cost(0)},
		{"at least once", fmt.Sprintf("%.0f", medians[1]), percent(medians[1] / medians[0]), cost(1)},
		{"exactly once", fmt.Sprintf("%.0f", medians[2]), percent(medians[2] / medians[0]), cost(2)},
		{
			"at least once, with reviews and recent items as `run` has them", fmt.Sprintf("%.0f", medians[3]),
			percent(medians[3] / medians[0]), cost(3),
		},
	})
	b.Text("Rates and CPU times are of the last two fifths of those records, when each stream has seen %d "+
		"episodes. %d more lie behind them in the input, more than a stage reads ahead of what it answers, so "+
		"that as much is read as is answered while it is measured.",
		3*k.n/streamStreams/streamEpisode/5, streamAhead)
	b.Text("While streams are new, they learn from every episode and make their metric often: the first third "+
		"goes at %.0f records/s and %.1f us of CPU a record, %s of the settled rate, %s by CPU.",
		evaluate.Median(first), 1e6*evaluate.Median(spentNew), percent(evaluate.Median(first)/medians[1]),
		percent(evaluate.Median(spent[1])/evaluate.Median(spentNew)))
	b.Text("At half that load (%.0f records/s, fed while it is read), from an episode's close to the "+
		"acknowledgement of its results in the last two fifths: p99 %.1f ms, p99.9 %.1f ms; p99 of a "+
		"passthrough's record from read to acknowledgement %.1f ms; bar 2 ms + 2 x that = %.1f ms. In the "+
		"first third, while all streams are new at once, p99 %.1f ms.",
		half, 1e3*w.settled, 1e3*w.longest, 1e3*w.passing, 2+2e3*w.passing, 1e3*w.new)
	b.Text("In transactions, at half of what it does then (%.0f records/s): p99 %.1f ms, p99.9 %.1f ms; p99 of "+
		"a passthrough in transactions %.1f ms; bar the commit interval of 100 ms + 3 x that = %.1f ms; in the "+
		"first third p99 %.1f ms. Exactly once does %s of at least once. Each p99 is the median of the rounds, "+
		"p99.9 is of all their episodes together.",
		inTransactions, 1e3*t.settled, 1e3*t.longest, 1e3*t.passing, 100+3e3*t.passing, 1e3*t.new,
		percent(medians[2]/medians[1]))
	b.Figure("stream-share", "%s", percent(medians[1]/medians[0]))
	b.Figure("stream-rate", "%.0f", medians[1])
	b.Figure("stream-new", "%s", percent(evaluate.Median(first)/medians[1]))
	return nil
}

// waits are p99s at a rate, medians of the rounds: from an episode's close to its results' acknowledgement,
// settled and while streams are new, and from a passthrough's read to its acknowledgement. longest is the
// p99.9 of the settled episodes of all rounds together.
type waits struct{ settled, longest, new, passing float64 }

func (k *kafkaBench) waits(ctx context.Context, b *bench, rate float64, transactions bool) (waits, error) {
	var all, settled, new, passing []float64
	for range b.Rounds() {
		r, err := k.stage(ctx, transactions, rate)
		if err != nil {
			return waits{}, err
		}
		all = append(all, r.settled...)
		settled, new = append(settled, quantile(r.settled, .99)), append(new, quantile(r.new, .99))
		var passed []float64
		if _, err := k.passThrough(ctx, &passed, rate, transactions); err != nil {
			return waits{}, err
		}
		passing = append(passing, quantile(passed, .99))
	}
	return waits{
		evaluate.Median(settled), quantile(all, .999), evaluate.Median(new), evaluate.Median(passing),
	}, nil
}

// quantile returns the value below which a share of the values lies. It sorts them.
func quantile(values []float64, share float64) float64 {
	slices.Sort(values)
	return values[int(share*float64(len(values)))]
}

func percent(share float64) string { return fmt.Sprintf("%.0f %%", 100*share) }

// staged is the result of a run of the whole stage.
type staged struct {
	rate, first  float64   // records per second, settled and at the start
	settled, new []float64 // from an episode's close to the acknowledgement of its results, in the same parts
	now          [2]firstAnswered
}

// firstAnswered are the first answers of a part of a run: while streams are new, and settled.
type firstAnswered struct {
	took []float64 // from an item's read to the acknowledgement of its first answer
	of   int       // items
}

// options returns those of a stage with a group and an output of its own.
func (k *kafkaBench) options(in string, exactly bool) (pipeline.Options, error) {
	k.runs++
	o := pipeline.Options{
		Topics: pipeline.Topics{
			Group: fmt.Sprintf("stage-%d", k.runs), In: []string{in}, Out: fmt.Sprintf("labels-%d", k.runs),
		},
		Records: pipeline.Records{
			Decode: record.Options{Format: "f32"}, Committed: true,
			Limits: consumer.Limits{Size: streamEpisode, Age: time.Hour, Memory: 64 << 20},
		},
		Answers: pipeline.Answers{Memory: stream.Defaults(), Support: k.support},
		Commits: pipeline.Commits{Eager: !exactly},
		Process: pipeline.Process{Log: k.log},
	}
	o.Delivery = &producer.AtLeastOnce{Client: k.client, Log: k.log}
	if exactly {
		o.Delivery = &producer.ExactlyOnce{Client: k.client, Log: k.log}
	}
	if k.asRun {
		run := config.Default("run").Memory
		o.Memory.ReviewRate, o.Recent = run.ReviewRate, recent.New(int64(run.Recent))
	}
	return o, nil
}

// stage measures the whole stage on the input.
func (k *kafkaBench) stage(ctx context.Context, exactly bool, rate float64) (staged, error) {
	in, n, fed, err := k.source(ctx, rate)
	if err != nil {
		return staged{}, err
	}
	o, err := k.options(in, exactly)
	if err != nil {
		return staged{}, err
	}
	made := []string{o.Out}
	if k.now {
		o.Now = o.Out + "-now"
		made = append(made, o.Now)
	}
	for _, name := range made {
		if err := k.client.Create(ctx, topic.Description{Name: name, Partitions: streamPartitions}); err != nil {
			return staged{}, err
		}
	}
	var mutex sync.Mutex
	shown := staged{now: [2]firstAnswered{{of: n / 3}, {of: 2 * n / 5}}}
	o.AnsweredFirst = func(list []first.Answer) {
		mutex.Lock()
		defer mutex.Unlock()
		for i := range list {
			switch read := float64(list[i].Item().Source.Offset) * streamPartitions / float64(n); {
			case read < 1./3:
				shown.now[0].took = append(shown.now[0].took, list[i].Took.Seconds())
			case read >= .6:
				shown.now[1].took = append(shown.now[1].took, list[i].Took.Seconds())
			}
		}
	}
	episodes := int64(n / streamStreams / streamEpisode)
	o.Traced = func(t *answering.Trace) {
		mutex.Lock()
		defer mutex.Unlock()
		took := t.Acknowledged.Sub(t.Closed).Seconds()
		switch {
		case 3*t.Episode <= episodes+2:
			shown.new = append(shown.new, took)
		case 5*t.Episode > 3*episodes:
			shown.settled = append(shown.settled, took)
		}
	}
	s, err := pipeline.New(k.client, o)
	if err != nil {
		return staged{}, err
	}
	running, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- s.Run(running) }()
	shown.rate, shown.first, err = k.rateOf(ctx, o.Out, n)
	stop()
	for _, e := range []error{<-ended, fed()} {
		if err == nil {
			err = e
		}
	}
	if err == nil && rate == 0 && !exactly {
		err = k.measureResults(ctx, o.Out)
	}
	if err != nil {
		return staged{}, err
	}
	return shown, k.drop(ctx, append(append(paced(in, k.in), made...), o.Out+"-dead", o.Group+"-state")...)
}

// stageAsRun is the stage on the input with what `slkstream run` does by default beside answering.
func (k *kafkaBench) stageAsRun(ctx context.Context) (staged, error) {
	k.asRun = true
	defer func() { k.asRun = false }()
	return k.stage(ctx, false, 0)
}

// measureResults measures the size of the stage's results.
func (k *kafkaBench) measureResults(ctx context.Context, name string) error {
	for p := range int32(streamPartitions) {
		b, err := k.client.NewReader(topic.ReaderSettings{Topic: name, Partition: p}).Read(ctx)
		if err != nil {
			return err
		}
		size := 0
		for i := range b.Records {
			size += len(b.Records[i].Value)
		}
		if len(b.Records) > 0 {
			k.out = size / len(b.Records)
			return nil
		}
	}
	return fmt.Errorf("topic %s: no result to measure", name)
}
