package stream

import (
	"github.com/slkstream/slkstream/solver/stream/taught"
)

// What tests of first answers need of the other tests: internal/now imports this package.

type Camera struct{ *camera }

type Scenario struct {
	Name                            string
	Shots                           int
	Taught                          float64
	Discover, Warm, Untimed, Framed bool
}

// Scenarios are those of play.
func Scenarios() (out []Scenario) {
	for _, c := range scenarios {
		out = append(out, Scenario{c.name, c.shots, c.taught, c.discover, c.warm, c.untimed, c.framed})
	}
	return out
}

var (
	TestSettings = settings
	AnswerFor    = answer
	Sound        = sound
	Reject       = reject
	Named        = named
	LabelOf      = label
)

func NewCamera(seed uint64, classes, d int, spread float64) Camera {
	return Camera{newCamera(seed, classes, d, spread)}
}

func (c Camera) Vector(class int) []float32 { return c.vector(class) }

func (c Camera) Labels(shots int) *taught.Labels { return c.labels(shots) }

func (c Camera) Episode(n int, taught float64) (items []Item, truth []string) {
	return c.episode(n, taught)
}

func (c Camera) Bursts(n, run int) (items []Item, truth []string) { return c.bursts(n, run) }
