package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/slkstream/slkstream/consumer"
	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/state"
	"github.com/slkstream/slkstream/internal/topic"
	"github.com/slkstream/slkstream/producer"
)

// Partition writes the state of one partition, for one owner after the other as long as none of them is of another
// process.
type Partition struct {
	*state.Writer
	store *Store
	at    topic.TopicPartition // of the input
	id    topic.ID             // of the state topic
	end   int64                // only this process has written state of the partition before it since it was read
	made  int64                // Store.made when all streams were last in the state topic, or queued for saving
}

// Restored is the state of a partition that earlier owners left.
type Restored struct {
	*state.Restored
	Bytes int64 // read for it
}

// Open reads a partition's state, and returns what adds to it. It waits for open transactions: an owner of another input
// that shares the partition keeps one open only for a moment.
func (s *Store) Open(ctx context.Context, a consumer.Assignment) (*Restored, *Partition, error) {
	log := s.log.With("topic", a.Topic, "partition", a.Partition)
	p := &Partition{store: s, at: a.TopicPartition, made: s.made.Load()}
	loader := state.NewLoader(s.group, a.Topic)
	var err error
	if p.end, err = s.load(ctx, loader, a.TopicPartition); err != nil {
		return nil, nil, err
	}
	r := &Restored{loader.Restore(), loader.Bytes()}
	if r.Blocked != nil {
		return nil, nil, fmt.Errorf("state %s/%d: %w", s.name, a.Partition, r.Blocked)
	}
	if r.Old > 0 {
		s.warned.Once("old state", func(int) {
			log.Warn("state of an earlier format is left alone: streams start from their labels", "records", r.Old)
		})
	}
	for _, fault := range r.Faults {
		log.Error("state set aside: it stays for a version that can read it", "error", fault)
	}
	if p.id, err = s.client.ID(ctx, s.name); err != nil {
		return nil, nil, err
	}
	p.Writer = state.NewWriter(s.group, a.Topic, s.name, a.Partition, OwnerOf(a), r.Restored)
	p.Fit(s.client.RecordLimit(ctx, s.name))
	return r, p, nil
}

// OwnerOf returns the owner that an assignment makes, without its epoch.
func OwnerOf(a consumer.Assignment) state.Owner {
	return state.Owner{Generation: a.Generation.ID, Incarnation: a.Generation.Incarnation}
}

// Answered returns the offset up to which the state says that a partition is answered; 0: it says nothing.
func (s *Store) Answered(ctx context.Context, at topic.TopicPartition) (int64, error) {
	if n, err := s.client.Partitions(ctx, s.name); err != nil || n <= int(at.Partition) {
		return 0, err
	}
	loader := state.NewLoader(s.group, at.Topic)
	if _, err := s.load(ctx, loader, at); err != nil {
		return 0, err
	}
	if j := loader.Restore().Journal; j != nil {
		return j.From.Offset, nil
	}
	return 0, nil
}

// Inherit reads what another group's state topic has of a partition; nil: nothing.
func (s *Store) Inherit(ctx context.Context, from string, at topic.TopicPartition) (*state.Restored, error) {
	other := New(s.client, "", from, s.log)
	if n, err := s.client.Partitions(ctx, from); err != nil {
		return nil, fmt.Errorf("from-state: topic %s: %w", from, err)
	} else if n <= int(at.Partition) {
		return nil, nil
	}
	loader := state.NewLoader("", at.Topic)
	if _, err := other.load(ctx, loader, at); err != nil {
		return nil, err
	}
	r := loader.Restore()
	for _, fault := range r.Faults {
		s.log.Error("from-state: a record cannot be read and is left out", "topic", at.Topic, "partition", at.Partition, "error", fault)
	}
	return r, nil
}

// load reads a partition's state to its end, and returns that offset. It waits for open transactions.
func (s *Store) load(ctx context.Context, loader *state.Loader, of topic.TopicPartition) (int64, error) {
	log := s.log.With("topic", of.Topic, "partition", of.Partition)
	said := time.Now()
	first, end, err := s.client.Bounds(ctx, s.name, of.Partition, false)
	if err != nil {
		return 0, err
	}
	at := topic.TopicPartition{Topic: s.name, Partition: of.Partition}
	for b, err := range s.client.Batches(ctx, topic.Span{TopicPartition: at, From: first, To: end}) {
		if err != nil {
			return 0, err
		}
		for i := range b.Records {
			loader.Add(&b.Records[i])
		}
		b.Spent()
		if time.Since(said) > 2*time.Second {
			said = time.Now()
			log.Info("restoring", "read", fmt.Sprintf("%d of %d", b.Next-first, end-first), "bytes", loader.Bytes())
		}
	}
	return end, nil
}

