package pipeline

import (
	"fmt"
	"testing"
	"time"

	"github.com/slkstream/slkstream/consumer"
	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/pipeline/labels"
	"github.com/slkstream/slkstream/pipeline/wing"
	"github.com/slkstream/slkstream/solver/stream"
)

// The results of an episode are made in the memory of acknowledged ones, and are the same there, but for what a longer
// episode needs. Acknowledged results are empty.
func TestResultsAreMadeInMemoryOfOthers(t *testing.T) {
	s := &Stage{options: Options{Topics: Topics{Out: "out"}, Records: Records{Form: record.ResultForm{Append: record.AppendResult}}}}
	of, v := owned(s, nil).ownership, labels.New(labels.Options{}).Current()
	answered := func(n int, label string) (*job, []stream.Answer) {
		j, answers := ofEpisode(&consumer.Episode{}), make([]stream.Answer, n)
		for i := range n {
			it := *item("cam", int64(i))
			it.Time = time.Unix(int64(i), 0)
			j.episode.Items = append(j.episode.Items, it)
			answers[i] = stream.Answer{Label: label, Class: label, Alternatives: []stream.Alternative{{Label: "other"}}}
		}
		j.of, j.keys = of, wing.KeysOf(n, func(i int) *record.Item { return &j.episode.Items[i] })
		return j, answers
	}
	text := func(j *job) (all string) {
		for _, r := range j.records {
			all += fmt.Sprintf("%s %s %s %s\n", r.Topic, r.Key, r.Value, r.Headers)
		}
		return all
	}
	alone := func(n int, label string) string {
		s.encodings.Take() // what would be used again
		j, answers := answered(n, label)
		j.encode(answers, v)
		return text(j)
	}
	want := map[int]string{30: alone(30, "cup"), 100: alone(100, "mug"), 7: alone(7, "jar")}
	for range 3 {
		for n, label := range map[int]string{30: "cup", 100: "mug", 7: "jar"} {
			j, answers := answered(n, label)
			results, _ := j.encode(answers, v)
			if got := text(j); got != want[n] {
				t.Fatalf("%d results in used memory:\n%s\nnot\n%s", n, got, want[n])
			}
			records := j.records
			j.release()
			if records[0].Value != nil || results[n-1].ID != "" || j.encoding != nil {
				t.Fatalf("acknowledged: %+v, %+v", records[0], results[n-1])
			}
		}
	}
	j, answers := answered(100, "cup")
	const most = 1 // the alternatives, which observers may keep
	if got := testing.AllocsPerRun(50, func() {
		j.encode(answers, v)
		j.release()
	}); got > most {
		t.Errorf("%g allocations for 100 results, more than %d", got, most)
	}
}
