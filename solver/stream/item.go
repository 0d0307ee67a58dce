package stream

import (
	"errors"
	"fmt"

	"github.com/slkstream/slkstream/internal/kernel"
)

// Position is where an item stands in its partition: the offset of its record, and the object within it (-1
// where the record is the item).
type Position struct {
	Offset int64
	Object int32
}

// After tells whether p comes later than q.
func (p Position) After(q Position) bool {
	return p.Offset > q.Offset || p.Offset == q.Offset && p.Object > q.Object
}

// Start is before every position: a stream that has learned nothing has learned up to it.
var Start = Position{Offset: -1, Object: -1}

// Item is one embedding of an episode. Its Label, where there is one, teaches.
type Item struct {
	ID string // the sender's name for it; a taught item is corrected and forgotten by it
	// raw, of the stream's dimension; neither zero nor NaN nor Inf. The stream keeps no reference to it
	Vector   []float32
	Label    string // "": to be answered
	Model    string // the embedder; all items of an episode have the same
	Position Position

	Frame string // items of one frame are different things; "": of none
	Track string // items of one track are one thing; "": of none
}

// Answer is what the stream says of one Item.
type Answer struct {
	Label        string
	Confidence   float64
	Calibrated   bool // Confidence was fitted on labelled items of this stream
	Unknown      bool
	UnknownScore float64
	Review       bool // among the few whose label would teach most
	Alternatives []Alternative

	// With Settings.MaxWrong: the answer is sure, or would be from this confidence on; 0: from none.
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
	Kind  string // born, retired, named; doubtful, trusted, embedding changed: the stream itself, Class is empty
	Class string
	Into  string // named: its name
}

// Report is the audit of one episode.
type Report struct {
	Episode       int64
	Count         int
	Iterations    int     // prototype steps
	Sweeps        int     // assignment sweeps
	Before, After float64 // the objective R, with Settings.Judged
	Rises         int     // half-steps in which R rose; none is expected but with preset paper
	Warm          bool    // something learned took part in the answer
	Admitted      int     // items learned from
	NotAdmitted   int     // items that were not sure enough to be learned from
	// the learned prototypes' part of the mass of labelled items and learned prototypes together
	PriorFraction float64
	Unknown       int
	// of the newest items that people labelled: those whose answer without the label is known ...
	Labelled      int
	LabelledRight int  // ... and was right
	Doubtful      bool // fewer than half of them, and they are enough to tell
	// EmbeddingChanged says that the vectors are of another embedder than those before: nothing was learned.
	EmbeddingChanged bool
	Events           []Event
	Dropped          []string // ids of taught items no longer kept: their class was full
	Notes            []string // what a person should know, such as a start from the labels alone
}

// ErrItem is wrapped by the error that names an item no episode may hold: another dimension, NaN, Inf, or all
// zeros.
var ErrItem = errors.New("bad item")

// checkItems names the first item that no episode may hold.
func checkItems(items []Item) (d int, err error) {
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
