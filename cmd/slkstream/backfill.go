package main

import (
	"cmp"
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/slkstream/slkstream/internal/topic"
	"github.com/slkstream/slkstream/pipeline"
	"github.com/slkstream/slkstream/pipeline/backfill"
)

var backfillCommand = command{
	name:  "backfill",
	short: "label a bounded range of a topic, resumable, then exit",
	long: "backfill answers the range from --from to --to of the input topics. Any number of processes with the same --job share\n" +
		"the work by one plan, which the first of them writes; a killed job resumes, and a finished\n" +
		"one reports that. It starts cold unless --from-state names a group to start from.",
	run: onKafka(backfillRange),
}

func backfillRange(ctx context.Context, c *call, client *topic.Client) error {
	b := c.Config.Backfill
	return answerRange(ctx, c, client, backfill.Job{Name: b.Job, From: b.From, To: b.To}, nil)
}

// answerRange runs a job to its end. Each job has a group of its own: the group's offsets record progress,
// its state topic holds the plan.
func answerRange(
	ctx context.Context, c *call, client *topic.Client, job backfill.Job, compare *backfill.Comparison,
) error {
	for _, in := range c.Config.Topics.In { // a stage waits for its input; a job would never end
		if _, err := client.Partitions(ctx, in); topic.IsMissing(err) {
			return err
		}
	}
	c.Config.Topics.Group = c.Config.Topics.JobGroup(c.Config.Command(), job.Name)
	options, err := stageOptions(ctx, c, client)
	if err != nil {
		return err
	}
	options.Bounded, options.Compare = true, compare
	if from := c.Config.Backfill.FromState; from != "" {
		options.FromState = from + "-state"
	}
	finished, began := false, time.Now()
	var read, of atomic.Int64
	figures := func() []figure {
		done, all := read.Load(), of.Load()
		return []figure{
			{"job", job.Name, progressLine("job "+job.Name, done, all, time.Since(began))},
			{"records", done, ""},
			{"of", all, ""},
		}
	}
	job.Progress = func(done, all int64) {
		read.Store(done)
		of.Store(all)
	}
	work := func(ctx context.Context, stage *pipeline.Stage) (err error) {
		finished, err = stage.Backfill(ctx, job)
		return err
	}
	err = runStage(ctx, c, client, options, nil, figures, work)
	switch {
	case errors.Is(err, backfill.ErrOtherSettings), errors.Is(err, backfill.ErrOffsetsOfOthers):
		return usageError{err}
	case err != nil:
		return err
	case ctx.Err() != nil:
		return errors.New("stopped before the end; the same command goes on where it was")
	case finished && of.Load() == 0:
		c.Log.Warn("the range of the job holds no records: another range or input needs another --job", "job", job.Name,
			"from", cmp.Or(job.Asked, job.From), "to", job.To, "in", c.Config.Topics.In)
	case finished:
		c.Log.Info("the job was finished already; with another --job the range is answered again", "job", job.Name)
	default:
		c.Log.Info("the job is finished", "job", job.Name)
	}
	return nil
}
