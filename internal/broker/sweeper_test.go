package broker

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"
)

// member is a group member whose protocol requests are sent one by one.
type member struct {
	client *kgo.Client
	group  string
	id     string
	epoch  int32
}

func newMember(t *testing.T, address, group string) *member {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(address), kgo.RequestRetries(0),
		kgo.MaxVersions(kversion.V2_0_0()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return &member{client: client, group: group}
}

func (m *member) join(ctx context.Context) error {
	r := kmsg.NewPtrJoinGroupRequest()
	r.Group, r.MemberID, r.SessionTimeoutMillis, r.RebalanceTimeoutMillis, r.ProtocolType = m.group, m.id, 1000, 10_000, "consumer"
	protocol := kmsg.NewJoinGroupRequestProtocol()
	protocol.Name = "range"
	r.Protocols = append(r.Protocols, protocol)
	answer, err := m.client.Broker(0).Request(ctx, r)
	if err != nil {
		return err
	}
	j := answer.(*kmsg.JoinGroupResponse)
	m.id, m.epoch = j.MemberID, j.Generation
	return kerr.ErrorForCode(j.ErrorCode)
}

func (m *member) sync(ctx context.Context) error {
	r := kmsg.NewPtrSyncGroupRequest()
	r.Group, r.MemberID, r.Generation = m.group, m.id, m.epoch
	answer, err := m.client.Broker(0).Request(ctx, r)
	if err != nil {
		return err
	}
	return kerr.ErrorForCode(answer.(*kmsg.SyncGroupResponse).ErrorCode)
}

func (m *member) heartbeat(ctx context.Context) error {
	r := kmsg.NewPtrHeartbeatRequest()
	r.Group, r.MemberID, r.Generation = m.group, m.id, m.epoch
	answer, err := m.client.Broker(0).Request(ctx, r)
	if err != nil {
		return err
	}
	return kerr.ErrorForCode(answer.(*kmsg.HeartbeatResponse).ErrorCode)
}

// A member whose connection broke while it waited to join is removed, and the remaining one has the group to
// itself. There are several groups, because the broker itself misses only every other such member.
func TestAMemberThatDiedWhileJoiningIsRemoved(t *testing.T) {
	server, err := Serve("", 0, quiet)
	if err != nil {
		t.Fatal(err)
	}
	var groups sync.WaitGroup
	for i := range 6 {
		groups.Go(func() {
			for try := range 10 {
				group := fmt.Sprint("swept-", i, "-", try)
				err := dieWhileJoining(t, server, group)
				if errors.Is(err, kerr.UnknownMemberID) {
					continue // the machine stood still for longer than a session
				}
				if err != nil {
					t.Errorf("%s: %v: %+v", group, err, server.Cluster.GroupInfo(group))
				}
				return
			}
			t.Error("ten times the member that stays lost its session")
		})
	}
	groups.Wait()
	server.Close()
}

// dieWhileJoining makes a second member die while it joins, and returns when the group has one member again.
func dieWhileJoining(t *testing.T, server *Server, group string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	stays, dies := newMember(t, server.Address, group), newMember(t, server.Address, group)
	if err := errors.Join(stays.join(ctx), stays.sync(ctx)); err != nil {
		return err
	}
	members := func() int { return len(server.Cluster.GroupInfo(group).Members) }
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		_ = dies.join(ctx) // ends with its connection
	}()
	for ; members() < 2 && ctx.Err() == nil; time.Sleep(10 * time.Millisecond) {
		if err := stays.heartbeat(ctx); err != nil && err != kerr.RebalanceInProgress {
			return err
		}
	}
	dies.client.Close()
	<-gone
	for joined := false; ctx.Err() == nil; time.Sleep(100 * time.Millisecond) {
		err := stays.heartbeat(ctx)
		if err == kerr.RebalanceInProgress {
			err = errors.Join(stays.join(ctx), stays.sync(ctx))
			joined = joined || members() == 2
		}
		if err != nil {
			return err
		}
		if joined && members() == 1 {
			return nil
		}
	}
	return ctx.Err()
}

// Names of groups are the clients' own: one that all have left is not kept. While a member may still be joining, it is.
func TestAGroupWithoutMembersIsForgotten(t *testing.T) {
	s := &sweeper{groups: map[string]*heard{}}
	join := kmsg.NewPtrJoinGroupRequest()
	join.Group, join.MemberID, join.SessionTimeoutMillis = "g", "a", 6000
	if _, _, err := s.listen(join); err {
		t.Fatal("the broker does not see the request")
	}
	now := time.Now()
	member := []kfake.GroupMember{{MemberID: "a"}}
	if gone := s.silent("g", member, now.Add(time.Second)); len(gone) > 0 {
		t.Errorf("%v is silent", gone)
	}
	if gone := s.silent("g", member, now.Add(10*time.Second)); len(gone) != 1 {
		t.Errorf("%v are silent", gone)
	}
	if s.silent("g", nil, now.Add(time.Second)); len(s.groups) != 1 {
		t.Error("it is forgotten while a member may be joining")
	}
	if s.silent("g", nil, now.Add(10*time.Second)); len(s.groups) != 0 {
		t.Error("it is kept")
	}
}
