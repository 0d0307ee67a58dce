package stream

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/slkstream/slkstream/solver/stream/taught"
)

// TestSureLimits: without enough held-out answers nothing is sure, and a class that is often wrong is not
// made sure by the labels of others.
func TestSureLimits(t *testing.T) {
	labels := &taught.ForStream{}
	c := &calibration{}
	add := func(n int, predicted, label string, z float32) {
		for range n {
			c.answers = append(c.answers, verdict{label: label, predicted: predicted, z: z})
		}
	}
	enough := EnoughLabels(.03)
	add(enough-1, "a", "a", .9)
	if l := c.sureLimits(labels, .03); !math.IsInf(l.limit("a"), 1) {
		t.Errorf("%d labels: sure from %v", enough-1, l.limit("a"))
	}
	add(1, "b", "b", .8)
	l := c.sureLimits(labels, .03)
	if l.limit("a") != float64(float32(.8)) || l.limit("b") != l.limit("a") || l.limit("c") != l.limit("a") {
		t.Errorf("%d labels: sure from %v", enough, l.limit("a"))
	}
	add(enough, "b", "a", .95)
	if l := c.sureLimits(labels, .03); !math.IsInf(l.limit("b"), 1) || !math.IsInf(l.limit("c"), 1) {
		t.Errorf("b is always wrong, and sure from %v, others from %v", l.limit("b"), l.limit("c"))
	}
	l = c.sureLimits(labels, .03)
	last := l.curve[len(l.curve)-1]
	if len(l.curve) != surePoints || last.Share != 1 || last.Wrong != float64(enough)/float64(2*enough) ||
		l.curve[surePoints/2-1].Wrong != 1 { // the surest half is that of b
		t.Errorf("%d points, the last %v", len(l.curve), last)
	}
	if c.sureLimits(labels, 0) != nil {
		t.Error("nobody asked")
	}
}

// TestSureInNineOfTenStreams: where answers are wrong more often with lower confidence, no more than one
// stream in ten has more wrong sure answers than asked.
func TestSureInNineOfTenStreams(t *testing.T) {
	const streams, share = 400, .05
	random := rand.New(rand.NewPCG(1, 2))
	broken, some := 0, 0
	for range streams {
		c := &calibration{}
		for i := range 300 {
			z := random.Float64()
			a := verdict{id: fmt.Sprint(i), label: "a", predicted: "a", z: float32(z)}
			if random.Float64() < .3*(1-z) {
				a.label = "b"
			}
			c.answers = append(c.answers, a)
		}
		from := c.sureLimits(&taught.ForStream{}, share).limit("a")
		if math.IsInf(from, 1) {
			continue
		}
		some++
		if wrong := .15 * (1 - from); wrong > share { // mean of .3 (1 - z) from there on
			broken++
		}
	}
	if broken > streams/10 || some < streams/4 {
		t.Errorf("%d of %d streams have a limit, %d let more through", some, streams, broken)
	}
}
