package main

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/slkstream/slkstream/solver/stream"
)

// A stream takes the memory that docs/kafka.md says, within a quarter.
func TestMemoryIsThatOfTheDocs(t *testing.T) {
	page := readPage(t, "../../docs/kafka.md")
	said := regexp.MustCompile(`4 KB \+ C x \((\d+) D \+ ([\d,]+)\) \+ (\d+) D`).FindStringSubmatch(page)
	metrics := regexp.MustCompile(`([\d,]+) KB at ([\d,]+\d)`).FindAllStringSubmatch(page, -1)
	if said == nil || len(metrics) != 4 {
		t.Fatal("docs/kafka.md does not say how much memory a stream takes")
	}
	number := func(text string) int {
		n, err := strconv.Atoi(strings.ReplaceAll(text, ",", ""))
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	for _, m := range metrics {
		const classes = 10
		d := number(m[2])
		rest, metric := learnedStream(t, classes, d).Bytes()
		near := func(what string, got, said int) {
			if 4*got > 5*said || 4*got < 3*said {
				t.Errorf("%d numbers: %s takes %d bytes; docs/kafka.md says %d", d, what, got, said)
			}
		}
		near("a stream", rest, 4000+classes*(number(said[1])*d+number(said[2]))+number(said[3])*d)
		near("its metric", metric, number(m[1])*1000)
	}
}

// learnedStream returns a stream that has learned from twenty episodes.
func learnedStream(t *testing.T, classes, d int) *stream.Stream {
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
	labels, means := &stream.Labels{}, make([][]float32, classes)
	for c := range means {
		means[c] = draw(nil, 1)
		for example := range 3 {
			labels.Everyone = append(labels.Everyone, stream.Example{
				ID: fmt.Sprint(c, "/", example), Label: fmt.Sprint(c), Vector: draw(means[c], .6),
			})
		}
	}
	s, engine := stream.New("camera"), new(stream.Engine)
	for episode := range 20 {
		items := make([]stream.Item, 100)
		for i := range items {
			items[i] = stream.Item{
				Vector:   draw(means[random.IntN(classes)], .6),
				Position: stream.Position{Offset: int64(100*episode + i), Object: -1},
			}
		}
		if _, _, err := s.Answer(t.Context(), engine, items, labels); err != nil {
			t.Fatal(err)
		}
		s.Learn()
	}
	return s
}
