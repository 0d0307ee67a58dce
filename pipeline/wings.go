package pipeline

import (
	"context"
	"errors"
	"time"

	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/pipeline/labels"
	"github.com/slkstream/slkstream/pipeline/link"
	"github.com/slkstream/slkstream/pipeline/recall"
	"github.com/slkstream/slkstream/pipeline/wing"
)

// beside returns what stands beside a partition that is restored: a line each. earlier is what its earlier owners
// answered; nil: not known.
func (s *Stage) beside(ctx context.Context, of *ownership, earlier *wing.Earlier) (w wings, err error) {
	o := &s.options
	if o.Now != "" {
		w.add(s.firstAnswers.Beside(of.TopicPartition, of.Log))
	} else {
		w.add(s.firstAnswers.Following(of.Log))
	}
	if o.Identities != "" {
		w.add(link.Publish(o.Identities))
	}
	if o.Recent != nil {
		r, err := recall.New(ctx, s.recalled(), of.TopicPartition, earlier, of.Log)
		if err != nil {
			return w, err
		}
		w.add(r)
	}
	return w, nil
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

// link links the clusters of all streams, if the link's group chooses this process.
func (s *Stage) link(ctx context.Context) {
	o := &s.options
	if o.Identities == "" {
		return
	}
	group := o.group()
	group.ID, group.Topics, group.Out, group.Agree = o.Group+"-link", []string{o.Identities}, o.Labels, nil
	link.Run(ctx, link.Settings{
		Client: s.client, Delivery: o.Delivery, Group: group, Topic: o.Labels, Labels: s.labels, Most: o.MostIdentities, Log: o.Log,
	})
}

// wings are those of a partition.
type wings struct {
	all      []wing.Wing
	readers  []wing.Reader
	learners []wing.Learner // what workers call
}

func (w *wings) add(one wing.Wing) {
	w.all = append(w.all, one)
	if r, is := one.(wing.Reader); is {
		w.readers = append(w.readers, r)
	}
	if l, is := one.(wing.Learner); is {
		w.learners = append(w.learners, l)
	}
}

// begin begins the work of the wings; ctx ends with the ownership.
func (w *wings) begin(ctx context.Context) (err error) {
	for _, one := range w.all {
		err = errors.Join(err, one.Begin(ctx))
	}
	return err
}

func (w *wings) read(items []wing.Read, old time.Duration) {
	for _, r := range w.readers {
		r.Read(items, old)
	}
}

func (w *wings) pass(e *wing.Answered) (out []record.Out) {
	for _, one := range w.all {
		one.Answered(e)
		out = append(out, one.Records()...)
	}
	return out
}

// labelled passes on the labels in force, and returns the shortest time in which a wing wants to be called again; 0:
// whenever that is.
func (w *wings) labelled(inForce *labels.Version) (again time.Duration, out []record.Out) {
	for _, one := range w.all {
		if wanted := one.Labelled(inForce); wanted > 0 && (again == 0 || wanted < again) {
			again = wanted
		}
		out = append(out, one.Records()...)
	}
	return again, out
}

func (w *wings) end() {
	for _, one := range w.all {
		one.End()
	}
}
