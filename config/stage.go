package config

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/slkstream/slkstream/internal/form"
)

// Stage holds the settings for turning records into episodes.
type Stage struct {
	StreamBy  string // key, partition, header:NAME, field:NAME
	Format    string
	Dimension int
	TrackBy   string
	Fields    []string // NAME=PATH: where a record or a row of a file has a field
	// SupportFields are those of support files; none: Fields, or the usual names.
	SupportFields []string
	Model         string
	EpisodeSize   int
	EpisodeAge    time.Duration
	EpisodeIdle   time.Duration
	MaxMemory     Bytes
	Support       []string
	// SupportLabels is the file of classes for the rows of a .npy support file.
	SupportLabels string
}

func (s *Stage) records() []definition {
	labelled := with(checked, "label", "audit", "forget")
	return []definition{
		define("support", &s.Support, with(checked, "forget"), nil,
			"file of labelled examples, in any form of docs/formats.md but .npy, which has no labels; repeatable").example("FILE").
			when("label, audit", nil,
				"file of labelled examples, in any form of docs/formats.md, .npy with --support-labels; repeatable"),
		define("support-labels", &s.SupportLabels, []string{"label", "audit"}, "",
			".npy file of the classes of a .npy support file: texts, or integers, -1 unknown").example("FILE"),
		define("stream-by", &s.StreamBy, decoded, "key",
			"source of the stream's name: key, partition, header:NAME or field:NAME"),
		define("format", &s.Format, decoded, form.Auto, "form of a record without a content-type header",
			oneOf(form.Names()...)),
		define("dimension", &s.Dimension, decoded, 0,
			"numbers in an embedding; 0: the dimension on which labels, state and records agree", atLeast(0), atMost(1<<14)).
			when("size", 512, "numbers in an embedding", atLeast(1), atMost(1<<14)),
		define("track-by", &s.TrackBy, decoded, "record",
			"what a track is: record, as the record's track says, or object, by the id of an nv.Frame's or DL Streamer's object",
			oneOf("record", "object")),
		define(
			"fields",
			&s.Fields,
			slices.Concat(decoded, fromFiles),
			nil,
			"where a record or a row of a file has "+strings.Join(
				fieldNames,
				", ",
			)+": vector=data.items[].embedding,id=data.items[].key; "+
				"[] behind a list makes each element an item; of columns their name, or what it begins with where there is one a "+
				"dimension; - where a field is not to be read. The others have their usual names. --vector-field PATH is vector=PATH, and so on",
			pairsOf(fieldNames),
		).example("NAME=PATH,..."),
		define("support-fields", &s.SupportFields, labelled, nil,
			"fields of the support's files, where they differ; none: fields, and the usual names in a file that has not these",
			pairsOf(fieldNames)).example("NAME=PATH,..."),
		define("model", &s.Model, with(decoded, "audit"), "",
			"name of the embedder of records that do not name theirs"),
	}
}

func (s *Stage) episodes() []definition {
	return []definition{
		define("episode-size", &s.EpisodeSize, with(checked, "eval stream", "tune", "size"), 100, "items that close an episode",
			atLeast(1), atMost(1<<20)).
			when("demo", 40, "pictures that close an episode", atLeast(1), atMost(1000)),
		define("episode-age", &s.EpisodeAge, with(stage, "size"), 5*time.Second,
			"event time after its first item that closes an episode; off: never", atLeast[time.Duration](0)),
		define("episode-idle", &s.EpisodeIdle, stage, 2*time.Second,
			"silence of a stream that closes its episode; off: never", atLeast[time.Duration](0)),
		define("max-memory", &s.MaxMemory, stage, 64<<20,
			"bytes of open episodes in a partition at which the oldest close", atLeast[Bytes](64<<10)).
			when("label", 0, "bytes that rows, their graph and answers may take; if rows do not fit, they are quantised; "+
				"0: half of what is available", atLeast[Bytes](0)),
	}
}

// fieldNames are the fields of an item whose path in JSON can be set.
var fieldNames = []string{"vector", "id", "time", "label", "stream", "frame", "track", "attributes"}

// Field returns the path given for a field, "" if none is.
func (s *Stage) Field(name string) string { return fieldOf(s.Fields, name) }

// SupportField is Field for the support's files.
func (s *Stage) SupportField(name string) string { return fieldOf(s.SupportFields, name) }

func fieldOf(fields []string, name string) string {
	_, paths := divided(fields, name+"=")
	return last(paths)
}

func (s *Stage) check(c *Config, fault report) {
	kind, name, named := strings.Cut(s.StreamBy, ":")
	valid := !named && (kind == "key" || kind == "partition") || named && name != "" &&
		(kind == "header" || kind == "field")
	if !valid && slices.Contains(decoded, c.command) {
		fault("stream-by", "is %s: must be key, partition, header:NAME or field:NAME", shown(s.StreamBy))
	}
	for setting, path := range map[string]string{"fields": s.Field("vector"), "support-fields": s.SupportField("vector")} {
		if path == "-" {
			fault(setting, "says that there is no vector")
		}
	}
	if len(s.SupportFields) > 0 && len(s.Support) == 0 {
		fault("support-fields", "is %s, and there is no support", strings.Join(s.SupportFields, ","))
	}
	if s.SupportLabels != "" && len(s.Support) != 1 {
		fault("support-labels",
			"is %s: goes with exactly one support file, not %d", s.SupportLabels, len(s.Support))
	}
	if s.EpisodeAge == 0 && s.EpisodeIdle == 0 && slices.Contains(stage, c.command) {
		fault("episode-age",
			"is off and episode-idle is off too: the last items of a stream would never be answered")
	}
}

