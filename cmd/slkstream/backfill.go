package main

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/slkstream/slkstream/internal/topic"
	"github.com/slkstream/slkstream/pipeline"
)

func newBackfillCommand() *cobra.Command {
	return withSettings("backfill", &cobra.Command{
		Use:   "backfill",
		Short: "label a bounded range of a topic, resumable, then exit",
		Long: "backfill answers what lies between --from and --to in the input topics. Any number of processes with the same --job share\n" +
			"the work by one plan, which the first of them writes; a job that was killed goes on where it was, and one that is\n" +
			"finished says so. It starts cold unless --from-state names a group whose memory it is to start with.",
	}, onKafka(backfill))
}

func backfill(ctx context.Context, c *call, client *topic.Client) error {
	b := c.Config.Backfill
	if !c.Config.Given("group") {
		c.Config.Topics.Group += "-backfill"
	}
	return answerRange(ctx, c, client, pipeline.Backfill{Job: b.Job, From: b.From, To: b.To}, nil)
}

// answerRange runs a job to its end. Each job has a group of its own: the group's offsets record progress,
// its state topic holds the plan.
func answerRange(
	ctx context.Context, c *call, client *topic.Client, b pipeline.Backfill, compare *pipeline.Comparison,
) error {
	c.Config.Topics.Group += "-" + b.Job
	options, err := stageOptions(ctx, c, client)
	if err != nil {
		return err
	}
	options.Bounded, options.Compare = true, compare
	if from := c.Config.Backfill.FromState; from != "" {
		options.FromState = from + "-state"
	}
	if err := checkStart(ctx, c, client, options.Support); err != nil {
		return err
	}
	out := &progressReport{call: c, support: options.Support}
	options.Observer = out
	stage, err := pipeline.New(client, options)
	if err != nil {
		return usageError{err}
	}
	out.metrics = stage.Metrics()
	finished, began := false, time.Now()
	var read, of atomic.Int64
	figures := func() []figure {
		done, all := read.Load(), of.Load()
		return append([]figure{
			{"job", b.Job, progressLine("job "+b.Job, done, all, time.Since(began))},
			{"records", done, ""},
			{"of", all, ""},
		}, out.figures()...)
	}
	b.Progress = func(done, all int64) {
		read.Store(done)
		of.Store(all)
	}
	defer collectBelow(options.Budget)()
	err = serveWhile(ctx, c, stage, nil, func(ctx context.Context) error {
		return c.report(ctx, figures, func(ctx context.Context) error {
			var err error
			finished, err = stage.Backfill(ctx, b)
			return err
		})
	})
	out.totals(began)
	switch {
	case errors.Is(err, pipeline.ErrOtherSettings):
		return usageError{err}
	case err != nil:
		return err
	case ctx.Err() != nil:
		return errors.New("stopped before the end; the same command goes on where it was")
	case finished:
		c.Log.Info("the job was finished already", "job", b.Job)
	default:
		c.Log.Info("the job is finished", "job", b.Job)
	}
	return nil
}
