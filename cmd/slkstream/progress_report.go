package main

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/slkstream/slkstream/internal/demo"
	"github.com/slkstream/slkstream/internal/telemetry"
	"github.com/slkstream/slkstream/pipeline"
	"github.com/slkstream/slkstream/pipeline/answering"
	"github.com/slkstream/slkstream/solver/stream/taught"
)

// progressReport collects the figures that are shown on a terminal or logged. It samples an episode every
// sampleEvery, so that it costs little at full load.
type progressReport struct {
	call    *call
	metrics *pipeline.Metrics
	support []taught.Example // at the start of the stage
	more    func() []figure  // figures before these; nil: none

	mu        sync.Mutex
	at        time.Time // of the last sample
	last      string    // the last sampled episode
	confident []bool    // of the latest sampled items: confidence is confidentAt or more
	right     []bool    // of those whose attributes contain the truth: the label is right
	rate      telemetry.Rate
	unfit     bool // already logged: no example fits
}

const (
	sampleEvery = 200 * time.Millisecond
	sampled     = 500 // items over which shares are computed
	confidentAt = .8
)

// Answered implements answering.Observer.
func (o *progressReport) Answered(a *answering.Observed) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if time.Since(o.at) < sampleEvery {
		return
	}
	o.at = time.Now()
	items := a.Episode.Items
	o.last = fmt.Sprintf("%s #%d: %d items in %.1f ms", a.Episode.Key.Name, a.Report.Episode, len(items),
		a.Took.Seconds()*1000)
	for i := range items {
		if items[i].Label != "" {
			continue
		}
		o.confident = append(o.confident, a.Results[i].Confidence >= confidentAt)
		if thing := demo.About(items[i].Attributes).Truth; thing != "" {
			o.right = append(o.right, a.Results[i].Label == thing)
		}
	}
	o.confident, o.right = o.confident[max(len(o.confident)-sampled, 0):], o.right[max(len(o.right)-sampled, 0):]
	o.checkSupport(len(items[0].Vector))
}

// checkSupport logs once that no labelled example has the feed's dimension.
func (o *progressReport) checkSupport(dimension int) {
	if o.unfit || len(o.support) == 0 || slices.ContainsFunc(o.support,
		func(e taught.Example) bool { return len(e.Vector) == dimension }) {
		return
	}
	o.unfit = true
	o.call.Log.Error("no labelled example of the support fits the feed: nothing is answered by them",
		"support", o.call.Config.Stage.Support, "numbers", len(o.support[0].Vector), "feed", dimension)
}

// figures returns the values to report while the stage runs.
func (o *progressReport) figures() []figure {
	s := o.metrics.Summary()
	o.mu.Lock()
	defer o.mu.Unlock()
	speed := o.rate.Add(time.Now(), s.Answered)
	var all []figure
	if o.more != nil {
		all = o.more()
	}
	all = append(all, figure{"answered", s.Answered, thousands(s.Answered) + " answered"},
		figure{"per_second", int64(speed), thousands(int64(speed)) + "/s"})
	switch {
	case s.CutOff > 0:
		past := s.CutOff.Round(time.Second)
		all = append(all, figure{"cut_off", past, fmt.Sprintf("cut off from the brokers for %v", past)})
	case s.Lag < 0:
		all = append(all, figure{"lag_records", "unknown", "lag unknown"})
	default:
		lag := fmt.Sprintf("lag %s (%.1f s)", thousands(s.Lag), s.LagSeconds)
		all = append(all, figure{"lag_records", s.Lag, lag})
	}
	if len(o.right) > 0 {
		all = append(all, figure{"right", percent(o.right), percent(o.right) + " right"})
	} else if len(o.confident) > 0 {
		all = append(all, figure{"confident", percent(o.confident), percent(o.confident) + " confident"})
	}
	all = append(all, figure{"unknown", s.Unknown, thousands(s.Unknown) + " unknown"})
	if s.Refused > 0 {
		all = append(all, figure{"rejected", s.Refused, thousands(s.Refused) + " rejected"})
	}
	return append(all, figure{"last_episode", o.last, o.last})
}

// totals logs a summary at the end.
func (o *progressReport) totals(began time.Time) {
	s := o.metrics.Summary()
	o.call.Log.Info("done", "answered", s.Answered, "episodes", s.Episodes, "unknown", s.Unknown,
		"rejected", s.Refused, "took", time.Since(began).Round(time.Millisecond))
}

func percent(values []bool) string {
	n := 0
	for _, v := range values {
		if v {
			n++
		}
	}
	return fmt.Sprintf("%.0f %%", 100*float64(n)/float64(max(len(values), 1)))
}
