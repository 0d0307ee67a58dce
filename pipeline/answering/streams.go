// Package answering is the second station of a partition: it owns the memories of streams, and has workers answer their
// episodes, those of a stream one after the other. What comes of an episode is a Job's Outcome; workers touch nothing
// else of a partition.
package answering

import (
	"context"
	"iter"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/state"
	"github.com/slkstream/slkstream/internal/telemetry"
	"github.com/slkstream/slkstream/internal/topic"
	"github.com/slkstream/slkstream/pipeline/budget"
	"github.com/slkstream/slkstream/pipeline/extension"
	"github.com/slkstream/slkstream/pipeline/intake"
	"github.com/slkstream/slkstream/pipeline/labels"
	"github.com/slkstream/slkstream/pipeline/store"
	"github.com/slkstream/slkstream/solver/stream"
)

// Settings are those of a process.
type Settings struct {
	Memory   stream.Settings
	Labels   *labels.Topic
	Results  Results
	Observer Observer // nil: none
	Budget   *budget.Budget
	Pool     *Pool
	Known    *Known
	PutAway  time.Duration     // see Streams.PutAway; 0: never
	Moves    telemetry.Counter // streams put away, and back
}

// Owner is one ownership of a partition, from claim to hand-over, as workers see it. Nothing of it changes once episodes
// are answered.
type Owner struct {
	topic.TopicPartition
	*Settings
	Log      *slog.Logger
	Context  context.Context // ends when the partition is released, not when it drains
	State    *store.Partition
	Learners []extension.Learner
	done     finished
}

// NewOwner begins an ownership.
func NewOwner(ctx context.Context, of *Settings, at topic.TopicPartition, state *store.Partition, log *slog.Logger) *Owner {
	return &Owner{
		TopicPartition: at, Settings: of, Log: log, Context: ctx, State: state,
		done: finished{jobs: make(chan []*Job, 1)},
	}
}

// Streams are those of a partition. One goroutine owns them; workers have their jobs.
type Streams struct {
	owner    *Owner
	all      map[record.StreamID]*Stream
	jobs     int       // given to the workers and not collected
	unsolved int64     // bytes of closed episodes that wait for a worker
	evicted  []evicted // evicted, and their state must still be deleted
}

// New returns no streams.
func New(owner *Owner) Streams { return Streams{owner: owner, all: map[record.StreamID]*Stream{}} }

// Own has another owner go on with the streams.
func (a *Streams) Own(owner *Owner) { a.owner = owner }

// Submit has a closed episode answered.
func (a *Streams) Submit(c intake.Closed) *Job {
	a.unsolved += c.Episode.Bytes
	j := &Job{Closed: c, Stream: a.Stream(c.Episode.Key)}
	a.submit(j)
	return j
}

// Save has a snapshot taken of a stream.
func (a *Streams) Save(s *Stream) { a.submit(&Job{Stream: s}) }

func (a *Streams) submit(j *Job) {
	a.jobs++
	j.owner = a.owner
	j.Stream.pending++
	a.owner.Pool.submit(j)
}

// Done passes what workers have done to Collect.
func (a *Streams) Done() <-chan []*Job { return a.owner.done.jobs }

// Collect takes jobs back, and returns those that count: none once the partition is released.
func (a *Streams) Collect(jobs []*Job) []*Job {
	for _, j := range jobs {
		a.jobs--
		j.Stream.pending--
		a.setAside(j.Stream)
		if j.Episode != nil {
			a.unsolved -= j.Episode.Bytes
		}
	}
	if a.owner.Context.Err() != nil {
		return nil
	}
	for _, j := range jobs {
		j.Collected = true
		if j.Answers() {
			s := j.Stream
			s.episodes = max(s.episodes, j.Report.Episode)
			s.taught = s.taught || teaches(j.Episode.Items)
		}
	}
	return jobs
}

// Jobs returns how many jobs the workers have that are not collected.
func (a *Streams) Jobs() int { return a.jobs }

// Len returns how many streams there are.
func (a *Streams) Len() int { return len(a.all) }

// All returns the streams.
func (a *Streams) All() iter.Seq[*Stream] { return maps.Values(a.all) }

// Find returns a stream; nil: there is none.
func (a *Streams) Find(key record.StreamID) *Stream { return a.all[key] }

// Stream returns a stream, which starts if it is new.
func (a *Streams) Stream(key record.StreamID) *Stream {
	s := a.all[key]
	if s == nil {
		s = a.add(key)
		s.Memory = stream.New(key.Name, a.owner.Memory)
		a.owner.Known.Add(s)
	}
	return s
}

// add adds a stream without a memory, which nobody else knows.
func (a *Streams) add(key record.StreamID) *Stream {
	s := &Stream{
		Stream:  extension.Stream{Key: key, At: a.owner.TopicPartition},
		learned: record.NoPosition, saved: time.Now(), used: time.Now(),
	}
	a.all[key] = s
	return s
}

// Read returns items with their streams.
func (a *Streams) Read(items []*record.Item) []extension.Read {
	list := make([]extension.Read, len(items))
	for i, it := range items {
		list[i] = extension.Read{Item: it, Stream: &a.Stream(it.Of()).Stream}
	}
	return list
}

// Busy says whether reading further ahead only fills memory: enough waits here, and the workers have enough to
// do. If few streams are ready, as when a topic holds items of one stream in long runs, reading continues to
// find others. A partition with unsolved episodes is woken when a worker is done and checks again.
func (a *Streams) Busy() bool {
	return a.unsolved >= unsolvedMost && a.owner.Pool.busyFor(readyMost)
}

