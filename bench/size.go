package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/slkstream/slkstream/internal/evaluate"
	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/topic"
)

// sizeSection compares what `slkstream size` says with `slkstream run` at work, a process of its own.
var sizeSection = section{name: "size", title: "What size says, and what a process takes", run: benchSize, alone: true}

// planned is a setting of size.
type planned struct {
	cameras, dimension, classes, examples int
	rate                                  float64 // items a second of each camera
}

// sizeBound is how far size may be from what is measured, in either direction.
const sizeBound = .25

func benchSize(ctx context.Context, b *bench) error {
	list := []planned{
		{20, 512, 30, 5, 100},
		{4, 128, 10, 5, 500},
		{60, 768, 25, 5, 30},
		{100, 256, 40, 5, 30},
		{8, 1280, 100, 5, 100},
		{200, 384, 10, 20, 10},
		{40, 640, 60, 3, 40}, // no constant of size was chosen on this one
	}
	if b.Quick {
		list = list[:2]
	}
	folder, err := os.MkdirTemp("", "bench-size-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	program := filepath.Join(folder, "slkstream")
	build := exec.CommandContext(ctx, "go", "build", "-o", program, "./cmd/slkstream")
	build.Dir = filepath.Dir(b.folder)
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	var rows [][]string
	off := func(said, measured float64) string { return fmt.Sprintf("%+.0f %%", 100*(said/measured-1)) }
	worst := 0.
	for _, p := range list {
		said, measured, err := p.measure(ctx, program, folder)
		if err != nil {
			return fmt.Errorf("%+v: %w", p, err)
		}
		slog.Info("size", "of", fmt.Sprintf("%+v", p), "said", fmt.Sprintf("%+v", said), "measured", fmt.Sprintf("%+v", measured))
		worst = max(worst, math.Abs(said.Live/measured.live-1), math.Abs(said.Microseconds/measured.microseconds-1))
		rows = append(rows, []string{
			fmt.Sprintf("%d cameras, %d numbers, %d classes, %d examples, %g items/s",
				p.cameras, p.dimension, p.classes, p.examples, p.rate),
			fmt.Sprintf("%.1f", said.Live/1e6), fmt.Sprintf("%.1f", measured.live/1e6), off(said.Live, measured.live),
			fmt.Sprintf("%.1f", said.Microseconds), fmt.Sprintf("%.1f", measured.microseconds),
			off(said.Microseconds, measured.microseconds),
		})
	}
	b.Text(
		"`slkstream run` is a process of its own, fed at the rate on an embedded broker in another, with --recent 8MiB. Live bytes are " +
			"those after a collection, CPU is that of the process; each over the last two fifths.",
	)
	b.Table([]string{"", "live MB, said", "measured", "", "CPU us an item, said", "measured", ""}, rows)
	b.Text("The bar is %.0f %%; the largest difference is %.0f %%.", 100*sizeBound, 100*worst)
	return nil
}

// sizeSaid is what size prints.
type sizeSaid struct {
	Live         float64 `json:"live"`
	Microseconds float64 `json:"microsecondsAnItem"`
	Partitions   int     `json:"partitions"`
}

type sizeMeasured struct{ live, microseconds float64 }

const sizeRecent = "8MiB" // fills within seconds

func (p planned) measure(ctx context.Context, program, folder string) (said sizeSaid, m sizeMeasured, err error) {
	text, err := exec.CommandContext(ctx, program, "size", "--json", "--cameras", fmt.Sprint(p.cameras), "--dimension", fmt.Sprint(p.dimension),
		"--classes", fmt.Sprint(p.classes), "--examples", fmt.Sprint(p.examples), "--rate", fmt.Sprint(p.rate), "--recent", sizeRecent).
		Output()
	if err == nil {
		err = json.Unmarshal(text, &said)
	}
	if err != nil {
		return said, m, err
	}
	k, stop, err := startKafkaOf(p.dimension, p.classes, p.examples)
	if err != nil {
		return said, m, err
	}
	defer stop()
	if err := k.client.Create(ctx, topic.Description{Name: k.in, Partitions: said.Partitions}); err != nil {
		return said, m, err
	}
	if err := k.client.Create(ctx, topic.Description{Name: "out", Partitions: said.Partitions}); err != nil {
		return said, m, err
	}
	support := filepath.Join(folder, "support.jsonl")
	if err := writeSupport(support, k); err != nil {
		return said, m, err
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return said, m, err
	}
	address := free.Addr().String()
	free.Close()
	run := exec.CommandContext(ctx, program, "run", "--brokers", k.client.Brokers()[0], "--in", k.in, "--out", "out",
		"--group", "size", "--format", "f32", "--support", support, "--listen", address, "--recent", sizeRecent)
	run.Cancel = func() error { return run.Process.Signal(os.Interrupt) }
	log, err := os.Create(filepath.Join(folder, "run.log"))
	if err != nil {
		return said, m, err
	}
	defer log.Close()
	run.Stderr = log
	if err := run.Start(); err != nil {
		return said, m, err
	}
	defer func() {
		_ = run.Process.Signal(os.Interrupt)
		_ = run.Wait()
	}()
	m, err = p.follow(ctx, k, said.Partitions, address, run.Process.Pid)
	return said, m, err
}

// follow feeds the process at its rate, and measures it over the last two fifths.
func (p planned) follow(ctx context.Context, k *kafkaBench, partitions int, address string, pid int) (m sizeMeasured, err error) {
	n := max(1500, 40_000/p.cameras) * p.cameras
	turns := spread(n, p.cameras)
	random := rand.New(rand.NewPCG(3, 4))
	begin, fed := time.Now(), make(chan error, 1)
	go func() {
		at := max(1, int(p.rate)*p.cameras/20) // records of 50 ms
		for from := 0; from < n; from += at {
			time.Sleep(time.Until(begin.Add(time.Duration(float64(from) / (p.rate * float64(p.cameras)) * float64(time.Second)))))
			list := make([]record.Out, 0, at)
			for i := from; i < min(n, from+at); i++ {
				camera := turns[i]
				list = append(list, record.Out{
					Topic: k.in, Partition: int32(camera % partitions), Key: fmt.Appendf(nil, "camera-%d", camera),
					Value: k.vectors[random.IntN(len(k.vectors))],
				})
			}
			if err := k.client.Write(ctx, list); err != nil {
				fed <- err
				return
			}
		}
		fed <- nil
	}()
	var live []float64
	var from, to [2]float64 // acknowledged, CPU seconds
	for ended := false; !ended; {
		select {
		case err := <-fed:
			if err != nil {
				return m, err
			}
			ended = true
		case <-ctx.Done():
			return m, ctx.Err()
		case <-time.After(200 * time.Millisecond):
		}
		acknowledged, used, err := scraped(ctx, address)
		if err != nil {
			continue // it starts
		}
		if acknowledged >= .6*float64(n) {
			spent, err := secondsOf(pid)
			if err != nil {
				return m, err
			}
			to = [2]float64{acknowledged, spent}
			if live = append(live, used); len(live) == 1 {
				from = to
			}
		}
	}
	if len(live) < 2 || to[0] == from[0] {
		return m, fmt.Errorf("no item is acknowledged: %d measurements", len(live))
	}
	return sizeMeasured{evaluate.Median(live), 1e6 * (to[1] - from[1]) / (to[0] - from[0])}, nil
}

// scraped reads how many items a process has acknowledged and its live bytes.
func scraped(ctx context.Context, address string) (acknowledged, live float64, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/metrics", nil)
	if err != nil {
		return 0, 0, err
	}
	reply, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, 0, err
	}
	defer reply.Body.Close()
	for lines := bufio.NewScanner(reply.Body); lines.Scan(); {
		name, value, _ := strings.Cut(lines.Text(), " ")
		n, _ := strconv.ParseFloat(value, 64)
		switch {
		case strings.HasPrefix(name, "slkstream_records_total{") && (strings.Contains(name, `"known"`) || strings.Contains(name, `"unknown"`)):
			acknowledged += n
		case name == "slkstream_memory_used_bytes":
			live = n
		}
	}
	return acknowledged, live, nil
}

// secondsOf returns the CPU seconds of a process, where /proc has them.
func secondsOf(pid int) (float64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(string(text), ") ")
	fields := strings.Fields(rest)
	if len(fields) < 13 {
		return 0, io.ErrUnexpectedEOF
	}
	const ticks = 100
	user, _ := strconv.ParseFloat(fields[11], 64)
	system, err := strconv.ParseFloat(fields[12], 64)
	return (user + system) / ticks, err
}

func writeSupport(path string, k *kafkaBench) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer file.Close()
	to := json.NewEncoder(file)
	for _, e := range k.support {
		if err := to.Encode(map[string]any{"id": e.ID, "label": e.Label, "vector": e.Vector}); err != nil {
			return err
		}
	}
	return file.Close()
}
