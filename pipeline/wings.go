package pipeline

import (
	"context"
	"errors"

	"github.com/slkstream/slkstream/pipeline/recall"
	"github.com/slkstream/slkstream/pipeline/wing"
)

// wings returns what stands beside a partition that is restored: a line each. earlier is what its earlier owners answered;
// nil: not known.
func (s *Stage) wings(ctx context.Context, of *ownership, earlier *wing.Earlier) (list []wing.Wing, err error) {
	if s.options.Recent != nil {
		w, err := recall.New(ctx, s.recalled(), of.TopicPartition, earlier, of.log)
		if err != nil {
			return nil, err
		}
		list = append(list, w)
	}
	return list, nil
}

// recalled says what recall works with.
func (s *Stage) recalled() *recall.Settings {
	o := &s.options
	corrections := o.Corrections
	if o.Labels == "" {
		corrections = "" // nothing to correct by
	}
	return &recall.Settings{
		Client: s.client, Store: o.Recent, Labels: s.labels, Results: o.Out, Form: o.Form, Corrections: corrections,
		Counted: s.metrics.corrections,
	}
}

// beginWings begins the work of the wings; ctx ends with the ownership.
func (p *partition) beginWings(ctx context.Context) (err error) {
	for _, w := range p.wings {
		err = errors.Join(err, w.Begin(ctx))
	}
	return err
}

func (p *partition) endWings() {
	for _, w := range p.wings {
		w.End()
	}
}
