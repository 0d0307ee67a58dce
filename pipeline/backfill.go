package pipeline

import (
	"context"

	"github.com/slkstream/slkstream/pipeline/backfill"
	"github.com/slkstream/slkstream/solver/stream/taught"
)

// Backfill answers the job's range together with the job's other processes. It returns when the whole range
// is answered and committed. finished is true if there was nothing to do.
func (s *Stage) Backfill(ctx context.Context, job backfill.Job) (finished bool, err error) {
	if err := s.prepare(ctx); err != nil {
		return false, err
	}
	b := s.backfill(job)
	if left, err := b.Plan(ctx); err != nil || left == 0 {
		return err == nil, err
	}
	s.ranges = b.Ranges()
	return false, b.Work(ctx, s.Run)
}

func (s *Stage) backfill(job backfill.Job) *backfill.Backfill {
	o := &s.options
	out := o.Out
	if o.Compare != nil {
		out = o.Corrections
	}
	return backfill.New(backfill.Settings{
		Client: s.client, Store: s.store, Labels: s.labels, Log: s.log, Group: o.Group, In: o.In, Out: out,
		LabelsTopic: o.Labels, Committed: o.Committed, Compare: o.Compare, Results: o.Out, Corrections: o.Corrections, Form: o.Form,
		Answers: map[string]any{
			"in": o.In, "limits": o.Limits, "decode": o.Decode, "memory": o.Memory,
			"support": taught.Digest(o.Support), "labels": o.Labels, "fromState": o.FromState,
		},
	}, job)
}
