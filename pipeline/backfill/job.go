// Package backfill labels a range of existing records once: a job that processes share.
package backfill

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/topic"
	"github.com/slkstream/slkstream/pipeline/labels"
	"github.com/slkstream/slkstream/pipeline/store"
)

// Job is a range of existing records to be labelled once. All its processes share one plan.
type Job struct {
	Name     string
	From, To string // RFC 3339, an offset, earliest, latest
	Asked    string // From as the user gave it, if From was computed from it, as with 24h
	// Progress is called about five times a second with the records done and in all, counted by offsets, and
	// once if there is nothing to do; nil: not called.
	Progress func(done, all int64)
}

// Settings say what a job works with.
type Settings struct {
	Client      *topic.Client
	Store       *store.Store // of the job's group
	Labels      *labels.Topic
	Log         *slog.Logger
	Group       string
	In          []string
	Out         string // the topic that the job writes to
	LabelsTopic string // "": none
	Committed   bool   // skip records of open or aborted transactions
	// Answers are all settings that the answers depend on besides the input and its range, as JSON encodes them.
	Answers map[string]any

	Compare     *Comparison // nil: results are written
	Results     string      // the topics with which it compares
	Corrections string
	Form        record.ResultForm // of Results
}

// Backfill is a process's part of a job.
type Backfill struct {
	settings Settings
	job      Job
	plan     *Plan
	all      int64 // records of the plan
	ranges   map[topic.TopicPartition]Range
}

// New prepares a process's part of a job. The range counts as the user gave it: latest is the same offset for all
// processes.
func New(s Settings, job Job) *Backfill {
	s.Answers["to"] = job.To
	if job.Asked != "" {
		s.Answers["since"] = job.Asked // as correct calls it
	} else {
		s.Answers["from"] = job.From
	}
	return &Backfill{settings: s, job: job}
}

// Plan makes the plan, or reads that of the job's other processes, and fixes the labels. It returns how many records are
// left.
func (b *Backfill) Plan(ctx context.Context) (left int64, err error) {
	err = b.patiently(ctx, "planning the job", func() (err error) {
		b.plan, err = b.agree(ctx)
		return err
	})
	if err != nil {
		return 0, err
	}
	b.ranges = map[topic.TopicPartition]Range{}
	for _, r := range b.plan.Ranges {
		b.ranges[topic.TopicPartition{Topic: r.Topic, Partition: r.Partition}] = r
		b.all += r.To - r.From
	}
	left, err = b.left(ctx)
	if err == nil {
		err = b.ownOffsets(ctx)
	}
	if err != nil {
		return 0, err
	}
	if left == 0 {
		if b.job.Progress != nil {
			b.job.Progress(b.all, b.all)
		}
		return 0, nil
	}
	b.settings.Log.Info("backfill", "job", b.job.Name, "records", b.all, "left", left)
	v, err := b.settings.Labels.At(ctx, b.plan.Labels, nil)
	if err != nil {
		return 0, err
	}
	b.settings.Labels.Fix(v)
	return left, nil
}

// Ranges returns what the job answers of each partition.
func (b *Backfill) Ranges() map[topic.TopicPartition]Range { return b.ranges }

// readingBefore is what an outage of the brokers delays.
const readingBefore = "reading what was answered before"

// Work has work run until the range is answered and committed by all processes together.
func (b *Backfill) Work(ctx context.Context, work func(context.Context) error) error {
	compare := b.settings.Compare
	if compare != nil {
		if err := b.patiently(ctx, readingBefore, func() error { return compare.load(ctx, b) }); err != nil {
			return err
		}
	}
	working, done := context.WithCancel(ctx)
	defer done()
	var failed error
	var checking sync.WaitGroup
	checking.Go(func() {
		ticker := time.NewTicker(200 * time.Millisecond)
		defer ticker.Stop()
		for {
			select {
			case <-working.Done():
				return
			case <-ticker.C:
			}
			left, err := b.left(working)
			if working.Err() != nil {
				return
			}
			if err == nil && b.job.Progress != nil {
				b.job.Progress(b.all-left, b.all)
			}
			if failed = err; err != nil || left == 0 {
				done()
			}
		}
	})
	err := work(working)
	done()
	checking.Wait()
	if err = errors.Join(err, failed); err == nil && ctx.Err() == nil && compare != nil {
		err = b.patiently(ctx, readingBefore, func() error { return compare.finish(ctx, b) })
	}
	return err
}

// Plan is written once and followed by all processes of a job, whenever they start.
type Plan struct {
	Job      string
	Ranges   []Range
	Labels   []int64   // next offsets of the labels topic's partitions; later records are not used
	At       time.Time // when it was made
	Since    string    // Job.From
	Settings json.RawMessage
	// Out is the topic that the job writes to. A job that went on in another topic would leave its answers in two.
	Out string
}

// Range is the part of a partition that a job answers: From <= offset < To.
type Range struct {
	Topic     string
	Partition int32
	From, To  int64
}

// ErrOtherSettings is returned when a job was planned with settings that would give other answers.
var ErrOtherSettings = errors.New("the job was planned with other settings")

