package consumer

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/segmentio/kafka-go"

	"github.com/slkstream/slkstream/internal/topic"
)

// agreeing returns the members that share the partitions: those with the same GroupSettings.Agree as the members
// that had partitions in the latest generation, or else as most members.
func agreeing(members []kafka.GroupMember) []kafka.GroupMember {
	type class struct {
		members    []kafka.GroupMember
		generation int32 // latest in which one of them had partitions
		had        int   // partitions in it
		first      string
	}
	classes := map[string]*class{}
	for _, m := range slices.SortedFunc(slices.Values(members), byID) {
		told := readUserData(m.UserData)
		key, _ := json.Marshal(told.Agree) // of texts: it cannot fail
		c := classes[string(key)]
		if c == nil {
			c = &class{first: m.ID}
			classes[string(key)] = c
		}
		c.members = append(c.members, m)
		had := 0
		for _, list := range told.Owned {
			had += len(list)
		}
		switch {
		case had > 0 && told.Generation > c.generation:
			c.generation, c.had = told.Generation, had
		case had > 0 && told.Generation == c.generation:
			c.had += had
		}
	}
	best := slices.MaxFunc(slices.Collect(maps.Values(classes)), func(a, b *class) int {
		return cmp.Or(cmp.Compare(a.generation, b.generation), cmp.Compare(a.had, b.had),
			cmp.Compare(len(a.members), len(b.members)), cmp.Compare(b.first, a.first))
	})
	return best.members
}

// foreign returns the conflict with members of another program, if the group has any. own is this member's id.
func (g *membership) foreign(own string, group *topic.Group) error {
	if !group.Brokers && (group.Protocol == "" || group.Protocol == protocol) {
		return nil
	}
	var names []string
	for _, m := range group.Members {
		if m.ID != own {
			names = append(names, m.String())
		}
	}
	if len(names) == 0 {
		return nil
	}
	slices.Sort(names)
	return &topic.GroupConflict{
		Why: fmt.Sprintf("group %s has members of another program: %s", g.settings.ID, strings.Join(slices.Compact(names), ", ")),
		Do: "stop them or give them another group: what they read would have no answer; or give this stage another " +
			"--group; it goes on by itself",
	}
}

// differing returns the members that get no partitions because of their settings, and the conflict with members at
// work that have other settings.
func (g *membership) differing(own string, group *topic.Group) (others []string, with error) {
	for _, m := range group.Members {
		differs := difference(g.settings.Agree, readUserData(m.UserData).Agree)
		if m.ID == own || m.UserData == nil || differs == "" {
			continue
		}
		if len(m.Assigned) > 0 {
			return nil, &topic.GroupConflict{
				Why: fmt.Sprintf("group %s is at work with other settings, in %v: %s", g.settings.ID, m, differs),
				Do: "start this process with the same settings, or stop all processes of the group before the first is " +
					"started with new ones; it goes on by itself",
			}
		}
		others = append(others, fmt.Sprintf("%v: %s", m, differs))
	}
	return others, nil
}

// difference names the settings in which another member differs; "": in none.
func difference(own, other map[string]string) string {
	var differs []string
	for _, name := range slices.Sorted(maps.Keys(own)) {
		if own[name] != other[name] {
			differs = append(differs, fmt.Sprintf("%s %q here, %q there", name, own[name], other[name]))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(other)) {
		if _, known := own[name]; !known {
			differs = append(differs, fmt.Sprintf("%s %q there only", name, other[name]))
		}
	}
	return strings.Join(differs, ", ")
}
