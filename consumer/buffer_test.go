package consumer

import (
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/slkstream/slkstream/internal/record"
)

func item(offset int64, stream string, at time.Time, size int) record.Item {
	return record.Item{
		Source: record.Source{Topic: "in", Offset: offset, Object: -1}, Stream: stream, Time: at,
		Vector: make([]float32, size),
	}
}

// shape is a short text form of an episode.
func shape(e *Episode) string {
	s := fmt.Sprintf("%s %s at %d:", e.Key.Name, e.Closed, e.At.Offset)
	for _, it := range e.Items {
		s += fmt.Sprint(" ", it.Source.Offset)
	}
	return s
}

func shapes(list []*Episode) (all []string) {
	for _, e := range list {
		all = append(all, shape(e))
	}
	return all
}

func TestWhatClosesAnEpisode(t *testing.T) {
	start := time.Unix(1000, 0)
	second := func(n float64) time.Time { return start.Add(time.Duration(n * float64(time.Second))) }
	one := int64((&record.Item{Vector: make([]float32, 4)}).Size())
	for name, c := range map[string]struct {
		limits Limits
		feed   func(b *Buffer)
		want   []string
	}{
		"size": {Limits{Size: 2, Memory: 1 << 20}, func(b *Buffer) {
			for i, s := range []string{"a", "b", "a", "a"} {
				b.Add(item(int64(i), s, start, 4), start, start)
			}
		}, []string{"a size at 2: 0 2"}},
		"age, before the item that shows it joins": {
			Limits{Size: 9, Age: 5 * time.Second, Memory: 1 << 20},
			func(b *Buffer) {
				b.Add(item(0, "a", second(0), 4), start, start)
				b.Add(item(1, "b", second(4), 4), start, start)
				b.Add(item(2, "a", second(5), 4), start, start)
			},
			[]string{"a age at 2: 0"},
		},
		"late items join, and a late first item starts an episode like any other": {Limits{
			Size: 9,
			Age:  5 * time.Second, Memory: 1 << 20,
		}, func(b *Buffer) {
			b.Add(item(0, "a", second(10), 4), start, start)
			b.Add(item(1, "a", second(2), 4), start, start)
			b.Add(item(2, "late", second(1), 4), start, start)
			b.Add(item(3, "late", second(1.5), 4), start, start)
			b.Add(item(4, "a", second(15), 4), start, start)
		}, []string{"a age at 4: 0 1", "late age at 4: 2 3"}},
		"marker": {Limits{Size: 9, Memory: 1 << 20}, func(b *Buffer) {
			b.Add(item(0, "a", start, 4), start, start)
			b.Add(item(1, "b", start, 4), start, start)
			b.Mark("a", record.Start(2))
		}, []string{"a marker at 2: 0"}},
		"memory, the oldest first": {Limits{Size: 9, Memory: 3*one + 2*(openBytes+1)}, func(b *Buffer) {
			for i, s := range []string{"a", "b", "a", "c", "c"} {
				b.Add(item(int64(i), s, start, 4), start, start)
			}
		}, []string{"a memory at 3: 0 2"}},
		"an item larger than memory": {Limits{Size: 9, Memory: 1}, func(b *Buffer) {
			b.Add(item(0, "a", start, 4), start, start)
		}, []string{"a memory at 0: 0"}},
		"another dimension, before the item that has it joins": {Limits{Size: 9, Memory: 1 << 20}, func(b *Buffer) {
			b.Add(item(0, "a", start, 4), start, start)
			b.Add(item(1, "b", start, 5), start, start)
			b.Add(item(2, "a", start, 5), start, start)
			b.Add(item(3, "a", start, 5), start, start)
			b.Drain(record.Start(4))
		}, []string{"a dimension at 2: 0", "b drain at 4: 1", "a drain at 4: 2 3"}},
		"silence": {Limits{Size: 9, Idle: time.Second, Memory: 1 << 20}, func(b *Buffer) {
			b.Add(item(0, "a", start, 4), second(0), second(0))
			b.Add(item(1, "b", start, 4), second(1), second(1))
			b.Add(item(2, "a", start, 4), second(2), second(2))
			b.Silent(second(1), record.Start(3))
		}, []string{"b idle at 3: 1"}},
		"drain": {Limits{Size: 9, Memory: 1 << 20}, func(b *Buffer) {
			b.Add(item(0, "a", start, 4), start, start)
			b.Add(item(1, "b", start, 4), start, start)
			b.Drain(record.Start(2))
		}, []string{"a drain at 2: 0", "b drain at 2: 1"}},
	} {
		b := NewBuffer(c.limits)
		c.feed(b)
		if got := shapes(b.Closed()); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %q, not %q", name, got, c.want)
		}
	}
}