// unsolvedMost bytes of closed episodes may wait in a partition however busy the workers are: about one
// fetch. Beyond that, reading waits once each worker has readyMost streams to work on.
const (
	unsolvedMost = 1 << 20
	readyMost    = 2
)

// Restore restores streams. Their memories are made when they are first wanted, so that a new owner answers soon. A stream
// whose snapshot cannot be read starts cold, and the snapshot is left for a version that can.
func (a *Streams) Restore(snapshots map[record.StreamID]*state.Snapshot) {
	held := int64(0)
	for key, snapshot := range snapshots {
		s := a.all[key]
		if s == nil {
			s = a.add(key)
		}
		s.learned, s.labels, s.learnedTime = snapshot.Learned, snapshot.Labels, snapshot.Seen
		s.size = snapshot.Bytes()
		outline, err := stream.Peek(snapshot.Pieces)
		s.episodes, s.taught = outline.Episodes, outline.Taught
		s.sleep(a.owner, snapshot, nil)
		s.holds(s.bytes.Load(), int64(outline.Metric))
		after := a.owner.PutAway
		if err == nil && after > 0 && time.Since(snapshot.Written) >= after && s.putAway(a.owner) {
			continue
		}
		if tight := a.owner.Budget.Tight(held + s.bytes.Load()); err != nil || tight {
			_ = s.Return(a.owner.Context) // it is here
			a.setAside(s)
			if tight {
				s.Memory.DropMetric()
				s.measure(s.Memory)
			}
		}
		held += s.bytes.Load()
	}
}

// Inherit starts streams from another group's snapshots, with the labels in force.
func (a *Streams) Inherit(snapshots map[record.StreamID]*state.Snapshot) {
	for key, snapshot := range snapshots {
		s := a.add(key)
		s.Memory, _ = a.owner.memory(snapshot)
		a.owner.Labels.Current().Reset(s.Memory, key.Name, snapshot.Labels)
	}
}

// Snapshot encodes a stream's memory at once, where no worker is to do so; nil: it was put away.
func (a *Streams) Snapshot(s *Stream) *state.Snapshot {
	s.Lock() // it may still be learning from its last job
	defer s.Unlock()
	a.setAside(s)
	return s.Snapshot()
}

// setAside leaves a stream's snapshot alone, and before its next one, if its memory could not be made from it.
func (a *Streams) setAside(s *Stream) {
	if s.unreadable.Swap(false) {
		a.owner.State.Leave(s.Key)
	}
}

// memory decodes a snapshot. If it cannot be read, or was reset by hand and holds a position only, the stream
// starts cold.
func (of *Owner) memory(snapshot *state.Snapshot) (memory *stream.Stream, readable bool) {
	name := snapshot.Stream.Name
	if len(snapshot.Pieces) > 0 {
		restored, err := stream.Restore(of.Memory, snapshot.Pieces)
		if err == nil {
			return restored, true
		}
		of.Log.Error("state set aside: the stream starts cold", "stream", name, "model", snapshot.Stream.Model, "error", err)
	}
	return stream.New(name, of.Memory), len(snapshot.Pieces) == 0
}

// ForgetPositions forgets up to which items streams were answered: the input has other records now.
func (a *Streams) ForgetPositions() {
	for _, s := range a.all {
		s.learned = record.NoPosition
	}
}

// teaches says whether any of the items carries a label.
func teaches(items []record.Item) bool {
	return slices.ContainsFunc(items, func(it record.Item) bool { return it.Label != "" })
}

// finished passes jobs from the workers to the partition's owner, as many at a time as are done.
type finished struct {
	mutex sync.Mutex
	jobs  chan []*Job // with room for one list
}

func (f *finished) put(j *Job) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	var before []*Job
	select {
	case before = <-f.jobs:
	default:
	}
	f.jobs <- append(before, j) // has room: only put fills it, and one at a time
}

// Known are the streams of the partitions that a process owns: what goroutines other than a partition's own find.
type Known struct {
	streams            sync.Map     // *Stream by key
	bytes, metricBytes atomic.Int64 // the sums of the streams' own
}

// Add makes a stream known.
func (k *Known) Add(s *Stream) {
	s.count(k)
	k.streams.Store(s.Key, s)
}

// Drop makes it unknown. Its key may have another stream by now, which stays.
func (k *Known) Drop(s *Stream) {
	s.count(nil)
	k.streams.CompareAndDelete(s.Key, s)
}

// Find returns a stream; nil: none is known.
func (k *Known) Find(key record.StreamID) *Stream {
	s, known := k.streams.Load(key)
	if !known {
		return nil
	}
	return s.(*Stream)
}

// Names returns the names of the known streams, sorted.
func (k *Known) Names() []string {
	var names []string
	for s := range k.All() {
		names = append(names, s.Key.Name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// All returns the streams.
func (k *Known) All() iter.Seq[*Stream] {
	return func(yield func(*Stream) bool) {
		k.streams.Range(func(_, s any) bool { return yield(s.(*Stream)) })
	}
}

// add changes the sums.
func (k *Known) add(bytes, ofMetrics int64) {
	k.bytes.Add(bytes)
	k.metricBytes.Add(ofMetrics)
}

// Bytes returns the approximate size of the streams' memories, and of the metrics in them.
func (k *Known) Bytes() (all, ofMetrics int64) { return k.bytes.Load(), k.metricBytes.Load() }
