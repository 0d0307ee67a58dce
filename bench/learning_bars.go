package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/slkstream/slkstream/internal/evaluate"
	"github.com/slkstream/slkstream/solver/stream"
	"github.com/slkstream/slkstream/solver/stream/taught"
)

// learningBars are the bars of a stream, at one and at five labelled rows per class.
type learningBars struct {
	overCold [2]float64
	auroc    float64
}

// askedOf holds the streams with bars; for others only figures are written.
var askedOf = map[string]*learningBars{
	"mot17-05-reid": {overCold: [2]float64{.02, .08}, auroc: .84},
	"grocery":       {overCold: [2]float64{.01, .07}, auroc: .70},
}

// barTable collects figures with their bars.
type barTable struct{ rows [][]string }

// add adds a row. least: the figure may not be below the bar; else not above it. asked is false if there
// is no bar.
func (t *barTable) add(set, what, format string, value, bar float64, least, asked bool) {
	row := []string{set, what, fmt.Sprintf(format, value), "", ""}
	if asked {
		sign, met := "<= ", value <= bar
		if least {
			sign, met = ">= ", value >= bar
		}
		row[3], row[4] = sign+strings.TrimPrefix(fmt.Sprintf(format, bar), "+"), map[bool]string{
			true:  "yes",
			false: "no",
		}[met]
	}
	t.rows = append(t.rows, row)
}

// bars writes the table of all bars of streams.
func (l *learning) bars(ctx context.Context, sets, bursts []*evaluate.Set) error {
	var table barTable
	for _, set := range sets {
		if err := l.barsOf(ctx, set, &table); err != nil {
			return err
		}
	}
	for _, set := range bursts {
		protocol := streamOrder(set)
		protocol.Shots = 5
		timed, err := l.run(ctx, set, "default", protocol)
		if err != nil {
			return err
		}
		untimed, err := l.run(ctx, set, "untimed", protocol)
		if err != nil {
			return err
		}
		table.add(set.Name, "shots 5: accuracy", "%.3f", mean(timed, accuracyOf), 0, true, false)
		table.add(set.Name, "shots 5: over untimed", "%+.3f", mean(timed, accuracyOf)-mean(untimed, accuracyOf),
			.008, true, true)
	}
	for _, set := range sets {
		if err := l.rejections(ctx, set, &table); err != nil {
			return err
		}
	}
	l.bench.Text(
		"What is asked of streams, mean over seeds 1 to %d; without a bar where none was set for the data. Trials of harm are at five shots.",
		l.seeds,
	)
	l.bench.Table([]string{"stream", "what", "measured", "bar", "met"}, table.rows)
	return nil
}

