package pipeline

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/slkstream/slkstream/consumer"
	"github.com/slkstream/slkstream/internal/broker/brokertest"
	"github.com/slkstream/slkstream/internal/recent"
	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/topic"
	"github.com/slkstream/slkstream/pipeline/admin"
	"github.com/slkstream/slkstream/solver/stream/taught"
)

// In any order of answers, names given, changed, merged and taken back, labels, rejections, forgotten names
// and restarts, a table of results and corrections says what the rules say: each item is called what its
// class is called now, and nothing if its class or its name was forgotten. The recent items say the same.
func TestHistoriesOfRecentItems(t *testing.T) {
	t.Parallel()
	histories := uint64(10)
	if n, err := strconv.ParseUint(os.Getenv("SLKSTREAM_HISTORIES"), 10, 64); err == nil {
		histories = n
	}
	for seed := range histories {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			h := newHistory(t, seed)
			h.answer()
			for range 14 {
				h.step()
			}
		})
	}
}

// The orders in which forgetting once missed items, or could have.
func TestForgottenInEveryOrder(t *testing.T) {
	t.Parallel()
	for i, c := range []struct {
		order  string
		forget string
	}{
		{"answered, named, forgotten", "anna"},
		{"answered, named, forgotten", "class-1"},
		{"named, answered, forgotten", "anna"},
		{"named, answered, forgotten", "class-1"},
		{"named, answered, restarted, forgotten", "anna"},
		{"named, answered, restarted, forgotten", "class-1"},
		{"named, answered, stopped, forgotten, started", "anna"},
		{"named, answered, stopped, forgotten, started", "class-1"},
		{"named, renamed, answered, stopped, forgotten, started", "anna"},
		{"named, renamed, answered, restarted, forgotten, restarted", "anna"},
		{"named, answered, stopped, taken back, forgotten, started", "anna"},
		{"named, merged, answered, taken back, forgotten", "anna"},
		{"named, merged, answered, taken back, restarted", ""},
		{"named, merged, answered, stopped, taken back, started, forgotten", "anna"},
		{"answered, named, renamed, forgotten, answered, restarted", "class-1"},
		{"answered, taught, forgotten", "ben"},
		{"answered, taught, label named, stopped, forgotten, started", "ben"},
		{"label named, answered, taught, stopped, forgotten, started", "ben"},
		{"label named, answered, taught, forgotten, restarted", "benedict"},
		{"answered, taught, answer forgotten, label taken back", ""},
		{"answered, taught, answer forgotten, restarted, label taken back", ""},
		{"answered, taught, stopped, answer forgotten, started, label taken back, restarted", ""},
		{"answered, taught, its example forgotten, forgotten, restarted", "ben"},
		{"answered, forgotten, answered, restarted", "class-1"},
		{"answered, forgotten, label in the feed, answered, restarted, answered", "class-1"},
		{"answered, taught, forgotten, named ben, restarted, answered", "ben"},
		{"answered, taught, stopped, forgotten, named ben, started, restarted", "ben"},
	} {
		t.Run(c.order+", "+c.forget, func(t *testing.T) {
			t.Parallel()
			h := newHistory(t, uint64(2*i))
			for what := range strings.SplitSeq(c.order, ", ") {
				switch what {
				case "answered":
					h.answer()
				case "named":
					h.name(taught.Name{Name: "class-1", Into: "anna"})
				case "renamed":
					h.name(taught.Name{Name: "anna", Into: "ann"})
				case "merged":
					h.name(taught.Name{Name: "class-2", Into: "anna", Stream: "cam"})
				case "taken back":
					h.takeBack(taught.Name{Name: "class-1"})
				case "forgotten":
					h.forget(c.forget)
				case "taught":
					h.teach(h.asked[0], "ben")
				case "its example forgotten": // read first, from another partition of the labels topic
					delete(h.taught, h.asked[0])
					h.items[h.asked[0]].class = ""
					h.write(record.ForgetWith(h.o.Labels, h.asked[0], "ben"))
				case "label taken back":
					h.unteach(h.asked[0])
				case "label in the feed":
					h.labelled = true
				case "named ben":
					h.name(taught.Name{Name: "class-1", Into: "ben"})
				case "label named":
					h.name(taught.Name{Name: "ben", Into: "benedict"})
				case "answer forgotten":
					h.forget(h.items[h.asked[0]].said)
				case "stopped":
					h.halt()
				case "started":
					h.restart()
				case "restarted":
					h.halt()
					h.restart()
				}
				h.check(what)
			}
		})
	}
}

