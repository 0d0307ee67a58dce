package config

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Stage is how records become episodes.
type Stage struct {
	StreamBy    string // key, partition, header:NAME, field:NAME
	Format      string
	Dimension   int
	TrackBy     string
	MaxRecord   Bytes
	MaxKey      Bytes
	MaxName     int
	MaxObjects  int
	VectorField string // the others go with it
	IDField     string
	TimeField   string
	LabelField  string
	StreamField string
	FrameField  string
	TrackField  string
	// AttributesField leads to what the result carries on as attributes.
	AttributesField string
	Model           string
	EpisodeSize     int
	EpisodeAge      time.Duration
	EpisodeIdle     time.Duration
	MaxMemory       Bytes
	Support         []string
	// SupportLabels are the classes of the rows of a .npy support file.
	SupportLabels string
}

func (s *Stage) sections() []section {
	labelled := with(checked, "label", "audit")
	records := []definition{
		define("support", &s.Support, labelled, nil,
			"file of labelled examples, as label reads them, .npy with --support-labels; repeatable").example("FILE"),
		define("support-labels", &s.SupportLabels, labelled, "",
			".npy file of integers, the classes of a .npy support file, -1 unknown").example("FILE"),
		define("stream-by", &s.StreamBy, checked, "key",
			"what tells streams of a partition apart: key, partition, header:NAME or field:NAME"),
		define("format", &s.Format, checked, "auto", "form of a record without a content-type header",
			oneOf("auto", "json", "f32", "f16", "bf16", "nv", "cloudevents")),
		define("dimension", &s.Dimension, checked, 0,
			"numbers in an embedding; 0: what labels, state and records agree on", atLeast(0), atMost(1<<14)),
		define("max-record", &s.MaxRecord, checked, 16<<20,
			"largest value of a record that is decoded; a larger one goes to the dead letters",
			atLeast[Bytes](1<<10), atMost[Bytes](1<<30)),
		define("max-key", &s.MaxKey, checked, 64<<10, "longest key of a record", atLeast[Bytes](1<<8),
			atMost[Bytes](1<<24)),
		define("max-name", &s.MaxName, checked, 1024, "bytes of an id, label, stream, model, frame or track",
			atLeast(64), atMost(1<<16)),
		define("max-objects", &s.MaxObjects, checked, 10000, "objects of one record", atLeast(1), atMost(1<<20)),
		define("track-by", &s.TrackBy, checked, "record",
			"what a track is: record, as the record's track says, or object, by the id of an nv.Frame's or DL Streamer's object",
			oneOf("record", "object")),
		define("vector-field", &s.VectorField, checked, "",
			"path of the vector in JSON of any shape; [] behind a list makes each element an item: data.items[].embedding").
			example("PATH"),
		define("id-field", &s.IDField, checked, "", "path of the item's id, with --vector-field").example("PATH"),
		define("time-field", &s.TimeField, checked, "",
			"path of the event time, with --vector-field").example("PATH"),
		define("label-field", &s.LabelField, checked, "", "path of the label, with --vector-field").example("PATH"),
		define("stream-field", &s.StreamField, checked, "",
			"path of the stream's name, with --vector-field").example("PATH"),
		define("frame-field", &s.FrameField, checked, "",
			"path of the frame's name, with --vector-field").example("PATH"),
		define("track-field", &s.TrackField, checked, "",
			"path of the track's name, with --vector-field").example("PATH"),
		define("attributes-field", &s.AttributesField, checked, "",
			"path of what results carry on as attributes, with --vector-field").example("PATH"),
		define("model", &s.Model, with(checked, "audit"), "",
			"name of the embedder of records that do not name theirs"),
	}
	episodes := []definition{
		define("episode-size", &s.EpisodeSize, with(checked, "eval stream"), 100, "items that close an episode",
			atLeast(1), atMost(1<<20)).
			when("demo", 40, "pictures that close an episode", atLeast(1), atMost(1000)),
		define("episode-age", &s.EpisodeAge, stage, 5*time.Second,
			"event time after its first item that closes an episode; off: never", atLeast[time.Duration](0)),
		define("episode-idle", &s.EpisodeIdle, stage, 2*time.Second,
			"silence of a stream that closes its episode; off: never", atLeast[time.Duration](0)),
		define("max-memory", &s.MaxMemory, stage, 64<<20,
			"bytes of open episodes in a partition at which the oldest close", atLeast[Bytes](64<<10)).
			when("label", 0, "bytes that rows, their graph and answers may take, beyond which codes stand for the rows; "+
				"0: half of what is available", atLeast[Bytes](0)),
	}
	return []section{{"Records in", records}, {"Episodes", episodes}}
}

