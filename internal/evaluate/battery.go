package evaluate

import (
	"context"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/slkstream/slkstream/solver/file"
	"github.com/slkstream/slkstream/solver/stream"
)

// BatteryCell is one way in which a set comes: as a stream or as a file, in an order that is real for it.
type BatteryCell struct {
	Kind    string  `json:"kind"` // stream or file
	Set     string  `json:"set"`
	Order   string  `json:"order"`   // rows, bursts or shuffled
	Support string  `json:"support"` // class, first or group
	Tracks  bool    `json:"tracks,omitempty"`
	Names   bool    `json:"names,omitempty"` // each class has the vector of its name
	Shots   int     `json:"shots"`
	Teach   float64 `json:"teach"`
	Episode int     `json:"episode,omitempty"` // of streams
}

// BatteryRow is a cell of one seed, scored.
type BatteryRow struct {
	BatteryCell
	Seed         uint64             `json:"seed"`
	Right        float64            `json:"right"`
	Rivals       map[string]float64 `json:"rivals"`
	ECE          *float64           `json:"ece,omitempty"`
	UnknownFalse *float64           `json:"unknown_false,omitempty"`
	// of the items of a quarter of the classes, which nobody labels, the share called unknown
	Strangers *float64 `json:"strangers,omitempty"`
}

// FindSets returns the folders below root that hold X.npy and y.npy, sorted.
func FindSets(root string) ([]string, error) {
	var folders []string
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.Name() != "X.npy" {
			return err
		}
		folder := filepath.Dir(path)
		if found, _ := filepath.Glob(filepath.Join(folder, "y.npy")); len(found) > 0 {
			folders = append(folders, folder)
		}
		return nil
	})
	return folders, err
}

// leastPart is how many rows a class has in a part of a set that keeps only some classes.
const leastPart = 20

// Part returns at most so many rows of a set: the first if the set was recorded in an order, which its rows then
// have, else rows spread over it, of as many classes as leave leastPart rows for each.
func (s *Set) Part(most int) *Set {
	var rows []int32
	switch {
	case s.Order != nil:
		rows = s.Order[:min(most, s.N)]
	case s.Frames != nil:
		for i := range min(most, s.N) {
			rows = append(rows, int32(i))
		}
	default:
		ids, _ := s.classes()
		kept := map[int32]bool{}
		for i, n := 0, min(len(ids), max(1, most/leastPart)); i < n; i++ {
			kept[ids[i*len(ids)/n]] = true
		}
		for i, y := range s.Labels {
			if kept[y] {
				rows = append(rows, int32(i))
			}
		}
		for i, n := 0, min(most, len(rows)); i < n; i++ {
			rows[i] = rows[i*len(rows)/n]
		}
		rows = rows[:min(most, len(rows))]
	}
	part := &Set{Name: s.Name, N: len(rows), D: s.D, Novel: s.Novel, Names: s.Names}
	for _, i := range rows {
		part.Rows = append(part.Rows, s.row(i)...)
	}
	for from, to := range map[*[]int32]*[]int32{
		&s.Labels: &part.Labels, &s.Frames: &part.Frames, &s.Tracks: &part.Tracks, &s.Groups: &part.Groups,
	} {
		for _, i := range rows {
			if *from != nil {
				*to = append(*to, (*from)[i])
			}
		}
	}
	return part
}

