package pipeline

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"testing"
	"time"

	"github.com/slkstream/slkstream/consumer"
	"github.com/slkstream/slkstream/internal/broker/brokertest"
	"github.com/slkstream/slkstream/internal/topic"
	"github.com/slkstream/slkstream/producer"
)

// A stage that will be killed runs in its own process: the test binary, started with this variable.
const childVariable = "SLKSTREAM_TEST_STAGE"

// child says what such a process runs.
type child struct {
	Brokers        []string
	In, Out, Group string
	Labels         string
	Identities     string // with it there are no labelled classes
	Episodes       string
	Seed           uint64
	Limits         consumer.Limits
	Session        time.Duration
	StateInterval  time.Duration
	ExactlyOnce    bool
}

func TestMain(m *testing.M) {
	if text := os.Getenv(childVariable); text != "" {
		os.Exit(runChild(text))
	}
	brokertest.Main(m)
}

func runChild(text string) int {
	var c child
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	client, err := topic.Connect(topic.Settings{Brokers: c.Brokers, ClientID: "child", Log: quiet()})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer client.Close()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	s, err := New(client, c.options(client))
	if err == nil {
		err = s.Run(ctx)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// options returns those of the child's stage, and of a stage in this process that must do the same.
func (c child) options(client *topic.Client) Options {
	o := basics(client, c.In, newFeed(c.Seed))
	o.Group, o.Out, o.Dead, o.State = c.Group, c.Out, c.Out+"-dead", ""
	if o.Labels, o.Identities, o.Episodes = c.Labels, c.Identities, c.Episodes; o.Identities != "" {
		o.Support = nil
	}
	o.Limits, o.Session, o.Rebalance, o.StateInterval = c.Limits, c.Session, c.Session, c.StateInterval
	o.Delivery = &producer.AtLeastOnce{Client: client, Log: o.Log}
	if c.ExactlyOnce {
		o.Delivery, o.Eager = &producer.ExactlyOnce{Client: client, Log: o.Log}, false
	}
	return o
}

// launch starts the child.
func (c child) launch(t testing.TB) *exec.Cmd {
	t.Helper()
	text, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childVariable+"="+string(text))
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if cmd.ProcessState == nil {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
	})
	return cmd
}

func kill(t testing.TB, cmd *exec.Cmd) {
	t.Helper()
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
}

// scale is the size of the fault tests: small unless SLKSTREAM_TEST_LONG is set.
func scale() (records, kills int) {
	if os.Getenv("SLKSTREAM_TEST_LONG") != "" {
		return 50_000, 20
	}
	return 6000, 5
}

// A stage killed at random moments gives all answers, equal to those of an undisturbed run.
func TestKilledStageAnswersAsIfUndisturbed(t *testing.T) {
	t.Parallel()
	brokers := brokertest.Brokers(t)
	client := brokertest.Connect(t, brokers)
	for _, c := range []struct {
		name   string
		limits consumer.Limits
		once   bool
	}{
		{"count and age", consumer.Limits{Size: 20, Age: 3 * time.Second, Memory: 64 << 20}, false},
		{"memory", consumer.Limits{Size: 50, Age: time.Hour, Memory: 40 << 10}, false},
		{"exactly once", consumer.Limits{Size: 20, Age: 3 * time.Second, Memory: 64 << 20}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			n, kills := scale()
			const streams = 8
			f := newFeed(7)
			f.support() // the child draws its own first
			in := brokertest.Topic(t, client, "in", 3, nil)
			disturbed := child{
				Brokers: brokers, In: in, Out: brokertest.Topic(t, client, "out", 3, nil), Group: brokertest.Name("group"), Seed: 7, Limits: c.limits,
				Session: session, StateInterval: 500 * time.Millisecond, ExactlyOnce: c.once,
			}
			records := f.records(in, streams, n)
			random := rand.New(rand.NewPCG(11, 1))
			fed := make(chan struct{})
			go func() {
				defer close(fed)
				pause := time.Duration(kills) * (session + 600*time.Millisecond) / time.Duration(n/200)
				for from := 0; from < n; from += 200 {
					write(t, client, records[from:min(n, from+200)])
					time.Sleep(pause) // pace: of the feed, which lasts as long as the kills
				}
				write(t, client, markers(in, streams))
			}()
			for range kills {
				cmd := disturbed.launch(t)
				time.Sleep(session + 200*time.Millisecond + time.Duration(random.IntN(800))*time.Millisecond) // fault: a random kill
				kill(t, cmd)
			}
			<-fed
			cmd := disturbed.launch(t)
			got := collect(t, client, disturbed.Out, count(n))
			kill(t, cmd)

			calm := disturbed
			calm.Out, calm.Group = brokertest.Topic(t, client, "out", 3, nil), brokertest.Name("group")
			start(t, client, calm.options(client))
			want := collect(t, client, calm.Out, count(n))
			if repeats := compare(t, got, want, n); c.once && repeats > 0 {
				t.Errorf("%d answers are there twice", repeats)
			}
		})
	}
}

// compare compares the answers of a disturbed run with those of an undisturbed one, and counts the repeats.
func compare(t *testing.T, got, want *sink, n int) int {
	t.Helper()
	if len(got.answers) != n || len(want.answers) != n {
		t.Errorf("%d and %d of %d answered", len(got.answers), len(want.answers), n)
	}
	wrong, repeats := 0, 0
	for id, answers := range got.answers {
		repeats += len(answers) - 1
		expected, err := json.Marshal(want.answers[id][0])
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range answers {
			text, err := json.Marshal(a)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(text, expected) {
				if wrong++; wrong <= 3 {
					t.Errorf("%s: %s\nundisturbed: %s", id, text, expected)
				}
			}
		}
	}
	if wrong > 3 {
		t.Errorf("%d answers differ", wrong)
	}
	t.Logf("%d answers, %d repeats", len(got.answers), repeats)
	return repeats
}

// session is how long the group waits for a killed member.
const session = time.Second
