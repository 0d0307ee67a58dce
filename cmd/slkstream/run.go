package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/slkstream/slkstream/config"
	"github.com/slkstream/slkstream/consumer"
	"github.com/slkstream/slkstream/internal/topic"
	"github.com/slkstream/slkstream/internal/web"
	"github.com/slkstream/slkstream/pipeline"
	"github.com/slkstream/slkstream/producer"
	"github.com/slkstream/slkstream/solver/stream"
)

func newRunCommand() *cobra.Command {
	return withSettings("run", &cobra.Command{
		Use:   "run",
		Short: "label a live feed until stopped",
		Long: "run reads embeddings from its input topics, answers them episode by episode, and writes one result an embedding.\n" +
			"Any number of processes with the same --group share the work. The first SIGINT or SIGTERM drains, a second one stops at once.",
	}, run)
}

func run(ctx context.Context, c *call) error {
	client, err := c.kafka(ctx, c.Config.Topics.All()...)
	if err != nil {
		return unlessStopped(ctx, err)
	}
	options, err := stageOptions(ctx, c, client)
	if err != nil {
		return unlessStopped(ctx, err)
	}
	if err := checkStart(ctx, c, client, options.Support); err != nil {
		return unlessStopped(ctx, err)
	}
	out := &progressReport{call: c, support: options.Support}
	watching := observers{out}
	var page *web.Page
	var stage *pipeline.Stage
	if c.Config.Listen.Address != "" || options.Corrections != "" {
		options.Recent = newRecent(c)
	}
	if c.Config.Listen.Address != "" {
		page = newPage(c, client, &stage, web.Options{
			Title: groupTitle(options.Group), Recent: options.Recent,
			Answer: func(name, model string, vectors [][]float32) ([]stream.Answer, error) {
				return stage.Ask(name, model, vectors)
			},
			Enter: func(ctx context.Context, stream, model string, vectors [][]float32) error {
				return stage.Enter(ctx, stream, model, vectors)
			},
			Owner:  func(ctx context.Context, stream string) (string, error) { return stage.Owner(ctx, stream) },
			Status: func() pipeline.Summary { return out.metrics.Status() },
		})
		watching = append(watching, watcher{page})
		options.AnsweredFirst = watcher{page}.AnsweredFirst
	}
	options.Observer = watching
	traced, flush, err := tracing(ctx, c.Log)
	if err != nil {
		return usageError{err}
	}
	defer flush()
	options.Traced = traced
	stage, err = pipeline.New(client, options)
	if err != nil {
		return usageError{err}
	}
	out.metrics = stage.Metrics()
	began := time.Now()
	defer func() { out.totals(began) }()
	defer collectBelow(options.Budget)()
	return serveWhile(ctx, c, stage, page, func(ctx context.Context) error {
		return c.report(ctx,
			out.figures, stage.Run)
	})
}

// unlessStopped returns nil if err only reports that ctx has ended: cancellation during startup is
// not an error.
func unlessStopped(ctx context.Context, err error) error {
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return nil
	}
	return err
}

// stageOptions returns the options of a stage on Kafka.
func stageOptions(ctx context.Context, c *call, client *topic.Client) (pipeline.Options, error) {
	t, d, s := &c.Config.Topics, &c.Config.Delivery, &c.Config.Stage
	settings, err := memorySettings(c.Config)
	if err != nil {
		return pipeline.Options{}, usageError{err}
	}
	if t.Review == "" && (c.Config.Listen.Address == "" || t.Labels == "") {
		settings.ReviewRate = 0 // no topic and no page could bring back a label
	}
	if settings.MaxWrong > 0 {
		c.Log.Info("answers of a stream can be sure once it has answered enough items without their label",
			"max_wrong", settings.MaxWrong, "items", stream.EnoughLabels(settings.MaxWrong))
	}
	c.Config.Memory.Budget = config.Bytes(memoryBudget(int64(c.Config.Memory.Budget)))
	o := pipeline.Options{
		Group: t.Group, In: t.In, Out: t.Out, Dead: t.DeadTopic(), State: t.StateTopic(), Labels: t.Labels,
		Episodes: t.Episodes, Review: t.Review, Corrections: t.Corrections, Now: t.Now,
		Advertise: advertised(&c.Config.Listen, client.Brokers()),
		Committed: d.Isolation == "read-committed", CommitInterval: d.CommitInterval,
		StateInterval: d.StateInterval,
		DrainTimeout:  d.DrainTimeout, DrainOpen: d.DrainOpen, Session: d.SessionTimeout,
		StateTTL:       c.Config.Memory.StateTTL,
		RecoveryTarget: c.Config.Memory.RecoveryTarget,
		Budget:         int64(c.Config.Memory.Budget),
		Limits: consumer.Limits{
			Size: s.EpisodeSize, Age: s.EpisodeAge, Idle: s.EpisodeIdle,
			Memory: int64(s.MaxMemory),
		},
		Memory: settings, WithVector: t.WithVector, Log: c.Log,
	}
	if o.Decode, err = decoding(c.Config, c.Log); err != nil {
		return o, err
	}
	if o.Form, err = resultForm(ctx, c.Config, c.Log); err != nil {
		return o, err
	}
	if o.Support, err = readSupport(c.Config); err != nil {
		return o, err
	}
	return o, deliver(&o, d, client)
}

// deliver sets the delivery guarantee.
func deliver(o *pipeline.Options, d *config.Delivery, client *topic.Client) error {
	state := o.State // vectors as numbers do not compress
	compression := func(name string) topic.Compression {
		if name == state {
			return ""
		}
		return topic.Compression(d.OutCompression)
	}
	switch d.Mode {
	case "at-least-once":
		o.Delivery = &producer.AtLeastOnce{Client: client, Log: o.Log, Compression: compression}
		o.Eager = true
	case "exactly-once":
		o.Delivery = &producer.ExactlyOnce{Client: client, Log: o.Log, Compression: compression}
	default:
		return usageError{fmt.Errorf("delivery %q: not at-least-once or exactly-once", d.Mode)}
	}
	return nil
}

// serveWhile runs work and, if there is a listener, serves metrics, health and the page, which may be nil,
// meanwhile.
func serveWhile(ctx context.Context, c *call, stage *pipeline.Stage, page *web.Page,
	work func(context.Context) error,
) error {
	if c.Config.Listen.Address == "" {
		return work(ctx)
	}
	socket, err := openSocket(c)
	if err != nil {
		return err
	}
	server := serve(c, socket, stage, page)
	return errors.Join(work(ctx), server.close())
}