func (l *learning) barsOf(ctx context.Context, set *evaluate.Set, table *barTable) error {
	asked, has := askedOf[set.Name]
	if !has {
		asked = &learningBars{}
	}
	var failed error
	// of runs a stream with that many shots, modified by change, and returns the mean of a figure.
	of := func(method string, shots int, figure func(*evaluate.StreamResult) *float64,
		change func(*evaluate.StreamProtocol),
	) float64 {
		protocol := streamOrder(set)
		protocol.Shots = shots
		if change != nil {
			change(&protocol)
		}
		results, err := l.run(ctx, set, method, protocol)
		if failed == nil {
			failed = err
		}
		return mean(results, figure)
	}
	teach := func(p *evaluate.StreamProtocol) { p.Teach = .03 }
	by := func(how string) func(*evaluate.StreamProtocol) {
		return func(p *evaluate.StreamProtocol) { p.Teach, p.TeachBy = .03, how }
	}
	sweeps := func(r *evaluate.StreamResult) *float64 { return &r.Iterations }
	all := func(r *evaluate.StreamResult) *float64 { return r.AccuracyAll }
	for i, shots := range []int{1, 5} {
		add := func(what, format string, value, bar float64, least, asked bool) {
			table.add(set.Name, fmt.Sprintf("shots %d: %s", shots, what), format, value, bar, least, asked)
		}
		warm, cold := of("default", shots, accuracyOf, nil), of("cold", shots, accuracyOf, nil)
		add("over cold", "%+.3f", warm-cold, asked.overCold[i], true, has)
		random := of("default", shots, accuracyOf, teach)
		last := func(r *evaluate.StreamResult) *float64 { return r.LastTenth }
		for _, teach := range []func(*evaluate.StreamProtocol){nil, teach} {
			what := "last tenth"
			if teach != nil {
				what = "3 % taught, last tenth"
			}
			timed := of("default", shots, last, teach)
			add(what, "%.3f", timed, 0, true, false)
			add(what+" over untimed", "%+.3f", timed-of("untimed", shots, last, teach), .02, true, has && shots == 5)
		}
		review := of("default", shots, accuracyOf, by("review"))
		add("3 % by review, over random labels that come with their item", "%+.3f", review-random, 0, true, true)
		add("3 % by review, over random labels that come as late", "%+.3f", review-of("default", shots, accuracyOf,
			by("later")), 0, true, true)
		add("the same, scored on the asked-for items too", "%+.3f",
			of("default", shots, all, by("review"))-of("default", shots, all, by("later")), 0, true, true)
		add("sweeps over cold", "%+.2f", of("default", shots, sweeps, nil)-of("cold", shots, sweeps, nil), 0, false,
			true)
		add("untimed: sweeps over cold", "%+.2f",
			of("untimed", shots, sweeps, nil)-of("cold", shots, sweeps, nil), 0, false, false)
		part := func(p *evaluate.StreamProtocol) { p.UnlabelledClasses = .25 }
		auroc := of("default", shots, func(r *evaluate.StreamResult) *float64 { return r.UnknownAUROC }, part)
		late := func(p *evaluate.StreamProtocol) { p.Newcomers = .2 }
		add("a fifth of the classes comes at half time, unlabelled: confident beyond .9", "%.3f",
			of("default", shots, func(r *evaluate.StreamResult) *float64 { return r.UnknownSure }, late), .05, false,
			true)
		after := func(r *evaluate.StreamResult) *float64 { return r.AfterHalf }
		add("the same, right just after, over cold", "%+.3f",
			of("default", shots, after, late)-of("cold", shots, after, late), 0, true, true)
		add("a quarter of the classes unlabelled, AUROC of the unknown score", "%.3f", auroc, asked.auroc, true,
			has && shots == 5)
	}
	const shots, margin, untimedMargin = 5, .01, .005
	over := func(change func(*evaluate.StreamProtocol)) float64 {
		return of("default", shots, accuracyOf, change) - of("cold", shots, accuracyOf, change)
	}
	for _, harm := range []struct {
		what   string
		change func(*evaluate.StreamProtocol)
	}{
		{"episodes of 8", func(p *evaluate.StreamProtocol) { p.Episode = 8 }},
		{"episodes of 32", func(p *evaluate.StreamProtocol) { p.Episode = 32 }},
		{"episodes of 300", func(p *evaluate.StreamProtocol) { p.Episode = 300 }},
		{"one class at a time", func(p *evaluate.StreamProtocol) { p.Order = "class" }},
		{"70 % of the classes absent", func(p *evaluate.StreamProtocol) { p.Absent = .7 }},
		{"3 episodes of garbage", func(p *evaluate.StreamProtocol) { p.Garbage = 3 }},
		{"20 % of the supports wrong", func(p *evaluate.StreamProtocol) { p.WrongSupports = .2 }},
		{"random order", func(p *evaluate.StreamProtocol) { p.Order = "shuffled" }},
	} {
		table.add(set.Name, harm.what+": over cold", "%+.3f", over(harm.change), -margin, true, true)
		timed := of("default", shots, accuracyOf, harm.change)
		table.add(set.Name, harm.what+": over untimed", "%+.3f", timed-of("untimed", shots, accuracyOf,
			harm.change), -untimedMargin, true, true)
	}
	if slices.Contains(set.Labels, -1) { // include rows without a class
		for _, how := range []string{"unknown", "taught"} {
			for _, method := range []string{"default", "1nn"} {
				figure := func(what string, pick func(*evaluate.StreamResult) *float64) {
					value := of(method, shots, pick, func(p *evaluate.StreamProtocol) { p.Teach, p.Nobody = .03, how })
					table.add(set.Name, fmt.Sprintf("3 %% taught, rows without a class come, nobody %s, %s: %s", how, method,
						what), "%.3f", value, 0, true, false)
				}
				figure("accuracy of the others", accuracyOf)
				figure("rows without a class found", func(r *evaluate.StreamResult) *float64 { return r.NobodyFound })
				figure("others called nobody", func(r *evaluate.StreamResult) *float64 { return r.FalseNobody })
			}
		}
	}
	table.add(set.Name, "drift half-way to another class: over cold", "%+.3f",
		over(func(p *evaluate.StreamProtocol) { p.Drift = .5 }), over(nil)-.02, true, true)
	return failed
}

