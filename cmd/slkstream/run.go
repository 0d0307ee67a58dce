package main

import (
	"context"
	"net"
	"os"
	"slices"
	"time"

	"github.com/slkstream/slkstream/config"
	"github.com/slkstream/slkstream/consumer"
	"github.com/slkstream/slkstream/internal/topic"
	"github.com/slkstream/slkstream/internal/web"
	"github.com/slkstream/slkstream/pipeline"
	"github.com/slkstream/slkstream/pipeline/answering"
	"github.com/slkstream/slkstream/pipeline/budget"
	"github.com/slkstream/slkstream/producer"
	"github.com/slkstream/slkstream/solver/stream"
)

// putAway is how long nothing comes from a stream before its memory waits in the state topic alone.
const putAway = time.Hour

var runCommand = command{
	name:  "run",
	short: "label a live feed until stopped",
	long: "run reads embeddings from its input topics, answers them episode by episode, and writes one result an embedding.\n" +
		"Any number of processes with the same --group share the work. The first SIGINT, SIGTERM or SIGHUP drains, a second one stops at once.",
	run: run, endless: true,
}

func run(ctx context.Context, c *call) error {
	topics := slices.Clone(c.Config.Topics.In)
	for _, own := range c.Config.Topics.Own() {
		topics = append(topics, own.Name)
	}
	client, err := c.kafka(ctx, topics...)
	if err != nil {
		return err
	}
	options, err := stageOptions(ctx, c, client)
	if err != nil {
		return err
	}
	if others := othersOf(ctx, c.Config, client); others != "" {
		c.Log.Warn(others)
	}
	var page *web.Page
	if c.Config.Listen.Address != "" || options.Corrections != "" {
		options.Recent = newRecent(c)
	}
	if c.Config.Listen.Address != "" {
		page = newPage(c, client, groupTitle(options.Group), options.Recent, options.Support)
	}
	return runStage(ctx, c, client, options, page, nil, func(ctx context.Context, stage *pipeline.Stage) error {
		return stage.Run(ctx)
	})
}

// runStage starts a stage, and reports its progress and serves its page, which may be nil, until work ends.
// more returns figures to report before those of the stage; nil: none.
func runStage(ctx context.Context, c *call, client *topic.Client, options pipeline.Options, page *web.Page,
	more func() []figure, work func(context.Context, *pipeline.Stage) error,
) error {
	if err := checkStart(ctx, c, client, options.Support); err != nil {
		return err
	}
	out := &progressReport{call: c, support: options.Support, more: more}
	options.Observer = out
	if page != nil {
		options.Observer, options.AnsweredFirst = observers{out, page}, page.AnsweredFirst
	}
	traced, flush, err := tracing(ctx, c.Log)
	if err != nil {
		return usageError{err}
	}
	defer flush()
	options.Traced = traced
	stage, err := pipeline.New(client, options)
	if err != nil {
		return usageError{err}
	}
	out.metrics = stage.Metrics()
	export, err := exportMetrics(ctx, out.metrics)
	if err != nil {
		return usageError{err}
	}
	defer export()
	began := time.Now()
	defer func() { out.totals(began) }()
	defer budget.Collect(options.Budget)()
	return serveWhile(ctx, c, stage, page, func(ctx context.Context, at net.Addr) error {
		stage.Seat(seatOf(at))
		defer c.report(out.figures)()
		return work(ctx, stage)
	})
}

// observers passes each episode to several observers.
type observers []answering.Observer

// Answered implements answering.Observer.
func (o observers) Answered(a *answering.Observed) {
	for _, one := range o {
		one.Answered(a)
	}
}

// stageOptions returns the options of a stage on Kafka.
func stageOptions(ctx context.Context, c *call, client *topic.Client) (pipeline.Options, error) {
	t, d, e := &c.Config.Topics, &c.Config.Delivery, &c.Config.Stage
	settings, err := memorySettings(c.Config)
	if err != nil {
		return pipeline.Options{}, err
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
		Topics: pipeline.Topics{
			Group: t.Group, In: t.In, Out: t.Out, Dead: t.DeadTopic(), State: t.StateTopic(), Labels: t.Labels,
			Episodes: t.Episodes, Review: t.Review, Corrections: t.Corrections, Now: t.Now, Identities: t.Identities,
		},
		Records: pipeline.Records{
			Limits: consumer.Limits{
				Size: e.EpisodeSize, Age: e.EpisodeAge, Idle: e.EpisodeIdle, Memory: int64(e.MaxMemory),
			},
			WithVector: t.WithVector, Committed: d.Isolation == "read-committed",
		},
		Answers: pipeline.Answers{
			Memory: settings, StateTTL: c.Config.Memory.StateTTL, PutAway: putAway,
			MostIdentities: c.Config.Memory.MaxIdentities,
		},
		Commits: pipeline.Commits{
			CommitInterval: d.CommitInterval, StateInterval: d.StateInterval,
			DrainTimeout: d.DrainTimeout, DrainOpen: d.DrainOpen, RecoveryTarget: c.Config.Memory.RecoveryTarget,
		},
		Process: pipeline.Process{
			Budget: int64(c.Config.Memory.Budget), Log: c.Log,
		},
		Member: pipeline.Member{
			Instance: d.Instance, Session: d.SessionTimeout, Advertise: advertised(&c.Config.Listen, client.Brokers()),
		},
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
	if o.Transit, err = readTransit(c.Config.Memory.Transit); err != nil {
		return o, err
	}
	if o.Agree, err = agreed(c.Config, o.Support); err != nil {
		return o, err
	}
	compression := func(name string) topic.Compression {
		if name == o.State { // vectors as numbers do not compress
			return ""
		}
		return topic.Compression(d.OutCompression)
	}
	o.Delivery = &producer.ExactlyOnce{Client: client, Log: o.Log, Compression: compression}
	if o.Eager = d.Mode != "exactly-once"; o.Eager {
		o.Delivery = &producer.AtLeastOnce{Client: client, Log: o.Log, Compression: compression}
	}
	return o, nil
}

// exportWanted reports whether OpenTelemetry's environment variables name a collector of TRACES or METRICS.
func exportWanted(signal string) bool {
	return os.Getenv("OTEL_"+signal+"_EXPORTER") != "none" &&
		os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT")+os.Getenv("OTEL_EXPORTER_OTLP_"+signal+"_ENDPOINT") != ""
}
