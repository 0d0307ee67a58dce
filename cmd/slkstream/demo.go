package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"sync"
	"time"

	"github.com/slkstream/slkstream/internal/demo"
	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/topic"
	"github.com/slkstream/slkstream/internal/web"
	"github.com/slkstream/slkstream/pipeline"
	"github.com/slkstream/slkstream/pipeline/budget"
	"github.com/slkstream/slkstream/pipeline/labels"
)

// Topics of the demo.
const (
	demoGroup       = "demo"
	demoIn          = "belt"
	demoOut         = "belt-labelled"
	demoLabels      = "belt-labels"
	demoNow         = "belt-now"
	demoCorrections = "belt-corrections"
)

var demoCommand = command{
	name:  "demo",
	short: "broker, sample cameras, stage and live page in one process",
	long: "demo is a lost-property office with three cameras. Ten things come past them again and again, each taught by one\n" +
		"picture. Before one camera the light is steady, before another it falls, and the third one tilts. Soon a thing comes\n" +
		"that no picture showed: name it once on the page, and all three cameras know it. The page and the terminal show how\n" +
		"well that goes beside the nearest labelled example. Everything runs in this process, on an embedded broker. The stage\n" +
		"is the one of run; only the score knows what a picture shows.",
	run: runDemo, endless: true,
}

func runDemo(ctx context.Context, c *call) error {
	if c.Config.General.Level() == slog.LevelInfo { // the episode lines suffice
		c.Log = newLogger(c.Err, slog.LevelWarn, c.Config.General.LogJSON())
	}
	client, err := demoBroker(ctx, c)
	if err != nil {
		return err
	}
	options, err := demoOptions(ctx, c, client)
	if err != nil {
		return err
	}
	cameras := demo.NewCameras(c.Config.Solver.Seed)
	if err := setUp(ctx, client, cameras[0].Belt); err != nil {
		return err
	}

	kept, things := newRecent(c), len(cameras[0].Names())
	var scenes []web.Scene
	for _, camera := range cameras {
		scenes = append(scenes, web.Scene{Camera: camera.Name, About: camera.About})
	}
	page := newPage(c, client, "Lost property", kept, nil, scenes...)
	score := newScore(page, c)
	options.Recent, options.Observer, options.AnsweredFirst = kept, observers{score, page}, page.AnsweredFirst
	defer budget.Collect(options.Budget)()
	stage, err := pipeline.New(client, options)
	if err != nil {
		return usageError{err}
	}
	return serveWhile(ctx, c, stage, page, func(ctx context.Context, at net.Addr) error {
		heading, _ := score.line(&scored{}, score.judge.Board())
		if _, err := fmt.Fprintf(c.Out, "slkstream demo: three cameras at a lost-property office, %g pictures a second of %d things, one labelled picture of each\n\n"+
			"  page    %s\n  broker  %s, topics %s, %s, %s, %s, %s\n"+
			"  stop    Ctrl-C\n\nRight, of the last 500 pictures:\n%s\n",
			c.Config.Feed.Rate, things, visitAt(c, at), c.broker.Address(), demoIn, demoNow, demoOut, demoCorrections, demoLabels,
			heading); err != nil {
			return err
		}
		// Start the timer after startup.
		if limit := c.Config.Feed.For; limit > 0 {
			var stop context.CancelFunc
			ctx, stop = context.WithCancel(ctx)
			defer stop()
			defer time.AfterFunc(limit, stop).Stop()
		}
		if err := together(ctx, stage.Run, score.run, func(ctx context.Context) error {
			return film(ctx, cameras, client, c.Config.Feed.Rate)
		}); err != nil {
			return err
		}
		_, err := fmt.Fprint(c.Out, score.foot())
		return err
	})
}

// demoOptions returns the options of a stage on the demo's topics: those of run.
func demoOptions(ctx context.Context, c *call, client *topic.Client) (pipeline.Options, error) {
	t := &c.Config.Topics
	c.Config.Delivery.Mode = "at-least-once"
	t.Group, t.In, t.Out, t.Labels, t.Now, t.Corrections = demoGroup, []string{demoIn}, demoOut, demoLabels, demoNow, demoCorrections
	options, err := stageOptions(ctx, c, client)
	options.Memory.Solver.Check = true // the page draws the objective step by step
	return options, err
}