// Remade says, once each time, whether the state topic was made again, so that all streams must be saved again.
func (p *Partition) Remade() bool {
	made := p.store.made.Load()
	again := made != p.made
	p.made = made
	return again
}

// Add adds a journal, and snapshots of streams, to a commit.
func (p *Partition) Add(to *producer.Commit, j *state.Journal, snapshots []*state.Snapshot) {
	to.State = p.Commit(j, snapshots)
	to.Stated = p.Durable()
	to.Offset = j.From.Offset
}

// Wrote notes the offset behind the last record that was written.
func (p *Partition) Wrote(end int64) { p.end = max(p.end, end) }

// Read reads a snapshot back, however long the brokers are away. It may be called from any goroutine. The error is that of
// ctx, or the snapshot is not there any more.
func (p *Partition) Read(ctx context.Context, k *state.Saved) (snapshot *state.Snapshot, err error) {
	mayCome := func(err error) bool { return ctx.Err() == nil && !lost(err) }
	err = p.store.client.Outage(p.store.log, "reading a stream's state back").Retry(ctx, mayCome, func() (err error) {
		snapshot, err = p.read(ctx, k)
		return err
	})
	return snapshot, err
}

func (p *Partition) read(ctx context.Context, k *state.Saved) (*state.Snapshot, error) {
	client, at := p.store.client, topic.TopicPartition{Topic: p.store.name, Partition: p.at.Partition}
	end, err := client.Offset(ctx, at.Topic, at.Partition, topic.Latest, true)
	if err != nil {
		return nil, err
	}
	if k.To <= end {
		snapshot, err := p.readSpan(ctx, k, topic.Span{TopicPartition: at, From: k.From, To: k.To})
		if !lost(err) {
			return snapshot, err
		}
	}
	// It may be elsewhere in another topic of the name: the records of a commit that was on its way when that was made are
	// there, behind offsets of the earlier one.
	first, end, err := client.Bounds(ctx, at.Topic, at.Partition, true)
	if err != nil {
		return nil, err
	}
	return p.readSpan(ctx, k, topic.Span{TopicPartition: at, From: first, To: end})
}

func (p *Partition) readSpan(ctx context.Context, k *state.Saved, span topic.Span) (*state.Snapshot, error) {
	k.Begin()
	for r, err := range p.store.client.Records(ctx, span) {
		if err == nil {
			err = k.Add(r)
		}
		if err != nil {
			return nil, err
		}
	}
	return k.Snapshot()
}

// lost says whether the error of reading a snapshot says that it is not there.
func lost(err error) bool {
	var cut *topic.OutOfRange
	return errors.Is(err, state.ErrUnreadable) || errors.As(err, &cut)
}

// NoteHung writes which episode does not end, for the next owner.
func (p *Partition) NoteHung(ctx context.Context, of record.StreamID, first record.Position) error {
	return p.store.client.Write(ctx, []record.Out{p.Hung(of, first)})
}

// found is what there is now of the partition's state.
type found struct {
	id         topic.ID // of the topic
	first, end int64
	written    bool // by others
}

// Changed returns why the state of a partition that was revoked must not go on; "" if nobody can have owned the partition in
// between. An owner writes state before it commits an offset. If it wrote neither, Open would give what is in memory.
func (p *Partition) Changed(ctx context.Context) (why string, err error) {
	var f found
	client := p.store.client
	if f.id, err = client.ID(ctx, p.store.name); err != nil {
		return "", err
	}
	if f.first, f.end, err = client.Bounds(ctx, p.store.name, p.at.Partition, false); err != nil {
		return "", err
	}
	at := topic.TopicPartition{Topic: p.store.name, Partition: p.at.Partition}
	for r, err := range client.Records(ctx, topic.Span{TopicPartition: at, From: max(p.end, f.first), To: f.end}) {
		if err != nil {
			return "", err
		}
		f.written = f.written || state.Concerns(r.Key, p.store.group, p.at.Topic)
	}
	return p.differs(f), nil
}

func (p *Partition) differs(f found) string {
	switch {
	case f.id != p.id || f.end < p.end || f.first > p.end:
		return "the state topic is not what it was"
	case f.written:
		return "state was written"
	}
	p.end = f.end
	return ""
}