func TestModelsAreApart(t *testing.T) {
	b := NewBuffer(Limits{Size: 2, Memory: 1 << 20})
	for i, model := range []string{"x", "y", "x", "y"} {
		it := item(int64(i), "a", time.Unix(0, 0), 4)
		it.Model = model
		b.Add(it, time.Now(), time.Now())
	}
	if got := shapes(b.Closed()); !reflect.DeepEqual(got, []string{"a size at 2: 0 2", "a size at 3: 1 3"}) {
		t.Errorf("%q", got)
	}
}

// A reader that is interrupted anywhere, with any of the closed episodes answered, resumes at the lowest
// position that is needed and closes the other episodes exactly as they were closed the first time.
func TestReplayClosesTheSameEpisodes(t *testing.T) {
	for seed := range uint64(3000) {
		random := rand.New(rand.NewPCG(seed, 1))
		n, streams := 200, 1+random.IntN(8)
		items := make([]record.Item, n)
		start := time.Unix(1000, 0)
		for i := range items {
			at := start.Add(time.Duration(i)*100*time.Millisecond +
				time.Duration(random.IntN(4000)-2000)*time.Millisecond)
			items[i] = item(int64(i), fmt.Sprint("s", random.IntN(streams)), at, 4+random.IntN(60))
		}
		marked := map[int]string{}
		for range random.IntN(5) {
			marked[random.IntN(n)] = fmt.Sprint("s", random.IntN(streams))
		}
		limits := Limits{Size: 2 + random.IntN(20), Memory: int64(1000 + random.IntN(12000))}
		if random.IntN(2) == 0 {
			limits.Age = time.Duration(1+random.IntN(6)) * time.Second
		}
		feed := func(b *Buffer, from, to int) {
			for i := from; i < to; i++ {
				b.Add(items[i], start, start)
				if s, ok := marked[i]; ok {
					b.Mark(s, record.Position{Offset: int64(i), Object: 1<<31 - 1})
				}
			}
		}
		whole := NewBuffer(limits)
		feed(whole, 0, n)
		want := map[string]bool{}
		for _, s := range shapes(whole.Closed()) {
			want[s] = true
		}

		// Interrupt after some items, with some of the episodes answered, in order within a stream.
		cut := random.IntN(n)
		first := NewBuffer(limits)
		feed(first, 0, cut)
		slow := fmt.Sprint("s", random.IntN(streams))
		stopped := map[record.StreamID]bool{}
		got := map[string]bool{}
		var unanswered *Episode
		from, high := record.Start(int64(cut)), first.High()
		if oldest, before, open := first.Oldest(); open {
			from, high = oldest, before
		}
		var ahead []AnsweredAhead
		skip := map[record.StreamID]record.Position{}
		closed := first.Closed()
		for _, e := range closed {
			if stopped[e.Key] || random.IntN(12) == 0 || e.Key.Name == slow && random.IntN(2) == 0 {
				stopped[e.Key] = true
				if unanswered == nil {
					unanswered = e
				}
			} else {
				got[shape(e)] = true
				skip[e.Key] = e.Last()
				if unanswered != nil {
					ahead = append(ahead, AnsweredAhead{
						Key: e.Key, First: e.First(), Last: e.Last(), At: e.At,
						Closed: e.Closed,
					})
				}
			}
			if unanswered != nil && from.After(e.First()) {
				from, high = e.First(), e.Before
			}
		}
		if unanswered != nil { // what closed at the same position is decided again too
			for _, e := range closed {
				if e.At == unanswered.At && got[shape(e)] && !has(ahead, e) {
					ahead = append([]AnsweredAhead{{Key: e.Key, First: e.First(), Last: e.Last(), At: e.At, Closed: e.Closed}},
						ahead...)
					if from.After(e.First()) {
						from, high = e.First(), e.Before
					}
				}
			}
		}
		second := NewBuffer(limits)
		second.Resume(high, time.Now())
		for key, last := range skip {
			second.Skip(key, last)
		}
		second.AddAhead(ahead)
		feed(second, int(from.Offset), n)
		for _, s := range shapes(second.Closed()) {
			if got[s] {
				t.Fatalf("seed %d: answered twice: %s", seed, s)
			}
			got[s] = true
		}
		if !reflect.DeepEqual(got, want) {
			for s := range want {
				if !got[s] {
					t.Errorf("missing: %s", s)
				}
			}
			for s := range got {
				if !want[s] {
					t.Errorf("new: %s", s)
				}
			}
			t.Fatalf("seed %d, limits %+v, cut at %d, read again from %d", seed, limits, cut, from.Offset)
		}
	}
}

