package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/telemetry"
	"github.com/slkstream/slkstream/internal/vector"
	"github.com/slkstream/slkstream/pipeline/budget"
	"github.com/slkstream/slkstream/solver/stream"
	"github.com/slkstream/slkstream/solver/stream/taught"
)

var sizeCommand = command{
	name:  "size",
	short: "memory, processors, partitions and topic bytes of a stage that is planned",
	long: "size has a stream of the planned kind answer two thousand made-up items, here and now: what it takes and costs is measured.\n" +
		"The rest is added by the sizes of buffers. It needs no brokers. Vectors of your own may cost a third more or less.",
	example: "  slkstream size --cameras 20 --dimension 512 --classes 30\n  slkstream size --cameras 200 --rate 2 --examples 20",
	run:     size,
}

// plan is what a stage takes.
type plan struct {
	ItemsPerSecond float64 `json:"itemsPerSecond"`
	// bytes that are live in one process that has all streams
	Streams  int64 `json:"streams"`
	Metrics  int64 `json:"metrics"`
	Labels   int64 `json:"labels"`
	Episodes int64 `json:"episodes"` // open ones
	Work     int64 `json:"work"`     // workspaces, batches, the program
	Page     int64 `json:"page"`
	Live     int64 `json:"live"`
	Memory   int64 `json:"memory"` // for --memory

	Microseconds float64 `json:"microsecondsAnItem"` // of a core
	Cores        float64 `json:"cores"`
	Partitions   int     `json:"partitions"`
	InADay       int64   `json:"inputBytesADay"`
	OutADay      int64   `json:"resultBytesADay"`
}

func size(ctx context.Context, c *call) error {
	p, err := newPlan(ctx, c)
	if err != nil {
		return err
	}
	if c.Config.Output.JSON {
		return json.NewEncoder(c.Out).Encode(p)
	}
	return p.print(c)
}

// What a process takes beside what its streams hold, and what an item costs beside its answer; go run ./bench --only size
// compares them with processes at work.
const (
	programBytes = 4 << 20
	reviewItems  = 1000 // that wait on the page
	reviewBytes  = 48 << 20
	itemBytes    = 500 // of an item beside its vector
	recordBytes  = 70  // of a record beside its value

	workBytes = 15_000 // of workspaces and batches, for each number of a vector

	itemCost, numberCost = 8., .012 // microseconds of a core: an item is read, decoded, encoded and sent
	requestCost          = 230.     // microseconds: a partition is read and its results are written
	requests             = 20.      // a second of a partition, at most: senders write every 50 ms
	idleCost             = 3000.    // microseconds a second of a process that has nothing to do

	mostExamples = 4096 // of more an episode gets a part
)

func newPlan(ctx context.Context, c *call) (*plan, error) {
	s, d, rate, age := &c.Config.Size, c.Config.Stage.Dimension, c.Config.Feed.Rate, c.Config.Stage.EpisodeAge
	episode := c.Config.Stage.EpisodeSize
	if age > 0 {
		episode = min(episode, max(1, int(rate*age.Seconds())))
	}
	learned, err := learn(ctx, d, s.Classes, s.Examples, episode)
	if err != nil {
		return nil, err
	}
	cameras, vector := int64(s.Cameras), int64(4*d)
	p := &plan{ItemsPerSecond: float64(s.Cameras) * rate}
	p.Microseconds = learned.microseconds + itemCost + numberCost*float64(d)
	p.Partitions = max(4, 8*int(1+p.ItemsPerSecond*p.Microseconds/1e6))
	asked := min(p.ItemsPerSecond, requests*float64(min(p.Partitions, s.Cameras)))
	p.Microseconds += (requestCost*asked + idleCost) / p.ItemsPerSecond
	p.Cores = p.ItemsPerSecond * p.Microseconds / 1e6
	p.Streams, p.Metrics = cameras*int64(learned.rest), cameras*int64(learned.metric)
	p.Labels = int64(s.Classes*s.Examples) * (3*vector + 400)
	p.Episodes = cameras * int64(episode) / 2 * (vector + itemBytes)
	p.Work = programBytes + workBytes*int64(d)
	p.Page = int64(c.Config.Memory.Recent) + min(reviewBytes, reviewItems*(vector+itemBytes))
	p.Live = p.Streams + p.Metrics + p.Labels + p.Episodes + p.Work + p.Page
	p.Memory = 2 * p.Live
	const day = 86400
	p.InADay = int64(p.ItemsPerSecond * day * float64(vector+recordBytes))
	p.OutADay = int64(p.ItemsPerSecond * day * float64(learned.result+recordBytes))
	return p, nil
}

