package pipeline

import (
	"context"
	"errors"
	"time"

	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/pipeline/corrections"
	"github.com/slkstream/slkstream/pipeline/extension"
	"github.com/slkstream/slkstream/pipeline/labels"
	"github.com/slkstream/slkstream/pipeline/link"
)

// beside returns what stands beside a partition that is restored: a line each. earlier is what its earlier owners
// answered; nil: not known.
func (s *Stage) beside(ctx context.Context, of *ownership, earlier *extension.Earlier) (w extensions, err error) {
	o := &s.options
	if o.Now != "" {
		w.add(s.firstAnswers.Beside(of.TopicPartition, of.Log))
	} else {
		w.add(s.firstAnswers.Following(of.Log))
	}
	if o.Identities != "" {
		w.add(link.Publish(o.Identities, o.Group, len(o.Transit) > 0))
	}
	if o.Recent != nil {
		r, err := corrections.New(ctx, s.correcting(), of.TopicPartition, earlier, of.Log)
		if err != nil {
			return w, err
		}
		w.add(r)
	}
	return w, nil
}

// correcting says what recent items are corrected with.
func (s *Stage) correcting() *corrections.Settings {
	o := &s.options
	to := o.Corrections
	if o.Labels == "" {
		to = "" // nothing to correct by
	}
	return &corrections.Settings{
		Client: s.client, Store: o.Recent, Labels: s.labels, Results: o.Out, Form: o.Form, Corrections: to,
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
	group.ID, group.Topics, group.Out, group.State, group.Agree = link.GroupOf(o.Group), []string{o.Identities}, o.Labels, "", nil
	link.Run(ctx, link.Settings{
		Client: s.client, Delivery: o.Delivery, Stage: o.Group, Group: group, Topic: o.Labels, Episodes: o.Episodes,
		Labels: s.labels, Most: o.MostIdentities, Transit: o.Transit, Log: o.Log,
	})
}

// extensions are those of a partition.
type extensions struct {
	all      []extension.Extension
	readers  []extension.Reader
	learners []extension.Learner // what workers call
}

func (w *extensions) add(one extension.Extension) {
	w.all = append(w.all, one)
	if r, is := one.(extension.Reader); is {
		w.readers = append(w.readers, r)
	}
	if l, is := one.(extension.Learner); is {
		w.learners = append(w.learners, l)
	}
}

// begin begins the work of the extensions; ctx ends with the ownership.
func (w *extensions) begin(ctx context.Context) (err error) {
	for _, one := range w.all {
		err = errors.Join(err, one.Begin(ctx))
	}
	return err
}

func (w *extensions) read(items []extension.Read, old time.Duration) {
	for _, r := range w.readers {
		r.Read(items, old)
	}
}

func (w *extensions) pass(e *extension.Answered) (out []record.Out) {
	for _, one := range w.all {
		one.Answered(e)
		out = append(out, one.Records()...)
	}
	return out
}

// labelled passes on the labels in force, and returns the shortest time in which an extension wants to be called again; 0:
// whenever that is.
func (w *extensions) labelled(inForce *labels.Version) (again time.Duration, out []record.Out) {
	for _, one := range w.all {
		if wanted := one.Labelled(inForce); wanted > 0 && (again == 0 || wanted < again) {
			again = wanted
		}
		out = append(out, one.Records()...)
	}
	return again, out
}

func (w *extensions) forgotten(of record.StreamID) {
	for _, one := range w.all {
		one.Forgotten(of)
	}
}

func (w *extensions) end() {
	for _, one := range w.all {
		one.End()
	}
}
