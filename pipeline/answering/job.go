package answering

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/state"
	"github.com/slkstream/slkstream/pipeline/extension"
	"github.com/slkstream/slkstream/pipeline/intake"
	"github.com/slkstream/slkstream/pipeline/labels"
	"github.com/slkstream/slkstream/solver/stream"
)

// Job is one task of a stream: answer an episode, replay one, or take a snapshot.
type Job struct {
	owner         *Owner
	Stream        *Stream
	intake.Closed // without an episode: take a snapshot
	Outcome
	Collected bool // the partition's owner has it back
}

// Outcome is what came of a job.
type Outcome struct {
	Records  []record.Out
	Bytes    int64             // of Records
	After    []<-chan struct{} // its results are not committed before all are closed
	Labels   []int64           // that were in force
	Snapshot *state.Snapshot
	Report   stream.Report
	Took     time.Duration
	Learned  time.Duration // time spent learning from the episode before
	Unknown  int
	Rejected error // why it could not be answered: its items go to the dead letters

	keys    []string        // of its items' positions; see record.ItemKey
	answers []stream.Answer // nil: it could not be answered
}

// Answers says whether the job's episode has results, or dead letters.
func (j *Job) Answers() bool { return j.Episode != nil && j.Replay == nil }

// Owner returns whose job it is.
func (j *Job) Owner() *Owner { return j.owner }

// attempt runs the job on a worker. If it panics, or hung earlier owners, only this job fails: its items go
// to the dead letters.
func (j *Job) attempt(ctx context.Context, engine *stream.Engine) {
	defer func() {
		if p := recover(); p != nil {
			j.fail(fmt.Errorf("stream %s: %v\n%s", j.Stream.Key.Name, p, debug.Stack()))
		}
	}()
	if j.Poison != nil {
		j.fail(j.Poison)
		return
	}
	j.do(ctx, engine)
}

// fail makes dead letters from an episode's items.
func (j *Job) fail(err error) {
	j.Rejected = err
	if j.Episode == nil {
		return
	}
	j.Stream.passed(j.Episode)
	if j.Replay == nil {
		j.Records, j.answers, j.Bytes, j.Unknown = nil, nil, 0, 0
		j.hold()
		j.reject(err)
	}
}

func (j *Job) do(ctx context.Context, engine *stream.Engine) {
	s := j.Stream
	if j.Episode == nil {
		j.Snapshot = s.Snapshot()
		return
	}
	if s.Return(ctx) != nil {
		return // the partition is released
	}
	s.used = time.Now()
	v := j.Replay
	if v == nil {
		v = j.owner.Labels.Current()
	}
	begin := time.Now()
	answers, err := j.answer(ctx, engine, v)
	if ctx.Err() != nil {
		return // the partition is released: its next owner answers
	}
	j.Took, j.Learned, s.learning = time.Since(begin), s.learning, 0
	j.Labels = v.Next
	s.passed(j.Episode)
	s.labels = v.Next
	switch {
	case j.Replay != nil:
		if err == nil {
			j.answers = answers
		}
	case err != nil:
		j.Rejected = err
		j.hold()
		j.reject(err)
	default:
		j.hold()
		results, reviews := j.encode(answers, v)
		j.answers = answers
		if watching := j.owner.Observer; watching != nil {
			told := &Observed{
				Episode: j.Episode,
				Results: results,
				Reviews: reviews,
				Report:  j.Report,
				Labels:  v.Labels,
				Unknown: j.Unknown,
				Took:    j.Took,
			}
			told.Solved, told.Graph = engine.Solved()
			extension.Guard(j.owner.Log, "the observer failed", s.Key.Name, func() { watching.Answered(told) })
		}
	}
}

// answer lets the memory answer. A panic below fails this episode only.
func (j *Job) answer(ctx context.Context, engine *stream.Engine, v *labels.Version) (answers []stream.Answer, err error) {
	s := j.Stream
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("stream %s: %v\n%s", s.Key.Name, p, debug.Stack())
		}
	}()
	if s.learned != record.NoPosition && !slices.Equal(s.labels, v.Next) { // else the usual case: no new labels
		v.Reset(s.Memory, s.Key.Name, s.labels)
	}
	if d := s.Memory.Dimension(); d != 0 && d != len(j.Episode.Items[0].Vector) {
		s.Memory.Reset("") // what it learned has another dimension than the records have now
	}
	j.keys = extension.KeysOf(len(j.Episode.Items), func(i int) *record.Item { return &j.Episode.Items[i] })
	items := engine.Items(len(j.Episode.Items))
	for i := range items {
		items[i] = extension.ItemOf(&j.Episode.Items[i], j.keys[i])
		if it := &items[i]; it.Label != "" { // what a person calls the item counts, not its record's label
			said := v.Labels.For(s.Key.Name)
			for _, key := range [...]string{it.ID, j.keys[i], it.Result} {
				if label, ok := said.Label(key); ok {
					it.Label = label
					break
				}
			}
		}
	}
	answers, j.Report, err = s.Memory.Answer(ctx, engine, items, v.Labels)
	return answers, err
}

// Answered is the job's episode as extensions see it; nil: it has no answers.
func (j *Job) Answered() *extension.Answered {
	if j.answers == nil {
		return nil
	}
	return &extension.Answered{
		Episode: j.Episode, Keys: j.keys, Answers: j.answers, Report: j.Report, Labels: j.Labels,
	}
}

// hold tells the extensions that an episode's results come.
func (j *Job) hold() {
	for _, w := range j.owner.Learners {
		if after := w.Hold(&j.Stream.Stream, j.Episode.Last()); after != nil {
			j.After = append(j.After, after)
		}
	}
}

// episodeBytes returns the size of the job's episode; 0: it has none.
func (j *Job) episodeBytes() int64 {
	if j.Episode == nil {
		return 0
	}
	return j.Episode.Bytes
}
