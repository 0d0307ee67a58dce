package config

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Stage is how records become episodes.
type Stage struct {
	StreamBy    string // key, partition, header:NAME, field:NAME
	Format      string
	Dimension   int
	MaxRecord   Bytes
	Model       string
	EpisodeSize int
	EpisodeAge  time.Duration
	EpisodeIdle time.Duration
	MaxMemory   Bytes
	Support     []string
	// SupportLabels are the classes of the rows of a .npy support file.
	SupportLabels string
}

var formats = []string{"auto", "json", "f32", "f16", "bf16", "nv", "cloudevents"}

func (s *Stage) title() string { return "Stage" }

func (s *Stage) settings() []Setting {
	return slices.Concat(
		takenBy(checked,
			define("stream-by", &s.StreamBy, "key", "what tells streams of a partition apart: key, partition, header:NAME or field:NAME"),
			define("format", &s.Format, "auto", "form of a record without a content-type header", oneOf(formats...)),
			define("dimension", &s.Dimension, 0, "numbers in an embedding; 0: as the labels, the state or the first good record say", atLeast(0), atMost(1<<20)),
			define("max-record", &s.MaxRecord, 16<<20, "largest value of a record that is decoded; a larger one goes to the dead letters", atLeast[Bytes](1<<10), atMost[Bytes](1<<30)),
			define("model", &s.Model, "", "name of the embedder of records that do not name theirs"),
		),
		takenBy(checked,
			define("episode-size", &s.EpisodeSize, 100, "items that close an episode", atLeast(1), atMost(1<<20)),
		),
		takenBy([]string{"demo"},
			define("episode-size", &s.EpisodeSize, 40, "pictures that close an episode", atLeast(1), atMost(1000)),
		),
		takenBy(stage,
			define("episode-age", &s.EpisodeAge, 5*time.Second, "event time after its first item that closes an episode; off: never", atLeast[time.Duration](0)),
			define("episode-idle", &s.EpisodeIdle, 2*time.Second, "silence of a stream that closes its episode; off: never", atLeast[time.Duration](0)),
			define("max-memory", &s.MaxMemory, 64<<20, "bytes of open episodes in a partition at which the oldest close", atLeast[Bytes](64<<10)),
		),
		takenBy([]string{"label"},
			define("max-memory", &s.MaxMemory, 128<<20, "bytes of input beyond which a file is labelled in episodes, in file order", atLeast[Bytes](64<<10)),
			define("episode-size", &s.EpisodeSize, 10000, "items of an episode where the file is labelled in episodes", atLeast(1), atMost(1<<20)),
		),
		takenBy(with(checked, "label"),
			define("support", &s.Support, nil, "file of labelled examples, as label reads them, .npy with --support-labels; repeatable").example("FILE"),
			define("support-labels", &s.SupportLabels, "", "int32 .npy file of the classes of a .npy support file, -1 unknown").example("FILE"),
		),
	)
}

func (s *Stage) faults(c *Config) []Fault {
	var found []Fault
	kind, name, named := strings.Cut(s.StreamBy, ":")
	valid := !named && (kind == "key" || kind == "partition") || named && name != "" && (kind == "header" || kind == "field")
	if !valid && slices.Contains(checked, c.command) {
		found = append(found, Fault{Setting: "stream-by", Problem: fmt.Sprintf("is %s: must be key, partition, header:NAME or field:NAME", shown(s.StreamBy))})
	}
	if s.SupportLabels != "" && len(s.Support) != 1 {
		found = append(found, Fault{Setting: "support-labels", Problem: fmt.Sprintf("is %s: goes with exactly one support file, not %d", s.SupportLabels, len(s.Support))})
	}
	if s.EpisodeAge == 0 && s.EpisodeIdle == 0 && slices.Contains(stage, c.command) {
		found = append(found, Fault{Setting: "episode-age", Problem: "is off and episode-idle is off too: the last items of a stream would never be answered"})
	}
	return found
}
