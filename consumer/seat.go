package consumer

import (
	"context"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/slkstream/slkstream/internal/topic"
)

// removeDead has the members that died in this process's seat leave while this one joins, until the returned function is called.
// They leave once the group waits for its members: from an empty group this one would wait for others to come
// (group.initial.rebalance.delay.ms). Where that cannot be told, the group misses them after their session.
func (m *member) removeDead(ctx context.Context) (stop func()) {
	group, err := m.client.Group(ctx, m.settings.ID)
	request := kmsg.NewPtrLeaveGroupRequest()
	request.Group = m.settings.ID
	for i := range group.Members {
		if readUserData(group.Members[i].UserData).Seat == m.settings.Seat {
			dead := kmsg.NewLeaveGroupRequestMember()
			dead.MemberID = group.Members[i].ID
			request.Members = append(request.Members, dead)
		}
	}
	if err != nil || len(request.Members) == 0 {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	var leaving sync.WaitGroup
	leaving.Go(func() {
		for stable := true; stable; {
			if topic.Pause(ctx, 50*time.Millisecond) != nil {
				return
			}
			group, err := m.client.Group(ctx, m.settings.ID)
			stable = err != nil || group.Protocol != ""
		}
		_, _ = m.ask(ctx, request, 3, 2*m.settings.Session)
	})
	return func() {
		cancel()
		leaving.Wait()
	}
}
