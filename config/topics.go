package config

import "slices"

// Topics are the topics of a stage, and the group that reads them.
type Topics struct {
	In       []string
	Out      string
	Labels   string
	State    string
	Dead     string
	Episodes string
	Review   string
	Group    string
}

func (t *Topics) title() string { return "Topics" }

func (t *Topics) settings() []Setting {
	return slices.Concat(
		takenBy(with(checked, "state reset"),
			define("in", &t.In, nil, "topic of embeddings; repeatable").example("TOPIC").needed(checked...),
		),
		takenBy(checked,
			define("out", &t.Out, "", "topic of labelled results").example("TOPIC").needed(checked...),
			define("dead", &t.Dead, "", "topic of records that cannot be read; none: OUT-dead").example("TOPIC"),
			define("episodes", &t.Episodes, "", "topic of one record an episode; none: not written").example("TOPIC"),
			define("review", &t.Review, "", "topic of items whose label would teach most; none: not written").example("TOPIC"),
		),
		takenBy([]string{"feed"},
			define("out", &t.Out, "", "topic to send to").example("TOPIC").needed("feed"),
		),
		takenBy(with(checked, "teach", "state reset"),
			define("labels", &t.Labels, "", "compacted topic of labelled examples").example("TOPIC").needed("teach"),
		),
		takenBy(with(checked, "state show", "state reset"),
			define("state", &t.State, "", "compacted topic of what each stream remembers; none: GROUP-state").example("TOPIC"),
			define("group", &t.Group, "slkstream", "consumer group of the stage").example("GROUP"),
		),
	)
}

// StateTopic is the state topic by its name or its default.
func (t *Topics) StateTopic() string {
	if t.State != "" {
		return t.State
	}
	return t.Group + "-state"
}

// DeadTopic is the dead-letter topic by its name or its default.
func (t *Topics) DeadTopic() string {
	if t.Dead != "" {
		return t.Dead
	}
	return t.Out + "-dead"
}

func (t *Topics) faults(c *Config) []Fault {
	if !slices.Contains(checked, c.command) {
		return nil
	}
	var found []Fault
	owner := map[string]string{}
	claim := func(setting, topic string) {
		if topic == "" {
			return
		}
		if other, taken := owner[topic]; taken {
			found = append(found, Fault{Setting: setting, Problem: "is " + topic + ", which is " + other + " as well: each needs a topic of its own"})
			return
		}
		owner[topic] = setting
	}
	for _, in := range t.In {
		claim("in", in)
	}
	claim("out", t.Out)
	claim("labels", t.Labels)
	claim("state", t.StateTopic())
	if t.Out != "" {
		claim("dead", t.DeadTopic())
	}
	claim("episodes", t.Episodes)
	claim("review", t.Review)
	return found
}
