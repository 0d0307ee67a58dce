package main

import (
	"context"
	"fmt"
	"syscall"
	"time"
)

// disturb plays the events of the scenario, one after another.
func (s *scenario) disturb(ctx context.Context) error {
	event, ok := map[string]func(context.Context, int) error{
		"kills": s.kill, "storm": s.joinOrLeave, "zombie": s.freeze, "rolling": s.roll, "cut": s.disconnect, "mixed": s.mix,
		"upgrade": s.upgrade, "names": s.rename, "now": s.killOrMove,
	}[s.name]
	if !ok {
		return fmt.Errorf(
			"scenario %q is none of kills, storm, zombie, rolling, upgrade, cut, mixed, names, now, hostile, recovery, histories",
			s.name,
		)
	}
	for i := range s.events {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(s.pause/2 + time.Duration(s.random.Int64N(int64(s.pause)))):
		}
		if err := event(ctx, i); err != nil {
			return err
		}
	}
	return nil
}

// longestUpgradeWait is how long an item may wait while stages are replaced one after the other.
const longestUpgradeWait = 20 * time.Second

// upgrade stops the stage that has run longest and starts another, as a rolling upgrade does.
func (s *scenario) upgrade(context.Context, int) error {
	old := s.procs[0]
	s.h.note("%s is replaced", old.name)
	s.dismiss(old)
	s.procs = s.procs[1:]
	return s.launch(groupName, outTopic, s.delivery)
}

// kill ends a stage as kill -9 does, and sometimes a broker.
func (s *scenario) kill(ctx context.Context, i int) error {
	n := s.random.IntN(len(s.procs))
	s.h.note("%s is killed", s.procs[n].name)
	s.procs[n].end(syscall.SIGKILL)
	s.procs = append(s.procs[:n], s.procs[n+1:]...)
	if err := s.launch(groupName, outTopic, s.delivery); err != nil {
		return err
	}
	if s.brokerKills == 0 || i%max(s.events/s.brokerKills, 1) != 0 {
		return nil
	}
	b := s.random.IntN(len(s.cluster.Brokers()))
	away := s.away
	if away == 0 {
		away = time.Duration(s.random.Int64N(int64(3 * time.Second)))
	}
	s.h.note("broker %d is killed, for %v", b+1, away.Round(time.Millisecond))
	if err := s.cluster.Kill(b); err != nil {
		return err
	}
	time.Sleep(away)
	err := s.cluster.Restart(ctx, b)
	s.h.note("broker %d is back", b+1)
	return err
}

// joinOrLeave lets stages join and leave, so that the group rebalances nearly all the time.
func (s *scenario) joinOrLeave(_ context.Context, i int) error {
	if len(s.procs) > 1 && i%2 == 0 {
		n := s.random.IntN(len(s.procs))
		s.h.note("%s leaves", s.procs[n].name)
		s.procs[n].end(syscall.SIGTERM)
		s.procs = append(s.procs[:n], s.procs[n+1:]...)
		return nil
	}
	return s.launch(groupName, outTopic, s.delivery)
}

// freeze suspends a stage for three times its session timeout, so that others own its partitions
// when it resumes.
func (s *scenario) freeze(ctx context.Context, _ int) error {
	p := s.procs[s.random.IntN(len(s.procs))]
	s.h.note("%s is frozen", p.name)
	if err := p.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		return err
	}
	select {
	case <-ctx.Done():
	case <-time.After(3 * s.session):
	}
	s.h.note("%s goes on", p.name)
	return p.cmd.Process.Signal(syscall.SIGCONT)
}

// roll restarts one broker after another, with a clean shutdown, as an upgrade does.
func (s *scenario) roll(ctx context.Context, i int) error {
	b := i % len(s.cluster.Brokers())
	s.h.note("broker %d is stopped", b+1)
	if err := s.cluster.Stop(b); err != nil {
		return err
	}
	time.Sleep(s.pause)
	err := s.cluster.Restart(ctx, b)
	s.h.note("broker %d is back", b+1)
	return err
}
