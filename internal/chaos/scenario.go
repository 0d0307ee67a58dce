package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/slkstream/slkstream/internal/topic"
)

// scenario is a run of real processes.
type scenario struct {
	name, delivery, broker, binary                string
	seed                                          uint64
	brokers, records, events, brokerKills, stages int
	streams                                       int // recovery: number of streams
	pause, session, target                        time.Duration
	away                                          time.Duration // outage of a killed broker; 0: up to 3 s
	long                                          time.Duration // hostile: duration
	rate, rubbish                                 float64       // hostile: records per second, harmful share
	clock                                         string        // see clockVariable; "": it is not set
	csv, graph                                    string        // hostile: files of the table; "": none

	dir     string
	h       *history
	random  *rand.Rand
	cluster brokers
	client  *topic.Client
	proxies []*proxy // between the stages and each broker; none: direct connections
	feed    *feed
	teacher *feed // makes labels
	procs   []*process
	all     []*process // includes ended ones
	started int
	listen  string // address of the stages' pages; "": they have none

	partitions atomic.Int32 // of the input
}

const (
	scenarioPartitions = 6
	scenarioStreams    = 40
	scenarioDimension  = 32
)

// run plays the scenario and reports.
func (s *scenario) run(ctx context.Context, verbose bool) error {
	var live io.Writer
	if verbose {
		live = os.Stdout
	}
	s.h = newHistory(live)
	s.random = rand.New(rand.NewPCG(s.seed, 2))
	dir, err := os.MkdirTemp("", "chaos-")
	if err != nil {
		return err
	}
	s.dir = dir
	began := time.Now()
	if err := s.prepare(ctx); err != nil {
		return errors.Join(err, s.close())
	}
	play := s.play
	switch s.name {
	case "hostile":
		play = s.hostile
	case "recovery":
		play = s.recover
	case "taught":
		play = s.labelled
	}
	outcome, err := play(ctx)
	if err != nil {
		err = fmt.Errorf("seed %d: %w\n%s", s.seed, err, s.h.last(40))
	}
	if err = errors.Join(err, s.close()); err != nil {
		return fmt.Errorf("%w\nlogs are in %s", err, dir)
	}
	fmt.Printf(
		"scenario %s, %s, %s brokers: %d, seed %d, %d events, %d kills of brokers, %v\n%s\n",
		s.name,
		s.delivery,
		s.broker,
		len(s.cluster.Brokers()),
		s.seed,
		s.events,
		s.brokerKills,
		time.Since(began).Round(time.Second),
		outcome,
	)
	if violations := s.h.failed(); len(violations) > 0 {
		fmt.Printf("history:\n%s\nlogs are in %s\n", s.h.last(0), dir)
		return errBroken
	}
	return os.RemoveAll(dir)
}

// prepare builds the program, starts the brokers and creates the topics.
func (s *scenario) prepare(ctx context.Context) error {
	if s.name != "kills" {
		s.brokerKills = 0
	}
	if s.name == "cut" && s.broker != "real" {
		return errors.New("scenario cut wants real brokers: the embedded one cannot tell clients another address than its own")
	}
	s.partitions.Store(scenarioPartitions)
	streams := scenarioStreams
	if s.name == "upgrade" { // each stage has several partitions, and each partition several streams
		s.partitions.Store(int32(max(scenarioPartitions, 2*s.stages)))
		streams = max(streams, 4*int(s.partitions.Load()))
	}
	if s.binary == "" {
		s.binary = filepath.Join(s.dir, "slkstream")
		if err := s.build(ctx); err != nil {
			return err
		}
	}
	var err error
	if s.cluster, err = startBrokers(ctx, s, s.dir); err != nil {
		return err
	}
	s.client, err = topic.Connect(
		topic.Settings{Brokers: s.cluster.Brokers(), ClientID: "chaos", Log: slog.New(slog.NewTextHandler(io.Discard, nil))},
	)
	if err != nil {
		return err
	}
	if err := s.client.Ensure(ctx, topic.Description{Name: labelsTopic, Partitions: 1, Settings: topic.StateSettings()}); err != nil {
		return err
	}
	for _, name := range []string{inTopic, outTopic, calmTopic, correctionsTopic, nowTopic} {
		d := topic.Description{Name: name, Partitions: int(s.partitions.Load())}
		if err := s.client.Ensure(ctx, d); err != nil {
			return err
		}
	}
	s.feed = newFeed(s.seed, feedSettings{
		Topic: inTopic, Partitions: int(s.partitions.Load()), Streams: streams, Records: s.records,
		Dimension: scenarioDimension, Classes: 5, Poison: .005, Label: .02, Marker: .005, Step: 5 * time.Millisecond,
	})
	s.teacher = newFeed(s.seed+1, s.feed.feedSettings)
	if s.name == "names" {
		s.feed.Label = 0 // labels of the feed would bring a forgotten name back
	}
	return writeSupport(filepath.Join(s.dir, "support.jsonl"), s.feed)
}

