package consumer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/slkstream/slkstream/internal/topic"
)

// member is this process's membership of its group, by requests of Kafka's group protocol. kafka-go's own has no instance
// id, and waits for each answer whatever happens.
type member struct {
	client       *topic.Client
	coordinators *topic.Coordinators
	settings     *GroupSettings
	owned        owned
	id           string // that the group has given; "": none yet
	incarnation  int32
	inherited    bool // incarnation is as the group tells, which may be old
}

func newMember(client *topic.Client, s *GroupSettings) *member {
	_, coordinators := client.Coordinators()
	return &member{client: client, coordinators: coordinators, settings: s}
}

// instance is the instance id as requests hold it.
func (m *member) instance() *string {
	if m.settings.Instance == "" {
		return nil
	}
	return &m.settings.Instance
}

// named says whether a member has this process's instance id.
func (m *member) named(other *topic.Member) bool {
	return m.settings.Instance != "" && other.Instance == m.settings.Instance
}

// inherit takes over what the process with the same instance id before this one had: the group may give it its place
// without a rebalance.
func (m *member) inherit(ctx context.Context) error {
	group, err := m.client.Group(ctx, m.settings.ID)
	if err != nil {
		return err
	}
	m.incarnation, m.inherited = max(m.incarnation, 1), true
	for i := range group.Members {
		other := &group.Members[i]
		if !m.named(other) || other.UserData == nil {
			continue
		}
		told := readUserData(other.UserData)
		m.incarnation = max(m.incarnation, told.Incarnation+1)
		if difference(m.settings.Agree, told.Agree) == "" {
			m.owned = owned{told.Generation, told.Owned}
		}
	}
	return nil
}

// join joins the group for topics, and returns the next generation and this member's partitions. If this member leads
// the group, divide divides the partitions.
func (m *member) join(ctx context.Context, topics []string,
	divide func(context.Context, []kafka.GroupMember) (assignments, error),
) (*topic.Generation, []topic.TopicPartition, error) {
	if m.id == "" && m.settings.Instance != "" {
		if err := m.inherit(ctx); err != nil {
			return nil, nil, err
		}
	}
	if m.id == "" && m.settings.Instance == "" && m.settings.Seat != "" {
		defer m.removeDead(ctx)()
	}
	return m.enter(ctx, topics, divide)
}

func (m *member) enter(ctx context.Context, topics []string,
	divide func(context.Context, []kafka.GroupMember) (assignments, error),
) (*topic.Generation, []topic.TopicPartition, error) {
	s := m.settings
	told, err := m.userData()
	if err != nil {
		return nil, nil, err
	}
	metadata := kmsg.NewConsumerMemberMetadata()
	metadata.Topics, metadata.UserData = topics, told
	offered := kmsg.NewJoinGroupRequestProtocol()
	offered.Name, offered.Metadata = protocol, metadata.AppendTo(nil)
	// What claims version 1 without its fields cannot be read by brokers, which otherwise turn the group into one of KIP-848
	// for the first such consumer, and divide the input between it and this stage. They need not read it.
	offered.Metadata[1] = 1
	request := kmsg.NewPtrJoinGroupRequest()
	request.Group, request.MemberID, request.InstanceID, request.ProtocolType = s.ID, m.id, m.instance(), "consumer"
	request.SessionTimeoutMillis, request.RebalanceTimeoutMillis = milliseconds(s.Session), milliseconds(s.Rebalance)
	request.Protocols = append(request.Protocols, offered)
	answer, err := m.ask(ctx, request, 5, 2*s.Session+s.Rebalance)
	if err != nil {
		return nil, nil, err
	}
	joined := answer.(*kmsg.JoinGroupResponse)
	switch err := m.refused(joined.ErrorCode); {
	case errors.Is(err, kafka.MemberIDRequired) && m.id == "" && joined.MemberID != "":
		m.id = joined.MemberID
		return m.enter(ctx, topics, divide)
	case err != nil:
		return nil, nil, err
	}
	m.id = joined.MemberID
	generation := &topic.Generation{Group: s.ID, ID: joined.Generation, MemberID: m.id, Incarnation: m.incarnation}
	var divided assignments
	if joined.LeaderID == m.id {
		if divided, err = divide(ctx, membersOf(joined)); err != nil {
			return nil, nil, err
		}
	}
	assigned, err := m.sync(ctx, generation, divided)
	if err == nil && m.inherited && len(assigned) > 0 {
		// Another process may have had the place since inherit looked, and told the group what inherit has told this one.
		var known int32
		known, err = m.client.Incarnation(ctx, s.ID, assigned)
		m.incarnation, m.inherited = max(m.incarnation, known+1), err != nil
		generation.Incarnation = m.incarnation
	}
	return generation, assigned, err
}

