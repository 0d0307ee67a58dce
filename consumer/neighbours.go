package consumer

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/slkstream/slkstream/internal/topic"
)

// Neighbours looks for stages of other groups in the same cluster that write where this one does. It is for one
// goroutine.
type Neighbours struct {
	Client     *topic.Client
	Group      string
	Out, State string

	last  string // group that was looked at last; the next round goes on after it
	found map[string]Neighbour
}

// Neighbour is a stage of another group.
type Neighbour struct {
	Group, Member string
	In            []string // what it reads
	Out, State    bool     // it writes to this stage's
}

// mostGroups bounds the answers of a round: a cluster may have thousands of groups.
const mostGroups = 100

// Find looks at other groups and returns, by group, the stages that share a topic with this one; of very many groups it
// looks at some in each call. After an error, the first of them, it returns what is known. Groups that this client may not
// describe are not found, and those of jobs are left out: a person has asked for their answers.
func (n *Neighbours) Find(ctx context.Context) ([]Neighbour, error) {
	if ofJob(n.Group) {
		return nil, nil
	}
	groups, err := n.Client.Groups(ctx)
	if err == nil {
		maps.DeleteFunc(n.found, func(name string, _ Neighbour) bool {
			_, there := slices.BinarySearchFunc(groups, name, topic.ByName)
			return !there
		})
		err = n.describe(ctx, groups)
	}
	list := slices.Collect(maps.Values(n.found))
	slices.SortFunc(list, func(a, b Neighbour) int { return strings.Compare(a.Group, b.Group) })
	return list, err
}

func (n *Neighbours) describe(ctx context.Context, groups []topic.ListedGroup) error {
	groups = slices.DeleteFunc(groups, func(g topic.ListedGroup) bool { return g.Name == n.Group || ofJob(g.Name) })
	next, _ := slices.BinarySearchFunc(groups, n.last+"\x00", topic.ByName)
	groups = slices.Concat(groups[next:], groups[:next])
	groups = groups[:min(len(groups), mostGroups)]
	if len(groups) == 0 {
		return nil
	}
	all, err := n.Client.Described(ctx, groups)
	if ctx.Err() != nil { // the next round looks at them again
		return err
	}
	n.last = groups[len(groups)-1].Name
	for name, described := range all {
		if described.Protocol == "" && len(described.Members) > 0 {
			continue // it is rebalancing, and its members say nothing
		}
		delete(n.found, name)
		if described.Protocol != protocol {
			continue
		}
		for _, m := range described.Members {
			told := readUserData(m.UserData)
			one := Neighbour{name, m.String(), m.Topics, n.Out != "" && told.Out == n.Out, n.State != "" && told.State == n.State}
			if one.Out || one.State {
				if n.found == nil {
					n.found = map[string]Neighbour{}
				}
				n.found[name] = one
				break
			}
		}
	}
	return err
}

// ofJob says whether a group is that of a job; no stage has such a name.
func ofJob(group string) bool {
	return strings.Contains(group, ".backfill.") || strings.Contains(group, ".correct.")
}
