package health

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/topic"
)

// The progress of a partition is kept over its restarts.
func TestProgress(t *testing.T) {
	now := time.Now()
	var p Partitions
	a := p.Assign(topic.TopicPartition{Topic: "in"}, now)
	a.Read(10, now, now)
	a.Read(20, now, now.Add(5*time.Second))
	at := now.Add(10 * time.Second)
	if list := p.Stuck(at, 8*time.Second); len(list) != 1 || list[0].Lasting != 10*time.Second {
		t.Errorf("%+v", list)
	}
	if got := a.Figures(at).Oldest; got != 10*time.Second {
		t.Errorf("oldest %v", got)
	}
	a.Moved(at)
	a.Committed(10, at)
	if got := a.Figures(at).Oldest; got != 5*time.Second {
		t.Errorf("oldest %v", got)
	}
	a.Committed(20, at)
	if got := a.Figures(at).Oldest; got != 0 {
		t.Errorf("oldest %v", got)
	}
	if list := p.Stuck(at, 8*time.Second); len(list) != 0 {
		t.Errorf("%+v", list)
	}
}

// Records behind an open transaction are reported after the limit, with what ends it and, once it is known,
// who began it; not while other transactions end, and not once this one has ended.
func TestOpenTransactionIsReported(t *testing.T) {
	begin := time.Now()
	at := func(s int) time.Time { return begin.Add(time.Duration(s) * time.Second) }
	var p Partitions
	a := p.Assign(topic.TopicPartition{Topic: "in", Partition: 3}, begin)
	reported := func(s int) string {
		t.Helper()
		list := p.Transactions(at(s), 10*time.Second)
		if len(list) == 0 {
			return ""
		}
		if len(list) > 1 || list[0].Of != OfTransaction {
			t.Errorf("%+v", list)
		}
		return list[0].What + ": " + list[0].Cause + "; " + list[0].Do
	}
	a.Ends(40, 2, at(0))
	a.Ends(42, 5, at(8)) // the first one has ended, another is open
	if why := reported(17); why != "" {
		t.Errorf("before its time: %s", why)
	}
	a.Ends(42, 7, at(18))
	for _, want := range []string{
		"7 records of in/3 have waited for 10s behind a transaction that has not ended",
		"begins at offset 42;", "--topic in --partition 3 --start-offset 42",
	} {
		if why := reported(18); !strings.Contains(why, want) {
			t.Errorf("no %q in: %s", want, why)
		}
	}
	a.Producer(42, 9000)
	if why := reported(19); !strings.Contains(why, "begins at offset 42, producer id 9000;") {
		t.Error(why)
	}
	a.Ends(49, 0, at(20))
	if why := reported(60); why != "" {
		t.Errorf("after its end: %s", why)
	}
}

// Missing inputs are reported after they have been missing for the limit, and only while they are missing.
func TestMissingInputsAreTold(t *testing.T) {
	b := Brokers{Limit: 2 * time.Second}
	now := time.Now()
	b.Missing([]string{"a", "b"}, now)
	if list := b.Troubles(now.Add(time.Second)); len(list) > 0 {
		t.Errorf("told at once: %+v", list)
	}
	b.Missing([]string{"b"}, now.Add(3*time.Second))
	list := b.Troubles(now.Add(3 * time.Second))
	if len(list) != 1 || !strings.HasSuffix(list[0].What, "3s: b; other inputs are answered") {
		t.Errorf("%+v", list)
	}
	b.Missing(nil, now.Add(4*time.Second))
	if list := b.Troubles(now.Add(time.Minute)); len(list) > 0 {
		t.Errorf("told for ever: %+v", list)
	}
}

