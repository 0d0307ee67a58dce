package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slkstream/slkstream/config"
	"github.com/slkstream/slkstream/internal/broker/brokertest"
	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/topic"
)

var histories = flag.Int("histories", 4, "histories of TestSettingsBetweenRuns; 2000 take about an hour")

// asOthers are the settings of run that make another stage, or let a result be repeated: docs/delivery.md promises
// nothing across a change of them.
var asOthers = []string{"in", "group", "state", "brokers", "embedded-dir", "embedded-listen", "config", "delivery"}

// Whatever settings differ between two runs under exactly once, every record has one result or one dead letter, or
// the other settings are refused with the name of one of them. A history runs a stage, stops it with episodes open,
// runs it with one or two other settings on more records, and ends with the first settings again. Settings come from
// the table of run, so a new one joins by itself; ids and keys are chosen to be taken for something else.
func TestSettingsBetweenRuns(t *testing.T) {
	save := saver(t, t.TempDir())
	support := save(
		"support.jsonl",
		`{"id":"a","label":"milk","vector":[1,0.1]}`+"\n"+`{"id":"b","label":"tea","vector":[0.1,1]}`+"\n",
	)
	special := map[string]string{
		"support": save(
			"other.jsonl",
			`{"id":"a","label":"tea","vector":[1,0.2]}`+"\n"+`{"id":"c","label":"milk","vector":[0.2,1]}`+"\n",
		),
		"stream-by": "partition", "out-format": "cloudevents", "fields": "id=key", "support-fields": "label=label",
		"listen": "127.0.0.1:0", "embedded-dir": t.TempDir(), "memory": "300MiB", "log": "error,json",
		"commit-interval": "20ms", "dimension": "2", "episode-size": "3",
	}
	var settings []config.Setting
	for _, s := range config.Default("run").Settings() {
		if !slices.Contains(asOthers, s.Name) {
			settings = append(settings, s)
		}
	}
	for seed := range uint64(*histories) {
		random := rand.New(rand.NewPCG(seed, 9))
		changed := []config.Setting{settings[random.IntN(len(settings))], settings[random.IntN(len(settings))]}
		t.Run(fmt.Sprintf("%d, %s and %s", seed, changed[0].Name, changed[1].Name), func(t *testing.T) {
			settingsBetweenRuns(t, random, support, maps.Clone(special), changed)
		})
	}
}

// settingsBetweenRuns plays one history.
func settingsBetweenRuns(
	t *testing.T, random *rand.Rand, support string, special map[string]string, changed []config.Setting,
) {
	server := brokertest.Embedded(t)
	client := brokertest.Connect(t, []string{server.Address})
	h := &betweenRuns{t: t, client: client, random: random, in: brokertest.Topic(t, client, "in", 2, nil)}
	for _, name := range []string{"out", "dead", "labels", "review", "episodes", "corrections", "now"} {
		own := brokertest.Topic(t, client, name, 2, nil)
		if special[name] = own; name == "out" || name == "dead" {
			h.answers = append(h.answers, own)
		}
	}
	out, dead := brokertest.Topic(t, client, "results", 2, nil), brokertest.Topic(t, client, "letters", 2, nil)
	h.answers = append(h.answers, out, dead)
	first := []string{
		"run", "--brokers", server.Address, "--in", h.in, "--out", out, "--dead", dead,
		"--group", brokertest.Name("group"), "--support", support, "--delivery", "exactly-once", "--listen", "",
		"--episode-size", "6", "--episode-idle", "300ms", "--session-timeout", "1s", "--drain-timeout", "5s",
	}
	other := slices.Clone(first)
	for _, s := range changed {
		other = append(other, "--"+s.Name+"="+another(s, special))
	}
	h.send(30)
	h.run(first, func() bool { return h.answered() >= 6 })
	h.send(20)
	before, since := h.answered(), time.Now()
	code, messages := h.run(other, func() bool {
		return h.answered() > before && rand.IntN(4) == 0 || // not of the seed: how often it looks depends on the machine
			time.Since(since) > 3*time.Second
	})
	named := func(s config.Setting) bool { return strings.Contains(messages, s.Name) }
	if code != exitDone && !slices.ContainsFunc(changed, named) {
		t.Errorf("%v: exit %d, and no setting is named: %s", other[len(first):], code, messages)
	}
	h.send(10)
	h.run(first, func() bool { return h.answered() >= h.sent })
	for id, n := range h.read() {
		if n > 1 {
			t.Errorf("%v: record %s is answered %d times", other[len(first):], id, n)
		}
	}
}

// betweenRuns is a history of a stage with exactly-once delivery.
type betweenRuns struct {
	t       *testing.T
	client  *topic.Client
	random  *rand.Rand
	in      string
	answers []string // topics that results and dead letters may be in
	sent    int
}

// send writes records whose keys and ids name what the stage writes itself.
func (h *betweenRuns) send(n int) {
	h.t.Helper()
	ids := []string{"name:anna", h.in + "/0/1", "a", "", "slkstream-control/x", "same", "same", "\u202e/../ü"}
	var records []record.Out
	for range n {
		value, err := json.Marshal(map[string]any{
			"id": ids[h.random.IntN(len(ids))], "vector": []float64{h.random.Float64(), h.random.Float64()},
		})
		if err != nil {
			h.t.Fatal(err)
		}
		if h.random.IntN(10) == 0 {
			value = []byte(`{"vector":"none"}`)
		}
		records = append(records, record.Out{
			Topic: h.in, Partition: int32(h.random.IntN(2)), Value: value,
			Key: []byte([]string{"cam", "name:anna", "cam/1"}[h.random.IntN(3)]),
		})
	}
	h.sent += n
	if err := h.client.Write(h.t.Context(), records); err != nil {
		h.t.Fatal(err)
	}
}

// run runs a stage until a condition holds, and returns how it ended.
func (h *betweenRuns) run(args []string, until func() bool) (code int, messages string) {
	h.t.Helper()
	ctx, stop := context.WithCancel(h.t.Context())
	defer stop()
	ended := make(chan struct{})
	var log bytes.Buffer
	go func() {
		defer close(ended)
		code = execute(ctx, args, &bytes.Buffer{}, &log)
	}()
	for begin := time.Now(); !until(); {
		select {
		case <-ended:
			return code, log.String()
		case <-time.After(20 * time.Millisecond):
		}
		if time.Since(begin) > 2*time.Minute {
			stop()
			<-ended
			h.t.Fatalf("%d of %d answered: %s", h.answered(), h.sent, log.String())
		}
	}
	stop()
	<-ended
	return code, log.String()
}

// read counts results and dead letters by the position of their record, as a reader of committed records sees them.
func (h *betweenRuns) read() map[string]int {
	h.t.Helper()
	found := map[string]int{}
	spans, err := h.client.Spans(h.t.Context(), true, h.answers...)
	if err != nil {
		h.t.Fatal(err)
	}
	for r, err := range h.client.Records(h.t.Context(), spans...) {
		if err != nil {
			h.t.Fatal(err)
		}
		if letter, is := record.ReadLetter(r); is {
			found[letter.ID]++
			continue
		}
		var result struct {
			ID string `json:"id"`
		}
		if json.Unmarshal(r.Value, &result) == nil && result.ID != "" {
			found[result.ID]++
		}
	}
	return found
}

func (h *betweenRuns) answered() int { return len(h.read()) }
