package consumer

import (
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/slkstream/slkstream/internal/broker"
	"github.com/slkstream/slkstream/internal/broker/brokertest"
)

// A group that this client may not describe, or whose coordinator is away, hides no stage of the groups after it.
func TestGroupsThatAreNotDescribedHideNoOther(t *testing.T) {
	server := brokertest.Embedded(t)
	client := brokertest.Connect(t, []string{server.Address})
	refused := map[string]int16{"a": kerr.GroupAuthorizationFailed.Code, "b": kerr.CoordinatorNotAvailable.Code}
	listed(server, slices.Values([]string{"a", "b", "shop", "yard"}))
	server.Cluster.ControlKey(int16(kmsg.DescribeGroups), func(r kmsg.Request) (kmsg.Response, error, bool) {
		server.Cluster.KeepControl()
		answer := r.ResponseKind().(*kmsg.DescribeGroupsResponse)
		for _, name := range r.(*kmsg.DescribeGroupsRequest).Groups {
			group := kmsg.NewDescribeGroupsResponseGroup()
			group.Group, group.ErrorCode, group.Protocol = name, refused[name], protocol
			told := kmsg.NewConsumerMemberMetadata()
			told.UserData, _ = json.Marshal(userData{Out: "results"})
			member := kmsg.NewDescribeGroupsResponseGroupMember()
			member.ProtocolMetadata = told.AppendTo(nil)
			group.Members = append(group.Members, member)
			answer.Groups = append(answer.Groups, group)
		}
		return answer, nil, true
	})
	n := Neighbours{Client: client, Group: "shop", Out: "results"}
	found, err := n.Find(t.Context())
	if len(found) != 1 || found[0].Group != "yard" || !found[0].Out {
		t.Errorf("%+v, %v", found, err)
	}
	if err == nil {
		t.Error("that a group could not be described is no error")
	}
}

// A hundred groups are described with one request to their coordinator.
func TestGroupsAreDescribedTogether(t *testing.T) {
	server := brokertest.Embedded(t)
	client := brokertest.Connect(t, []string{server.Address})
	in := brokertest.Topic(t, client, "in", 1, nil)
	work(t, client, GroupSettings{ID: "group-050", Topics: []string{in}, Out: "results"})
	listed(server, func(yield func(string) bool) {
		for i := range 100 {
			yield(fmt.Sprintf("group-%03d", i))
		}
	})
	var requests atomic.Int32
	server.Cluster.ControlKey(int16(kmsg.DescribeGroups), func(r kmsg.Request) (kmsg.Response, error, bool) {
		server.Cluster.KeepControl()
		if names := r.(*kmsg.DescribeGroupsRequest).Groups; !slices.Equal(names, []string{"group-050"}) { // the stage's own
			requests.Add(1)
		}
		return nil, nil, false
	})
	n := Neighbours{Client: client, Group: "shop", Out: "results"}
	eventually(t, "the stage among them is found", func() bool {
		requests.Store(0)
		found, err := n.Find(t.Context())
		if err != nil {
			t.Error(err)
		}
		return len(found) == 1 && found[0].Group == "group-050"
	})
	if got := requests.Load(); got != 1 {
		t.Errorf("%d requests", got)
	}
}

// listed has the broker list groups of these names.
func listed(server *broker.Server, names iter.Seq[string]) {
	server.Cluster.ControlKey(int16(kmsg.ListGroups), func(r kmsg.Request) (kmsg.Response, error, bool) {
		server.Cluster.KeepControl()
		answer := r.ResponseKind().(*kmsg.ListGroupsResponse)
		for name := range names {
			group := kmsg.NewListGroupsResponseGroup()
			group.Group, group.ProtocolType = name, "consumer"
			answer.Groups = append(answer.Groups, group)
		}
		return answer, nil, true
	})
}
