package broker

import (
	"context"
	"maps"
	"slices"
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

	mu     sync.Mutex
	groups map[string]*heard
}

// heard is what the members of a group sent.
type heard struct {
	session time.Duration        // the longest timeout that one asked for
	members map[string]time.Time // when each last sent something
}

func startSweeper(cluster *kfake.Cluster, client *kafka.Client) *sweeper {
	ctx, stop := context.WithCancel(context.Background())
	s := &sweeper{cluster: cluster, client: client, stop: stop, groups: map[string]*heard{}}
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
	switch r := request.(type) {
	case *kmsg.JoinGroupRequest:
		g := s.groups[r.Group]
		if g == nil {
			g = &heard{members: map[string]time.Time{}}
			s.groups[r.Group] = g
		}
		g.session = max(g.session, time.Duration(r.SessionTimeoutMillis)*time.Millisecond)
		g.members[r.MemberID] = time.Now()
	case *kmsg.SyncGroupRequest:
		s.hear(r.Group, r.MemberID)
	case *kmsg.HeartbeatRequest:
		s.hear(r.Group, r.MemberID)
	}
	return nil, nil, false
}

func (s *sweeper) hear(group, member string) {
	if g := s.groups[group]; g != nil {
		g.members[member] = time.Now()
	}
}

func (s *sweeper) sweep(ctx context.Context) {
	for topic.Pause(ctx, time.Second) == nil {
		s.mu.Lock()
		names := slices.Collect(maps.Keys(s.groups))
		s.mu.Unlock()
		for _, name := range names {
			info := s.cluster.GroupInfo(name)
			if info == nil {
				info = new(kfake.GroupInfo)
			}
			// In a group that is not stable, members rightly send nothing while they wait for the others.
			if info.State == "Stable" || len(info.Members) == 0 {
				s.remove(ctx, name, s.silent(name, info.Members, time.Now()))
			}
		}
	}
}

// silent lists the members of a group that the broker itself should have removed by now. A member that has sent nothing
// yet counts from when it is first seen. A group that has no members and hears of none is forgotten.
func (s *sweeper) silent(name string, members []kfake.GroupMember, now time.Time) (list []kafka.LeaveGroupRequestMember) {
	s.mu.Lock()
	defer s.mu.Unlock()
	g := s.groups[name]
	limit := g.session*3/2 + 500*time.Millisecond
	present := map[string]bool{}
	for _, m := range members {
		present[m.MemberID] = true
		last, known := g.members[m.MemberID]
		if !known {
			g.members[m.MemberID] = now
		} else if now.Sub(last) > limit {
			list = append(list, kafka.LeaveGroupRequestMember{ID: m.MemberID})
		}
	}
	maps.DeleteFunc(g.members, func(id string, last time.Time) bool { return !present[id] && now.Sub(last) > limit })
	if len(g.members) == 0 {
		delete(s.groups, name)
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
