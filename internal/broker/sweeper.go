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

// sweeper removes group members that have sent nothing for longer than their session. The broker does so
// itself, except for a member whose connection broke while it waited to join: it would keep that member for
// ever, with the partitions that the group assigned to it.
type sweeper struct {
	cluster *kfake.Cluster
	client  *kafka.Client
	stop    context.CancelFunc
	done    sync.WaitGroup

	mu       sync.Mutex
	sessions map[string]time.Duration // longest session timeout requested in each group
	heard    map[groupMember]time.Time
}

type groupMember struct{ group, member string }

func startSweeper(cluster *kfake.Cluster, client *kafka.Client) *sweeper {
	ctx, stop := context.WithCancel(context.Background())
	s := &sweeper{
		cluster: cluster, client: client, stop: stop,
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
}

// listen records when each member last joined, synced or sent a heartbeat.
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
			// In a group that is not stable, members rightly send nothing while they wait for the others.
			if info := s.cluster.GroupInfo(g); info != nil && info.State == "Stable" {
				s.remove(ctx, g, s.silent(info))
			}
		}
	}
}

// silent lists the members that the broker itself should have removed by now. A member that has sent nothing
// yet counts from when it is first seen.
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
		// An error is ignored: the next sweep tries again.
		_, _ = s.client.LeaveGroup(ctx, &kafka.LeaveGroupRequest{
			Addr: s.client.Addr, GroupID: group,
			Members: members,
		})
	}
}