func (s *scenario) close() error {
	for _, p := range s.procs {
		p.end(syscall.SIGKILL)
	}
	for _, p := range s.proxies {
		p.close()
	}
	if s.client != nil {
		s.client.Close()
	}
	if s.cluster != nil {
		return s.cluster.Close()
	}
	return nil
}

// play feeds, breaks and checks.
func (s *scenario) play(ctx context.Context) (string, error) {
	for range s.stages {
		if err := s.launch(groupName, outTopic, s.delivery); err != nil {
			return "", err
		}
	}
	playing, stop := context.WithCancel(ctx)
	defer stop()
	watching := newOffsets(s.h, groupName, inTopic)
	fed := make(chan error, 1)
	go func() { fed <- s.pour(playing) }()
	var watchers sync.WaitGroup
	watched, end := context.WithCancel(playing)
	watchers.Go(func() {
		for watched.Err() == nil {
			watching.read(watched, s.client, s.partitions.Load())
			time.Sleep(100 * time.Millisecond)
		}
	})
	err := s.disturb(playing)
	if err == nil {
		err = <-fed
	}
	end()
	watchers.Wait()
	if err != nil {
		return "", err
	}
	for _, p := range s.proxies {
		p.network.thaw()
		p.network.slow(0)
	}
	s.h.note("the input is fed, and peace begins")
	if err := s.await(playing, watching); err != nil {
		return "", err
	}
	if s.name == "names" {
		if err := s.awaitNames(playing); err != nil {
			return "", err
		}
	}
	s.leave()
	return s.judge(playing)
}

// pour feeds the input for the duration of the events.
func (s *scenario) pour(ctx context.Context) error {
	const share = 100
	pause := time.Duration(s.events) * s.pause * share / time.Duration(s.records)
	for s.feed.n < s.records {
		s.feed.Partitions = int(s.partitions.Load())
		if err := s.client.Write(ctx, stamp(s.feed.next(share))); err != nil {
			return err
		}
		time.Sleep(pause)
	}
	s.feed.Partitions = int(s.partitions.Load())
	return s.client.Write(ctx, s.feed.ends())
}

