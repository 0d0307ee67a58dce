package stream

import (
	"errors"
	"fmt"
	"slices"

	"github.com/slkstream/slkstream/internal/kernel"
)

// Position is an item's place in its partition: the offset of its record, and the object's index within it,
// -1 if the record is the item.
type Position struct {
	Offset int64
	Object int32
}

// After reports whether p comes later than q.
func (p Position) After(q Position) bool {
	return p.Offset > q.Offset || p.Offset == q.Offset && p.Object > q.Object
}

// Start precedes every position: a new stream has learned up to it.
var Start = Position{Offset: -1, Object: -1}

// Item is one embedding of an episode. If it has a Label, the stream learns that.
type Item struct {
	ID string // the sender's name for it; names a taught item to correct or forget
	// raw, of the stream's dimension, finite, not all zeros. The stream keeps no reference to it
	Vector   []float32
	Label    string // "": to be answered
	Model    string // the embedder; all items of an episode have the same
	Position Position

	Frame string // items of one frame are different objects; "": of none
	Track string // items of one track are one object; "": of none

	// Result is the id of its result. The label of an example that is called so, or ID, is then the item's own; "": none is.
	Result string
}

// Answer is the stream's answer to one Item.
type Answer struct {
	Label        string
	Class        string // before names: of the classes that are called Label, the likeliest
	Confidence   float64
	Calibrated   bool // Confidence was fitted on labelled items of this stream
	Unknown      bool
	UnknownScore float64
	Review       bool // one of the few whose label would teach most
	Alternatives []Alternative

	// With Settings.MaxWrong: whether the answer is sure, and from which confidence it would be; 0: from none.
	Sure     bool
	SureFrom float64
}

// Alternative is another label an item might have had.
type Alternative struct {
	Label      string
	Confidence float64
}

// Event is a change in the life of a class or cluster.
type Event struct {
	// born, retired, named; new-unknown, returned-unknown: a cluster of unknown items; doubtful, trusted,
	// embedding changed: the stream itself, Class is empty
	Kind  string
	Class string
	Into  string // named: its name
}

// Report sums up one episode.
type Report struct {
	Episode       int64
	Count         int
	Iterations    int     // number of prototype steps
	Sweeps        int     // number of assignment sweeps
	Before, After float64 // the objective R, with Settings.Judged
	Rises         int     // half-steps in which R rose; 0 is expected except with preset paper
	Warm          bool    // learned state took part in the answers
	Admitted      int     // items learned from
	Unknown       int
	// of the newest labelled items: those also answered without their label ...
	Labelled      int
	LabelledRight int  // ... and of these, answered right
	Doubtful      bool // fewer than half of them were right, and they are enough to tell
	// Unlike: the items look unlike the examples, as if these were of other moments or places, and too few labels
	// came later to show how many answers are right.
	Unlike bool
	// EmbeddingChanged: the vectors are of another embedder than those before. Nothing is learned from such an
	// episode unless it carries labels.
	EmbeddingChanged bool
	Sure             []SurePoint // with Settings.MaxWrong: of the stream's held-out answers
	// Clusters are, with Settings.Summaries, those that have changed since the episode before, in order: of one that
	// is there twice the last counts. One that is gone has no mean.
	Clusters []ClusterSummary
	Events   []Event
	Dropped  []string // ids of taught items dropped because their class, or the stream, was full
	Notes    []string // messages for the user, such as a start from the labels alone
}

// add adds the report of the episode after r's, in which items of the same one were answered.
func (r *Report) add(next *Report) {
	sum := *next
	sum.Count += r.Count
	sum.Iterations += r.Iterations
	sum.Sweeps += r.Sweeps
	sum.Before += r.Before
	sum.After += r.After
	sum.Rises += r.Rises
	sum.Warm = r.Warm || sum.Warm
	sum.Admitted += r.Admitted
	sum.Unknown += r.Unknown
	sum.Labelled += r.Labelled
	sum.LabelledRight += r.LabelledRight
	sum.Doubtful = r.Doubtful || sum.Doubtful
	sum.Unlike = r.Unlike || sum.Unlike
	sum.EmbeddingChanged = r.EmbeddingChanged || sum.EmbeddingChanged
	sum.Clusters = slices.Concat(r.Clusters, sum.Clusters)
	sum.Events = slices.Concat(r.Events, sum.Events)
	sum.Dropped = slices.Concat(r.Dropped, sum.Dropped)
	sum.Notes = slices.Concat(r.Notes, sum.Notes)
	*r = sum
}

// ErrItem is wrapped by the error for an episode that is empty or has an invalid item: of another dimension
// or model, with NaN or Inf, or all zeros.
var ErrItem = errors.New("bad item")

// Check returns the dimension of an episode's items, or an error that names the first invalid one.
func Check(items []Item) (d int, err error) {
	if len(items) == 0 {
		return 0, fmt.Errorf("%w: an episode has at least one", ErrItem)
	}
	d = len(items[0].Vector)
	for i, item := range items {
		if len(item.Vector) != d || d == 0 {
			return 0, fmt.Errorf("%w: row %d: dimension %d, not %d", ErrItem, i, len(item.Vector), d)
		}
		if item.Model != items[0].Model {
			return 0, fmt.Errorf("%w: row %d: model %q, not the episode's %q", ErrItem, i, item.Model, items[0].Model)
		}
		if length := kernel.Dot(item.Vector, item.Vector); length > 0 && length-length == 0 {
			continue
		}
		zero := true
		for j, v := range item.Vector {
			if v-v != 0 {
				return 0, fmt.Errorf("%w: row %d: value %g at %d is not finite", ErrItem, i, v, j)
			}
			zero = zero && v == 0
		}
		if zero {
			return 0, fmt.Errorf("%w: row %d: all its values are zero", ErrItem, i)
		}
	}
	return d, nil
}