// together runs works until ctx ends or one of them fails.
func together(ctx context.Context, works ...func(context.Context) error) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	failed := make([]error, len(works))
	var working sync.WaitGroup
	for i, work := range works {
		working.Go(func() {
			if failed[i] = work(ctx); failed[i] != nil {
				stop()
			}
		})
	}
	working.Wait()
	return errors.Join(failed...)
}

// demoBroker starts the demo's own broker. Its folder is temporary unless one is named.
func demoBroker(ctx context.Context, c *call) (*topic.Client, error) {
	k := &c.Config.Kafka
	if k.EmbeddedDir == "" {
		dir, err := os.MkdirTemp("", "slkstream-demo-")
		if err != nil {
			return nil, fmt.Errorf("a folder for the broker: %w", err)
		}
		k.EmbeddedDir = dir
		c.atEnd(func() {
			if err := os.RemoveAll(dir); err != nil {
				c.Log.Warn("the demo's folder is left behind", "dir", dir, "error", err)
			}
		})
	}
	k.ClientID = "demo"
	client, err := c.kafka(ctx)
	if err == nil && !c.broker.Serving() {
		err = fmt.Errorf("embedded-dir %s: another process serves its broker; a demo needs a folder of its own, or none", k.EmbeddedDir)
	}
	return client, err
}

// visitAt returns the page's URL as a person would type it. It never shows a token.
func visitAt(c *call, address net.Addr) string {
	if address == nil {
		return "none: --listen is empty"
	}
	scheme := schemeOf(&c.Config.Listen)
	at := scheme + address.String()
	if tcp, ok := address.(*net.TCPAddr); ok && tcp.IP.IsUnspecified() {
		at = fmt.Sprintf("%slocalhost:%d, and every address of this machine", scheme, tcp.Port)
	}
	if !c.Config.Listen.IsLoopback() && c.Config.Listen.Token != "" {
		at += ", which asks for the token"
	}
	return at
}

// setUp creates the topics and writes the labelled examples.
func setUp(ctx context.Context, client *topic.Client, belt *demo.Belt) error {
	// the demo runs without end, so its topics must be bounded
	small := map[string]string{"retention.bytes": "67108864", "segment.bytes": "16777216"}
	for _, d := range []topic.Description{
		{Name: demoIn, Partitions: 1, Settings: small},
		{Name: demoOut, Partitions: 1, Settings: small},
		{Name: demoNow, Partitions: 1, Settings: small},
		{Name: demoCorrections, Partitions: 1, Settings: small},
		{Name: demoLabels, Partitions: 1, Settings: topic.StateSettings()},
	} {
		if err := client.Ensure(ctx, d); err != nil {
			return err
		}
	}
	var lessons []record.Out
	for _, picture := range belt.Teachers() {
		example, err := picture.Example()
		if err != nil {
			return err
		}
		example.Label, example.Time = picture.Thing, time.Now()
		lessons = append(lessons, record.Teach(demoLabels, &example))
	}
	return labels.Write(ctx, client, lessons)
}

// film writes pictures of the cameras to their topic, one camera after the other, rate in a second.
func film(ctx context.Context, cameras []demo.Camera, client *topic.Client, rate float64) error {
	const every = 50 * time.Millisecond
	tick := time.NewTicker(every)
	defer tick.Stop()
	due, last, next := 0., time.Now(), 0
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		now := time.Now()
		// after a long pause the belt continues at its rate and does not catch up
		due += rate * min(now.Sub(last), time.Second).Seconds()
		last = now
		var pictures []record.Out
		for ; due >= 1; due-- {
			camera := cameras[next%len(cameras)]
			next++
			picture := camera.Next()
			example, err := picture.Example()
			if err != nil {
				return err
			}
			example.Time = time.Now()
			pictures = append(pictures, record.Out{
				Topic: demoIn, Partition: -1, Key: []byte(camera.Name), Value: record.AppendExample(nil, &example),
				Time:    example.Time,
				Headers: []record.Header{{Key: "content-type", Value: []byte("application/json")}},
			})
		}
		if err := client.Write(ctx, pictures); err != nil && ctx.Err() == nil {
			return fmt.Errorf("camera: %w", err)
		}
	}
}