// await waits until everything is committed.
func (s *scenario) await(ctx context.Context, watching *offsets) error {
	for began := time.Now(); ; time.Sleep(200 * time.Millisecond) {
		done, missing := watching.reached(ctx, s.client, s.partitions.Load())
		if done {
			return nil
		}
		if time.Since(began) > 3*time.Minute {
			s.h.violation("stuck: the input is not worked off: %s", missing)
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

// judge compares with an undisturbed run if the input alone decides the answers.
func (s *scenario) judge(ctx context.Context) (string, error) {
	p := promise{once: s.delivery == "exactly-once", same: s.name != "mixed" && s.name != "names"}
	if p.same {
		const calmGroup = "calm"
		if err := s.launch(calmGroup, calmTopic, "at-least-once"); err != nil {
			return "", err
		}
		if err := s.await(ctx, newOffsets(s.h, calmGroup, inTopic)); err != nil {
			return "", err
		}
		s.leave()
	}
	in, err := readTruth(ctx, s.client, inTopic)
	if err != nil {
		return "", err
	}
	got, err := readAnswers(ctx, s.client, outTopic)
	if err != nil {
		return "", err
	}
	calm, err := readAnswers(ctx, s.client, calmTopic)
	if err != nil {
		return "", err
	}
	letters, err := readLetters(ctx, s.client, outTopic+"-dead")
	if err != nil {
		return "", err
	}
	verify(s.h, p, in, got, letters, calm)
	longest := longestWait(in, got).Round(100 * time.Millisecond)
	if s.name == "upgrade" && longest > longestUpgradeWait {
		s.h.violation("wait: an item waited %v for its answer", longest)
	}
	largest := s.judgeMemory(fewSamples)
	lost, repeats, different := 0, got.total-len(got.byID), 0
	for id := range in.items {
		list := got.byID[id]
		if len(list) == 0 {
			lost++
		}
		if !p.same {
			continue
		}
		for _, text := range list {
			if want := calm.byID[id]; len(want) == 0 || string(text) != string(want[0]) {
				different++
				break
			}
		}
	}
	still := ""
	if s.name == "upgrade" {
		gaps := standstills(in, got)
		still = fmt.Sprintf("; longest gap in a partition's answers %v, of the partition in the middle %v",
			gaps[len(gaps)-1].Round(10*time.Millisecond), gaps[len(gaps)/2].Round(10*time.Millisecond))
	}
	unlike := fmt.Sprint(different, " unlike the undisturbed run")
	if !p.same {
		unlike = "not compared with an undisturbed run"
	}
	if s.name == "names" {
		if unlike, err = s.judgeNames(ctx, got); err != nil {
			return "", err
		}
	}
	if s.name == "now" {
		about, err := s.judgeNow(ctx, in, got)
		if err != nil {
			return "", err
		}
		unlike += "; " + about
	}
	return fmt.Sprintf("%d items: %d lost, %d repeats, %s; %d bad records, %d dead letters; "+
		"longest wait %v%s; largest stage %d MiB; violations: %d",
		len(in.items), lost, repeats, unlike, len(in.poison), len(letters), longest, still, largest>>20,
		len(s.h.failed())), nil
}

// process is a stage in a process of its own.
type process struct {
	name     string
	cmd      *exec.Cmd
	ended    chan struct{}
	observed chan struct{} // closed when resident is complete
	mutex    sync.Mutex
	resident []int64 // bytes, one sample per second
}

func (s *scenario) launch(group, out, delivery string) error {
	s.started++
	p := &process{name: fmt.Sprint("stage-", s.started), ended: make(chan struct{}), observed: make(chan struct{})}
	log, err := os.Create(s.logOf(p))
	if err != nil {
		return err
	}
	defer log.Close()
	brokers := s.cluster.Brokers()
	if len(s.proxies) > 0 {
		brokers = nil
		for _, p := range s.proxies {
			brokers = append(brokers, p.address())
		}
	}
	p.cmd = exec.Command(
		s.binary,
		"run",
		"--brokers",
		strings.Join(brokers, ","),
		"--in",
		inTopic,
		"--out",
		out,
		"--group",
		group,
		"--episode-size",
		"20",
		"--episode-age",
		"5s",
		"--delivery",
		delivery,
		"--session-timeout",
		s.session.String(),
		"--state-interval",
		"500ms",
		"--labels",
		labelsTopic,
		"--support",
		filepath.Join(s.dir, "support.jsonl"),
		"--listen",
		s.listen,
	)
	switch s.name {
	case "hostile":
		p.cmd.Args = append(p.cmd.Args, "--in", besideTopic)
		p.cmd.Env = environment(hostileMemory)
	case "names":
		p.cmd.Args = append(p.cmd.Args, "--format", "f32", "--dimension", fmt.Sprint(scenarioDimension),
			"--episode-idle", "off", "--corrections", correctionsTopic)
	case "recovery":
		p.cmd.Args = append(p.cmd.Args, "--format", "f32",
			"--episode-size", "100", "--episode-age", "10m", "--episode-idle", "off", "--state-interval", "10s",
			"--recovery-target", s.target.String(), "--max-memory", "256MiB")
		p.cmd.Env = environment(recoveryMemory)
	case "taught":
		p.cmd.Args = append(p.cmd.Args, "--format", "f32", "--dimension", fmt.Sprint(recoveryDimension),
			"--recovery-target", s.target.String())
		p.cmd.Env = environment(taughtMemory * 9 / 10)
	default:
		p.cmd.Args = append(p.cmd.Args, "--format", "f32", "--dimension", fmt.Sprint(scenarioDimension), "--episode-idle", "off")
	}
	if s.name == "now" && group == groupName {
		p.cmd.Args = append(p.cmd.Args, "--now", nowTopic)
	}
	p.cmd.Stdout, p.cmd.Stderr = log, log
	if err := p.cmd.Start(); err != nil {
		return fmt.Errorf("start a stage: %w", err)
	}
	go func() {
		_ = p.cmd.Wait() // the log has the outcome
		close(p.ended)
	}()
	go func() {
		defer close(p.observed)
		p.observe()
	}()
	s.h.note("%s starts", p.name)
	s.procs, s.all = append(s.procs, p), append(s.all, p)
	return nil
}

// end sends a signal and waits for the process to end.
func (p *process) end(signal syscall.Signal) {
	_ = p.cmd.Process.Signal(syscall.SIGCONT) // wakes a frozen process; an ended one needs nothing
	_ = p.cmd.Process.Signal(signal)
	<-p.ended
}

// dismiss stops a stage with SIGTERM. It ends in peace, unless it had not yet begun, and so said nothing: a
// signal ends any process then.
func (s *scenario) dismiss(p *process) {
	log, err := os.Stat(s.logOf(p))
	begun := err != nil || log.Size() > 0
	if p.end(syscall.SIGTERM); begun && !p.cmd.ProcessState.Success() {
		s.h.violation("stop: %s, told to end in peace, ended with %v", p.name, p.cmd.ProcessState)
	}
}

func (s *scenario) logOf(p *process) string { return filepath.Join(s.dir, p.name+".log") }

// leave dismisses every stage.
func (s *scenario) leave() {
	for _, p := range s.procs {
		s.dismiss(p)
	}
	s.procs = nil
}
