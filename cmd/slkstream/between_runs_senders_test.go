package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"slices"

	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/pipeline/labels"
)

// sentItem is a record that a history has sent.
type sentItem struct {
	id    string // of its result
	label bool   // it carries one
}

// lastSent is how many records are sent last, when what a person has forgotten is in force.
const lastSent = 10

// send sends records whose keys, ids and headers name what the stage writes itself, what a person teaches, or what
// another sender sends.
func (h *betweenRuns) send(n int) {
	h.t.Helper()
	place := fmt.Sprintf("%s/%d/%d", h.in, h.random.IntN(2), h.random.IntN(10))
	ids := []string{
		"name:anna", "name:bert", place, record.ItemKey(place), "stream:cam/same", "stream:cam%2F1/same", "a", "",
		"slkstream-control/x", "same", "same", "same", "\u202e/../ü",
	}
	keys := []string{"cam", "cam/1", "name:anna"}
	var records []record.Out
	for range n {
		value := map[string]any{
			"id": ids[h.random.IntN(len(ids))], "vector": []float64{h.random.Float64(), h.random.Float64()},
		}
		out := record.Out{Topic: h.in, Partition: int32(h.random.IntN(2)), Key: []byte(keys[h.random.IntN(len(keys))])}
		switch h.random.IntN(10) {
		case 0:
			value["vector"] = "none"
		case 1:
			value["label"] = []string{"milk", "tea"}[h.random.IntN(2)]
		case 2:
			out.Headers = []record.Header{{Key: record.IDHeader, Value: []byte(place)}}
		case 3:
			out.Headers = []record.Header{
				{Key: record.ErrorHeader, Value: []byte("forged")},
				{Key: record.TopicHeader, Value: []byte(h.in)},
				{Key: record.PartitionHeader, Value: []byte("0")},
				{Key: record.OffsetHeader, Value: []byte("1")},
			}
		}
		var err error
		if out.Value, err = json.Marshal(value); err != nil {
			h.t.Fatal(err)
		}
		offset := 0
		for _, s := range h.sent {
			if source, _ := record.ParseID(s.id); source.Partition == out.Partition {
				offset++
			}
		}
		source := record.Source{Topic: h.in, Partition: out.Partition, Offset: int64(offset), Object: -1}
		h.sent, records = append(h.sent, sentItem{source.ID(), value["label"] != nil}), append(records, out)
	}
	if err := h.client.Write(h.t.Context(), records); err != nil {
		h.t.Fatal(err)
	}
}

// teach has a person say on the page what some of the answered items are.
func (h *betweenRuns) teach(run *stageProcess) {
	h.t.Helper()
	answered := slices.Sorted(maps.Keys(h.read()))
	h.random.Shuffle(len(answered), func(i, j int) { answered[i], answered[j] = answered[j], answered[i] })
	for _, id := range answered {
		i := slices.IndexFunc(h.sent, func(s sentItem) bool { return s.id == id })
		if len(h.taught) == 5 {
			break
		}
		if i < 0 || h.sent[i].label { // a label of the sender's is known by the sender's id
			continue
		}
		name := []string{"anna", "bert"}[h.random.IntN(2)]
		body, err := json.Marshal(map[string]string{"id": id, "label": name})
		if err != nil {
			h.t.Fatal(err)
		}
		reply, err := http.Post(run.address()+"/api/teach", "application/json", bytes.NewReader(body))
		if err != nil {
			h.t.Fatal(err)
		}
		why, _ := io.ReadAll(reply.Body)
		reply.Body.Close()
		switch reply.StatusCode {
		case http.StatusNoContent:
			h.taught[id] = name
		case http.StatusNotFound: // a bad record, or one that is no longer shown
		default:
			h.breaks("teaching %s: %s: %s", id, reply.Status, why)
		}
	}
}

// forget has a person forget anna.
func (h *betweenRuns) forget() {
	h.t.Helper()
	if !slices.Contains(slices.Collect(maps.Values(h.taught)), "anna") {
		return
	}
	out := h.first[slices.Index(h.first, "--out")+1]
	code, _, messages := runLine(h.t, "forget", "--brokers", h.server.Address, "--name", "anna", "--labels", h.labels,
		"--group", h.first[slices.Index(h.first, "--group")+1], "--out", out)
	if code != exitDone {
		h.breaks("forget: exit %d: %s", code, messages)
		return
	}
	h.forgotten = len(h.sent)
}

// checkTaught compares what is in force in the labels topic with what a person has said.
func (h *betweenRuns) checkTaught() {
	h.t.Helper()
	entries, err := labels.ReadEntries(h.t.Context(), h.client, h.labels, record.Options{}, slog.New(slog.DiscardHandler))
	if err != nil {
		h.t.Fatal(err)
	}
	inForce := map[string]string{}
	for _, e := range entries {
		if e.Holds && e.Teach != nil {
			inForce[record.ResultOf(e.Key)] = e.Teach.Label
		}
	}
	want := maps.Clone(h.taught)
	if h.forgotten > 0 {
		maps.DeleteFunc(want, func(_, name string) bool { return name == "anna" })
	}
	if !maps.Equal(inForce, want) {
		h.breaks("in force are %v, not %v", inForce, want)
	}
}
