package consumer

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/slkstream/slkstream/internal/broker/brokertest"
	"github.com/slkstream/slkstream/internal/topic"
)

// process is a member of a group: the partitions that it owns, and why it has none.
type process struct {
	stop  func()
	mutex sync.Mutex
	owned map[topic.TopicPartition]bool
	last  *topic.Generation // of the last partition that it was given
	times int               // how often it was given a partition
	left  error
}

// work starts a process that is a member of a group until the test ends or it is stopped.
func work(t *testing.T, client *topic.Client, s GroupSettings) *process {
	t.Helper()
	p := &process{owned: map[topic.TopicPartition]bool{}}
	s.Left = func(err error) {
		p.mutex.Lock()
		defer p.mutex.Unlock()
		p.left = err
	}
	ctx, stop := context.WithCancel(context.Background())
	var ended sync.WaitGroup
	ended.Go(func() {
		err := Work(ctx, client, s, slog.New(slog.DiscardHandler), func(ctx context.Context, a Assignment) error {
			p.own(a, true)
			defer p.own(a, false)
			<-ctx.Done()
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	})
	p.stop = sync.OnceFunc(func() {
		stop()
		ended.Wait()
	})
	t.Cleanup(p.stop)
	return p
}

func (p *process) own(a Assignment, owns bool) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.owned[a.TopicPartition] = owns
	if owns {
		p.left, p.last = nil, a.Generation
		p.times++
	}
}

// has lists its partitions, and says how often it was given one, and in which generation the last.
func (p *process) has() (list []topic.TopicPartition, times int, last topic.Generation) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	for tp, owns := range p.owned {
		if owns {
			list = append(list, tp)
		}
	}
	slices.SortFunc(list, func(a, b topic.TopicPartition) int { return int(a.Partition - b.Partition) })
	if p.last != nil {
		last = *p.last
	}
	return list, p.times, last
}

// partitions is how many it owns.
func (p *process) partitions() (n int) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	for _, owns := range p.owned {
		if owns {
			n++
		}
	}
	return n
}

// conflict is the conflict that it reports; "": none.
func (p *process) conflict() string {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	var conflict *topic.GroupConflict
	if errors.As(p.left, &conflict) {
		return conflict.Why
	}
	return ""
}

// eventually waits for a condition.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !holds(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("never: %s", what)
		}
	}
}

// stranger is a consumer of another program with the stage's group. It reports the error of its group, if it is
// refused, and the partitions that it is given.
func stranger(
	t *testing.T,
	client *topic.Client,
	group, in string,
	brokersAssign bool,
) (refused chan error, given chan int, stop func()) {
	t.Helper()
	refused, given = make(chan error, 100), make(chan int, 100)
	ctx, cancel := context.WithCancel(context.Background())
	options := []kgo.Opt{
		kgo.SeedBrokers(client.Brokers()...), kgo.ConsumerGroup(group), kgo.ConsumeTopics(in), kgo.ClientID("lunch-counter"),
		kgo.OnPartitionsAssigned(func(_ context.Context, _ *kgo.Client, got map[string][]int32) {
			if len(got[in]) > 0 {
				given <- len(got[in])
			}
		}),
		kgo.WithHooks(groupErrors{refused}),
	}
	if brokersAssign {
		//lint:ignore SA1029 kgo asks for this very key
		ctx = context.WithValue(ctx, "opt_in_kafka_next_gen_balancer_beta", true)
		options = append(options, kgo.WithContext(ctx))
	}
	consumer, err := kgo.NewClient(options...)
	if err != nil {
		t.Fatal(err)
	}
	var polling sync.WaitGroup
	polling.Go(func() {
		for ctx.Err() == nil {
			consumer.PollFetches(ctx)
		}
	})
	stop = sync.OnceFunc(func() {
		consumer.Close() // while ctx lasts: it tells the group that it leaves, which would wait for its session otherwise
		cancel()
		polling.Wait()
	})
	t.Cleanup(stop)
	return refused, given, stop
}

type groupErrors struct{ to chan error }

// OnGroupManageError implements kgo.HookGroupManageError.
func (g groupErrors) OnGroupManageError(err error) {
	select {
	case g.to <- err:
	default:
	}
}

// A consumer of another program that has the stage's group by mistake is refused by the group: what it read would
// have no answer.
func TestAnotherProgramIsRefused(t *testing.T) {
	for name, brokersAssign := range map[string]bool{"classic": false, "brokers assign": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client := brokertest.Connect(t, brokertest.Brokers(t))
			in, group := brokertest.Topic(t, client, "in", 4, nil), brokertest.Name("group")
			stage := work(t, client, GroupSettings{ID: group, Topics: []string{in}})
			eventually(t, "the stage has the partitions", func() bool { return stage.partitions() == 4 })
			refused, given, _ := stranger(t, client, group, in, brokersAssign)
			select {
			case err := <-refused:
				t.Logf("refused: %v", err)
				if !brokersAssign && !errors.Is(err, kerr.InconsistentGroupProtocol) {
					t.Errorf("refused for another reason: %v", err)
				}
			case n := <-given:
				t.Errorf("it is given %d partitions", n)
			case <-time.After(time.Minute):
				t.Fatal("neither refused nor given partitions")
			}
			if n := stage.partitions(); n != 4 {
				t.Errorf("the stage has %d partitions", n)
			}
		})
	}
}

// Where another program is in the group first, the stage does not share the partitions with it: it waits, and tells
// whom for.
func TestAnotherProgramIsWaitedForByName(t *testing.T) {
	for name, brokersAssign := range map[string]bool{"classic": false, "brokers assign": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client := brokertest.Connect(t, brokertest.Brokers(t))
			in, group := brokertest.Topic(t, client, "in", 4, nil), brokertest.Name("group")
			_, given, leave := stranger(t, client, group, in, brokersAssign)
			<-given
			stage := work(t, client, GroupSettings{ID: group, Topics: []string{in}})
			eventually(t, "the stage names the other program", func() bool {
				return strings.Contains(stage.conflict(), "lunch-counter")
			})
			if n := stage.partitions(); n > 0 {
				t.Errorf("the stage shares the partitions: it has %d", n)
			}
			leave()
			eventually(t, "the stage has the partitions", func() bool { return stage.partitions() == 4 })
		})
	}
}

// A process whose settings differ from those of the group at work gets no partitions, and names the setting; it
// takes over when the others have gone.
func TestWhoDiffersWaits(t *testing.T) {
	t.Parallel()
	client := brokertest.Connect(t, brokertest.Brokers(t))
	in, group := brokertest.Topic(t, client, "in", 4, nil), brokertest.Name("group")
	with := func(labels string) *process {
		return work(t, client, GroupSettings{
			ID: group, Topics: []string{in}, Agree: map[string]string{"labels": labels, "model": "m"},
		})
	}
	first := with("a")
	eventually(t, "the first has the partitions", func() bool { return first.partitions() == 4 })
	other := with("b")
	eventually(t, "the other names the setting", func() bool {
		return strings.Contains(other.conflict(), `labels "b" here, "a" there`)
	})
	same := with("a")
	eventually(t, "two share the partitions", func() bool { return first.partitions() == 2 && same.partitions() == 2 })
	if n := other.partitions(); n > 0 {
		t.Errorf("the other has %d partitions", n)
	}
	first.stop()
	eventually(t, "the second has the partitions", func() bool { return same.partitions() == 4 })
	same.stop()
	eventually(t, "the other has the partitions", func() bool { return other.partitions() == 4 })
	if why := other.conflict(); why != "" {
		t.Errorf("it still reports %s", why)
	}
}
