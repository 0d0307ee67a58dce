package pipeline

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/slkstream/slkstream/internal/topic"
)

// Backfill is a job that labels a range of existing records once. All its processes share one plan.
type Backfill struct {
	Job      string
	From, To string // RFC 3339, an offset, earliest, latest
	Asked    string // From as the user gave it, if From was computed from it, as with 24h
	// Progress is called about five times a second with the records done and in all, counted by offsets, and
	// once if there is nothing to do; nil: not called.
	Progress func(done, all int64)
}

// Plan is written once and followed by all processes of a job, whenever they start.
type Plan struct {
	Job      string
	Ranges   []Range
	Labels   []int64   // next offsets of the labels topic's partitions; later records are not used
	At       time.Time // when it was made
	Since    string    // Backfill.From
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

// Backfill answers the job's range together with the job's other processes. It returns when the whole range
// is answered and committed. finished is true if there was nothing to do.
func (s *Stage) Backfill(ctx context.Context, b Backfill) (finished bool, err error) {
	if err := s.prepare(ctx); err != nil {
		return false, err
	}
	var plan *Plan
	err = s.patiently(ctx, "planning the job", func() (err error) {
		plan, err = s.plan(ctx, b)
		return err
	})
	if err != nil {
		return false, err
	}
	s.ranges = map[topic.TopicPartition]Range{}
	var all int64
	for _, r := range plan.Ranges {
		s.ranges[topic.TopicPartition{Topic: r.Topic, Partition: r.Partition}] = r
		all += r.To - r.From
	}
	left, err := s.left(ctx, plan)
	if err == nil {
		err = s.ownOffsets(ctx, plan)
	}
	if err != nil {
		return false, err
	}
	if left == 0 {
		if b.Progress != nil {
			b.Progress(all, all)
		}
		return true, nil
	}
	s.log.Info("backfill", "job", b.Job, "records", all, "left", left)
	v, err := s.labels.At(ctx, plan.Labels, nil)
	if err != nil {
		return false, err
	}
	s.labels.Fix(v)
	if c := s.options.Compare; c != nil {
		const what = "reading what was answered before"
		if err := s.patiently(ctx, what, func() error { return c.load(ctx, s, plan) }); err != nil {
			return false, err
		}
		defer func() {
			if err == nil && ctx.Err() == nil {
				err = s.patiently(ctx, what, func() error { return c.finish(ctx, s) })
			}
		}()
	}
	working, done := context.WithCancel(ctx)
	defer done()
	var failed error
	var checking sync.WaitGroup
	checking.Go(func() {
		every(working, 200*time.Millisecond, func(time.Time) {
			now, err := s.left(working, plan)
			if working.Err() != nil {
				return
			}
			if err == nil && b.Progress != nil {
				b.Progress(all-now, all)
			}
			if failed = err; err != nil || now == 0 {
				done()
			}
		})
	})
	err = s.Run(working)
	done()
	checking.Wait()
	return false, errors.Join(err, failed)
}

// patiently repeats do, which may be repeated, while its error may go away by waiting. An outage of brokers is
// logged once, as what.
func (s *Stage) patiently(ctx context.Context, what string, do func() error) error {
	if err := s.client.Outage(s.log, what).Retry(ctx, nil, do); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// left returns how many records of the plan are not committed, counted by offsets.
func (s *Stage) left(ctx context.Context, plan *Plan) (left int64, err error) {
	err = s.patiently(ctx, "reading offsets of group "+s.options.Group, func() error {
		left = 0
		for _, r := range plan.Ranges {
			if r.From >= r.To {
				continue
			}
			committed, err := s.client.Committed(ctx, s.options.Group, r.Topic, r.Partition)
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
func (s *Stage) ownOffsets(ctx context.Context, plan *Plan) error {
	for _, r := range plan.Ranges {
		err := s.patiently(ctx, "comparing the job's offsets with its state", func() error {
			committed, err := s.client.Committed(ctx, s.options.Group, r.Topic, r.Partition)
			if err != nil || committed <= r.From {
				return err
			}
			end, err := s.answeredTo(ctx, r)
			if err == nil && committed > end {
				err = fmt.Errorf("job %s: %w: %d of %s/%d in group %s, where the job has answered to %d; give it another name with --job",
					plan.Job, ErrOffsetsOfOthers, committed, r.Topic, r.Partition, s.options.Group, end)
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
func (s *Stage) answeredTo(ctx context.Context, r Range) (int64, error) {
	end, _, err := s.client.Bounds(ctx, r.Topic, r.Partition, false)
	if err != nil {
		return 0, err
	}
	upTo, err := s.store.Answered(ctx, topic.TopicPartition{Topic: r.Topic, Partition: r.Partition})
	return max(upTo, end, r.From), err
}

// plan reads the job's plan, or makes it.
func (s *Stage) plan(ctx context.Context, b Backfill) (*Plan, error) {
	settings, err := s.settings(b)
	if err != nil {
		return nil, err
	}
	plan, err := s.readPlan(ctx, b.Job)
	if err != nil {
		return nil, err
	}
	if plan == nil {
		if plan, err = s.makePlan(ctx, b, settings); err != nil {
			return nil, err
		}
		value, err := json.Marshal(plan)
		if err != nil {
			return nil, err
		}
		if err := s.store.WritePlan(ctx, b.Job, value); err != nil {
			return nil, err
		}
		if plan, err = s.readPlan(ctx, b.Job); err != nil {
			return nil, err
		}
		if plan == nil {
			return nil, fmt.Errorf("job %s: its plan was written to topic %s and is not there", b.Job, s.options.State)
		}
	}
	var other []string
	if !bytes.Equal(plan.Settings, settings) {
		other = differences("", plan.Settings, settings)
	}
	if out := s.writes(); plan.Out != out {
		other = append(other, fmt.Sprintf("the topic it writes to was %s and is %s", plan.Out, out))
	}
	if slices.Contains(other, otherVersion) {
		return nil, fmt.Errorf("job %s: %w: another version of slkstream planned it; give it another name with --job, "+
			"or end it with that version", b.Job, ErrOtherSettings)
	}
	if other != nil {
		return nil, fmt.Errorf("job %s: %w: %s; give it another name with --job, or the settings it had", b.Job,
			ErrOtherSettings, strings.Join(other, ", "))
	}
	return plan, nil
}

// writes returns the topic that a job writes to.
func (s *Stage) writes() string {
	if s.options.Compare != nil {
		return s.options.Corrections
	}
	return s.options.Out
}

// otherVersion stands for settings that only one of two plans has.
const otherVersion = "another version's settings"

// differences names the settings of two plans that differ, with both values.
func differences(path string, was, is json.RawMessage) []string {
	var before, now map[string]json.RawMessage
	if was == nil || is == nil {
		return []string{otherVersion}
	}
	if json.Unmarshal(was, &before) != nil || json.Unmarshal(is, &now) != nil {
		if path == "support" { // a hash
			return []string{"the examples of support are others"}
		}
		name := settingOf(path)
		return []string{fmt.Sprintf("%s was %s and is %s", name, planned(name, was), planned(name, is))}
	}
	keys := map[string]json.RawMessage{}
	maps.Copy(keys, before)
	maps.Copy(keys, now)
	var all []string
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		if was, is := before[key], now[key]; !bytes.Equal(was, is) {
			all = append(all, differences(strings.Trim(path+"."+key, "."), was, is)...)
		}
	}
	return all
}

// settingOf returns the setting that stands at a path of a plan: its last name, in the spelling of settings,
// unless the setting is called otherwise.
func settingOf(path string) string {
	switch path {
	case "limits.Size":
		return "episode-size"
	case "limits.Age":
		return "episode-age"
	case "limits.Idle":
		return "episode-idle"
	case "limits.Memory":
		return "max-memory"
	}
	if field, is := strings.CutPrefix(path, "decode.Paths."); is {
		return strings.ToLower(field) + "-field"
	}
	var name strings.Builder
	for i, r := range path[strings.LastIndexByte(path, '.')+1:] {
		if unicode.IsUpper(r) && i > 0 {
			name.WriteByte('-')
		}
		name.WriteRune(unicode.ToLower(r))
	}
	return name.String()
}

// planned returns the value of a setting in a plan, in which durations are nanoseconds.
func planned(name string, value json.RawMessage) string {
	if name == "episode-age" || name == "episode-idle" {
		if length, err := strconv.ParseInt(string(value), 10, 64); err == nil {
			return time.Duration(length).String()
		}
	}
	return string(value)
}

// settings encodes all settings that the answers depend on besides the input. The range is included as the
// user gave it: latest is the same offset for all processes of a job.
func (s *Stage) settings(b Backfill) (json.RawMessage, error) {
	o := &s.options
	examples := sha256.New()
	for _, e := range o.Support {
		fmt.Fprintf(examples, "%q %q %q %v\n", e.ID, e.Label, e.Model, e.Vector)
	}
	return json.Marshal(map[string]any{
		"in": o.In, "from": cmp.Or(b.Asked, b.From), "to": b.To,
		"limits": o.Limits, "decode": o.Decode, "memory": o.Memory,
		"support": hex.EncodeToString(examples.Sum(nil)), "labels": o.Labels, "fromState": o.FromState,
	})
}

func (s *Stage) readPlan(ctx context.Context, job string) (*Plan, error) {
	value, err := s.store.Plan(ctx, job)
	if err != nil || value == nil {
		return nil, err
	}
	plan := &Plan{}
	if err := json.Unmarshal(value, plan); err != nil {
		return nil, fmt.Errorf("job %s: its plan in topic %s: %w", job, s.options.State, err)
	}
	return plan, nil
}

func (s *Stage) makePlan(ctx context.Context, b Backfill, settings json.RawMessage) (*Plan, error) {
	plan := &Plan{Job: b.Job, At: time.Now().UTC(), Since: b.From, Settings: settings, Out: s.writes()}
	for _, in := range s.options.In {
		n, err := s.client.Partitions(ctx, in)
		if err != nil {
			return nil, err
		}
		for p := range int32(n) {
			from, err := s.offset(ctx, in, p, b.From)
			if err != nil {
				return nil, fmt.Errorf("from %s: %w", b.From, err)
			}
			to, err := s.offset(ctx, in, p, b.To)
			if err != nil {
				return nil, fmt.Errorf("to %s: %w", b.To, err)
			}
			plan.Ranges = append(plan.Ranges, Range{in, p, from, max(from, to)})
		}
	}
	if s.options.Labels != "" {
		n, err := s.client.Partitions(ctx, s.options.Labels)
		if err != nil {
			return nil, err
		}
		for p := range int32(n) {
			end, err := s.offset(ctx, s.options.Labels, p, "latest")
			if err != nil {
				return nil, err
			}
			plan.Labels = append(plan.Labels, end)
		}
	}
	return plan, nil
}

// offset returns the offset of a named position in a partition, within the offsets that the log holds.
func (s *Stage) offset(ctx context.Context, name string, partition int32, named string) (int64, error) {
	return s.client.OffsetNamed(ctx, name, partition, named, s.options.Committed)
}
