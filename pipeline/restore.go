package pipeline

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/slkstream/slkstream/consumer"
	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/topic"
	"github.com/slkstream/slkstream/pipeline/answering"
	"github.com/slkstream/slkstream/pipeline/extension"
	"github.com/slkstream/slkstream/pipeline/health"
	"github.com/slkstream/slkstream/pipeline/labels"
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
	committer, committed, err := o.Delivery.Claim(
		ctx,
		producer.Claim{Group: o.Group, Topic: a.Topic, Partition: a.Partition, Generation: a.Generation},
	)
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
	decoder, err := p.newDecoder()
	if err != nil {
		return nil, nil, err
	}
	p.stage.labels.Agree(p.intake.dimensions)
	for _, name := range p.State.Outdated() {
		if s := p.answering.Find(name); s != nil {
			p.ledger.saver.Changed(s, time.Now())
		}
	}
	committed := p.ledger.commits.last.Offset
	if err := p.ledger.commits.committer.Commit(p.Context, &producer.Commit{Offset: committed}); err != nil {
		return nil, nil, err
	}
	p.progress.Committed(committed, time.Now())
	o := &p.stage.options
	reader := p.stage.client.NewReader(topic.ReaderSettings{
		MaxWait: fetchWait,
		Topic:   p.Topic, Partition: p.Partition, Offset: p.intake.position.Offset, End: p.stage.ranges[p.TopicPartition].To, Uncommitted: !o.Committed, MaxBytes: o.FetchBytes, MaxRecord: o.Decode.LongestValue,
	})
	return reader, decoder, nil
}

// ownership begins an ownership of a partition, whose state the session writes.
func (s *Stage) ownership(a consumer.Assignment, session *store.Partition) *ownership {
	ctx, abandon := context.WithCancel(context.Background())
	log := s.options.Log.With("topic", a.Topic, "partition", a.Partition)
	return &ownership{Owner: answering.NewOwner(ctx, &s.answers, a.TopicPartition, session, log), stage: s, abandon: abandon}
}

// own makes p's stations work for an ownership: new ones, or, if p was kept in memory, those that it has.
func (p *partition) own(of *ownership, committer producer.Committer) {
	o := &of.stage.options
	before := p.ledger.commits
	p.ownership, p.handed = of, false
	p.ledger.of, p.ledger.commits = of, newCommits(committer, of.State, o.CommitInterval, o.Eager)
	if before != nil {
		p.intake.of, p.ledger.commits.last = of, before.last
		p.answering.Own(of.Owner)
		return
	}
	p.intake = intake{of: of, replay: newReplay(), dimensions: map[string]int{}, fetchedAt: time.Now()}
	p.intake.buffer = consumer.NewBuffer(o.Limits)
	p.answering = answering.New(of.Owner)
}

// stand has extensions stand beside the partition.
func (o *ownership) stand(beside extensions) { o.extensions, o.Learners = beside, beside.learners }

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
	giveUp := func(ctx context.Context, tp topic.TopicPartition) error {
		outputs, err := s.client.PartitionsOf(ctx, o.Out, o.Dead, o.Review, o.Episodes, o.Corrections, o.Identities)
		if err != nil {
			return err
		}
		return committer.GiveUpHanging(ctx, append(outputs, tp))
	}
	restored, session, err := s.store.Open(ctx, a, giveUp)
	if err != nil {
		return nil, err
	}
	p := new(partition)
	p.own(s.ownership(a, session), committer)
	if o.FromState != "" {
		if err := p.inherit(ctx); err != nil {
			return nil, err
		}
	}
	p.intake.hung = restored.Hung
	if j := restored.Journal; j != nil {
		maps.Copy(p.intake.dimensions, j.Dimensions)
	}
	p.answering.Restore(restored.Snapshots)
	now, err := p.find(ctx)
	if err != nil {
		return nil, err
	}
	p.input, p.intake.input = now.id, nameOf(now.id)
	start, err := p.resume(ctx, restored, committed, now.first, now.end)
	if err != nil {
		return nil, err
	}
	last := p.ledger.commits.last
	var earlier *extension.Earlier
	if p.intake.replay.from == last {
		earlier = extension.NewEarlier(restored.Restored, last)
	}
	beside, err := s.beside(ctx, p.ownership, earlier)
	if err != nil {
		return nil, err
	}
	p.stand(beside)
	session.Start(last)
	s.metrics.takeovers.Add(1, fromState)
	log.Info("partition taken over", "from", start, "committed", committed, "streams", p.answering.Len(),
		"episodes_to_learn_again", p.intake.replay.left, "state_bytes", restored.Bytes)
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

