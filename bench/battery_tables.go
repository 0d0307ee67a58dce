package main

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/slkstream/slkstream/internal/evaluate"
)

// scored is a cell in the mean over its seeds.
type scored struct {
	evaluate.BatteryCell
	right, best    float64 // best: of the rivals
	rival          string
	rivals         map[string]float64
	ece            float64 // NaN: none, as for the next two
	unknown, found float64
}

// lead is how far the defaults are ahead of the best rival.
func (s *scored) lead() float64 { return s.right - s.best }

// scoreCells returns the cells of the rows, in their order.
func scoreCells(rows []*evaluate.BatteryRow) []*scored {
	var cells []*scored
	of := map[evaluate.BatteryCell][]*evaluate.BatteryRow{}
	for _, row := range rows {
		if of[row.BatteryCell] == nil {
			cells = append(cells, &scored{BatteryCell: row.BatteryCell, rivals: map[string]float64{}})
		}
		of[row.BatteryCell] = append(of[row.BatteryCell], row)
	}
	for _, cell := range cells {
		rows := of[cell.BatteryCell]
		average := func(figure func(*evaluate.BatteryRow) *float64) float64 {
			return averageOf(rows, func(row *evaluate.BatteryRow) float64 {
				if v := figure(row); v != nil {
					return *v
				}
				return math.NaN()
			})
		}
		cell.right = average(func(r *evaluate.BatteryRow) *float64 { return &r.Right })
		cell.ece = average(func(r *evaluate.BatteryRow) *float64 { return r.ECE })
		cell.unknown = average(func(r *evaluate.BatteryRow) *float64 { return r.UnknownFalse })
		cell.found = average(func(r *evaluate.BatteryRow) *float64 { return r.Strangers })
		for rival := range rows[0].Rivals {
			v := averageOf(rows, func(r *evaluate.BatteryRow) float64 { return r.Rivals[rival] })
			cell.rivals[rival] = v
			if v > cell.best || v == cell.best && rival < cell.rival {
				cell.best, cell.rival = v, rival
			}
		}
	}
	return cells
}

// averageOf is the mean of those values that are numbers; NaN without any.
func averageOf[T any](of []T, value func(T) float64) float64 {
	sum, n := 0., 0.
	for _, one := range of {
		if v := value(one); !math.IsNaN(v) {
			sum, n = sum+v, n+1
		}
	}
	return sum / n
}

// figure is the name of a cell's row.
func (s *scored) figure() string {
	name := []string{s.Kind, strings.ReplaceAll(s.Set, "/", "."), s.Order, s.Support}
	if s.Tracks {
		name = append(name, "tracks")
	}
	if s.Names {
		name = append(name, "names")
	}
	name = append(name, fmt.Sprintf("shots-%d", s.Shots), fmt.Sprintf("taught-%g", 100*s.Teach))
	if s.Episode > 0 {
		name = append(name, fmt.Sprintf("of-%d", s.Episode))
	}
	return "battery." + strings.ToLower(strings.Join(name, "."))
}

// share formats a share; empty if it is not known.
func share(v float64) string {
	if math.IsNaN(v) {
		return ""
	}
	return fmt.Sprintf("%.3f", v)
}

// summary is what is said of several cells.
type summary struct {
	cells, behind              int // behind: by more than .01
	right, lead, error         float64
	tenth, worst               float64 // leads: mean of the worst tenth of the cells, and the worst
	ece, worstECE              float64
	unknown, most, least, find float64
}

func summarise(cells []*scored) summary {
	s := summary{
		cells: len(cells), right: averageOf(cells, func(c *scored) float64 { return c.right }),
		lead: averageOf(cells, (*scored).lead), ece: averageOf(cells, func(c *scored) float64 { return c.ece }),
		unknown: averageOf(cells, func(c *scored) float64 { return c.unknown }),
		find:    averageOf(cells, func(c *scored) float64 { return c.found }), least: 1,
	}
	leads, sets := []float64{}, map[string][]*scored{}
	for _, c := range cells {
		if leads = append(leads, c.lead()); c.lead() < -.01 {
			s.behind++
		}
		sets[c.Set] = append(sets[c.Set], c)
		if c.ece > s.worstECE {
			s.worstECE = c.ece
		}
		if c.unknown > s.most {
			s.most = c.unknown
		}
		if c.unknown < s.least {
			s.least = c.unknown
		}
	}
	slices.Sort(leads)
	worst := leads[:(len(leads)+9)/10]
	s.worst, s.tenth = worst[0], averageOf(worst, func(v float64) float64 { return v })
	s.error = overSets(cells, (*scored).lead, func(c *scored) string { return c.Set })
	return s
}