// cost measures the size of a stream's memory.
func (l *learning) cost(ctx context.Context) error {
	const classes, d, items, episodes = 10, 512, 100, 25
	var rows [][]string
	for _, metric := range []bool{false, true} {
		settings := l.settings
		name := "with its own metric"
		if !metric {
			settings.Solver.MetricRank, name = 0, "without a metric"
		}
		engine := new(stream.Engine)
		random := rand.New(rand.NewPCG(1, 2))
		row := func(centre []float32) []float32 {
			out := make([]float32, d)
			for i := range out {
				out[i] = float32(random.NormFloat64())
				if centre != nil {
					out[i] = centre[i] + 1.5*out[i]
				}
			}
			return out
		}
		camera, labels := stream.New("cost", settings), &taught.Labels{}
		var centres [][]float32
		for c := range classes {
			centres = append(centres, row(nil))
			for range 5 {
				labels.Everyone = append(labels.Everyone, taught.Example{
					ID:    fmt.Sprint(len(labels.Everyone)),
					Label: fmt.Sprint(c), Vector: row(centres[c]),
				})
			}
		}
		for episode := range episodes {
			shown := make([]stream.Item, items)
			for i := range shown {
				shown[i] = stream.Item{
					Vector:   row(centres[random.IntN(classes)]),
					Position: stream.Position{Offset: int64(episode*items + i), Object: -1},
				}
			}
			if _, _, err := camera.Answer(ctx, engine, shown, labels); err != nil {
				return err
			}
		}
		const times = 100
		from := time.Now()
		for range times {
			camera.State()
		}
		took := time.Since(from)
		bytes := 0
		for _, piece := range camera.State() {
			bytes += len(piece.Bytes)
		}
		rows = append(rows, []string{name, fmt.Sprint(bytes), fmt.Sprintf("%.1f us", took.Seconds()*1e6/times)})
	}
	l.bench.Text("What a stream remembers, ten classes at d = 512.")
	l.bench.Table([]string{"state", "bytes", "time to encode"}, rows)
	return nil
}

// rejections rejects 3 % of a stream's wrong answers, each from the episode after its own. A seed has few,
// so that four times as many are drawn.
func (l *learning) rejections(ctx context.Context, set *evaluate.Set, table *barTable) error {
	run := evaluate.Stream{Protocol: streamOrder(set), Settings: l.settings}
	run.Protocol.Shots = 5
	var all evaluate.RejectionResult
	for seed := range 4 * l.seeds {
		r, err := run.RunRejections(ctx, set, uint64(seed+1), .03)
		if err != nil {
			return err
		}
		all.Items, all.Rejected = all.Items+r.Items, all.Rejected+r.Rejected
		all.Wrong, all.WrongAfter = all.Wrong+r.Wrong, all.WrongAfter+r.WrongAfter
		all.RightLost += r.RightLost
	}
	what := fmt.Sprintf("shots 5: later wrong answers mended by %d rejections", all.Rejected)
	table.add(set.Name, what, "%.0f", float64(all.Wrong-all.WrongAfter), 1, true, true)
	lost := float64(all.RightLost) / float64(max(1, all.Items))
	table.add(set.Name, "shots 5: right answers lost by them", "%.4f", lost, .002, false, true)
	return nil
}