func (p *plan) print(c *call) error {
	s := &c.Config.Size
	mb := func(n int64) string { return fmt.Sprintf("%.1f MB", float64(n)/1e6) }
	gb := func(n int64) string { return fmt.Sprintf("%.1f GB", float64(n)/1e9) }
	_, err := fmt.Fprintf(c.Out, `%d cameras of %d numbers, %d classes with %d examples each: %.4g items a second

--memory    %s  twice what is live: %s
            streams %s, metrics %s, labels %s, open episodes %s, page %s, work %s
cores       %.2f  %.0f us an item, measured here; plan for twice that
partitions  %d  so that as many processes can share the input
topics      %s a day of raw float32 in, %s of results, at most a tenth of that of state
`, s.Cameras, c.Config.Stage.Dimension, s.Classes, s.Examples, p.ItemsPerSecond, budget.Mebibytes(p.Memory+1<<20-1), mb(p.Live),
		mb(p.Streams), mb(p.Metrics), mb(p.Labels), mb(p.Episodes), mb(p.Page),
		mb(p.Work), p.Cores, p.Microseconds, p.Partitions, gb(p.InADay), gb(p.OutADay))
	return err
}

// learnedSize is what a stream holds and costs once it has learned.
type learnedSize struct {
	rest, metric int     // bytes
	microseconds float64 // of a core, for an item
	result       int     // bytes
}

// learn has a stream answer made-up items of so many classes, and measures it.
func learn(ctx context.Context, d, classes, examples, episode int) (learnedSize, error) {
	const episodes = 20
	random := rand.New(rand.NewPCG(1, 2))
	draw := func(mean []float32, spread float64) []float32 {
		v := make([]float32, d)
		for i := range v {
			v[i] = float32(spread * random.NormFloat64())
			if mean != nil {
				v[i] += mean[i]
			}
		}
		return v
	}
	labels, means := &taught.Labels{}, make([][]float32, classes)
	for class := range means {
		means[class] = draw(nil, 1)
		for i := range min(examples, max(1, mostExamples/classes)) {
			labels.Everyone = append(labels.Everyone, taught.Example{
				ID: fmt.Sprint(class, "/", i), Label: fmt.Sprint("class-", class), Vector: draw(means[class], 1.5),
			})
		}
	}
	s, engine := stream.New("camera-1"), new(stream.Engine)
	out := learnedSize{}
	var took []float64
	for n := range episodes {
		items := make([]stream.Item, episode)
		for i := range items {
			items[i] = stream.Item{
				Vector: draw(means[random.IntN(classes)], 1.5), Position: stream.Position{Offset: int64(episode*n + i), Object: -1},
			}
		}
		begin := telemetry.Spent()
		answers, _, err := s.Answer(ctx, engine, items, labels)
		if err != nil {
			return out, err
		}
		s.Learn()
		took = append(took, (telemetry.Spent()-begin).Seconds()/float64(episode))
		out.result = len(record.AppendResult(nil, &record.Result{
			ID: "embeddings/1/1000000", Stream: "camera-1", Episode: 100, Label: answers[0].Label, Confidence: answers[0].Confidence,
			UnknownScore: answers[0].UnknownScore, Time: time.Now(), Source: record.ResultSource{Topic: "embeddings", Offset: 1e6},
			Alternatives: make([]record.Alternative, len(answers[0].Alternatives)),
		}))
	}
	out.microseconds = 1e6 * vector.Median(took[len(took)/2:]) // what disturbs the machine makes some longer
	out.rest, out.metric = s.Bytes()
	return out, nil
}