// BatteryCells returns the cells that are real for a set: as recorded if it has frames, else in bursts and
// shuffled; examples of each class from its first ten rows, which means something only in a recorded order, and
// from anywhere, or from other groups than what is scored; with tracks and class names too, where a set has them.
func BatteryCells(set *Set) []BatteryCell {
	orders, supports, tracks, names := []string{"bursts", "shuffled"}, []string{"class"}, []bool{false}, []bool{false}
	if set.Frames != nil {
		orders, supports = []string{"rows"}, []string{"first", "class"}
	}
	if set.Groups != nil {
		supports = []string{"group"}
	}
	if set.Tracks != nil {
		tracks = append(tracks, true)
	}
	if set.Names != nil {
		names = append(names, true)
	}
	var cells []BatteryCell
	for _, order := range orders {
		for _, support := range supports {
			for _, shots := range []int{0, 1, 5} {
				for _, teach := range []float64{0, .03} {
					cell := BatteryCell{
						Kind: "stream", Set: set.Name, Order: order, Support: support, Shots: shots, Teach: teach,
					}
					for _, cell.Tracks = range tracks {
						for _, cell.Episode = range []int{8, 100} {
							if shots > 0 {
								cells = append(cells, cell)
							}
						}
					}
					cell.Kind, cell.Episode, cell.Tracks = "file", 0, false
					for _, cell.Names = range names {
						if shots > 0 || cell.Names && teach == 0 {
							cells = append(cells, cell)
						}
					}
				}
			}
		}
	}
	return cells
}

// protocol says how the cell is drawn from its set.
func (c *BatteryCell) protocol(set *Set) StreamProtocol {
	p := StreamProtocol{
		Order: c.Order, SupportBy: c.Support, Groups: set.Groups, ByName: c.Names,
		Shots: c.Shots, Teach: c.Teach, TeachBy: "random", Episode: max(1, c.Episode),
	}
	if c.Kind == "stream" {
		p.Frames = set.Frames
	}
	if c.Tracks {
		p.Tracks = set.Tracks
	}
	return p
}

// strangers is the share of the classes that nobody labels where those called unknown are counted.
const strangers = .25

// Run draws the cell of a seed, and scores the defaults and all rivals on it.
func (c BatteryCell) Run(ctx context.Context, set *Set, seed uint64) (*BatteryRow, error) {
	row := &BatteryRow{BatteryCell: c, Seed: seed, Rivals: map[string]float64{}}
	p := c.protocol(set)
	part := p
	part.UnlabelledClasses = strangers
	var err error
	if c.Kind == "stream" {
		err = row.stream(ctx, set, p, part)
	} else {
		err = row.file(ctx, set, p, part)
	}
	if err != nil {
		return nil, fmt.Errorf("%+v: %w", c, err)
	}
	return row, nil
}

func (r *BatteryRow) stream(ctx context.Context, set *Set, p, part StreamProtocol) error {
	own := Stream{Protocol: p, Settings: stream.Defaults(), Method: "default"}
	got, err := own.Run(ctx, set, r.Seed)
	if err != nil {
		return err
	}
	r.Right, r.ECE, r.UnknownFalse = *got.Accuracy, got.ECE, got.UnknownFalse
	own.Protocol = part
	if got, err = own.Run(ctx, set, r.Seed); err != nil {
		return err
	}
	r.Strangers = got.UnknownFound
	own.Protocol = p
	for _, own.Method = range slices.Concat(learners, []string{labelSpreading}) {
		if got, err = own.Run(ctx, set, r.Seed); err != nil {
			return err
		}
		r.Rivals[own.Method] = *got.Accuracy
	}
	return nil
}

func (r *BatteryRow) file(ctx context.Context, set *Set, p, part StreamProtocol) error {
	own := File{Protocol: p, Settings: file.Settings{UnknownRate: .05, Seed: r.Seed}, Method: "default"}
	labelled, err := own.Run(ctx, set, r.Seed)
	if err != nil {
		return err
	}
	r.Right, r.ECE, r.UnknownFalse = labelled.Accuracy, labelled.ECE, labelled.UnknownFalse
	own.Protocol = part
	if labelled, err = own.Run(ctx, set, r.Seed); err != nil {
		return err
	}
	r.Strangers = labelled.UnknownFound
	own.Protocol = p
	rivals := fileRivals
	if r.Names {
		rivals = append(slices.Clone(rivals), "class-vectors")
	}
	if r.Shots == 0 { // names alone
		rivals = []string{"class-vectors"}
	}
	for _, own.Method = range rivals {
		if labelled, err = own.Run(ctx, set, r.Seed); err != nil {
			return err
		}
		r.Rivals[own.Method] = labelled.Accuracy
	}
	return nil
}
