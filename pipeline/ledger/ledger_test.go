package ledger

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"
	"weak"

	"github.com/slkstream/slkstream/consumer"
	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/state"
	"github.com/slkstream/slkstream/pipeline/answering"
	"github.com/slkstream/slkstream/pipeline/intake"
	"github.com/slkstream/slkstream/pipeline/store"
	"github.com/slkstream/slkstream/producer"
)

func begun(committer producer.Committer, session *store.Partition, interval time.Duration, eager bool) *commits {
	return &commits{
		committer: committer, session: session, settings: &Settings{Interval: interval, Eager: eager}, result: make(chan error, 1),
	}
}

// committing is a committer of which only Commit is called.
type committing struct {
	producer.Committer
	do func(*producer.Commit) error
}

func (c committing) Commit(_ context.Context, commit *producer.Commit) error { return c.do(commit) }

func item(offset int64) record.Item {
	return record.Item{Stream: "a", Source: record.Source{Offset: offset, Object: -1}}
}

// ofEpisode is the job to answer an episode.
func ofEpisode(e *consumer.Episode) *answering.Job {
	return &answering.Job{Closed: intake.Closed{Episode: e}}
}

// answeredJob is one of an episode of one item, with its answer.
func answeredJob() *answering.Job {
	j := ofEpisode(&consumer.Episode{Items: []record.Item{item(1)}})
	j.Records = []record.Out{{Value: []byte("answer")}}
	return j
}

