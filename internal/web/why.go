package web

import (
	"cmp"
	"encoding/json"
	"math"
	"net/http"
	"slices"

	"github.com/slkstream/slkstream/internal/kernel"
	"github.com/slkstream/slkstream/internal/record"
)

const mostReasons = 4 // examples shown of a class

// reasonView holds the taught examples of a class that are nearest to an item.
type reasonView struct {
	Label    string          `json:"label"`
	Examples []nearerExample `json:"examples"` // the nearest first
}

type nearerExample struct {
	exampleView
	Distance float64 `json:"distance"` // squared, between unit vectors

	attributes json.RawMessage
}

// apiWhy returns the taught examples nearest to an item: those of its answer, and those of the runner-up.
func (p *Page) apiWhy(r *http.Request) (any, error) {
	f, err := p.find(r.URL.Query().Get("id"))
	if err != nil {
		return nil, err
	}
	return map[string]any{"id": f.ID, "label": f.Label, "reasons": p.reasons(&f)}, nil
}

// reasons returns the nearest examples of an item's answer, and those of the runner-up: the first alternative
// in its answer, or else the nearest other class.
func (p *Page) reasons(f *found) []reasonView {
	out := []reasonView{}
	of := map[string][]nearerExample{}
	length := kernel.Dot(f.Vector, f.Vector)
	for e := range p.stage.Examples() {
		if e.ID == f.ID || !counts(&e, f.seenIn, f.Model, len(f.Vector)) {
			continue
		}
		lengths := math.Sqrt(float64(kernel.Dot(e.Vector, e.Vector) * length))
		cosine := float64(kernel.Dot(e.Vector, f.Vector)) / lengths
		distance := zeroUnlessFinite(max(0, 2-2*cosine))
		of[e.Label] = append(of[e.Label], nearerExample{exampleOf(&e), distance, e.Attributes})
	}
	for label, list := range of {
		slices.SortStableFunc(list, func(a, b nearerExample) int { return cmp.Compare(a.Distance, b.Distance) })
		of[label] = list[:min(len(list), mostReasons)]
	}
	other := f.runnerUp
	for label, list := range of {
		if f.runnerUp != "" || label == f.Label {
			continue
		}
		if best := of[other]; other == "" || cmp.Or(cmp.Compare(list[0].Distance, best[0].Distance),
			cmp.Compare(label, other)) < 0 {
			other = label
		}
	}
	for _, label := range []string{f.Label, other} {
		if list := of[label]; len(list) > 0 {
			for i := range list {
				list[i].Image = p.image(list[i].ItemID, list[i].ID, list[i].attributes)
			}
			out = append(out, reasonView{label, list})
		}
	}
	return out
}

func exampleOf(e *record.Example) exampleView {
	return exampleView{ID: e.ID, ItemID: e.ItemID, Label: e.Label, Stream: e.Stream, By: e.By, At: e.At}
}
