package audit

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/slkstream/slkstream/solver/stream"
	"github.com/slkstream/slkstream/solver/stream/taught"
)

// TestAuditFindsWrongLabels: an example that carries the label of another class is found, in the list for
// every stream and in a stream's own, and no other is.
func TestAuditFindsWrongLabels(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	example := func(id string, class, label int) taught.Example {
		v := make([]float32, 16)
		for i := range v {
			v[i] = float32(random.NormFloat64()) * .1
		}
		v[class] += 1
		return taught.Example{ID: id, Label: fmt.Sprint("class ", label), Vector: v}
	}
	labels := &taught.Labels{Stream: map[string][]taught.Example{}}
	for i := range 30 {
		labels.Everyone = append(labels.Everyone, example(fmt.Sprint("everyone-", i), i%3, i%3))
		labels.Stream["door"] = append(labels.Stream["door"], example(fmt.Sprint("door-", i), i%3, i%3))
	}
	labels.Everyone = append(labels.Everyone, example("wrong", 0, 1), example("only one of its class", 7, 7))
	labels.Stream["door"] = append(labels.Stream["door"], example("wrong at the door", 2, 0))
	settings := stream.Defaults()
	engine := new(stream.Engine)
	if doubts, alone, err := Labels(t.Context(), engine, settings, nil); len(doubts)+alone > 0 || err != nil {
		t.Errorf("audit of no labels: %v, %d, %v", doubts, alone, err)
	}
	doubts, alone, err := Labels(t.Context(), engine, settings, labels)
	if err != nil {
		t.Fatal(err)
	}
	if alone != 1 {
		t.Errorf("%d examples are alone in their class, not 1", alone)
	}
	if len(doubts) != 2 || doubts[0].ID != "wrong" || doubts[0].Says != "class 0" || doubts[1].ID != "wrong at the door" ||
		doubts[1].Says != "class 2" ||
		doubts[1].Stream != "door" {
		t.Errorf("doubts: %+v", doubts)
	}
}