// history is a stage with what the rules say of its items.
type history struct {
	t      *testing.T
	random *rand.Rand
	client *topic.Client
	feed   *feed
	o      Options
	stage  *Stage
	stop   func() // nil: the stage is stopped
	log    []string

	items    map[string]*ruled        // by result
	asked    []string                 // ids of items that may be taught
	names    []taught.Name            // in force
	gone     map[record.CalledSo]bool // names and classes that were forgotten and are not back
	given    int                      // names given
	taught   map[string]string        // labels by the id of the item that is taught
	fed      int
	labelled bool // the feed labels an item of each episode

	partitions int // of the labels topic

	results, corrections *topic.Reader
	told                 map[string]record.Correction
	said                 map[string]record.Result
}

// ruled is an item by the rules.
type ruled struct {
	stream, class string // its class now
	said          string // in its answer
	told          string // the label when the stage last ran
}

func newHistory(t *testing.T, seed uint64) *history {
	client := brokertest.Connect(t, brokertest.Brokers(t))
	h := &history{
		t: t, random: rand.New(rand.NewPCG(seed, 21)), client: client, feed: newFeed(seed),
		items: map[string]*ruled{}, gone: map[record.CalledSo]bool{}, taught: map[string]string{},
		told: map[string]record.Correction{}, said: map[string]record.Result{},
	}
	in := brokertest.Topic(t, client, "in", 1, nil)
	h.o = basics(client, in, h.feed)
	h.o.Limits = consumer.Limits{Size: 1000, Age: time.Hour, Memory: 64 << 20}
	h.partitions = 1 + int(seed/2)%2
	h.o.Labels = brokertest.Topic(t, client, "labels", h.partitions, topic.StateSettings())
	h.o.Out = brokertest.Topic(t, client, "out", 1, nil)
	h.o.Corrections = brokertest.Topic(t, client, "corrections", 1, nil)
	h.o.State = h.o.Group + "-state"
	if seed%2 == 1 { // clusters
		h.o.Support, h.o.Memory.Discover = nil, true
	}
	reader := func(name string) *topic.Reader {
		return client.NewReader(topic.ReaderSettings{Topic: name, MaxWait: 20 * time.Millisecond})
	}
	h.results, h.corrections = reader(h.o.Out), reader(h.o.Corrections)
	h.restart()
	return h
}

func (h *history) does(format string, values ...any) {
	h.log = append(h.log, fmt.Sprintf(format, values...))
}

// restart starts the stage as a new process.
func (h *history) restart() {
	h.does("start")
	h.o.Recent = recent.New(1 << 20)
	var err error
	if h.stage, err = New(h.client, h.o); err != nil {
		h.t.Fatal(err)
	}
	h.stop = run(h.t, h.stage)
}

func (h *history) halt() {
	h.does("stop")
	h.stop()
	h.stop = nil
}

// step does something at random.
func (h *history) step() {
	switch h.random.IntN(11) {
	case 0, 1:
		h.answer()
	case 2, 3, 4:
		h.nameSome()
	case 5, 6:
		h.takeBackSome()
	case 7:
		h.forgetSome()
	case 8, 9:
		h.teachSome()
	case 10:
		h.halt()
		for range h.random.IntN(3) {
			[]func(){h.nameSome, h.takeBackSome, h.forgetSome}[h.random.IntN(3)]()
		}
		h.restart()
	}
	h.check("")
}

// write writes records to the labels topic, and waits until a running stage has read them.
func (h *history) write(records ...record.Out) {
	h.t.Helper()
	write(h.t, h.client, records)
	h.read()
}

func (h *history) read() {
	h.t.Helper()
	time.Sleep(2 * time.Millisecond) // pace: the times of records, in milliseconds, order those of several partitions
	if h.stop != nil {
		labelsRead(h.t, h.stage, h.partitions)
	}
}

// answer feeds two streams an episode of three classes and an item that is like no other, and that no label
// of another corrects.
func (h *history) answer() {
	h.does("answer")
	h.read()
	var records []record.Out
	for _, key := range []string{"cam", "yard"} {
		odd := make([]float32, dimension)
		for i := range odd[classes:] {
			odd[classes+i] = -.05
		}
		odd[classes+len(h.asked)%(dimension-classes)] = 3
		h.asked = append(h.asked, "")
		for i := range 6 {
			v := h.feed.vector(i % 3)
			if i == 5 {
				v = odd
			}
			r := record.Out{Topic: h.o.In[0], Partition: -1, Key: []byte(key), Value: encode(v), Time: time.Now()}
			if i == 4 && (h.labelled || h.random.IntN(3) == 0) {
				r.Headers = []record.Header{{Key: "label", Value: []byte("class-1")}}
				h.back("class-1")
			}
			records = append(records, r)
		}
		records = append(records, record.Out{
			Topic: h.o.In[0], Partition: -1, Key: []byte(key), Headers: []record.Header{{Key: record.MarkerHeader}},
		})
	}
	write(h.t, h.client, records)
	h.fed += 12
	names := h.inForce()
	ctx, cancel := context.WithTimeout(h.t.Context(), time.Minute)
	defer cancel()
	var ids []string
	for len(h.said) < h.fed {
		b, err := h.results.Read(ctx)
		if err != nil {
			h.t.Fatal(err)
		}
		for i := range b.Records {
			var r record.Result
			if err := json.Unmarshal(b.Records[i].Value, &r); err != nil {
				h.t.Fatal(err)
			}
			class := cmp.Or(r.Class, r.Label)
			if _, again := h.said[r.ID]; again || r.Class == r.Label || names.Of(r.Stream, class) != r.Label ||
				h.isGone(r.Stream, class) || h.isGone(r.Stream, r.Label) {
				h.t.Fatalf("%v: %+v, again: %t", h.log, r, again)
			}
			h.said[r.ID] = r
			h.items[r.ID] = &ruled{stream: r.Stream, class: class, said: class, told: r.Label}
			ids = append(ids, r.ID)
		}
	}
	slices.SortFunc(ids, func(a, b string) int {
		return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b))
	})
	h.asked = append(h.asked[:len(h.asked)-2], ids[5], ids[11])
}

