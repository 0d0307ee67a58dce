package health

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// settingsEvery is how often the settings of the stage's topics are read.
const settingsEvery = time.Minute

// topicSettings are what the settings of the stage's own topics lose.
type topicSettings struct {
	read time.Time

	mutex sync.Mutex
	list  []Trouble // nil: not read yet
}

// askSettings reads the settings of the stage's topics once a minute, as people change them while it works,
// and notes which lose data. What cannot be read stays as it was.
func (w *Watch) askSettings(ctx context.Context, now time.Time) {
	t, o := &w.topics, &w.settings
	if now.Sub(t.read) < settingsEvery {
		return
	}
	t.read = now
	limited, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	compacted := []string{o.State, o.Labels}
	names := slices.DeleteFunc(slices.Concat(compacted, []string{o.Out, o.Dead}, o.Others),
		func(name string) bool { return name == "" })
	all, err := o.Client.Settings(limited, names...)
	if err != nil {
		t.read = now.Add(10*time.Second - settingsEvery) // soon again
		return
	}
	list := []Trouble{}
	for _, name := range names {
		policy := "delete"
		if slices.Contains(compacted, name) {
			policy = "compact"
		}
		if loss := loses(all[name], policy == "compact"); loss != "" {
			list = append(list, Trouble{
				Of: OfSettings, What: fmt.Sprintf("topic %s loses what the stage needs", name), Cause: loss,
				Do: fmt.Sprintf("kafka-configs.sh --bootstrap-server %s --alter --topic %s --add-config cleanup.policy=%s",
					strings.Join(o.Client.Brokers(), ","), name, policy),
			})
		}
	}
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.list = list
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

// troubles lists the settings that lose data.
func (t *topicSettings) troubles() []Trouble {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	return t.list
}