// Results are written at once, one commit at a time. Their journal entries wait for the journal, which is
// written at the interval.
func TestCommits(t *testing.T) {
	sending := make(chan *producer.Commit, 1)
	var refused error
	committer := committing{do: func(c *producer.Commit) error {
		sending <- c
		return refused
	}}
	writer := state.NewWriter("group", "in", "state", 0, state.Owner{Generation: 1}, state.NewLoader("group", "in").Restore())
	c := begun(committer, &store.Partition{Writer: writer}, time.Minute, true)
	at := state.Journal{From: record.Start(3), Decided: record.Start(5)}
	now := time.Now()
	begin := func(final bool) *producer.Commit {
		if !c.WantsJournal(now, final) {
			return c.begin(context.Background(), now, nil)
		}
		j := at
		return c.begin(context.Background(), now, &j)
	}
	ended := func(offset int64) *draft {
		t.Helper()
		if sent := <-sending; sent.Offset != offset {
			t.Errorf("offset %d, not %d", sent.Offset, offset)
		}
		d, err := c.acknowledge(<-c.result, now)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	answer := func() {
		c.next.answer(answeredJob())
	}
	answer()
	if begin(false) == nil {
		t.Fatal("no first commit")
	}
	answer()
	if begin(false) != nil {
		t.Fatal("two commits at once")
	}
	if d := ended(3); len(d.episodes) != 1 || len(d.jobs) != 1 {
		t.Errorf("%d episodes, %d jobs in the first commit", len(d.episodes), len(d.jobs))
	}
	begin(false)
	ended(-1)
	if begin(false) != nil || len(c.next.episodes) != 1 {
		t.Errorf("%d episodes wait for the journal", len(c.next.episodes))
	}
	begin(true)
	if d := ended(3); len(d.episodes) != 1 || len(d.jobs) != 0 {
		t.Errorf("%d episodes, %d jobs in the journal's commit", len(d.episodes), len(d.jobs))
	}
	if begin(true) != nil {
		t.Error("a commit of nothing")
	}
	refused = errors.New("no")
	at.From = record.Start(4)
	begin(true)
	<-sending
	if _, err := c.acknowledge(<-c.result, now); err == nil {
		t.Error("a failed commit was acknowledged")
	}
}

// A restart goes back to the first item of closed, unanswered episodes, and of those that the
// same item closed.
func TestClosings(t *testing.T) {
	c := closings{}
	add := func(first, at int64) *answering.Job {
		j := ofEpisode(&consumer.Episode{Items: []record.Item{item(first)}, At: record.Start(at)})
		c.add(j)
		return j
	}
	lowered := func() (from, decided record.Position) {
		r := &state.Journal{From: record.Start(20), Decided: record.Start(21)}
		c.restartBefore(r)
		return r.From, r.Decided
	}
	one, two, three := add(5, 10), add(2, 12), add(7, 12)
	two.Collected = true
	c.dropAnswered()
	if from, decided := lowered(); from != record.Start(2) || decided != record.Start(10) {
		t.Errorf("%v, %v with the first open", from, decided)
	}
	one.Collected = true
	c.dropAnswered()
	if from, decided := lowered(); from != record.Start(2) || decided != record.Start(12) {
		t.Errorf("%v, %v: two and three closed together", from, decided)
	}
	three.Collected = true
	c.dropAnswered()
	if from, decided := lowered(); from != record.Start(20) || decided != record.Start(21) {
		t.Errorf("%v, %v with none open", from, decided)
	}
}

// One item may close an episode of each stream. Once they are answered, none of them stays in memory.
func TestAnsweredEpisodesAreFreed(t *testing.T) {
	c, answered := closings{}, []weak.Pointer[answering.Job]{}
	for _, at := range []int64{10, 10, 10, 11} {
		j := ofEpisode(&consumer.Episode{Items: []record.Item{item(at - 1)}, At: record.Start(at), Closed: consumer.Age})
		j.Collected = true
		c.add(j)
		answered = append(answered, weak.Make(j))
	}
	c.dropAnswered()
	runtime.GC()
	for i, j := range answered {
		if j.Value() != nil {
			t.Errorf("episode %d is still there", i)
		}
	}
	runtime.KeepAlive(&c)
}

// Silence closes episodes before the next item to be read, perhaps several times at one position. Episodes
// closed and answered there need no second decision when more close at that position, by silence or by that
// item: the offset does not go back.
func TestClosingsBySilence(t *testing.T) {
	c := closings{}
	add := func(first int64, why consumer.Reason) *answering.Job {
		j := ofEpisode(&consumer.Episode{Items: []record.Item{item(first)}, At: record.Start(12), Closed: why})
		c.add(j)
		return j
	}
	lowered := func() (from, decided record.Position) {
		r := &state.Journal{From: record.Start(12), Decided: record.Start(12)}
		c.restartBefore(r)
		return r.From, r.Decided
	}
	add(2, consumer.Idle).Collected = true
	c.dropAnswered()
	for _, why := range []consumer.Reason{consumer.Idle, consumer.Age} {
		next := add(7, why)
		if from, decided := lowered(); from != record.Start(7) || decided != record.Start(12) {
			t.Errorf("%v, %v with one closed by %s", from, decided, why)
		}
		next.Collected = true
		c.dropAnswered()
	}
}

// In a transaction results must be written within the interval. The duration of commits is subtracted from
// it, down to half of it, which is also the longest wait for the next commit.
func TestCommitsBeginInTime(t *testing.T) {
	sending := make(chan *producer.Commit, 1)
	committer := committing{do: func(c *producer.Commit) error {
		sending <- c
		return nil
	}}
	writer := state.NewWriter("group", "in", "state", 0, state.Owner{Generation: 1}, state.NewLoader("group", "in").Restore())
	const interval = 100 * time.Millisecond
	c := begun(committer, &store.Partition{Writer: writer}, interval, false)
	begin := func(now time.Time) *producer.Commit {
		if !c.WantsJournal(now, false) {
			return c.begin(context.Background(), now, nil)
		}
		return c.begin(context.Background(), now, &state.Journal{})
	}
	now := time.Now()
	for i, step := range []struct{ takes, wait time.Duration }{
		{20 * time.Millisecond, interval},         // duration unknown
		{20 * time.Millisecond, interval * 4 / 5}, // as long as the one before
		{70 * time.Millisecond, interval * 4 / 5},
		{20 * time.Millisecond, interval / 2},
	} {
		c.next.answer(answeredJob())
		begun := now
		if begin(now) == nil {
			t.Fatalf("commit %d does not begin in time", i)
		}
		if _, waits := c.Wait(now); waits {
			t.Fatal("waits to begin a commit while one is on its way")
		}
		<-sending
		now = begun.Add(step.takes)
		if _, err := c.acknowledge(<-c.result, now); err != nil {
			t.Fatal(err)
		}
		c.next.answer(answeredJob())
		wait, waits := c.Wait(now)
		if !waits || wait != step.wait-step.takes {
			t.Errorf("commit %d: the next begins %v after it, not %v", i, wait+step.takes, step.wait)
		}
		if begin(now.Add(wait-1)) != nil {
			t.Fatalf("commit %d begins early", i+1)
		}
		now = now.Add(wait)
	}
}

// The results of an episode wait for the first answers on their way.
func TestCommitWaitsForFirstAnswers(t *testing.T) {
	var mutex sync.Mutex
	var order []string
	add := func(what string) {
		mutex.Lock()
		defer mutex.Unlock()
		order = append(order, what)
	}
	committer := committing{do: func(*producer.Commit) error {
		add("commit")
		return nil
	}}
	c := begun(committer, nil, time.Hour, true)
	c.due = time.Now().Add(time.Hour)
	sent := make(chan struct{})
	c.next.records, c.next.after = []record.Out{{}}, []<-chan struct{}{sent}
	if c.begin(context.Background(), time.Now(), nil) == nil {
		t.Fatal("no commit")
	}
	add("first answer")
	close(sent)
	<-c.result
	if fmt.Sprint(order) != "[first answer commit]" {
		t.Error(order)
	}
}