func (h *history) inForce() *taught.Names {
	names, _ := taught.NewNames(h.names)
	return names
}

// class returns a class, or a name, of those in use.
func (h *history) class() string {
	var all []string
	for _, it := range h.items {
		if it.class != "" {
			all = append(all, it.class, it.told)
		}
	}
	if slices.Sort(all); len(all) == 0 {
		return ""
	}
	return all[h.random.IntN(len(all))]
}

// isGone says whether a name or a class was forgotten in a stream, and is not back.
func (h *history) isGone(in, name string) bool {
	return h.gone[record.CalledSo{Class: name}] || h.gone[record.CalledSo{Class: name, Stream: in}]
}

// back notes that a name is used again.
func (h *history) back(name string) {
	maps.DeleteFunc(h.gone, func(c record.CalledSo, _ bool) bool { return c.Class == name })
}

// newName returns a name that was not used yet, or one that was forgotten.
func (h *history) newName() string {
	var gone []string
	for c := range h.gone {
		gone = append(gone, c.Class)
	}
	if slices.Sort(gone); len(gone) > 0 && h.random.IntN(4) == 0 {
		return gone[h.random.IntN(len(gone))]
	}
	h.given++
	return fmt.Sprint("name-", h.given)
}

// nameSome gives a class a name, of its own or another's.
func (h *history) nameSome() {
	n := taught.Name{Name: h.class(), Into: h.class(), Stream: []string{"", "", "cam"}[h.random.IntN(3)]}
	if h.random.IntN(3) > 0 {
		n.Into = h.newName()
	}
	if n.Name == "" || n.Into == "" || n.Name == n.Into {
		return
	}
	_, faults := taught.NewNames(append(slices.Clone(h.names), n))
	if !slices.ContainsFunc(faults, func(err error) bool { return err != nil }) {
		h.name(n)
	}
}

func same(a taught.Name) func(taught.Name) bool {
	return func(b taught.Name) bool { return a.Name == b.Name && a.Stream == b.Stream }
}

func (h *history) name(n taught.Name) {
	h.does("%q is called %q in %q", n.Name, n.Into, n.Stream)
	h.names = append(slices.DeleteFunc(h.names, same(n)), n)
	h.back(n.Into)
	h.write(record.NameRecord(h.o.Labels, &record.Name{Name: n.Name, Into: n.Into, Stream: n.Stream}))
}

func (h *history) takeBackSome() {
	if len(h.names) > 0 {
		h.takeBack(h.names[h.random.IntN(len(h.names))])
	}
}

func (h *history) takeBack(n taught.Name) {
	h.does("no longer: %q in %q", n.Name, n.Stream)
	h.names = slices.DeleteFunc(h.names, same(n))
	h.write(record.Forget(h.o.Labels, record.NameKey(n.Name, n.Stream)))
}

// forgetSome forgets a class or a name, but not so many that nothing is left.
func (h *history) forgetSome() {
	name := h.class()
	if name == "" || len(h.gone) >= 3 {
		return
	}
	h.forget(name)
}