func (s *Stage) faults(c *Config) []Fault {
	var found []Fault
	add := func(setting, format string, args ...any) {
		found = append(found, Fault{Setting: setting, Problem: fmt.Sprintf(format, args...)})
	}
	kind, name, named := strings.Cut(s.StreamBy, ":")
	valid := !named && (kind == "key" || kind == "partition") || named && name != "" &&
		(kind == "header" || kind == "field")
	if !valid && slices.Contains(checked, c.command) {
		add("stream-by", "is %s: must be key, partition, header:NAME or field:NAME", shown(s.StreamBy))
	}
	for _, f := range []struct{ name, value string }{
		{"id-field", s.IDField},
		{"time-field", s.TimeField},
		{"label-field", s.LabelField},
		{"stream-field", s.StreamField},
		{"frame-field", s.FrameField},
		{"track-field", s.TrackField},
		{"attributes-field", s.AttributesField},
	} {
		if f.value != "" && s.VectorField == "" {
			add(f.name, "is %s: needs vector-field", f.value)
		}
	}
	if s.SupportLabels != "" && len(s.Support) != 1 {
		add("support-labels", "is %s: goes with exactly one support file, not %d", s.SupportLabels, len(s.Support))
	}
	if s.EpisodeAge == 0 && s.EpisodeIdle == 0 && slices.Contains(stage, c.command) {
		add("episode-age", "is off and episode-idle is off too: the last items of a stream would never be answered")
	}
	return found
}

// Memory is what a stream learns and says beyond a label.
type Memory struct {
	Warm             bool
	Time             bool
	FrameWeight      float64
	TrackTTL         int
	Discover         bool
	DiscoverDistance float64
	ShareMetric      bool
	UnknownRate      float64
	ReviewRate       float64
	StateTTL         time.Duration
	MaxStreams       int
	MaxLabels        int
	StallAfter       time.Duration
	RecoveryTarget   time.Duration
}

func (m *Memory) sections() []section {
	answering := with(stage, "eval stream")
	return []section{{"Answers and memory", []definition{
		define("warm", &m.Warm, answering, true, "learn from episode to episode"),
		define("time", &m.Time, with(stage, "eval stream"), true,
			"use the order of a stream's items: what comes one after the other is likely the same thing, as far as the stream shows it"),
		define("frame-weight", &m.FrameWeight, with(stage, "eval stream"), 4.,
			"how strongly items of one frame are held to be different things; 0: not at all", atLeast(0.),
			atMost(1e6)),
		define("track-ttl", &m.TrackTTL, with(stage, "eval stream"), 1000,
			"for how many items of its stream a label given to a track is remembered after the track's last item",
			atLeast(0), atMost(1<<30)),
		define("discover", &m.Discover, with(stage, "eval stream"), false,
			"find clusters with stable ids among what has no label"),
		define("discover-distance", &m.DiscoverDistance, with(stage, "eval stream"), .4,
			"how fine clusters are: an item further from every cluster than this share of the mean squared distance of items leads a new one",
			above(0.), atMost(1.)),
		define("unknown-rate", &m.UnknownRate, with(answering, "label", "eval file"), .05,
			"share of known items that may be called unknown",
			above(0.), below(1.)),
		define("review-rate", &m.ReviewRate, stage, .03, "share of items sent for review", atLeast(0.), atMost(1.)),
		define("share-metric", &m.ShareMetric, stage, false,
			"share what streams learn about distance between streams of one process"),
		define("state-ttl", &m.StateTTL, stage, 0, "silence after which a stream's state is retired; off: never",
			atLeast[time.Duration](0)),
		define("max-streams", &m.MaxStreams, stage, 20000,
			"streams that a partition remembers; beyond, the longest silent are forgotten", atLeast(1), atMost(1<<24)),
		define("max-labels", &m.MaxLabels, stage, 100_000,
			"examples of the labels topic that are in force; beyond, the ones written first are left out",
			atLeast(1), atMost(1<<24)),
		define("recovery-target", &m.RecoveryTarget, stage, 30*time.Second,
			"time that a new owner of a partition may need to catch up: where it would take longer, state is written more often",
			atLeast(time.Second)),
		define("stall-after", &m.StallAfter, stage, time.Minute,
			"time without getting on, though there is input, after which /readyz says 503 and the log says why",
			atLeast(time.Second)),
	}}}
}

// Backfill is the range a backfill answers. Ends are RFC 3339, an offset, earliest or latest.
type Backfill struct {
	From, To  string
	Job       string
	FromState string
}

func (b *Backfill) sections() []section {
	backfill := []string{"backfill"}
	return []section{{"Backfill", []definition{
		define("job", &b.Job, backfill, "", "name of the job: its processes share one plan under it, and a rerun resumes").
			example("NAME").neededBy("backfill"),
		define("from", &b.From, backfill, "earliest",
			"where the range begins: RFC 3339, an offset, earliest or latest").
			example("PLACE").when("tail", "latest", "where to begin: RFC 3339, an offset, earliest or latest"),
		define("to", &b.To, backfill, "latest", "where the range ends, itself left out; latest is fixed once at the start").
			example("PLACE"),
		define("from-state", &b.FromState, backfill, "",
			"group whose state to start from; none: cold").example("GROUP"),
	}}}
}

func (b *Backfill) faults(*Config) []Fault {
	var found []Fault
	for _, end := range []struct{ name, value string }{{"from", b.From}, {"to", b.To}} {
		if end.value == "earliest" || end.value == "latest" {
			continue
		}
		if offset, err := strconv.ParseInt(end.value, 10, 64); err == nil && offset >= 0 {
			continue
		}
		if _, err := time.Parse(time.RFC3339, end.value); err != nil {
			found = append(found, Fault{Setting: end.name, Problem: "is " + shown(end.value) +
				": must be a time such as 2026-03-01T00:00:00Z, an offset, earliest or latest"})
		}
	}
	return found
}
