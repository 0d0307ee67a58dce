package evaluate

import (
	"cmp"
	"fmt"
	"html"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// PlotEnergies draws the energies over lambda, as the paper's figure does.
func PlotEnergies(path string, rows []EnergyRow) error {
	p := linePlot{
		title: "Discrete objective E, " + rows[0].Data, x: "lambda",
		y: "E at the end (lower is better)",
	}
	for _, line := range []struct {
		name string
		of   func(EnergyRow) float64
	}{
		{"LK, k-means++ start", func(r EnergyRow) float64 { return r.LK }},
		{"LK, graph start", func(r EnergyRow) float64 { return r.LKGraph }},
		{"SLK-MS, k-means++ start", func(r EnergyRow) float64 { return r.SLKPlusPlus }},
		{"SLK-MS", func(r EnergyRow) float64 { return r.SLK }},
	} {
		points := make([][2]float64, len(rows))
		for j, r := range rows {
			points[j] = [2]float64{r.Lambda, line.of(r)}
		}
		p.lines = append(p.lines, plotLine{line.name, points})
	}
	return p.save(path)
}

// PlotTrace draws R after every half-step.
func PlotTrace(path, title string, trace []float64) error {
	points := make([][2]float64, len(trace))
	for i, r := range trace {
		points[i] = [2]float64{float64(i), r}
	}
	p := linePlot{title: "Objective R, " + title, x: "half-step", y: "R", lines: []plotLine{{"R", points}}}
	return p.save(path)
}

// linePlot is an SVG picture of lines over two axes.
type linePlot struct {
	title, x, y string
	lines       []plotLine
}

type plotLine struct {
	name   string
	points [][2]float64
}

// The picture, in pixels.
const (
	plotWidth, plotHeight     = 680., 420.
	plotLeft, plotRight       = 80., 20.
	plotTop, plotBottom       = 44., 56.
	legendWidth, legendHeight = 190., 18.
)

var plotColours = []string{"#0f766e", "#b4540a", "#6d28d9", "#5b6b8c"}

func (p *linePlot) save(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("plot: %w", err)
	}
	if err := os.WriteFile(path, []byte(p.svg()), 0o644); err != nil {
		return fmt.Errorf("plot: %w", err)
	}
	return nil
}

func (p *linePlot) svg() string {
	xs, ys := p.span(0), p.span(1)
	x := func(v float64) float64 { return plotLeft + (plotWidth-plotLeft-plotRight)*xs.at(v) }
	y := func(v float64) float64 { return plotHeight - plotBottom - (plotHeight-plotTop-plotBottom)*ys.at(v) }
	var b strings.Builder
	fmt.Fprintf(&b, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %g %g\" font-family=\"sans-serif\" font-size=\"12\">\n",
		plotWidth, plotHeight)
	fmt.Fprintf(&b, "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n")
	text := func(at string, x, y float64, text, more string) {
		fmt.Fprintf(&b, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\"%s>%s</text>\n", x, y, at, more,
			html.EscapeString(text))
	}
	rule := func(x1, y1, x2, y2 float64, colour string) {
		fmt.Fprintf(&b, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"%s\"/>\n", x1, y1, x2, y2,
			colour)
	}
	for _, v := range ys.ticks() {
		rule(plotLeft, y(v), plotWidth-plotRight, y(v), "#dddddd")
		text("end", plotLeft-8, y(v)+4, number(v), "")
	}
	for _, v := range xs.ticks() {
		rule(x(v), plotHeight-plotBottom, x(v), plotHeight-plotBottom+5, "#888888")
		text("middle", x(v), plotHeight-plotBottom+20, number(v), "")
	}
	middle := (plotTop + plotHeight - plotBottom) / 2
	text("middle", plotWidth/2, 24, p.title, " font-size=\"15\"")
	text("middle", (plotLeft+plotWidth-plotRight)/2, plotHeight-12, p.x, "")
	text("middle", 18, middle, p.y, fmt.Sprintf(" transform=\"rotate(-90 18 %.1f)\"", middle))
	for i, line := range p.lines {
		colour := plotColours[i%len(plotColours)]
		var path []string
		for _, at := range line.points {
			if finite(at[0]) && finite(at[1]) {
				path = append(path, fmt.Sprintf("%.1f,%.1f", x(at[0]), y(at[1])))
			}
		}
		fmt.Fprintf(&b, "<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"2\" points=\"%s\"/>\n", colour,
			strings.Join(path, " "))
		left, top := plotWidth-plotRight-legendWidth, plotTop+legendHeight*float64(i)+8
		rule(left, top, left+20, top, colour)
		text("start", left+26, top+4, line.name, "")
	}
	b.WriteString("</svg>\n")
	return b.String()
}

// span is the range of the lines' values along an axis.
func (p *linePlot) span(axis int) axisSpan {
	s := axisSpan{math.Inf(1), math.Inf(-1)}
	for _, line := range p.lines {
		for _, at := range line.points {
			if finite(at[axis]) {
				s.low, s.high = min(s.low, at[axis]), max(s.high, at[axis])
			}
		}
	}
	if !(s.low <= s.high) {
		return axisSpan{0, 1}
	}
	if s.low == s.high {
		margin := cmp.Or(math.Abs(s.low)/10, 1)
		return axisSpan{s.low - margin, s.high + margin}
	}
	return s
}

type axisSpan struct{ low, high float64 }

// at returns the position of a value on the axis, from 0 to 1.
func (s axisSpan) at(v float64) float64 { return (v - s.low) / (s.high - s.low) }

// ticks returns about six round values.
func (s axisSpan) ticks() []float64 {
	step := math.Pow(10, math.Floor(math.Log10((s.high-s.low)/5)))
	for _, factor := range []float64{2, 2.5, 2} { // 1, 2, 5, 10
		if (s.high-s.low)/step <= 7 {
			break
		}
		step *= factor
	}
	var ticks []float64
	for k := math.Ceil(s.low / step); k*step <= s.high+step*1e-9; k++ {
		ticks = append(ticks, k*step)
	}
	return ticks
}

func number(v float64) string { return strconv.FormatFloat(v, 'g', 6, 64) }

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
