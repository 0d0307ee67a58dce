package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
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
	"github.com/slkstream/slkstream/solver/stream/taught"
)

// nowSection measures answers given before the episode closes: on the topic of --now, and
// by POST /api/answer.
var nowSection = section{name: "now", title: "First answers: 512-d float32, ten classes, at half load", run: benchNow}

func benchNow(ctx context.Context, b *bench) error {
	k, stop, err := startKafka()
	if err != nil {
		return err
	}
	defer stop()
	k.n = 110 * streamEpisode * streamStreams
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
	whole, half := k.spent, full.rate/2
	var first [2]firstAnswered // while streams are new, and settled; of all rounds
	var spent, spentNew [2][]float64
	var passed []float64
	at := func(now int, name string) func() (float64, error) {
		return func() (float64, error) {
			k.now = now == 1
			k.profileAs(b.Profile, name, len(spent[now])+1)
			r, err := k.stage(ctx, false, half)
			k.now, k.profile = false, ""
			slog.Info("CPU us a record, all of the process", "run", name, "new", 1e6*k.spentNew,
				"settled", 1e6*k.spent)
			spent[now] = append(spent[now], k.spent)
			spentNew[now] = append(spentNew[now], k.spentNew)
			for part := range first {
				first[part].took = append(first[part].took, r.now[part].took...)
				first[part].of += now * r.now[part].of
			}
			return 0, err
		}
	}
	if _, err := b.Alternate(at(0, "half"), at(1, "half-now"), func() (float64, error) {
		return k.passThrough(ctx, &passed, half, false)
	}); err != nil {
		return err
	}
	asked, err := k.ask(ctx, b)
	if err != nil {
		return err
	}
	passing := 1e3 * quantile(passed, .99)
	b.Text("%d streams in %d partitions of one broker in the same process, half of the load that the "+
		"stage does at most once settled (%.0f records/s), from an item's read to the acknowledgement of its "+
		"first answer; "+
		"p99 of a passthrough's record %.1f ms; bars 3 ms, and 1 ms + 3 x that = %.1f ms. Settled are the "+
		"last two fifths of a run, as in the section on the whole stage; new is its first third, when "+
		"streams learn from each episode. A record's CPU is that of the whole process, broker and feed among it, "+
		"without and with first answers; the cost is the difference, of the %.1f us of a settled record at "+
		"full load (bar 15 %%).",
		streamStreams, streamPartitions, half, passing, 1+3*passing, 1e6*whole)
	var table [][]string
	for part, costs := range [][2][]float64{spentNew, spent} {
		if len(first[part].took) == 0 {
			return errors.New("no item had a first answer")
		}
		without, with := evaluate.Median(costs[0]), evaluate.Median(costs[1])
		p50, p99 := 1e3*quantile(first[part].took, .5), 1e3*quantile(first[part].took, .99)
		share := percent((with - without) / whole)
		table = append(table, []string{
			[]string{"new", "settled"}[part], fmt.Sprintf("%.1f ms", p50), fmt.Sprintf("%.1f ms", p99),
			percent(float64(len(first[part].took)) / float64(first[part].of)),
			fmt.Sprintf("%.1f us", 1e6*without), fmt.Sprintf("%.1f us", 1e6*with), share,
		})
		if part == 1 {
			b.Figure("now-p50-ms", "%.1f", p50)
			b.Figure("now-p99-ms", "%.1f", p99)
			b.Figure("now-cost", "%s", share)
		}
	}
	b.Table([]string{"", "p50", "p99", "items that had one", "CPU without", "CPU with", "cost"}, table)
	b.Text("POST /api/answer with one vector of %d numbers beside %d classes, 200 a second: p50 %.1f ms, "+
		"p99 %.1f ms (bar 3 ms).",
		streamDimension, askedClasses, 1e3*quantile(asked, .5), 1e3*quantile(asked, .99))
	if load, err := os.ReadFile("/proc/loadavg"); err == nil {
		b.Text("Load averages of the machine at the end: %s.", strings.Join(strings.Fields(string(load))[:3], ", "))
	}
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
		o.Support = append(o.Support, taught.Example{
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
	page := web.New(web.Options{})
	page.Follow(s)
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
