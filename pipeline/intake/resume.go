package intake

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/slkstream/slkstream/consumer"
	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/state"
	"github.com/slkstream/slkstream/pipeline/labels"
)

// Input is what there is to be read.
type Input struct {
	ID         string // of the topic; "": not known
	First, End int64  // offsets of its log
	From       int64  // where a partition begins that no owner has read
}

// Begun says where a partition begins.
type Begun struct {
	Last record.Position // reading would start again there, until the next commit says otherwise
	// Known says that the state holds which items were answered: those before Last, and some after it.
	Known  bool
	Remade bool // what was known of positions refers to other records
}

// Begin decides where reading starts, and prepares the replay of what earlier owners answered. committed is the group's
// offset, -1 if it has none.
func (i *Intake) Begin(ctx context.Context, r *state.Restored, committed int64, in Input) (Begun, error) {
	i.input, i.hung = in.ID, r.Hung
	j := r.Journal
	if j == nil {
		if committed < 0 {
			committed = in.From
		}
		return i.begin(i.within(committed, &in)), nil
	}
	maps.Copy(i.dimensions, j.Dimensions)
	i.of.Labels.Agree(i.dimensions)
	// An owner decides and rejects only what it has read.
	shorter := max(j.From.Offset, j.Decided.Offset, j.Rejected) > in.End
	known := j.Input != "" && in.ID != ""
	remade := known && j.Input != in.ID || !known && j.From.Offset > in.End
	switch {
	case remade:
		// Offsets refer to other records now. The streams' memories still hold, but not the positions up to
		// which they learned.
		i.log.Error("the input was deleted and made again: it is read from its start, memories stay",
			"was", j.From.Offset, "end", in.End)
		b := i.begin(in.First)
		b.Remade = true
		return b, nil
	case shorter:
		// Brokers have lost the end of the log. The records left in it before From were answered; the next
		// ones have the offsets of the lost ones.
		start := i.within(min(j.From.Offset, in.End), &in)
		i.log.Error("the brokers have lost records at the end of the input that were read: it is read on "+
			"from its end, or the first item without an answer, memories stay", "from", start,
			"was", max(j.From.Offset, j.Rejected), "end", in.End)
		b := i.begin(start)
		b.Remade = true
		return b, nil
	}
	// Every offset is committed with a journal that covers it, so one beyond it was committed by others: by a consumer
	// that has the group by mistake, or by a crashed broker for a topic that was deleted.
	if committed > j.From.Offset {
		i.log.Error("the group's offset was moved forward by others: reading starts where this group has answered to, "+
			"so that nothing is left without an answer", "from", j.From.Offset, "offset", committed)
	}
	return Begun{Last: j.From, Known: true}, i.resume(ctx, r, &in)
}

// begin reads from an offset, and leaves nothing out.
func (i *Intake) begin(start int64) Begun {
	_ = i.decodeBy("", start, start)
	i.position, i.rejected = record.Start(start), start
	return Begun{Last: i.position}
}

// resume goes on where a journal says.
func (i *Intake) resume(ctx context.Context, r *state.Restored, in *Input) error {
	j := r.Journal
	i.replay.from, i.replay.decided = j.From, j.Decided
	i.rejected = j.Rejected
	i.buffer.Resume(j.High, steady(time.Now()))
	for name, last := range r.Done {
		i.buffer.Skip(name, last)
	}
	ahead := make([]consumer.AnsweredAhead, len(r.Ahead))
	for n, g := range r.Ahead {
		ahead[n] = consumer.AnsweredAhead{Key: g.Stream, First: g.First, Last: g.Last, At: g.At, Closed: consumer.Reason(g.Closed)}
	}
	i.buffer.AddAhead(ahead)
	start, lost := j.From.Offset, 0
	var v *labels.Version
	for _, a := range r.Relearn {
		if a.First.Offset < in.First {
			lost++
			continue
		}
		if v == nil || !slices.Equal(v.Next, a.Labels) {
			var err error
			if v, err = i.of.Labels.At(ctx, a.Labels, v); err != nil {
				return err
			}
		}
		i.replay.add(a, v)
		start = min(start, a.First.Offset)
	}
	if lost > 0 {
		i.log.Warn("retention took items before they were saved in a snapshot: what was learned from them is lost", "episodes", lost)
	}
	start = i.within(start, in)
	i.position = record.Start(start)
	read := max(j.From.Offset, j.Decided.Offset, j.Rejected)
	for _, last := range r.Done {
		read = max(read, last.Offset+1)
	}
	return i.decodeBy(j.Reading, read, start)
}

// within moves a start outside the log to its nearest end, and logs it.
func (i *Intake) within(start int64, in *Input) int64 {
	switch {
	case start < in.First:
		i.of.Lost.Add(float64(in.First - start))
		i.log.Warn("retention took records before they were read", "records", in.First-start, "from", start, "to", in.First)
		return in.First
	case start > in.End:
		i.log.Error("the group's offset is past the end of the log, which is read from its start", "offset", start, "end", in.End)
		return in.First
	}
	return start
}
