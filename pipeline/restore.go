package pipeline

import (
	"context"
	"errors"
	"time"

	"github.com/slkstream/slkstream/consumer"
	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/topic"
	"github.com/slkstream/slkstream/pipeline/answering"
	"github.com/slkstream/slkstream/pipeline/extension"
	"github.com/slkstream/slkstream/pipeline/health"
	"github.com/slkstream/slkstream/pipeline/intake"
	"github.com/slkstream/slkstream/pipeline/ledger"
	"github.com/slkstream/slkstream/pipeline/store"
	"github.com/slkstream/slkstream/producer"
)

// claim restores a partition after its assignment: it fences the previous owner, then reads the committed
// offset, then the state, and only then writes. ctx ends the claim; once it is made, p.abandon alone ends
// what it has begun, as a hand-over must wait for the first offset too.
func (s *Stage) claim(
	ctx context.Context,
	a consumer.Assignment,
	progress *health.Partition,
) (*partition, *topic.Reader, *record.Decoder, error) {
	o := &s.options
	state, err := s.store.At(ctx, a.TopicPartition)
	if err != nil {
		return nil, nil, nil, err
	}
	committer, committed, err := o.Delivery.Claim(ctx, producer.Claim{
		Group: o.Group, Topic: a.Topic, Partition: a.Partition, Generation: a.Generation, State: state,
		Out: []string{o.Out, o.Dead, o.Review, o.Episodes, o.Corrections, o.Identities},
	})
	if err != nil {
		return nil, nil, nil, err
	}
	p, err := s.proceed(ctx, a, committer, committed)
	if p == nil && err == nil {
		p, err = s.restore(ctx, a, committer, committed)
	}
	var reader *topic.Reader
	var decoder *record.Decoder
	abandon := func() {}
	if err == nil {
		abandon = p.abandon
		made := context.AfterFunc(ctx, abandon)
		p.progress = progress
		reader, decoder, err = p.open()
		if !made() && err == nil {
			err = ctx.Err()
		}
	}
	if err != nil {
		defer abandon()
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		return nil, nil, nil, errors.Join(err, committer.Close(closing))
	}
	return p, reader, decoder, nil
}

// open prepares to read the input from p's position.
//
// It commits first, which the group refuses if another member owns the partition by now. The commit comes
// after all state was read and before any is written, so that of two owners the one that sees more of the
// state, or else has the later generation, is the one that owns the partition.
func (p *partition) open() (*topic.Reader, *record.Decoder, error) {
	decoder, err := p.intake.NewDecoder()
	if err != nil {
		return nil, nil, err
	}
	for _, name := range p.State.Outdated() {
		if s := p.answering.Find(name); s != nil {
			p.ledger.Saver.Changed(s, time.Now())
		}
	}
	if err := p.ledger.Confirm(p.Context); err != nil {
		return nil, nil, err
	}
	p.progress.Committed(p.ledger.Last().Offset, time.Now())
	o := &p.stage.options
	reader := p.stage.client.NewReader(topic.ReaderSettings{
		MaxWait: intake.FetchWait,
		Topic:   p.Topic, Partition: p.Partition, Offset: p.intake.Position().Offset, End: p.stage.ranges[p.TopicPartition].To, Uncommitted: !o.Committed, MaxBytes: o.FetchBytes, MaxRecord: o.Decode.LongestValue,
	})
	return reader, decoder, nil
}

// ownership begins an ownership of a partition, whose state the session writes.
func (s *Stage) ownership(a consumer.Assignment, session *store.Partition) *ownership {
	ctx, abandon := context.WithCancel(context.Background())
	log := s.options.Log.With("topic", a.Topic, "partition", a.Partition)
	return &ownership{Owner: answering.NewOwner(ctx, &s.answers, a.TopicPartition, session, log), stage: s, abandon: abandon}
}

// newPartition returns a partition with empty stations.
func newPartition(of *ownership, committer producer.Committer) *partition {
	to := &of.stage.stations
	return &partition{
		ownership: of, intake: intake.New(to.intake, of.Log), answering: answering.New(of.Owner),
		ledger: ledger.New(&to.ledger, of.Owner, committer),
	}
}

// own has the stations of a partition that was kept in memory go on for another ownership.
func (p *partition) own(of *ownership, committer producer.Committer) {
	p.ownership, p.handed = of, false
	p.intake.Own(of.Log)
	p.answering.Own(of.Owner)
	p.ledger.Own(of.Owner, committer)
}

// extend has extensions work beside the partition.
func (p *partition) extend(beside extensions) {
	p.extensions, p.Learners = beside, beside.learners
	p.intake.Show(len(beside.readers) > 0)
}

// nameOf is the input's id as the journal writes it; "" if it is not known.
func nameOf(input topic.ID) string {
	if input == (topic.ID{}) {
		return ""
	}
	return string(input[:])
}

func (s *Stage) restore(
	ctx context.Context,
	a consumer.Assignment,
	committer producer.Committer,
	committed int64,
) (*partition, error) {
	o := &s.options
	log := s.options.Log.With("topic", a.Topic, "partition", a.Partition)
	defer s.turn(ctx)()
	restored, session, err := s.store.Open(ctx, a)
	if err != nil {
		return nil, err
	}
	p := newPartition(s.ownership(a, session), committer)
	if o.FromState != "" {
		if err := p.inherit(ctx); err != nil {
			return nil, err
		}
	}
	p.answering.Restore(restored.Snapshots)
	now, err := p.find(ctx)
	if err != nil {
		return nil, err
	}
	p.input = now.id
	from := now.first
	if job, bounded := s.ranges[p.TopicPartition]; bounded {
		from = job.From
	}
	begun, err := p.intake.Begin(ctx, restored.Restored, committed,
		intake.Input{ID: nameOf(now.id), First: now.first, End: now.end, From: from})
	if err != nil {
		return nil, err
	}
	if begun.Remade {
		session.Anew()
		p.answering.ForgetPositions()
	}
	p.ledger.Begin(begun.Last)
	var earlier *extension.Earlier
	if begun.Known {
		earlier = extension.NewEarlier(restored.Restored, begun.Last)
	}
	beside, err := s.beside(ctx, p.ownership, earlier)
	if err != nil {
		return nil, err
	}
	p.extend(beside)
	session.Start(begun.Last)
	s.metrics.takeovers.Add(1, fromState)
	log.Info("partition taken over", "from", p.intake.Position().Offset, "committed", committed, "streams", p.answering.Len(),
		"episodes_to_learn_again", p.intake.Relearning(), "state_bytes", restored.Bytes)
	return p, nil
}

// turn waits until fewer partitions are being restored than there are workers, and returns the function that
// ends this one's turn. A partition's state is in memory twice while it is restored. The wait is bounded, so
// that a partition whose brokers are away does not block the others.
func (s *Stage) turn(ctx context.Context) (done func()) {
	const patience = 5 * time.Second
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case s.restores <- struct{}{}:
		return func() { <-s.restores }
	case <-timer.C:
	case <-ctx.Done():
	}
	return func() {}
}

// inherit starts streams from another group's state. It runs before this group's own state is restored.
func (p *partition) inherit(ctx context.Context) error {
	restored, err := p.stage.store.Inherit(ctx, p.stage.options.FromState, p.TopicPartition)
	if err != nil || restored == nil {
		return err
	}
	p.answering.Inherit(restored.Snapshots)
	return nil
}