func (h *history) forget(name string) {
	h.does("forget %q", name)
	names := h.inForce()
	called := func(in, class string) bool {
		for c := range names.Chain(in, class) {
			if c == name {
				return true
			}
		}
		return false
	}
	forgotten := map[record.CalledSo]bool{{Class: name}: true} // a class is, wherever it has the name
	for _, n := range h.names {
		if called(n.Stream, n.Name) {
			forgotten[record.CalledSo{Class: n.Name, Stream: n.Stream}] = true
		}
	}
	is := func(in, class string) bool {
		for c := range names.Chain(in, class) {
			if forgotten[record.CalledSo{Class: c}] || forgotten[record.CalledSo{Class: c, Stream: in}] {
				return true
			}
		}
		return false
	}
	for _, it := range h.items {
		if is(it.stream, it.class) || is(it.stream, it.told) {
			it.class = ""
		} else if is(it.stream, it.said) {
			it.said = ""
		}
	}
	for c := range forgotten {
		if !strings.HasPrefix(c.Class, "cluster-") {
			if c.Stream == "" { // else examples for other streams may still teach it
				h.gone[c] = true
			}
			continue
		}
		for _, r := range h.said { // a stream that has no cluster of this number may have one later
			if cmp.Or(r.Class, r.Label) == c.Class && (c.Stream == "" || c.Stream == r.Stream) {
				h.gone[record.CalledSo{Class: c.Class, Stream: r.Stream}] = true
			}
		}
	}
	h.names = slices.DeleteFunc(h.names, func(n taught.Name) bool { return called(n.Stream, n.Name) })
	for id, label := range h.taught {
		if is(h.items[id].stream, label) {
			delete(h.taught, id)
		}
	}
	n := record.Name{Name: name}
	if _, err := admin.ForgetName(h.t.Context(), h.client, h.o.Labels, h.o.State, nil, nil, n, quiet()); err != nil {
		// Nothing but results has it: the record alone forgets these.
		write(h.t, h.client, []record.Out{record.NameRecord(h.o.Labels, &n)})
	}
	h.read()
}

// teachSome teaches an odd item, rejects what it was taught, or takes that back.
func (h *history) teachSome() {
	id := h.asked[h.random.IntN(len(h.asked))]
	it := h.items[id]
	if it.class == "" {
		return
	}
	if h.o.Support == nil { // there may be no example that keeps the label from items with the same answer
		for other, x := range h.items {
			if other != id && x.stream == it.stream && x.told == it.told {
				return
			}
		}
	}
	kept := h.o.Recent.Find(id)[id].Vector != nil
	switch {
	case h.taught[id] == "" && kept:
		h.teach(id, h.newName())
	case h.taught[id] == "":
	case h.random.IntN(2) == 0 && kept:
		h.does("%s is not %s", id, h.taught[id])
		v := h.o.Recent.Find(id)[id].Vector
		not := &record.NotThis{ID: id, Not: []string{h.taught[id]}, Stream: it.stream, Vector: v}
		delete(h.taught, id)
		it.class = it.said
		h.write(record.Not(h.o.Labels, not))
	default:
		h.unteach(id)
	}
}

func (h *history) teach(id, label string) {
	h.does("%s is %s", id, label)
	it, v := h.items[id], h.o.Recent.Find(id)[id].Vector
	h.taught[id], it.class = label, label
	h.back(label)
	h.write(record.Teach(h.o.Labels, &record.Example{ID: id, Label: label, Stream: it.stream, Vector: v}))
}

func (h *history) unteach(id string) {
	h.does("%s is taken back", id)
	delete(h.taught, id)
	h.items[id].class = h.items[id].said
	h.write(record.Forget(h.o.Labels, id))
}

// check waits until the table of results and corrections says what the rules say.
func (h *history) check(what string) {
	h.t.Helper()
	if h.stop == nil {
		return
	}
	h.read()
	names := h.inForce()
	ctx, cancel := context.WithTimeout(h.t.Context(), 20*time.Second)
	defer cancel()
	for {
		wrong := ""
		for id, it := range h.items {
			want, is := "", h.said[id].Label
			if it.class != "" {
				want = names.Of(it.stream, it.class)
			}
			if c, corrected := h.told[id]; corrected {
				is = c.New.Label
			}
			kept, known := h.o.Recent.Find(id)[id]
			switch {
			case is != want:
				wrong += fmt.Sprintf("%s is called %q, not %q\n", id, is, want)
			case known != (want != ""),
				known && (kept.Label != want || kept.Class != it.class || kept.Said != it.said):
				wrong += fmt.Sprintf("%s is kept, %t, as %+v, not %q, %+v\n", id, known, kept.Item, want, *it)
			}
			it.told = want
		}
		if wrong == "" {
			return
		}
		b, err := h.corrections.Read(ctx)
		if err != nil {
			h.t.Fatalf("%s: after %s\n%s", what, strings.Join(h.log, "\n"), wrong)
		}
		for i := range b.Records {
			var c record.Correction
			if err := json.Unmarshal(b.Records[i].Value, &c); err != nil {
				h.t.Fatal(err)
			}
			in := h.items[c.ID].stream
			if c.Revision < h.told[c.ID].Revision || c.New.Label == c.Old.Label || h.isGone(in, c.New.Label) ||
				h.isGone(in, c.New.Class) || c.New.Label == "" && c.New.Class != "" {
				h.t.Errorf("%v\n%+v", h.log, c)
			}
			h.told[c.ID] = c
		}
	}
}
