package config

import "time"

// Select says which records, streams or items a command is about.
type Select struct {
	Stream  string
	Class   string
	ID      string
	Reason  string    // of dead letters
	Since   string    // a duration before now, or RFC 3339
	After   time.Time // Since, as of the start; zero: from the first
	Unknown bool
	Count   int
}

func (s *Select) settings() []definition {
	classes := with(labelTopic, "state show", "state reset", "audit")
	streams := with(with(classes, deadLetters...), "tail", "state identities", "state export", "state import")
	return []definition{
		define("stream", &s.Stream, streams, "", "only this stream; none: all of them").
			when("teach", "", "the stream that rows without one are for; none: every stream").example("STREAM"),
		define("class", &s.Class, classes, "", "only this class; none: all of them"),
		define("id", &s.ID, []string{"similar"}, "", "the item, by its own id or that of its result").
			example("ID").neededBy("similar"),
		define("reason", &s.Reason, deadLetters, "", "only letters whose reason contains this, whatever its case"),
		define("since", &s.Since, deadLetters, "",
			"only letters written since then: a duration such as 2h, or an RFC 3339 time").example("TIME").
			when("similar", "", "only items of that time and later: a duration such as 2h, or an RFC 3339 time").
			when("correct", "24h", "where the range begins: a duration before now, or an RFC 3339 time"),
		define("unknown", &s.Unknown, []string{"tail"}, false, "only unknown items"),
		define("count", &s.Count, []string{"tail"}, 0, "records to show before it ends; 0: until stopped",
			atLeast(0)).
			when("similar", 10, "items to show", atLeast(1), atMost(100)).
			when("map", 3, "rows to show, or records of each partition", atLeast(1), atMost(1000)).
			when("dead list, dead show, dead replay", 0, "only the newest of these, so many; 0: all"),
	}
}

func (s *Select) since(now time.Time) (time.Time, error) {
	if s.Since == "" {
		return time.Time{}, nil
	}
	if ago, err := time.ParseDuration(s.Since); err == nil {
		return now.Add(-ago), nil
	}
	return time.Parse(time.RFC3339, s.Since)
}

func (s *Select) check(_ *Config, fault report) {
	var err error
	if s.After, err = s.since(time.Now()); err != nil {
		fault("since", "is %s: must be a duration such as 2h, or a time such as 2026-01-02T15:04:05Z", s.Since)
	}
}

// Change holds what a command changes, and the author of the change.
type Change struct {
	Forget bool
	Name   string // to forget
	By     string // author of the labels
	DryRun bool
	Again  bool
	Force  bool
}

func (h *Change) settings() []definition {
	return []definition{
		define("forget", &h.Forget, []string{"teach"}, false,
			"forget the examples of the file, by their ids, instead of teaching them"),
		define("name", &h.Name, []string{"forget"}, "", "class, cluster or name to forget").example("NAME").
			neededBy("forget"),
		define("by", &h.By, []string{"teach", "forget"}, "", "author: kept with each record").
			example("NAME"),
		define("dry-run", &h.DryRun, []string{"dead replay"}, false,
			"print what would be replayed, and replay nothing").
			when("correct", false, "print what would be corrected, and correct nothing"),
		define("again", &h.Again, []string{"dead replay"}, false, "replay those too that were replayed before"),
		define("force", &h.Force, []string{"label", "tune", "state export"}, false, "overwrite the output").
			when("state import", false, "put what the file holds above memory that was saved since"),
	}
}

// Output says how results are printed.
type Output struct {
	JSON bool
	Raw  bool
	Full bool
}

func (o *Output) settings() []definition {
	printed := with(measuring, "audit", "correct", "forget", "labels list", "labels history", "state identities", "dead list",
		"dead show", "size", "version")
	return []definition{
		define("json", &o.JSON, printed, false, "print one JSON object per line instead of a table"),
		define("raw", &o.Raw, []string{"tail", "state show", "state identities", "dead show"}, false,
			"print senders' texts unchanged, with control characters"),
		define("full", &o.Full, []string{"tail"}, false, "show attributes whole, however long"),
	}
}