// Memory holds the settings of a stream's memory, and of what it reports beyond labels.
type Memory struct {
	Warm             bool
	Time             bool
	FrameWeight      float64
	TrackTTL         int
	Discover         bool
	DiscoverDistance float64
	UnknownRate      float64
	ReviewRate       float64
	MaxWrong         float64
	StateTTL         time.Duration
	RecoveryTarget   time.Duration
	MaxIdentities    int
	Transit          string // file; "": none
	Recent           Bytes  // 0: items are not kept
	Budget           Bytes  // of the process; 0: from GOMEMLIMIT or the control group
}

func (m *Memory) settings() []definition {
	answering := with(stage, "eval stream")
	return []definition{
		define("warm", &m.Warm, answering, true, "learn from episode to episode"),
		define("time", &m.Time, with(stage, "eval stream"), true,
			"use the order of a stream's items: neighbours in time are likely the same thing, as far as the stream shows it"),
		define("frame-weight", &m.FrameWeight, []string{"eval stream", SolverFile}, 4.,
			"weight of the rule that items of one frame are different things; 0: none", atLeast(0.),
			atMost(1e6)),
		define("track-ttl", &m.TrackTTL, []string{"eval stream", SolverFile}, 1000,
			"number of the stream's items after a track's last one for which the track's label is remembered",
			atLeast(0), atMost(1<<30)),
		define("discover", &m.Discover, with(stage, "eval stream"), false,
			"group items without a label into clusters with stable ids"),
		define("discover-distance", &m.DiscoverDistance, []string{"eval stream", SolverFile}, .36,
			"greatest distance (1 less the cosine) to a cluster at which an item joins it; others make a new one",
			above(0.), atMost(1.)),
		define("unknown-rate", &m.UnknownRate, with(answering, "label", "eval file"), .05,
			"share of items of known classes that may be called unknown: a target, not a bound",
			above(0.), below(1.)),
		define("review-rate", &m.ReviewRate, stage, .03,
			"share of items proposed for review, on the page and in --review", atLeast(0.), atMost(1.)),
		define("max-wrong", &m.MaxWrong, with(stage, "eval stream"), 0,
			"results say whether they are sure: of the sure ones at most this share is wrong, in nine of ten streams "+
				"whose classes are all labelled and that do not drift; 0: without `sure`",
			atLeast(0.), below(1.)),
		define("state-ttl", &m.StateTTL, stage, 0, "silence after which a stream's state is retired; off: never",
			atLeast[time.Duration](0)),
		define("max-identities", &m.MaxIdentities, []string{"run"}, 10_000,
			"things that --identities knows over all streams at once: beyond, those of fewest items are given up", atLeast(1)),
		define("transit", &m.Transit, []string{"run", "check"}, "",
			"CSV file of ways between cameras, STREAM,STREAM,LEAST,MOST in seconds or STREAM,STREAM,overlap: what was seen where one "+
				"thing cannot have been is never one of --identities; none: nothing is known").example("FILE"),
		define("recent", &m.Recent, []string{"run", "demo", "size"}, 64<<20,
			"bytes of the latest answered items that are kept for the page and similar; 0: none",
			atLeast[Bytes](0), atMost[Bytes](1<<40)),
		define("memory", &m.Budget, stage, 0,
			"bytes that the process may take: beyond, streams silent for a minute wait in the state topic, then metrics "+
				"are given up, then streams of few episodes, then reading waits; 0: GOMEMLIMIT, or what the control "+
				"group allows, or no bound", atLeast[Bytes](0)),
		define("recovery-target", &m.RecoveryTarget, stage, 10*time.Second,
			"time that a new owner of a partition may take to catch up: state is written often enough for it",
			atLeast(time.Second)),
	}
}

// Backfill is the range that a backfill answers. Ends are RFC 3339, an offset, earliest or latest.
type Backfill struct {
	From, To  string
	Job       string
	FromState string
}

func (b *Backfill) settings() []definition {
	backfill := []string{"backfill"}
	return []definition{
		define("job", &b.Job, backfill, "", "name of the job: its processes share one plan under it, and a rerun resumes").
			example("NAME").neededBy("backfill").when("correct", "", "name of the job: its processes share one plan under "+
			"it, and a rerun resumes; none: named after the position in the labels topic"),
		define("from", &b.From, backfill, "earliest",
			"where the range begins: RFC 3339, an offset, earliest or latest").
			example("OFFSET").when("tail", "latest", "where to begin: RFC 3339, an offset, earliest or latest"),
		define("to", &b.To, with(backfill, "correct"), "latest",
			"end of the range, exclusive; latest is fixed once at the start").
			example("OFFSET").when("tail", "", "end of the range, exclusive; latest: the topic's end now, and "+
			"from the earliest record unless --from is given; none: until stopped").example("OFFSET"),
		define("from-state", &b.FromState, backfill, "",
			"group whose state to start from; none: cold").example("GROUP").
			when("correct", "", "group whose state to start from; none: that of --group"),
	}
}

func (b *Backfill) check(c *Config, fault report) {
	for _, end := range []struct{ name, value string }{{"from", b.From}, {"to", b.To}} {
		if end.value == "earliest" || end.value == "latest" || end.value == "" && end.name == "to" && c.command == "tail" {
			continue
		}
		if offset, err := strconv.ParseInt(end.value, 10, 64); err == nil && offset >= 0 {
			continue
		}
		if _, err := time.Parse(time.RFC3339, end.value); err != nil {
			fault(end.name,
				"is %s: must be a time such as 2026-03-01T00:00:00Z, an offset, earliest or latest", shown(end.value))
		}
	}
}
