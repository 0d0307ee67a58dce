package corrections

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/slkstream/slkstream/internal/recent"
	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/pipeline/labels"
	"github.com/slkstream/slkstream/solver/stream"
)

// Strangers of one kind are in one group, those of other kinds, models and dimensions in others. WouldCorrect
// returns the items that a new example would correct, and corrects none.
func TestStrangers(t *testing.T) {
	dice := rand.New(rand.NewPCG(3, 3))
	store := recent.New(8 << 20)
	p := store.Open("in/0")
	kinds := map[string]string{}
	n := 0
	add := func(kind, model string, vector func() []float32) {
		var items []recent.Item
		for range 12 {
			id := fmt.Sprint("in/0/", n)
			kinds[id] = kind
			items = append(items, recent.Item{
				ID: id, Name: id, Stream: fmt.Sprint("cam-", n%2), Model: model, Label: "anna", Unknown: true,
				Time: time.Unix(int64(n), 0),
			})
			n++
		}
		p.Add(recent.NewBlock(items, func(int) []float32 { return vector() }))
	}
	for c := range 3 {
		add(fmt.Sprint("class ", c), "m", func() []float32 {
			v := make([]float32, 8)
			for i := range v {
				v[i] = float32(dice.NormFloat64()) / 10
			}
			v[c]++
			return v
		})
	}
	add("another model", "other", func() []float32 { return []float32{3, 2, 1} })
	add("another dimension", "m", func() []float32 { return []float32{1, 2, 3} })
	l := labels.New(labels.Options{Log: slog.New(slog.DiscardHandler)})
	s := NewRecent(store, l, stream.Defaults())
	strangers, err := s.Strangers(t.Context())
	if err != nil || len(strangers) != n {
		t.Fatalf("%d of %d, %v", len(strangers), n, err)
	}
	groupOf, kindOf := map[string]int{}, map[int]string{}
	for _, x := range strangers {
		kind := kinds[x.ID]
		if g, known := groupOf[kind]; known && g != x.Group {
			t.Errorf("%s of %s is in group %d and %d", x.ID, kind, x.Group, g)
		}
		if k, known := kindOf[x.Group]; known && k != kind {
			t.Errorf("group %d holds %s and %s", x.Group, k, kind)
		}
		groupOf[kind], kindOf[x.Group] = x.Group, kind
	}
	again, err := s.Strangers(t.Context())
	if err != nil || len(again) != n {
		t.Fatalf("asked again: %d of %d, %v", len(again), n, err)
	}
	for i := range again {
		if again[i].ID != strangers[i].ID || again[i].Group != strangers[i].Group {
			t.Errorf("asked again %s is in group %d, not %d", again[i].ID, again[i].Group, strangers[i].Group)
		}
	}
	example := record.Example{ID: strangers[0].ID, Label: "kim", Model: "m", Vector: strangers[0].Vector}
	for range 2 {
		called, err := s.WouldCorrect(t.Context(), []record.Example{example, example})
		if len(called) < 12 || err != nil {
			t.Errorf("%d would be called kim, %v", len(called), err)
		}
		for _, c := range called {
			if c.Label != "kim" || c.Was != "anna" || c.Model != "m" {
				t.Errorf("%+v", c)
			}
		}
	}
	s = NewRecent(nil, l, stream.Defaults())
	if none, err := s.Strangers(t.Context()); none != nil || err != nil {
		t.Errorf("without recent items: %v %v", none, err)
	}
	if none, err := s.WouldCorrect(t.Context(), nil); none != nil || err != nil {
		t.Errorf("without recent items: %v %v", none, err)
	}
}
