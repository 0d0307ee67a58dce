package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/slkstream/slkstream/config"
	"github.com/slkstream/slkstream/internal/broker"
	"github.com/slkstream/slkstream/internal/broker/brokertest"
	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/topic"
)

var (
	histories = flag.Int("histories", 12, "histories of TestSettingsBetweenRuns; 2000 take about an hour with -parallel 8")
	firstSeed = flag.Uint64("seed", 0, "seed of the first history")
)

// asOthers are the settings of run that make another stage, or let a result be repeated: docs/delivery.md promises
// nothing across a change of them.
var asOthers = []string{"in", "group", "state", "brokers", "embedded-dir", "embedded-listen", "config", "delivery"}

// Whatever settings differ between two runs, and wherever a run is killed, every record has a result or a dead letter:
// one with exactly once, at least one otherwise; or the other settings are refused with the name of one of them. Names
// and ids that senders choose change nothing that a person has taught or forgotten. A history runs a stage, with its
// labels taught and forgotten, runs it with one or two other settings, and ends with the first settings again. Each run
// but the last is killed at a request drawn from the seed, or stops in peace. Settings come from the table of run, so a
// new one joins by itself.
func TestSettingsBetweenRuns(t *testing.T) {
	t.Parallel()
	for i := range uint64(*histories) {
		seed := *firstSeed + i
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			h := newBetweenRuns(t, seed, testBinary(t))
			for _, broken := range h.play(2 * time.Minute) {
				t.Errorf("%s: %s", h.about, broken)
			}
		})
	}
}

// betweenRuns is a history of a stage.
type betweenRuns struct {
	t        *testing.T
	server   *broker.Server
	client   *topic.Client
	random   *rand.Rand
	binary   string
	about    string        // what the seed has drawn
	patience time.Duration // how long answers are waited for
	once     bool          // exactly once
	broken   []string      // promises
	in       string
	labels   string
	answers  []string          // topics that results and dead letters may be in
	special  map[string]string // values of settings that are no other choice of their list
	first    []string          // the arguments of the first and the last run

	sent      []sentItem
	taught    map[string]string // by the id of a result: what a person said of it last
	forgotten int               // len(sent) when anna was forgotten; 0: not yet
}

// newBetweenRuns prepares the history of a seed, played with a binary of slkstream.
func newBetweenRuns(t *testing.T, seed uint64, binary string) *betweenRuns {
	server := brokertest.Embedded(t)
	server.Cluster.ControlKey(int16(kmsg.InitProducerID), func(r kmsg.Request) (kmsg.Response, error, bool) {
		server.Cluster.KeepControl()
		r.(*kmsg.InitProducerIDRequest).TransactionTimeoutMillis = 5_000 // forget waits for what a killed stage left open
		return nil, nil, false
	})
	client := brokertest.Connect(t, []string{server.Address})
	save := saver(t, t.TempDir())
	h := &betweenRuns{
		t: t, server: server, client: client, random: rand.New(rand.NewPCG(seed, 9)), binary: binary, taught: map[string]string{},
		in: brokertest.Topic(t, client, "in", 2, nil), labels: brokertest.Topic(t, client, "taught", 1, topic.StateSettings()),
		special: map[string]string{
			"support": save(
				"other.jsonl",
				`{"id":"a","label":"tea","vector":[1,0.2]}`+"\n"+`{"id":"c","label":"milk","vector":[0.2,1]}`+"\n",
			),
			"stream-by": "partition", "out-format": "cloudevents", "fields": "id=key", "support-fields": "label=label",
			"listen": "127.0.0.1:0", "embedded-dir": t.TempDir(), "memory": "300MiB", "log": "error,json",
			"commit-interval": "20ms", "dimension": "2", "episode-size": "3",
		},
	}
	for _, name := range []string{"out", "dead", "review", "episodes", "corrections", "now"} {
		own := brokertest.Topic(t, client, name, 2, nil)
		if h.special[name] = own; name == "out" || name == "dead" {
			h.answers = append(h.answers, own)
		}
	}
	h.special["labels"] = brokertest.Topic(t, client, "labels", 1, topic.StateSettings())
	out, dead := brokertest.Topic(t, client, "results", 2, nil), brokertest.Topic(t, client, "letters", 2, nil)
	h.answers = append(h.answers, out, dead)
	h.first = []string{
		"run", "--brokers", server.Address, "--in", h.in, "--out", out, "--dead", dead, "--labels", h.labels,
		"--group", brokertest.Name("group"), "--listen", "127.0.0.1:0",
		"--support", save(
			"support.jsonl",
			`{"id":"a","label":"milk","vector":[1,0.1]}`+"\n"+`{"id":"b","label":"tea","vector":[0.1,1]}`+"\n",
		),
		"--episode-size", "6", "--episode-idle", "300ms", "--session-timeout", "1s", "--drain-timeout", "10s",
	}
	return h
}

