package config

import "slices"

// The commands that share settings. A setting goes to every command for which it means something.
var (
	live      = []string{"run", "backfill"}                                 // the stage on Kafka
	checked   = with(live, "check")                                         // what check tests it takes as the stage does
	onKafka   = with(checked, "feed", "teach", "state show", "state reset") // everything that speaks to a broker
	stage     = with(checked, "demo")                                       // the stage wherever its feed comes from
	solving   = with(stage, "label", "tune", "eval fewshot", "eval stream", "eval cluster", "eval paper")
	searching = with(solving, "eval index")
	evaluate  = []string{"eval fewshot", "eval cluster", "eval stream", "eval index", "eval paper"}
	every     = with(searching, "feed", "teach", "broker", "state show", "state reset", "health", "version")
)

func with(commands []string, more ...string) []string {
	return slices.Concat(commands, more)
}
