package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/slkstream/slkstream/internal/evaluate"
	"github.com/slkstream/slkstream/solver/stream"
	"github.com/slkstream/slkstream/solver/stream/taught"
)

// labelsSection times an episode with labelled examples of the labels topic: its cost must grow with their
// number, not with its square.
var labelsSection = section{
	name: "labels", title: "Solver speed: an episode beside many labels",
	run: func(ctx context.Context, b *bench) error {
		counts, items := []int{10, 500, 2000, 20000}, []int{3, 30, 100}
		if b.Quick {
			counts, items = []int{10, 500}, []int{3, 30}
		}
		columns := []string{"labels", "metric"}
		for _, n := range items {
			columns = append(columns, fmt.Sprintf("%d items, ms", n))
		}
		columns = append(columns, "3 items, a label more before each, ms")
		var table [][]string
		for _, count := range counts {
			for _, metric := range []bool{false, true} {
				row := []string{strconv.Itoa(count), "no"}
				if metric {
					row[1] = "yes"
				}
				for _, n := range items {
					v, err := labelledEpisode(ctx, count, n, metric, false)
					if err != nil {
						return err
					}
					row = append(row, fmt.Sprintf("%.2f", v))
					if metric && n == 3 {
						b.Figure(fmt.Sprintf("labels-%d-ms", count), "%.2f", v)
					}
				}
				v, err := labelledEpisode(ctx, count, 3, metric, true)
				if err != nil {
					return err
				}
				table = append(table, append(row, fmt.Sprintf("%.2f", v)))
			}
		}
		b.Text("Median time of one episode of one stream on one core, d = 512, 100 classes (10 beside 10 " +
			"labels); " +
			"learning the metric, which is done after the answers are given, is not in it. In the last column " +
			"each episode comes after another label, of which the stream pays for all; other streams share it.")
		b.Table(columns, table)
		return nil
	},
}

// labelledEpisode returns the median time in ms in which a stream answers n items with
// count labelled examples. teach: there is one more before each episode.
func labelledEpisode(ctx context.Context, count, n int, metric, teach bool) (float64, error) {
	const d = 512
	classes := min(count, 100)
	random := rand.New(rand.NewPCG(7, uint64(count)))
	centres, _ := gaussians(11, classes, d, classes, 0)
	draw := func(class int) []float32 {
		row := make([]float32, d)
		for i := range row {
			row[i] = centres[class*d+i] + float32(1.5*random.NormFloat64())
		}
		return row
	}
	labels := &taught.Labels{}
	for i := range count {
		labels.Everyone = append(labels.Everyone, taught.Example{
			ID: fmt.Sprintf("%06d", i), Label: fmt.Sprintf("class %02d", i%classes), Vector: draw(i % classes),
		})
	}
	settings := stream.Defaults()
	if !metric {
		settings.Solver.MetricRank = 0
	}
	engine := new(stream.Engine)
	s := stream.New("camera", settings)
	answer := func(n int) (time.Duration, error) {
		items := make([]stream.Item, n)
		for i := range items {
			items[i] = stream.Item{Vector: draw(random.IntN(classes))}
		}
		start := time.Now()
		if teach {
			labels = labels.With(taught.Changes{Examples: []taught.Change{{Example: taught.Example{
				ID: fmt.Sprint("lesson ", s.Episode()), Label: "class 00", Vector: draw(0),
			}}}})
		}
		_, _, err := s.Answer(ctx, engine, items, labels)
		took := time.Since(start)
		s.Learn()
		return took, err
	}
	for range 4 { // until the stream has a metric
		if _, err := answer(100); err != nil {
			return 0, err
		}
	}
	if s.Summary().Metric != metric {
		return 0, fmt.Errorf("labels: the stream has a metric: %t, not %t", !metric, metric)
	}
	var times []float64
	for begin := time.Now(); len(times) < 5 || time.Since(begin) < 500*time.Millisecond && len(times) < 500; {
		took, err := answer(n)
		if err != nil {
			return 0, err
		}
		times = append(times, took.Seconds()*1e3)
	}
	return evaluate.Median(times), nil
}
