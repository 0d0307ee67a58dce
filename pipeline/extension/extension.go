// Package extension says what stands beside the line of a partition. An extension is a folder with a type that embeds Nothing, and
// a line in the list of extensions of package pipeline.
package extension

import (
	"context"
	"time"

	"github.com/slkstream/slkstream/consumer"
	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/state"
	"github.com/slkstream/slkstream/pipeline/labels"
	"github.com/slkstream/slkstream/solver/stream"
)

// Extension stands beside one partition, from its restoration on. The goroutine that owns the partition makes all calls, and
// waits for them: what takes long is done by goroutines of the extension's own, between Begin and End. A partition that
// returns to its process with all that it has in memory begins again.
type Extension interface {
	// Begin begins an ownership, before the first record is read. ctx ends when the partition is to be handed over.
	Begin(ctx context.Context) error
	// Answered takes an episode that has its answers, in order within a stream. Its results are part of the next
	// commit.
	Answered(e *Answered)
	// Labelled takes the labels in force, about every second, once the partition answers what is new. It returns in
	// how long it wants to be called again at the latest; 0: whenever that is.
	Labelled(inForce *labels.Version) (again time.Duration)
	// Forgotten is called when a stream is given up with all that it knew.
	Forgotten(of record.StreamID)
	// Records returns what is to be written with the next commit, each record once.
	Records() []record.Out
	// End ends an ownership. What Records has not returned is lost.
	End()
}

// Answered is an episode with its answers.
type Answered struct {
	Episode *consumer.Episode
	Keys    []string // of the items' positions; see record.ItemKey
	Answers []stream.Answer
	Report  stream.Report
	Labels  labels.Position // up to which the labels were in force
}

// Reader is an extension that sees items before their episodes are answered.
type Reader interface {
	// Read takes the items of a batch. old is the age of the batch's last record, if more records follow; else 0.
	Read(items []Read, old time.Duration)
}

// Read is an item that was read, and its stream.
type Read struct {
	Item   *record.Item
	Stream *Stream
}

// Learner is an extension that looks into the memory of streams. Its calls come from the workers, in order within a stream.
type Learner interface {
	// Hold is called when an episode is answered, or given up, before anybody sees its results. last is its last item.
	// The results are not committed before the channel is closed; nil: they need not wait.
	Hold(s *Stream, last record.Position) <-chan struct{}
	// Learned is called when a stream has learned from an episode. The caller holds the stream's lock.
	Learned(s *Stream, e *Answered)
	// Free is called when a worker is done with a stream, whatever it did, without the lock.
	Free(s *Stream)
}

// Nothing is an extension that does nothing.
type Nothing struct{}

// Begin implements Extension, as do the others.
func (Nothing) Begin(context.Context) error                { return nil }
func (Nothing) Answered(*Answered)                         {}
func (Nothing) Labelled(*labels.Version) (_ time.Duration) { return 0 }
func (Nothing) Forgotten(record.StreamID)                  {}
func (Nothing) Records() []record.Out                      { return nil }
func (Nothing) End()                                       {}

// Earlier is what earlier owners of a partition answered.
type Earlier struct {
	From  record.Position                     // items from here on are answered again, unless Done covers them
	Done  map[record.StreamID]record.Position // the last answered item of each stream
	Learn map[record.StreamID][]state.Episode // episodes that are read again and answered without results
}

// NewEarlier takes it from a restored journal, with which reading starts at from.
func NewEarlier(r *state.Restored, from record.Position) *Earlier {
	e := &Earlier{From: from, Done: r.Done, Learn: map[record.StreamID][]state.Episode{}}
	for _, a := range r.Relearn {
		e.Learn[a.Stream] = append(e.Learn[a.Stream], a)
	}
	return e
}

// Again says whether an item that an earlier owner answered will be answered again.
func (e *Earlier) Again(of record.StreamID, at record.Position) bool {
	for _, a := range e.Learn[of] {
		if !a.First.After(at) && !at.After(a.Last) {
			return true
		}
	}
	done, known := e.Done[of]
	return !e.From.After(at) && (!known || at.After(done))
}