// overSets returns the standard error of a mean over cells, if sets are what is drawn at random.
func overSets[T any](cells []T, value func(T) float64, set func(T) string) float64 {
	mean, sums := averageOf(cells, value), map[string]float64{}
	for _, c := range cells {
		sums[set(c)] += value(c) - mean
	}
	square, n := 0., float64(len(sums))
	for _, v := range sums {
		square += v * v
	}
	if n < 2 {
		return math.NaN()
	}
	return math.Sqrt(square*n/(n-1)) / float64(len(cells))
}

// battery writes the tables of a run.
func (b *bench) battery(run *battery) {
	cells := scoreCells(run.done)
	b.Text("Every folder of X.npy and y.npy: as recorded where it has frames (frame.npy, with order.npy where rows are "+
		"not in their order), else in bursts of a class and shuffled; at most %d items of a recorded set, the first, and %d "+
		"of another; seeds 1 to %d. A cell's name says: stream or file, set, order, examples from the first ten rows of a "+
		"class (first), from anywhere (class) or from other groups than what is scored (group), with the set's own tracks "+
		"or class names, examples a class, per cent of the items taught, items an episode. Every rival has the same labels "+
		"at the same time. Right, and the best rival's, are shares of the items that carry no label. Strangers are a "+
		"quarter of the classes, which nobody labels.", run.recorded, run.rows, run.seeds)
	var rows [][]string
	for _, c := range cells {
		rows = append(rows, []string{
			c.figure(), share(c.right), share(c.best) + " " + c.rival, fmt.Sprintf("%+.3f", c.lead()), share(c.ece),
			share(c.unknown), share(c.found),
		})
	}
	b.Table([]string{
		"figure", "right", "best rival", "lead", "calibration error", "known called unknown", "strangers found",
	}, rows)
	for _, kind := range []string{"stream", "file"} {
		b.batteryOf(kind, slices.DeleteFunc(slices.Clone(cells), func(c *scored) bool { return c.Kind != kind }))
	}
}

var summaryColumns = []string{
	"cells", "right", "lead", "worst tenth", "worst cell", "behind by more than .01", "calibration error, worst",
	"known called unknown, least and most", "strangers found",
}

func (s *summary) row(of string) []string {
	return []string{
		of, fmt.Sprint(s.cells), share(s.right), fmt.Sprintf("%+.3f", s.lead), fmt.Sprintf("%+.3f", s.tenth),
		fmt.Sprintf("%+.3f", s.worst), fmt.Sprint(s.behind), share(s.ece) + ", " + share(s.worstECE),
		share(s.unknown) + ", " + share(s.least) + " " + share(s.most), share(s.find),
	}
}

