package answering

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/slkstream/slkstream/consumer"
	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/topic"
	"github.com/slkstream/slkstream/pipeline/extension"
	"github.com/slkstream/slkstream/pipeline/intake"
	"github.com/slkstream/slkstream/pipeline/labels"
	"github.com/slkstream/slkstream/solver/stream"
	"github.com/slkstream/slkstream/solver/stream/taught"
)

// BenchmarkRecord is what the stage does with a settled stream's record, without the broker and the commit: decode, join,
// answer and encode are an episode of 100, by the CPU and by how often each allocates.
func BenchmarkRecord(b *testing.B) {
	steps := settled(b)
	b.ReportAllocs()
	for b.Loop() {
		for _, step := range steps {
			step.do()
		}
	}
	for _, step := range steps {
		b.ReportMetric(testing.AllocsPerRun(1, step.do), step.name+"-allocs")
	}
}

// An episode of 100 takes few pieces of memory: what an item needs comes from pieces that many share, and what a solve
// needs from the solve before.
func TestAnEpisodeAllocatesLittle(t *testing.T) {
	const most = 33 // 30; with the race detector, whose pools give away one of four pieces, up to three more
	steps := settled(t)
	least := make([]float64, len(steps))
	for run := range 10 {
		for i, step := range steps {
			if n := testing.AllocsPerRun(1, step.do); run == 0 || n < least[i] {
				least[i] = n
			}
		}
	}
	got, each := 0., []string(nil)
	for i, step := range steps {
		got, each = got+least[i], append(each, fmt.Sprint(step.name, " ", least[i]))
	}
	if got > most {
		t.Errorf("%g allocations for 100 items, more than %d: %v", got, most, each)
	}
}

// step is a part of what the stage does with an episode.
type step struct {
	name string
	do   func()
}

// settled returns the steps of an episode of 100 of a stream that has seen 80, to be done in turn.
func settled(b testing.TB) []step {
	const d, classes, size = 512, 10, 100
	random := rand.New(rand.NewPCG(1, 1))
	centres := make([][]float32, classes)
	for c := range centres {
		centres[c] = make([]float32, d)
		for i := range centres[c] {
			centres[c][i] = float32(random.NormFloat64())
		}
	}
	draw := func() (v []float32, class int) {
		class = random.IntN(classes)
		for _, x := range centres[class] {
			v = append(v, x+1.5*float32(random.NormFloat64()))
		}
		return v, class
	}
	var support []taught.Example
	for i := range 5 * classes {
		v, class := draw()
		support = append(support, taught.Example{ID: fmt.Sprint(i), Label: fmt.Sprint("class-", class), Vector: v})
	}
	raws := make([]record.Raw, size)
	for i := range raws {
		v, _ := draw()
		raws[i] = record.Raw{Topic: "in", Key: []byte("camera"), Value: record.AppendVector(nil, v), Time: time.Unix(int64(i), 0)}
	}
	follows := labels.New(labels.Options{Support: support, Log: slog.New(slog.DiscardHandler)})
	of := NewOwner(
		b.Context(),
		&Settings{Labels: follows, Results: Results{Out: "out", Form: record.ResultForm{Append: record.AppendResult}}},
		topic.TopicPartition{Topic: "in"},
		nil,
		slog.New(slog.DiscardHandler),
	)
	s := &Stream{Stream: extension.Stream{Memory: stream.New("camera", stream.Defaults())}}
	decoder, err := record.NewDecoder(record.Options{Format: "f32"})
	if err != nil {
		b.Fatal(err)
	}
	buffer := consumer.NewBuffer(consumer.Limits{Size: size, Memory: 64 << 20})
	engine, offset := new(stream.Engine), int64(0)
	var items []record.Item
	var episode *consumer.Episode
	decode := func() {
		decoder.NextFetch()
		items = make([]record.Item, 0, size)
		for i := range raws {
			raws[i].Offset = offset
			offset++
			if items, err = decoder.Decode(b.Context(), &raws[i], items); err != nil {
				b.Fatal(err)
			}
		}
	}
	join := func() {
		for i := range items {
			buffer.Add(items[i], items[i].Time, items[i].Time)
		}
		episode = buffer.Closed()[0]
	}
	var job *Job
	var answers []stream.Answer
	answer := func() {
		job = &Job{owner: of, Stream: s, Closed: intake.Closed{Episode: episode}}
		if answers, err = job.answer(b.Context(), engine, follows.Current()); err != nil {
			b.Fatal(err)
		}
	}
	encode := func() { job.encode(answers, follows.Current()) }
	learn := func() { s.Memory.Learn() }
	steps := []step{{"decode", decode}, {"join", join}, {"answer", answer}, {"encode", encode}, {"learn", learn}}
	for range 80 {
		for _, step := range steps {
			step.do()
		}
	}
	return steps
}