// resume decides where to read from, and prepares the replay.
func (p *partition) resume(ctx context.Context, r *store.Restored, committed, first, end int64) (int64, error) {
	j := r.Journal
	if j == nil {
		start := committed
		if start < 0 {
			start = first
			if r, bounded := p.stage.ranges[p.TopicPartition]; bounded {
				start = r.From
			}
		}
		return p.begin(p.within(start, first, end)), nil
	}
	// An owner decides and rejects only what it has read.
	shorter := max(j.From.Offset, j.Decided.Offset, j.Rejected) > end
	known := j.Input != "" && p.intake.input != ""
	remade := known && j.Input != p.intake.input || !known && j.From.Offset > end
	if shorter || remade {
		// Offsets refer to other records now. The streams' memories still hold, but not the positions up to
		// which they learned.
		start := first
		if !remade {
			// Brokers have lost the end of the log. The records left in it before From were answered; the next
			// ones have the offsets of the lost ones.
			start = p.within(min(j.From.Offset, end), first, end)
			p.Log.Error("the brokers have lost records at the end of the input that were read: it is read on "+
				"from its end, or the first item without an answer, memories stay", "from", start,
				"was", max(j.From.Offset, j.Rejected), "end", end)
		} else {
			p.Log.Error("the input was deleted and made again: it is read from its start, memories stay",
				"was", j.From.Offset, "end", end)
		}
		p.State.Anew()
		p.answering.Anew()
		return p.begin(start), nil
	}
	// Every offset is committed with a journal that covers it, so one beyond it was committed by others: by a consumer
	// that has the group by mistake, or by a crashed broker for a topic that was deleted.
	from := j.From
	if committed > from.Offset {
		p.Log.Error("the group's offset was moved forward by others: reading starts where this group has answered to, "+
			"so that nothing is left without an answer", "from", from.Offset, "offset", committed)
	}
	p.intake.replay.from, p.intake.replay.decided = from, j.Decided
	p.intake.rejected = j.Rejected
	p.intake.buffer.Resume(j.High, time.Now())
	for name, last := range r.Done {
		p.intake.buffer.Skip(name, last)
	}
	ahead := make([]consumer.AnsweredAhead, len(r.Ahead))
	for i, g := range r.Ahead {
		ahead[i] = consumer.AnsweredAhead{Key: g.Stream, First: g.First, Last: g.Last, At: g.At, Closed: consumer.Reason(g.Closed)}
	}
	p.intake.buffer.AddAhead(ahead)
	start, lost := from.Offset, 0
	var v *labels.Version
	for _, a := range r.Relearn {
		if a.First.Offset < first {
			lost++
			continue
		}
		if v == nil || !slices.Equal(v.Next, a.Labels) {
			var err error
			if v, err = p.stage.labels.At(ctx, a.Labels, v); err != nil {
				return 0, err
			}
		}
		p.intake.replay.add(a, v)
		start = min(start, a.First.Offset)
	}
	if lost > 0 {
		p.Log.Warn("retention took items before they were saved in a snapshot: what was learned from them is lost", "episodes", lost)
	}
	start = p.within(start, first, end)
	p.intake.position, p.ledger.commits.last = record.Start(start), from
	read := max(from.Offset, j.Decided.Offset, j.Rejected)
	for _, last := range r.Done {
		read = max(read, last.Offset+1)
	}
	return start, p.intake.decodeBy(j.Reading, read, start)
}

// begin sets where a partition without a usable journal is read from, and returns it.
func (p *partition) begin(start int64) int64 {
	_ = p.intake.decodeBy("", start, start)
	p.intake.position, p.ledger.commits.last, p.intake.rejected = record.Start(start), record.Start(start), start
	return start
}

// within moves a start outside the log to its nearest end, and logs it.
func (p *partition) within(start, first, end int64) int64 {
	switch {
	case start < first:
		p.stage.metrics.lost.Add(float64(first - start))
		p.Log.Warn("retention took records before they were read", "records", first-start, "from", start, "to", first)
		return first
	case start > end:
		p.Log.Error("the group's offset is past the end of the log, which is read from its start", "offset", start, "end", end)
		return first
	}
	return start
}
