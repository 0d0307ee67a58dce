package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/slkstream/slkstream/internal/evaluate"
	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/topic"
)

// pipelinesSection compares slkstream run with programs that a user might write: same broker, same
// input, same labels.
var pipelinesSection = section{name: "pipelines", title: "What a user would write instead", run: benchPipelines}

const (
	pipelineStreams = 16
	pipelineLimit   = 90 * time.Second // a pipeline is scored on its answers until then
)

// userPipeline is one of the compared programs: a method of pipelines.py, or "": slkstream run.
type userPipeline struct {
	name, method, needs string
	slow                bool // it takes the whole limit, and so one round
}

var userPipelines = []userPipeline{
	{name: "slkstream run"},
	{name: "confluent-kafka, nearest centroid", method: "centroid"},
	{name: "confluent-kafka, 1-NN", method: "1nn"},
	{name: "confluent-kafka, river softmax regression", method: "river", needs: "river", slow: true},
	{name: "Quix Streams, nearest centroid", method: "quix", needs: "quixstreams"},
}

// pipelineInput is a topic of one drawn stream under several keys, with the truth of its items.
type pipelineInput struct {
	*kafkaBench
	brokers string
	support string           // file of labelled examples
	truth   map[string]int32 // by id, for the scored items
	n       int
}

func benchPipelines(ctx context.Context, b *bench) error {
	k, stop, err := startKafka()
	if err != nil {
		return err
	}
	defer stop()
	folders, forget, err := b.Sets("grocery")
	if err != nil {
		return err
	}
	defer forget()
	set, err := evaluate.ReadSet(folders[0])
	if err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "pipelines-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	in := &pipelineInput{kafkaBench: k, brokers: strings.Join(k.client.Brokers(), ",")}
	if err := in.write(ctx, b, b.some(set), work); err != nil {
		return err
	}
	binary := filepath.Join(work, "slkstream")
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", binary, "./cmd/slkstream").CombinedOutput(); err != nil {
		return fmt.Errorf("go build: %w: %s", err, out)
	}
	rounds := 3
	if b.Quick {
		rounds = 1
	}
	rates, rights := map[string][]float64{}, map[string]float64{}
	for round := range rounds {
		for _, p := range userPipelines {
			if round > 0 && (p.slow || len(rates[p.name]) == 0) {
				continue
			}
			rate, right, err := in.pipeline(ctx, b, binary, p)
			if err != nil {
				b.Missing(p.name, err)
				continue
			}
			rates[p.name], rights[p.name] = append(rates[p.name], rate), right
		}
	}
	b.Text("%d records of %d streams (%s in bursts, five labelled items a class, %d-d float32, 3 %% of the items "+
		"carry their label and are not scored) in %d partitions of one broker on the same machine. Each pipeline is a "+
		"process of its own that writes one JSON result a record; rates are from a tenth of its results to nine "+
		"tenths, or to the end of %v, and medians of %d rounds in turn (one of the slowest). The last episodes "+
		"close after two seconds of silence.",
		in.n, pipelineStreams, set.Name, set.D, streamPartitions, pipelineLimit, rounds)
	var table [][]string
	var best, ours float64
	for _, p := range userPipelines {
		if len(rates[p.name]) == 0 {
			continue
		}
		rate := evaluate.Median(rates[p.name])
		table = append(table, []string{p.name, fmt.Sprintf("%.0f", rate), fmt.Sprintf("%.3f", rights[p.name])})
		if p.method == "" {
			ours = rate
		} else {
			best = max(best, rate)
		}
	}
	b.Table([]string{"", "records/s", "right"}, table)
	if best > 0 {
		b.Figure("pipelines.ratio", "%.1f", ours/best)
	}
	return nil
}

// write fills the input topic and the file of labelled examples.
func (in *pipelineInput) write(ctx context.Context, b *bench, set *evaluate.Set, work string) error {
	protocol := evaluate.StreamProtocol{
		Order: "bursts", Episode: 100, Shots: 5, SupportBy: "class", Teach: .03, TeachBy: "random",
	}
	trial, err := protocol.Draw(set, 1)
	if err != nil {
		return err
	}
	var lines bytes.Buffer
	encoder := json.NewEncoder(&lines)
	for i, row := range trial.Supports {
		if err := encoder.Encode(map[string]any{
			"id": fmt.Sprint("support-", i), "label": fmt.Sprint(trial.SupportLabels[i]), "vector": row,
		}); err != nil {
			return err
		}
	}
	in.support = filepath.Join(work, "support.jsonl")
	if err := os.WriteFile(in.support, lines.Bytes(), 0o644); err != nil {
		return err
	}
	if err := in.client.Create(ctx, topic.Description{Name: in.in, Partitions: streamPartitions}); err != nil {
		return err
	}
	in.truth = map[string]int32{}
	var offsets [streamPartitions]int64
	var list []record.Out
	for i := range trial.Items {
		item := &trial.Items[i]
		value := make([]byte, 0, 4*len(item.Vector))
		for _, x := range item.Vector {
			value = binary.LittleEndian.AppendUint32(value, math.Float32bits(x))
		}
		var headers []record.Header
		if item.Taught {
			headers = []record.Header{{Key: "label", Value: []byte(strconv.Itoa(int(item.Truth)))}}
		}
		for s := range pipelineStreams {
			p := s % streamPartitions
			list = append(list, record.Out{
				Topic: in.in, Partition: int32(p), Key: fmt.Appendf(nil, "camera-%d", s), Value: value, Headers: headers,
			})
			if !item.Taught {
				in.truth[fmt.Sprintf("%s/%d/%d", in.in, p, offsets[p])] = item.Truth
			}
			offsets[p]++
		}
		if len(list) >= 1000 || i == len(trial.Items)-1 {
			if err := in.client.Write(ctx, list); err != nil {
				return err
			}
			in.n += len(list)
			list = list[:0]
		}
	}
	return nil
}