// One changed stream among many does not make its input not ready. Releasing a partition drops its streams.
func TestEmbeddingsOfAnInput(t *testing.T) {
	var e Streams
	now := time.Now()
	of := func(partition int32, name string) Stream {
		return Stream{topic.TopicPartition{Topic: "in", Partition: partition}, record.StreamID{Name: name}}
	}
	told := func(when string, whole, single int) {
		t.Helper()
		if stops, doubts := e.Troubles(now); len(stops) != whole || len(doubts) != single {
			t.Errorf("%s: %d whole, %d single", when, len(stops), len(doubts))
		}
	}
	e.Answered(of(0, "a"), Answer{EmbeddingChanged: false}, now)
	told("nothing", 0, 0)
	e.Answered(of(0, "a"), Answer{EmbeddingChanged: true}, now)
	told("all", 1, 0)
	for i := range 5 {
		e.Answered(of(1, fmt.Sprint("b", i)), Answer{EmbeddingChanged: false}, now)
	}
	told("one of six", 0, 1)
	e.Answered(of(1, "b1"), Answer{EmbeddingChanged: true}, now)
	e.Answered(of(1, "b2"), Answer{EmbeddingChanged: true}, now)
	told("half", 1, 0)
	e.Release(topic.TopicPartition{Topic: "in", Partition: 1})
	told("what is left", 1, 0)
	e.Answered(of(0, "a"), Answer{EmbeddingChanged: false}, now)
	told("as before", 0, 0)
	if len(e.streams) != 0 {
		t.Errorf("%d streams tracked", len(e.streams))
	}
	e.Answered(of(0, "a"), Answer{EmbeddingChanged: true}, now)
	now = now.Add(2 * streamLasts)
	told("long ago", 0, 0)
}

func TestDoubts(t *testing.T) {
	var d Streams
	doubtful := func(name string, right, labelled int, at time.Time) {
		d.Answered(Stream{Key: record.StreamID{Name: name}}, Answer{Doubtful: true, Right: right, Labelled: labelled}, at)
	}
	now := time.Unix(1000, 0)
	doubtful("cam-2", 3, 40, now)
	doubtful("cam-1", 1, 30, now)
	doubtful("cam-1", 2, 31, now.Add(time.Minute))
	_, list := d.Troubles(now.Add(time.Minute))
	if len(list) != 2 || !strings.Contains(list[0].What, "cam-1 answers 2 of the last 31") || list[0].Do == "" {
		t.Errorf("%+v", list)
	}
	if _, list = d.Troubles(now.Add(doubtLasts + time.Second)); len(list) != 1 {
		t.Errorf("what is over is still said: %+v", list)
	}
	for i := range 2 * doubtsShown {
		doubtful(fmt.Sprint(i), 0, 20, now)
	}
	if _, list = d.Troubles(now); len(list) > doubtsShown {
		t.Errorf("%d streams shown", len(list))
	}
}

// A feed counts as unusable after enough rejected records in a row, for long enough, with no usable one among
// them. Readable records do not count as usable while episodes cannot be solved.
func TestRejecting(t *testing.T) {
	begin := time.Now()
	at := func(s int) time.Time { return begin.Add(time.Duration(s) * time.Second) }
	var r Records
	reject := func(n, s int) {
		for range n {
			r.Rejected(1, "bad", false, at(s))
		}
	}
	troubled := func(s int) bool { return len(r.Troubles(at(s), time.Minute)) > 0 }
	if reject(fewRejected-1, 0); troubled(1000) {
		t.Error("a few rejected records are no trouble")
	}
	if reject(1, 10); troubled(59) || !troubled(60) {
		t.Error("trouble comes after a minute from the first")
	}
	if r.Used(false); troubled(1000) || r.Lasting(at(1000)) != 0 {
		t.Error("a record that can be used ends it")
	}
	r.Rejected(fewRejected, "no solution", true, at(0))
	if r.Used(false); !troubled(60) {
		t.Error("episodes that cannot be solved are trouble, though their records can be read")
	}
	if r.Used(true); troubled(1000) {
		t.Error("an answer ends it")
	}
	reject(fewRejected, 2000)
	if r.Used(false); troubled(3000) {
		t.Error("after an answer, records that can be read count again")
	}
}

// A line of the log names no cause that is not known.
func TestLogOfTrouble(t *testing.T) {
	trouble := Trouble{What: "in/0 has not got on for 46s", Do: "look at the CPU"}
	if got := trouble.about(); !slices.Equal(got, []any{"do", trouble.Do}) {
		t.Errorf("%v", got)
	}
	trouble.Cause = "refused"
	if got := trouble.about(); !slices.Equal(got, []any{"cause", "refused", "do", trouble.Do}) {
		t.Errorf("%v", got)
	}
}
