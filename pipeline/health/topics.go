package health

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/slkstream/slkstream/consumer"
)

// settingsEvery is how often the settings of the stage's topics are read.
const settingsEvery = 20 * time.Second

// topicSettings are what the settings of the stage's topics lose, and who shares them.
type topicSettings struct {
	read       time.Time
	neighbours consumer.Neighbours

	mutex  sync.Mutex
	list   []Trouble // of its own topics
	inputs []Trouble // doubts, of inputs and of topics that are followed
}

// askSettings reads the settings of the stage's topics now and then, as people change them while it works,
// and notes which lose data. What cannot be read stays as it was.
func (w *Watch) askSettings(ctx context.Context, now time.Time) {
	t, o := &w.topics, &w.settings
	if now.Sub(t.read) < settingsEvery {
		return
	}
	t.read = now
	limited, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	compacted := []string{o.State, o.Labels, o.Identities}
	names := slices.DeleteFunc(slices.Concat(compacted, []string{o.Out, o.Dead}, o.Others),
		func(name string) bool { return name == "" })
	inputs := map[string]bool{}
	for _, p := range w.Partitions.All() {
		inputs[p.Topic] = true
	}
	ins := slices.Sorted(maps.Keys(inputs))
	all, err := o.Client.Settings(limited, slices.Concat(names, ins)...)
	if err != nil {
		t.read = now.Add(10*time.Second - settingsEvery) // soon again
		return
	}
	var list []Trouble
	for _, name := range names {
		policy := "delete"
		if slices.Contains(compacted, name) {
			policy = "compact"
		}
		if loss := loses(all[name], policy == "compact"); loss != "" {
			list = append(list, Trouble{
				Of: OfSettings, What: fmt.Sprintf("topic %s loses what the stage needs", name), Cause: loss,
				Do: w.configure(name, "cleanup.policy="+policy),
			})
		}
	}
	var doubts []Trouble
	for _, name := range ins {
		if loss, setting := losesUnread(all[name]); loss != "" {
			doubts = append(doubts, Trouble{
				What: fmt.Sprintf("input topic %s can lose records before they are read", name), Cause: loss,
				Do: w.configure(name, setting),
			})
		}
	}
	for _, name := range []string{o.Labels, o.Identities} { // a state topic is read whole, and not followed
		if loss := losesDeletions(all[name]); loss != "" {
			doubts = append(doubts, Trouble{
				What: fmt.Sprintf("what is deleted from topic %s can stay in force", name), Cause: loss,
				Do: w.configure(name, fmt.Sprintf("delete.retention.ms=%d", 24*time.Hour.Milliseconds())),
			})
		}
	}
	shared, beside := w.askNeighbours(limited, ins)
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.list, t.inputs = append(list, shared...), append(doubts, beside...)
}

// askNeighbours finds stages of other groups that write where this one does. Two that answer the same input give
// each of its items two answers under one id, which no delivery promises to tell apart. State is kept by group. One
// process of the stage asks: the one that has the first partition of an input.
func (w *Watch) askNeighbours(ctx context.Context, ins []string) (troubles, doubts []Trouble) {
	if !slices.ContainsFunc(w.Partitions.All(), func(p *Partition) bool { return p.Partition == 0 }) {
		return nil, nil
	}
	found, err := w.topics.neighbours.Find(ctx)
	if err != nil {
		w.settings.Log.Debug("other groups are not known", "error", err)
	}
	for _, n := range found {
		common := slices.DeleteFunc(slices.Clone(n.In), func(name string) bool { return !slices.Contains(ins, name) })
		who := fmt.Sprintf("the stage of group %s, %s", n.Group, n.Member)
		if n.Out && len(common) > 0 {
			troubles = append(troubles, Trouble{
				Of: OfSettings, What: fmt.Sprintf("another stage answers %s to topic %s too", strings.Join(common, ", "), w.settings.Out),
				Cause: who + ": its readers get two answers for each item",
				Do:    "stop one of them, or give it another --out; if both are to share the work, give them one --group",
			})
		}
		if n.State {
			doubts = append(doubts, Trouble{
				What: "another stage keeps its state in topic " + w.settings.State + " too", Cause: who,
				Do: "give each stage a --state of its own: who deletes the topic takes the memory of both",
			})
		}
	}
	return troubles, doubts
}

// configure returns the command that changes a setting of a topic.
func (w *Watch) configure(name, setting string) string {
	return fmt.Sprintf("kafka-configs.sh --bootstrap-server %s --alter --topic %s --add-config %s",
		strings.Join(w.settings.Client.Brokers(), ","), name, setting)
}

// shortRetention is how long a stage can be away, for an upgrade or a fault, while nobody notices.
const shortRetention = time.Hour

// losesUnread says how an input with these settings loses records that the stage has not read yet, and with which
// setting it does not; "": it does not, or its settings may not be read.
func losesUnread(settings map[string]string) (loss, setting string) {
	policy := settings["cleanup.policy"]
	if strings.Contains(policy, "compact") {
		return fmt.Sprintf("its cleanup.policy is %s: a record replaces those of its key that are not read yet", policy),
			"cleanup.policy=delete"
	}
	kept, err := strconv.ParseInt(settings["retention.ms"], 10, 64)
	if err == nil && kept >= 0 && kept < shortRetention.Milliseconds() {
		return fmt.Sprintf("its retention.ms is %d: what is not read by then is deleted", kept),
			fmt.Sprintf("retention.ms=%d", 24*time.Hour.Milliseconds())
	}
	return "", ""
}

// losesDeletions says how a reader of a compacted topic with these settings misses deletions; "": it does not, or its
// settings may not be read.
func losesDeletions(settings map[string]string) string {
	kept, err := strconv.ParseInt(settings["delete.retention.ms"], 10, 64)
	if err != nil || kept >= shortRetention.Milliseconds() {
		return ""
	}
	return fmt.Sprintf("its delete.retention.ms is %d: a stage that is cut off for longer does not read the deletion, and "+
		"reads the topic again from its start", kept)
}

// loses says what a topic with these settings loses; "": nothing, or its settings may not be read. A compacted
// topic keeps the last record of each key for ever; of any other, no record may replace another.
func loses(settings map[string]string, compacted bool) string {
	policy, told := settings["cleanup.policy"]
	retention, err := strconv.ParseInt(settings["retention.ms"], 10, 64)
	switch {
	case !told:
	case compacted && strings.Contains(policy, "delete") && (err != nil || retention >= 0):
		return fmt.Sprintf("its cleanup.policy is %s: what it holds is deleted after %s ms", policy, settings["retention.ms"])
	case !compacted && strings.Contains(policy, "compact"):
		return fmt.Sprintf("its cleanup.policy is %s: records of one key replace each other, and those without a key are refused",
			policy)
	}
	return ""
}

// troubles lists the settings of the stage's own topics that lose data.
func (t *topicSettings) troubles() []Trouble {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	return t.list
}

// doubts lists the inputs that can lose records.
func (t *topicSettings) doubts() []Trouble {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	return t.inputs
}
