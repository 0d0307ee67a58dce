package consumer

import (
	"encoding/json"
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/slkstream/slkstream/internal/broker/brokertest"
)

// A group that this client may not describe, or whose coordinator is away, hides no stage of the groups after it.
func TestGroupsThatAreNotDescribedHideNoOther(t *testing.T) {
	server := brokertest.Embedded(t)
	client := brokertest.Connect(t, []string{server.Address})
	refused := map[string]int16{"a": kerr.GroupAuthorizationFailed.Code, "b": kerr.CoordinatorNotAvailable.Code}
	server.Cluster.ControlKey(int16(kmsg.ListGroups), func(r kmsg.Request) (kmsg.Response, error, bool) {
		server.Cluster.KeepControl()
		answer := r.ResponseKind().(*kmsg.ListGroupsResponse)
		for _, name := range []string{"a", "b", "shop", "yard"} {
			group := kmsg.NewListGroupsResponseGroup()
			group.Group, group.ProtocolType = name, "consumer"
			answer.Groups = append(answer.Groups, group)
		}
		return answer, nil, true
	})
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