// pipeline runs one pipeline over the whole input and returns its records per second and its accuracy.
func (in *pipelineInput) pipeline(
	ctx context.Context, b *bench, binary string, of userPipeline,
) (rate, right float64, err error) {
	in.runs++
	out := fmt.Sprintf("pipeline-%d", in.runs)
	if err := in.client.Create(ctx, topic.Description{Name: out, Partitions: streamPartitions}); err != nil {
		return 0, 0, err
	}
	group := "group-" + out
	settings := []string{"--brokers", in.brokers, "--in", in.in, "--out", out, "--support", in.support, "--group", group}
	var command *exec.Cmd
	if of.method == "" {
		command = exec.CommandContext(ctx, binary, append([]string{
			"run", "--format", "f32", "--episode-age", "off", "--listen", "", "--log-level", "error",
		}, settings...)...)
	} else {
		if err := b.Has(append([]string{"confluent-kafka"}, strings.Fields(of.needs)...)...); err != nil {
			return 0, 0, err
		}
		command = b.script(ctx, 0, "pipelines.py", append([]string{of.method}, settings...))
	}
	var said bytes.Buffer
	command.Stderr = &said
	if err := command.Start(); err != nil {
		return 0, 0, err
	}
	ended := make(chan error, 1)
	go func() { ended <- command.Wait() }()
	rate, err = in.rate(ctx, out, ended)
	_ = command.Process.Signal(syscall.SIGKILL) // it may have ended already
	if err != nil {
		return 0, 0, fmt.Errorf("%w: %s", err, ending(said.String()))
	}
	<-ended
	right, err = in.score(ctx, out)
	return rate, right, err
}

// rate waits for the results of the whole input, or until the limit for some of them.
func (in *pipelineInput) rate(ctx context.Context, out string, ended <-chan error) (float64, error) {
	limit := time.After(pipelineLimit)
	var first, last int64
	var from, to time.Time
	for {
		have, err := in.results(ctx, out)
		if err != nil {
			return 0, err
		}
		if from.IsZero() && have >= int64(in.n/10) {
			first, from = have, time.Now()
		}
		if have > last && last < int64(in.n*9/10) {
			last, to = have, time.Now()
		}
		if have >= int64(in.n) {
			break
		}
		select {
		case <-ctx.Done():
			return 0, ctx.Err()
		case err := <-ended:
			return 0, fmt.Errorf("it ended by itself: %v", err)
		case <-limit:
			if last == 0 {
				return 0, fmt.Errorf("no result within %v", pipelineLimit)
			}
			if from.IsZero() { // no tenth was done: measure from the start
				return float64(last) / pipelineLimit.Seconds(), nil
			}
			return float64(last-first) / to.Sub(from).Seconds(), nil
		case <-time.After(20 * time.Millisecond):
		}
	}
	return float64(last-first) / to.Sub(from).Seconds(), nil
}

func (in *pipelineInput) results(ctx context.Context, out string) (have int64, err error) {
	for p := range int32(streamPartitions) {
		end, err := in.client.Offset(ctx, out, p, topic.Latest, false)
		if err != nil {
			return 0, err
		}
		have += end
	}
	return have, nil
}

// score returns the share of results with the true label, among scored items.
func (in *pipelineInput) score(ctx context.Context, out string) (float64, error) {
	right, all := 0., 0.
	for p := range int32(streamPartitions) {
		end, err := in.client.Offset(ctx, out, p, topic.Latest, false)
		if err != nil {
			return 0, err
		}
		reader := in.client.NewReader(topic.ReaderSettings{Topic: out, Partition: p})
		for at := int64(0); at < end; {
			batch, err := reader.Read(ctx)
			if err != nil {
				return 0, err
			}
			for i := range batch.Records {
				at = batch.Records[i].Offset + 1
				var result struct{ ID, Label string }
				if err := json.Unmarshal(batch.Records[i].Value, &result); err != nil {
					return 0, err
				}
				if truth, scored := in.truth[result.ID]; scored {
					if all++; result.Label == strconv.Itoa(int(truth)) {
						right++
					}
				}
			}
		}
	}
	return right / max(all, 1), nil
}