func has(list []AnsweredAhead, e *Episode) bool {
	for _, a := range list {
		if a.Key == e.Key && a.First == e.First() {
			return true
		}
	}
	return false
}

// A time that is not credible does not advance the partition's event time, and one that an older version
// has stored is ignored.
func TestTimesThatCannotBeTrue(t *testing.T) {
	now := time.Now()
	for name, c := range map[string]struct {
		at, written time.Time
		moves       bool
	}{
		"now":                              {now, now, true},
		"old, read late":                   {now.Add(-1000 * time.Hour), now.Add(-1000 * time.Hour), true},
		"a little ahead":                   {now.Add(50 * time.Minute), now, true},
		"far ahead":                        {now.Add(2 * time.Hour), now, false},
		"far ahead of when it was written": {now.Add(-10 * time.Hour), now.Add(-20 * time.Hour), false},
		"its record's timestamp ahead too": {now.Add(2 * time.Hour), now.Add(2 * time.Hour), false},
		"its record without a timestamp":   {now, time.UnixMilli(-1), true},
	} {
		b := NewBuffer(Limits{Size: 9, Age: time.Second, Memory: 1 << 20})
		b.Add(item(0, "a", c.at, 4), c.written, now)
		if got := b.High().Equal(c.at); got != c.moves {
			t.Errorf("%s: moves the partition's time: %v", name, got)
		}
	}
	b := NewBuffer(Limits{Size: 9, Memory: 1 << 20})
	if b.Resume(now.Add(10000*time.Hour), now); !b.High().IsZero() {
		t.Errorf("resumed with %v", b.High())
	}
}

// A sender may name another model with each item. Only models with an open episode are remembered. A marker
// closes the episodes of all models of its stream, the oldest first.
func TestModelsOfManyNames(t *testing.T) {
	start := time.Unix(1000, 0)
	b := NewBuffer(Limits{Size: 2, Memory: 1 << 20})
	for i := range 100 {
		it := item(int64(i), "a", start, 4)
		it.Model = fmt.Sprintf("model %d", 100-i)
		b.Add(it, start, start)
	}
	if len(b.models) != 100 {
		t.Errorf("%d models of 100 open episodes", len(b.models))
	}
	b.Mark("b", record.Start(100))
	if closed := b.Closed(); len(closed) > 0 {
		t.Errorf("another stream's marker closed %d episodes", len(closed))
	}
	b.Mark("a", record.Start(101))
	closed := b.Closed()
	for i, e := range closed {
		if want := fmt.Sprintf("model %d", 100-i); e.Key.Model != want {
			t.Fatalf("episode %d to close is of %s, not %s", i, e.Key.Model, want)
		}
	}
	if len(closed) != 100 || len(b.models) > 0 {
		t.Errorf("%d episodes of 100 closed, %d models remembered", len(closed), len(b.models))
	}
}

// docs/formats.md says for which reasons episodes close.
func TestReasonsAreThoseOfTheDocs(t *testing.T) {
	page, err := os.ReadFile("../docs/formats.md")
	if err != nil {
		t.Fatal(err)
	}
	_, episodes, _ := strings.Cut(string(page), "\n### Episodes\n")
	episodes, _, _ = strings.Cut(episodes, "```")
	for _, reason := range Reasons {
		if !strings.Contains(episodes, "`"+string(reason)+"`") {
			t.Errorf("the page does not say that an episode may be closed by `%s`", reason)
		}
	}
}