// play plays the history and returns which promises are broken. Answers are waited for up to patience.
func (h *betweenRuns) play(patience time.Duration) (broken []string) {
	h.patience = patience
	var settings []config.Setting
	for _, s := range config.Default("run").Settings() {
		if !slices.Contains(asOthers, s.Name) {
			settings = append(settings, s)
		}
	}
	changed := []config.Setting{settings[h.random.IntN(len(settings))], settings[h.random.IntN(len(settings))]}
	delivery := []string{"at-least-once", "exactly-once"}[h.random.IntN(2)]
	h.once = delivery == "exactly-once"
	h.about = fmt.Sprintf("%s, %s and %s changed", delivery, changed[0].Name, changed[1].Name)
	h.first = append(h.first, "--delivery", delivery)
	other := slices.Clone(h.first)
	for _, s := range changed {
		other = append(other, "--"+s.Name+"="+another(s, h.special))
	}
	h.send(30)
	run := h.start(h.first)
	if !run.await("six answers", func() bool { return len(h.read()) >= 6 }) {
		return h.broken
	}
	h.teach(run)
	h.send(20)
	run.end(h.drawEnd(), time.Second)
	h.forget()

	h.send(10)
	run = h.start(other)
	run.end(h.drawEnd(), 2*time.Second)
	named := func(s config.Setting) bool { return strings.Contains(run.messages(), s.Name) }
	if code := run.code(); code != exitDone && code != killed && !slices.ContainsFunc(changed, named) {
		h.breaks("%v: exit %d, and no setting is named: %s", other[len(h.first):], code, run.messages())
	}

	h.send(10)
	if h.random.IntN(2) == 0 {
		h.start(h.first).end(h.drawEnd(), time.Second)
	}
	run = h.start(h.first)
	if run.await("an answer to each record", func() bool { return len(h.read()) >= len(h.sent) }) {
		run.end(inPeace, 0)
	}
	h.check()
	return h.broken
}

func (h *betweenRuns) breaks(format string, args ...any) {
	h.broken = append(h.broken, fmt.Sprintf(format, args...))
}

// seenAnswer is what a committed reader sees of a record.
type seenAnswer struct {
	times  int
	labels []string
}

// check compares what came out with what is promised.
func (h *betweenRuns) check() {
	for id, a := range h.read() {
		i := slices.IndexFunc(h.sent, func(s sentItem) bool { return s.id == id })
		switch {
		case i < 0:
			h.breaks("an answer to %s, which was never sent", id)
		case h.once && a.times > 1:
			h.breaks("record %s is answered %d times", id, a.times)
		case h.forgotten > 0 && i >= len(h.sent)-lastSent && slices.Contains(a.labels, "anna"):
			h.breaks("record %s is called anna, who was forgotten", id)
		}
	}
	h.checkTaught()
}

// read returns results and dead letters by the position of their record, as a reader of committed records sees them.
func (h *betweenRuns) read() map[string]seenAnswer {
	h.t.Helper()
	found := map[string]seenAnswer{}
	spans, err := h.client.Spans(h.t.Context(), true, h.answers...)
	if err != nil {
		h.t.Fatal(err)
	}
	for r, err := range h.client.Records(h.t.Context(), spans...) {
		if err != nil {
			h.t.Fatal(err)
		}
		var result struct{ ID, Label string }
		if letter, is := record.ReadLetter(r); is {
			result.ID = letter.Source.ID()
		} else if json.Unmarshal(r.Value, &result) != nil || result.ID == "" {
			h.breaks("%s/%d/%d is neither a result nor a dead letter: %q", r.Topic, r.Partition, r.Offset, r.Value)
			continue
		}
		a := found[result.ID]
		a.times, a.labels = a.times+1, append(a.labels, result.Label)
		found[result.ID] = a
	}
	return found
}