// patiently repeats do, which may be repeated, while its error may go away by waiting. An outage of brokers is
// logged once, as what.
func (b *Backfill) patiently(ctx context.Context, what string, do func() error) error {
	if err := b.settings.Client.Outage(b.settings.Log, what).Retry(ctx, nil, do); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// left returns how many records of the plan are not committed, counted by offsets.
func (b *Backfill) left(ctx context.Context) (left int64, err error) {
	err = b.patiently(ctx, "reading offsets of group "+b.settings.Group, func() error {
		left = 0
		for _, r := range b.plan.Ranges {
			if r.From >= r.To {
				continue
			}
			committed, err := b.settings.Client.Committed(ctx, b.settings.Group, r.Topic, r.Partition)
			if err != nil {
				return err
			}
			left += max(r.To-max(committed, r.From), 0)
		}
		return nil
	})
	return left, err
}

// ErrOffsetsOfOthers is returned when the job's group has offsets that the job has not committed: it would take
// records for answered that are not.
var ErrOffsetsOfOthers = errors.New("its group has offsets that others committed")

// ownOffsets returns ErrOffsetsOfOthers if a committed offset is beyond what the job's state says is answered.
func (b *Backfill) ownOffsets(ctx context.Context) error {
	for _, r := range b.plan.Ranges {
		err := b.patiently(ctx, "comparing the job's offsets with its state", func() error {
			committed, err := b.settings.Client.Committed(ctx, b.settings.Group, r.Topic, r.Partition)
			if err != nil || committed <= r.From {
				return err
			}
			end, err := b.answeredTo(ctx, r)
			if err == nil && committed > end {
				err = fmt.Errorf("job %s: %w: %d of %s/%d in group %s, where the job has answered to %d; give it another name with --job",
					b.plan.Job, ErrOffsetsOfOthers, committed, r.Topic, r.Partition, b.settings.Group, end)
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// answeredTo returns the offset up to which the job's state says that a range is answered, or up to which its records
// are gone.
func (b *Backfill) answeredTo(ctx context.Context, r Range) (int64, error) {
	end, _, err := b.settings.Client.Bounds(ctx, r.Topic, r.Partition, false)
	if err != nil {
		return 0, err
	}
	upTo, err := b.settings.Store.Answered(ctx, topic.TopicPartition{Topic: r.Topic, Partition: r.Partition})
	return max(upTo, end, r.From), err
}

// agree reads the job's plan, or makes it.
func (b *Backfill) agree(ctx context.Context) (*Plan, error) {
	settings, err := json.Marshal(b.settings.Answers)
	if err != nil {
		return nil, err
	}
	plan, err := b.readPlan(ctx, b.job.Name)
	if err != nil {
		return nil, err
	}
	if plan == nil {
		if plan, err = b.makePlan(ctx, settings); err != nil {
			return nil, err
		}
		value, err := json.Marshal(plan)
		if err != nil {
			return nil, err
		}
		if err := b.settings.Store.WritePlan(ctx, b.job.Name, value); err != nil {
			return nil, err
		}
		if plan, err = b.readPlan(ctx, b.job.Name); err != nil {
			return nil, err
		}
		if plan == nil {
			return nil, fmt.Errorf("job %s: its plan was written and is not there", b.job.Name)
		}
	}
	var other []string
	if !bytes.Equal(plan.Settings, settings) {
		other = differences("", plan.Settings, settings)
	}
	if out := b.settings.Out; plan.Out != out {
		other = append(other, fmt.Sprintf("the topic it writes to was %s and is %s", plan.Out, out))
	}
	if slices.Contains(other, otherVersion) {
		return nil, fmt.Errorf("job %s: %w: another version of slkstream planned it; give it another name with --job, "+
			"or end it with that version", b.job.Name, ErrOtherSettings)
	}
	if other != nil {
		return nil, fmt.Errorf("job %s: %w: %s; give it another name with --job, or the settings it had", b.job.Name,
			ErrOtherSettings, strings.Join(other, ", "))
	}
	return plan, nil
}

func (b *Backfill) readPlan(ctx context.Context, job string) (*Plan, error) {
	value, err := b.settings.Store.Plan(ctx, job)
	if err != nil || value == nil {
		return nil, err
	}
	plan := &Plan{}
	if err := json.Unmarshal(value, plan); err != nil {
		return nil, fmt.Errorf("job %s: its plan: %w", job, err)
	}
	return plan, nil
}

func (b *Backfill) makePlan(ctx context.Context, settings json.RawMessage) (*Plan, error) {
	plan := &Plan{Job: b.job.Name, At: time.Now().UTC(), Since: b.job.From, Settings: settings, Out: b.settings.Out}
	for _, in := range b.settings.In {
		n, err := b.settings.Client.Partitions(ctx, in)
		if err != nil {
			return nil, err
		}
		for p := range int32(n) {
			from, err := b.offset(ctx, in, p, b.job.From)
			if err != nil {
				return nil, fmt.Errorf("from %s: %w", b.job.From, err)
			}
			to, err := b.offset(ctx, in, p, b.job.To)
			if err != nil {
				return nil, fmt.Errorf("to %s: %w", b.job.To, err)
			}
			plan.Ranges = append(plan.Ranges, Range{in, p, from, max(from, to)})
		}
	}
	if b.settings.LabelsTopic != "" {
		n, err := b.settings.Client.Partitions(ctx, b.settings.LabelsTopic)
		if err != nil {
			return nil, err
		}
		for p := range int32(n) {
			end, err := b.offset(ctx, b.settings.LabelsTopic, p, "latest")
			if err != nil {
				return nil, err
			}
			plan.Labels = append(plan.Labels, end)
		}
	}
	return plan, nil
}

// offset returns the offset of a named position in a partition, within the offsets that the log holds.
func (b *Backfill) offset(ctx context.Context, name string, partition int32, named string) (int64, error) {
	return b.settings.Client.OffsetNamed(ctx, name, partition, named, b.settings.Committed)
}
