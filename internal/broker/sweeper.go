package broker

import (
	"context"
	"sync"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/slkstream/slkstream/internal/topic"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// sweeper removes members of groups that have been silent for longer than their session. The broker does so
// itself but for a member whose connection broke just while it waited to join: that one it would keep for
// ever, and with it the partitions that the group gave it.
type sweeper struct {
	cluster   *kfake.Cluster
	client    *kafka.Client
	transport *kafka.Transport
	stop      context.CancelFunc
	done      sync.WaitGroup

	mu       sync.Mutex
	sessions map[string]time.Duration // the longest that a member of the group has asked for
	heard    map[groupMember]time.Time
}

type groupMember struct{ group, member string }

func startSweeper(cluster *kfake.Cluster, address string) *sweeper {
	ctx, stop := context.WithCancel(context.Background())
	transport := &kafka.Transport{Context: ctx}
	s := &sweeper{
		cluster: cluster, transport: transport, stop: stop,
		client:   &kafka.Client{Addr: kafka.TCP(address), Transport: transport, Timeout: 5 * time.Second},
		sessions: map[string]time.Duration{}, heard: map[groupMember]time.Time{},
	}
	for _, key := range []kmsg.Key{kmsg.JoinGroup, kmsg.SyncGroup, kmsg.Heartbeat} {
		cluster.ControlKey(int16(key), s.listen)
	}
	s.done.Go(func() { s.sweep(ctx) })
	return s
}

func (s *sweeper) close() {
	s.stop()
	s.done.Wait()
	s.transport.CloseIdleConnections()
}

// listen notes each sign of life.
func (s *sweeper) listen(request kmsg.Request) (kmsg.Response, error, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	switch r := request.(type) {
	case *kmsg.JoinGroupRequest:
		s.sessions[r.Group] = max(s.sessions[r.Group], time.Duration(r.SessionTimeoutMillis)*time.Millisecond)
		s.heard[groupMember{r.Group, r.MemberID}] = now
	case *kmsg.SyncGroupRequest:
		s.heard[groupMember{r.Group, r.MemberID}] = now
	case *kmsg.HeartbeatRequest:
		s.heard[groupMember{r.Group, r.MemberID}] = now
	}
	return nil, nil, false
}

func (s *sweeper) sweep(ctx context.Context) {
	for topic.Pause(ctx, time.Second) == nil {
		s.mu.Lock()
		groups := make([]string, 0, len(s.sessions))
		for g := range s.sessions {
			groups = append(groups, g)
		}
		s.mu.Unlock()
		for _, g := range groups {
			// A group that is not stable has members which rightly say nothing while they wait for the others.
			if info := s.cluster.GroupInfo(g); info != nil && info.State == "Stable" {
				s.remove(ctx, g, s.silent(info))
			}
		}
	}
}

// silent lists the members that the broker itself should have removed by now. A member counts from when it is
// first seen.
func (s *sweeper) silent(info *kfake.GroupInfo) []kafka.LeaveGroupRequestMember {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	limit := s.sessions[info.Group]*3/2 + 500*time.Millisecond
	var list []kafka.LeaveGroupRequestMember
	present := map[groupMember]bool{}
	for _, m := range info.Members {
		key := groupMember{info.Group, m.MemberID}
		present[key] = true
		last, known := s.heard[key]
		if !known {
			s.heard[key] = now
		} else if now.Sub(last) > limit {
			list = append(list, kafka.LeaveGroupRequestMember{ID: m.MemberID})
		}
	}
	for key := range s.heard {
		if key.group == info.Group && !present[key] {
			delete(s.heard, key)
		}
	}
	return list
}

func (s *sweeper) remove(ctx context.Context, group string, members []kafka.LeaveGroupRequestMember) {
	if len(members) > 0 {
		// Whatever comes of it, the next sweep looks again.
		_, _ = s.client.LeaveGroup(ctx, &kafka.LeaveGroupRequest{
			Addr: s.client.Addr, GroupID: group,
			Members: members,
		})
	}
}
