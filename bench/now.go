package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"time"

	"github.com/slkstream/slkstream/internal/evaluate"
	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/topic"
	"github.com/slkstream/slkstream/internal/web"
	"github.com/slkstream/slkstream/pipeline"
	"github.com/slkstream/slkstream/solver/stream"
)

// nowSection measures answers given before the episode closes: on the topic of --now, and
// by POST /api/answer.
var nowSection = section{"now", "First answers: 512-d float32, ten classes, at half load", benchNow}

func benchNow(ctx context.Context, b *bench) error {
	k, stop, err := startKafka()
	if err != nil {
		return err
	}
	defer stop()
	k.n = 20 * streamEpisode * streamStreams
	if b.Quick {
		k.n = 8 * streamEpisode * streamStreams
	}
	if err := k.fill(ctx); err != nil {
		return err
	}
	full, err := k.stage(ctx, false, 0)
	if err != nil {
		return err
	}
	whole := k.spent
	half := full.rate / 2
	var first, passed []float64 // over all rounds
	var spent [2][]float64
	if _, err := b.Alternate(
		func() (float64, error) {
			_, err := k.stage(ctx, false, half)
			spent[0] = append(spent[0], k.spent)
			return 0, err
		},
		func() (float64, error) {
			k.now = true
			r, err := k.stage(ctx, false, half)
			k.now = false
			spent[1] = append(spent[1], k.spent)
			first = append(first, r.now...)
			return 0, err
		},
		func() (float64, error) { return k.passThrough(ctx, &passed, half, false) },
	); err != nil {
		return err
	}
	if len(first) == 0 {
		return errors.New("no item had a first answer")
	}
	asked, err := k.ask(ctx, b)
	if err != nil {
		return err
	}
	without, with := evaluate.Median(spent[0]), evaluate.Median(spent[1])
	p50, p99, passing := 1e3*quantile(first, .5), 1e3*quantile(first, .99), 1e3*quantile(passed, .99)
	share := percent((with - without) / whole)
	b.Text("%d streams in %d partitions of one broker in the same process, half of the load that "+
		"the stage does at most (%.0f records/s), from an item's read to the acknowledgement of its first "+
		"answer: p50 %.1f ms, "+
		"p99 %.1f ms; p99 of a passthrough's record %.1f ms; bars 3 ms, and 1 ms + 3 x that = %.1f ms. %s of the "+
		"items had one; the others were there before the partition was taken, or settled first.",
		streamStreams, streamPartitions, half, p50, p99, passing, 1+3*passing,
		percent(float64(len(first))/float64(b.Rounds()*k.fed(half))))
	b.Text("At that load a record costs %.1f us of CPU without first answers and %.1f with them, broker "+
		"and feed among it: %s of the %.1f us of a record at full load (bar 15 %%).",
		1e6*without, 1e6*with, share, 1e6*whole)
	b.Text("POST /api/answer with one vector of %d numbers beside %d classes, 200 a second: p50 %.1f ms, "+
		"p99 %.1f ms (bar 3 ms).",
		streamDimension, askedClasses, 1e3*quantile(asked, .5), 1e3*quantile(asked, .99))
	if load, err := os.ReadFile("/proc/loadavg"); err == nil {
		b.Text("Load averages of the machine at the end: %s.", strings.Join(strings.Fields(string(load))[:3], ", "))
	}
	b.Figure("now-p50-ms", "%.1f", p50)
	b.Figure("now-p99-ms", "%.1f", p99)
	b.Figure("now-cost", "%s", share)
	b.Figure("now-asked-p99-ms", "%.1f", 1e3*quantile(asked, .99))
	return nil
}

const askedClasses = 50

// ask returns the durations of some requests to a stage that is nearly idle.
func (k *kafkaBench) ask(ctx context.Context, b *bench) ([]float64, error) {
	const name, rate = "asked", 200
	if err := k.client.Create(ctx, topic.Description{Name: name, Partitions: 1}); err != nil {
		return nil, err
	}
	centres, _ := gaussians(3, askedClasses, streamDimension, askedClasses, 0)
	o, err := k.options(name, false)
	if err != nil {
		return nil, err
	}
	o.Support = nil
	for i := range 5 * askedClasses {
		from := i % askedClasses * streamDimension
		row := append([]float32(nil), centres[from:from+streamDimension]...)
		row[i%streamDimension] += 1 // all distinct
		o.Support = append(o.Support, stream.Example{
			ID: fmt.Sprint(i), Label: fmt.Sprint("class-", i%askedClasses), Vector: row,
		})
	}
	s, err := pipeline.New(k.client, o)
	if err != nil {
		return nil, err
	}
	running, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- s.Run(running) }()
	var list []record.Out
	for i := range 3 * streamEpisode {
		list = append(list, record.Out{Topic: name, Key: []byte("door"), Value: k.vectors[i%len(k.vectors)]})
	}
	err = k.client.Write(ctx, list)
	page := web.New(web.Options{Answer: func(name, model string, vectors [][]float32) ([]web.Answered, error) {
		answers, err := s.Ask(name, model, vectors)
		out := make([]web.Answered, len(answers))
		for i, a := range answers {
			out[i] = web.Answered{Label: a.Label, Confidence: a.Confidence}
		}
		return out, err
	}})
	server := httptest.NewServer(page.Handler())
	defer server.Close()
	body, _ := json.Marshal(map[string]any{"vector": centres[:streamDimension]})
	question := func() (int, error) {
		answer, err := http.Post(server.URL+"/api/answer?stream=door", "application/json", bytes.NewReader(body))
		if err != nil {
			return 0, err
		}
		defer answer.Body.Close()
		_, err = io.Copy(io.Discard, answer.Body)
		return answer.StatusCode, err
	}
	for code := 0; err == nil && code != http.StatusOK; { // until the stage knows the stream
		if code, err = question(); ctx.Err() != nil {
			err = ctx.Err()
		}
		time.Sleep(100 * time.Millisecond)
	}
	n := 2000
	if b.Quick {
		n = 200
	}
	took := make([]float64, n)
	begin := time.Now()
	for i := 0; i < n && err == nil; i++ {
		due := begin.Add(time.Duration(i) * time.Second / rate)
		time.Sleep(time.Until(due))
		code := 0
		if code, err = question(); err == nil && code != http.StatusOK {
			err = fmt.Errorf("question %d: status %d", i, code)
		}
		took[i] = time.Since(due).Seconds()
	}
	cancel()
	return took, errors.Join(err, <-ended)
}