// membersOf are the members that the leader divides the partitions among.
func membersOf(joined *kmsg.JoinGroupResponse) (list []kafka.GroupMember) {
	for _, one := range joined.Members {
		topics, told := topic.MemberMetadata(one.ProtocolMetadata)
		list = append(list, kafka.GroupMember{ID: one.MemberID, Topics: topics, UserData: told})
	}
	return list
}

// sync tells the group what each member gets, if this one leads it, and returns its own partitions.
func (m *member) sync(ctx context.Context, g *topic.Generation, divided assignments) ([]topic.TopicPartition, error) {
	request := kmsg.NewPtrSyncGroupRequest()
	request.Group, request.Generation, request.MemberID, request.InstanceID = g.Group, g.ID, g.MemberID, m.instance()
	for id, topics := range divided {
		of := kmsg.NewConsumerMemberAssignment()
		for name, partitions := range topics {
			t := kmsg.NewConsumerMemberAssignmentTopic()
			t.Topic = name
			for _, p := range partitions {
				t.Partitions = append(t.Partitions, int32(p))
			}
			of.Topics = append(of.Topics, t)
		}
		one := kmsg.NewSyncGroupRequestGroupAssignment()
		one.MemberID, one.MemberAssignment = id, of.AppendTo(nil)
		request.GroupAssignment = append(request.GroupAssignment, one)
	}
	answer, err := m.ask(ctx, request, 3, 3*m.settings.Session)
	if err != nil {
		return nil, err
	}
	given := answer.(*kmsg.SyncGroupResponse)
	if err := m.refused(given.ErrorCode); err != nil {
		return nil, err
	}
	var mine kmsg.ConsumerMemberAssignment
	if len(given.MemberAssignment) > 0 {
		if err := mine.ReadFrom(given.MemberAssignment); err != nil {
			return nil, fmt.Errorf("%w: the group's assignment: %w", topic.ErrCorrupt, err)
		}
	}
	var list []topic.TopicPartition
	for _, t := range mine.Topics {
		for _, p := range t.Partitions {
			list = append(list, topic.TopicPartition{Topic: t.Topic, Partition: p})
		}
	}
	return list, nil
}

// beat keeps the member's place. It returns when ctx ends, and with the reason when the generation has ended.
func (m *member) beat(ctx context.Context, g *topic.Generation) error {
	ticker := time.NewTicker(m.settings.Session / 12)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		// A broker that does not answer for a while must not make the member leave: the group decides when the session
		// is over.
		err := m.coordinators.Beat(ctx, g, m.instance(), 2*m.settings.Session)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// leave gives up the member's place, if it has one. That it cannot is no error: the group misses it after its session.
func (m *member) leave(ctx context.Context) {
	if m.id == "" {
		return
	}
	gone := kmsg.NewLeaveGroupRequestMember()
	gone.MemberID, gone.InstanceID = m.id, m.instance()
	request := kmsg.NewPtrLeaveGroupRequest()
	request.Group, request.Members = m.settings.ID, append(request.Members, gone)
	_, _ = m.ask(ctx, request, 3, 2*m.settings.Session)
	m.id = ""
}

func (m *member) ask(ctx context.Context, request kmsg.Request, version int16, limit time.Duration) (kmsg.Response, error) {
	return m.coordinators.Ask(ctx, request, version, m.settings.ID, limit)
}

// refused returns the error of an answer; nil: there is none. The coordinator may have moved.
func (m *member) refused(code int16) error {
	err := topic.Refusal(code)
	if err != nil {
		m.coordinators.Forget()
	}
	return err
}

func milliseconds(d time.Duration) int32 { return int32(d.Milliseconds()) }

// twin returns the conflict with another process that has this one's instance id; nil: there is none.
func (m *member) twin(ctx context.Context) (*topic.GroupConflict, error) {
	group, err := m.client.Group(ctx, m.settings.ID)
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(group.Members, func(other topic.Member) bool { return m.named(&other) })
	if at < 0 {
		return nil, nil
	}
	return &topic.GroupConflict{
		Why: fmt.Sprintf("another process of group %s, %v, has the same --group-instance-id %s", m.settings.ID,
			group.Members[at], m.settings.Instance),
		Do: "give each process an id of its own; this one goes on by itself once the other has ended",
	}, nil
}
