package corrections

import (
	"context"
	"slices"
	"sync"

	"github.com/slkstream/slkstream/internal/recent"
	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/topic"
	"github.com/slkstream/slkstream/pipeline/labels"
	"github.com/slkstream/slkstream/solver/stream"
)

const mostStrangers = 2000 // most items to group, the latest

// Recent answers questions about the recent items of a process.
type Recent struct {
	store  *recent.Store // nil: none are kept
	labels *labels.Topic
	memory stream.Settings // of the clusters of strangers

	grouped grouped
}

// NewRecent answers questions about the items of a store; nil: there are none. Strangers are grouped by streams with the
// settings of memory.
func NewRecent(store *recent.Store, l *labels.Topic, memory stream.Settings) *Recent {
	return &Recent{store: store, labels: l, memory: memory}
}

// Keep drops the items of partitions that are no longer assigned to the process.
func (r *Recent) Keep(assigned []topic.TopicPartition) {
	if r.store == nil {
		return
	}
	var names []string
	for _, tp := range assigned {
		names = append(names, tp.String())
	}
	r.store.Keep(names)
}

// Strangers returns the recent items that were answered unknown, grouped into the clusters that a stream
// without labels finds. Groups are numbered from 0; items of different models are in different groups.
func (r *Recent) Strangers(ctx context.Context) ([]recent.Stranger, error) {
	if r.store == nil {
		return nil, nil
	}
	r.grouped.mutex.Lock()
	defer r.grouped.mutex.Unlock()
	all := r.store.Unknown(mostStrangers)
	if r.grouped.again(all) {
		return all, nil
	}
	spaces := map[space][]*recent.Stranger{}
	var order []space
	for i := range all {
		at := space{all[i].Model, len(all[i].Vector)}
		if spaces[at] == nil {
			order = append(order, at)
		}
		spaces[at] = append(spaces[at], &all[i])
	}
	groups := 0
	for _, at := range order {
		n, err := r.group(ctx, spaces[at], groups)
		if err != nil {
			return nil, err
		}
		groups += n
	}
	r.grouped.groups = make(map[string]int, len(all))
	for i := range all {
		r.grouped.groups[all[i].ID] = all[i].Group
	}
	return all, nil
}

// space is what vectors must share to be compared.
type space struct {
	model     string
	dimension int
}

// grouped caches the last call's groups by item, so that repeated calls with the same items cost nothing.
type grouped struct {
	mutex  sync.Mutex
	groups map[string]int
}

// again sets the cached groups; false if the items have changed.
func (g *grouped) again(all []recent.Stranger) bool {
	for i := range all {
		group, known := g.groups[all[i].ID]
		if !known || len(all) != len(g.groups) {
			return false
		}
		all[i].Group = group
	}
	return true
}

// group numbers the groups of strangers of one space, starting at first, and returns how many there are.
func (r *Recent) group(ctx context.Context, list []*recent.Stranger, first int) (int, error) {
	engine := new(stream.Engine)
	clusters := stream.New("unknown", r.memory)
	numbers := map[string]int{}
	for part := range slices.Chunk(list, 200) {
		items := make([]stream.Item, len(part))
		for i, it := range part {
			items[i] = stream.Item{Vector: it.Vector, Model: it.Model, Track: it.Track}
			if it.Track != "" {
				items[i].Track = it.Stream + "/" + it.Track // streams may use the same track names
			}
		}
		answers, _, err := clusters.Answer(ctx, engine, items, nil)
		if err != nil {
			return 0, err
		}
		for i, a := range answers {
			n, known := numbers[a.Label]
			if !known {
				n = len(numbers)
				numbers[a.Label] = n
			}
			part[i].Group = first + n
		}
	}
	return len(numbers), nil
}

// WouldCorrect returns the recent items whose label would change if the examples were taught, by the
// rule of --corrections. Once ctx ends it returns an error.
func (r *Recent) WouldCorrect(ctx context.Context, examples []record.Example) ([]recent.Corrected, error) {
	if r.store == nil {
		return nil, nil
	}
	v := r.labels.Current()
	changes := make([]recent.Change, len(examples))
	for i := range examples {
		e := &examples[i]
		changes[i] = recent.Change{
			ID: e.ID, Label: e.Label, Stream: e.Stream, Model: e.Model, Vector: e.Vector, Named: v.Name,
		}
	}
	return r.store.WouldCorrect(ctx, changes, v.Examples())
}