// batteryOf writes what the cells of streams or files are together, by what is taught, and by set.
func (b *bench) batteryOf(kind string, cells []*scored) {
	if len(cells) == 0 {
		return
	}
	all := summarise(cells)
	b.Text("%ss: the lead is %+.3f ± %.3f (standard error over the sets).", strings.ToUpper(kind[:1])+kind[1:], all.lead, all.error)
	rows := [][]string{all.row("all")}
	parts := map[string][]*scored{}
	for _, c := range cells {
		name := fmt.Sprintf("%g %% taught, examples by %s", 100*c.Teach, c.Support)
		parts[name] = append(parts[name], c)
	}
	for _, name := range sorted(parts) {
		s := summarise(parts[name])
		rows = append(rows, s.row(name))
	}
	b.Table(append([]string{"cells of"}, summaryColumns...), rows)

	sets := map[string][]*scored{}
	for _, c := range cells {
		sets[c.Set] = append(sets[c.Set], c)
	}
	rows = nil
	for _, name := range sorted(sets) {
		s := summarise(sets[name])
		others := slices.DeleteFunc(slices.Clone(cells), func(c *scored) bool { return c.Set == name })
		rest := "" // one set alone
		if len(others) > 0 {
			o := summarise(others)
			rest = fmt.Sprintf("%+.3f, %+.3f", o.lead, o.tenth)
		}
		rows = append(rows, append(s.row(name), rest))
	}
	b.Table(append(append([]string{"set"}, summaryColumns...), "without it: lead, worst tenth"), rows)

	methods := map[string][]float64{}
	for _, c := range cells {
		for rival, v := range c.rivals {
			methods[rival] = append(methods[rival], c.right-v)
		}
	}
	rows = nil
	for _, name := range sorted(methods) {
		ahead := 0
		for _, v := range methods[name] {
			if v < 0 {
				ahead++
			}
		}
		rows = append(rows, []string{
			name, fmt.Sprintf("%+.3f", averageOf(methods[name], func(v float64) float64 { return v })),
			fmt.Sprint(ahead), fmt.Sprint(len(methods[name])),
		})
	}
	b.Table([]string{"rival", "mean lead over it", "cells in which it is ahead", "of"}, rows)
	prefix := "battery." + kind + "s."
	b.Figure(prefix+"lead", "%+.3f", all.lead)
	b.Figure(prefix+"worst-tenth", "%+.3f", all.tenth)
	b.Figure(prefix+"worst", "%+.3f", all.worst)
	b.Figure(prefix+"behind", "%d of %d", all.behind, all.cells)
	b.Figure(prefix+"ece", "%.3f", all.ece)
	b.Figure(prefix+"ece-worst", "%.3f", all.worstECE)
	b.Figure(prefix+"unknown", "%.3f", all.unknown)
	b.Figure(prefix+"strangers", "%.3f", all.find)
}

func sorted[T any](of map[string]T) []string {
	var names []string
	for name := range of {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// against writes how the rows differ from those of another build, cell by cell and seed by seed.
func (b *bench) against(rows []*evaluate.BatteryRow) error {
	before, err := readRows(b.Against)
	if err != nil {
		return err
	}
	b.difference(before, rows)
	return nil
}

// pair is a row of this build and the same of another.
type pair struct{ now, before *evaluate.BatteryRow }

func (p pair) set() string    { return p.now.Set }
func (p pair) right() float64 { return p.now.Right - p.before.Right }
func (p pair) ece() float64 {
	if p.now.ECE == nil || p.before.ECE == nil {
		return math.NaN()
	}
	return *p.now.ECE - *p.before.ECE
}

func (b *bench) difference(before, rows []*evaluate.BatteryRow) {
	type key struct {
		evaluate.BatteryCell
		seed uint64
	}
	was := map[key]*evaluate.BatteryRow{}
	for _, row := range before {
		was[key{row.BatteryCell, row.Seed}] = row
	}
	parts := map[string][]pair{}
	for _, row := range rows {
		if other := was[key{row.BatteryCell, row.Seed}]; other != nil {
			for _, name := range []string{row.Kind + "s", row.Kind + "s, " + row.Set} {
				parts[name] = append(parts[name], pair{row, other})
			}
		}
	}
	var table [][]string
	for _, name := range sorted(parts) {
		pairs := parts[name]
		// seeds of a cell and cells of a set are alike: a part of one set has the error over its cells
		unit := pair.set
		if strings.Contains(name, ",") {
			unit = func(p pair) string { return fmt.Sprint(p.now.BatteryCell) }
		}
		slices.SortStableFunc(pairs, func(a, b pair) int { return cmp.Compare(a.right(), b.right()) })
		worst := scored{BatteryCell: pairs[0].now.BatteryCell}
		table = append(table, []string{
			name, fmt.Sprint(len(pairs)), fmt.Sprintf("%+.4f ± %.4f", averageOf(pairs, pair.right), overSets(pairs, pair.right, unit)),
			fmt.Sprintf("%+.3f %s, seed %d", pairs[0].right(), worst.figure(), pairs[0].now.Seed),
			fmt.Sprintf("%+.3f", pairs[len(pairs)-1].right()), fmt.Sprintf("%+.4f", averageOf(pairs, pair.ece)),
		})
	}
	b.Text(
		"This build less %s, on the cells and seeds that both measured; ± is the standard error over sets, or over cells within a set.",
		b.Against,
	)
	b.Table([]string{"cells of", "rows", "right", "worst", "best", "calibration error"}, table)
}
