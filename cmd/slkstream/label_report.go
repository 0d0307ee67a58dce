package main

import (
	"cmp"
	"fmt"
	"html/template"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/slkstream/slkstream/solver/file"
)

// reportClass is one class in the report.
type reportClass struct {
	Name          string
	Rows, Unknown int
	Confidence    float64 // mean
	Colour        template.CSS
	Surest, Least []int64 // rows
}

// reportPair is two classes, with the number of rows of the first that are almost as close to the second.
type reportPair struct {
	First, Second string
	Rows          int
	Confidence    float64 // mean
}

type reportPoint struct {
	X, Y   float64
	Colour template.CSS
	Title  string
}

// report is the content of a labelled file's page.
type report struct {
	*file.Result
	File     string
	Rows     int
	Clusters bool
	Classes  []*reportClass
	Pairs    []*reportPair
	Points   []reportPoint
}

const (
	reportExamples = 6
	reportPairs    = 20
	mapSize        = 640.
)

// newReport collects the content of the page.
func newReport(f *labelledFile, r *file.Result) *report {
	classes := make([]*reportClass, f.K)
	for c := range classes {
		classes[c] = &reportClass{
			Name:   strconv.Itoa(c),
			Colour: template.CSS(fmt.Sprintf("hsl(%.0f 65%% 45%%)", math.Mod(float64(c)*137.5, 360))),
		}
		if len(f.names) > 0 {
			classes[c].Name = f.names[c]
		}
	}
	pairs := map[[2]int32]*reportPair{}
	order := make([]int, f.N)
	for i, y := range r.Labels {
		c := classes[y]
		order[i] = i
		c.Rows++
		c.Confidence += float64(r.Confidence[i])
		if r.UnknownScore != nil && float64(r.UnknownScore[i]) > r.UnknownLimit {
			c.Unknown++
		}
		if r.Second != nil && r.Confidence[i] < .8 && r.Second[i] != y {
			both := [2]int32{y, r.Second[i]}
			if pairs[both] == nil {
				pairs[both] = &reportPair{First: c.Name, Second: classes[both[1]].Name}
			}
			pairs[both].Rows++
			pairs[both].Confidence += float64(r.Confidence[i])
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(r.Confidence[b], r.Confidence[a]) })
	for at, i := range order {
		c, least := classes[r.Labels[i]], order[len(order)-1-at]
		if len(c.Surest) < reportExamples {
			c.Surest = append(c.Surest, f.rowOf(i))
		}
		if c = classes[r.Labels[least]]; len(c.Least) < reportExamples {
			c.Least = append(c.Least, f.rowOf(least))
		}
	}
	for _, c := range classes {
		c.Confidence /= float64(max(1, c.Rows))
	}
	confused := slices.SortedFunc(maps.Values(pairs), func(a, b *reportPair) int {
		return cmp.Or(cmp.Compare(b.Rows, a.Rows), cmp.Compare(a.First, b.First), cmp.Compare(a.Second, b.Second))
	})
	for _, p := range confused {
		p.Confidence /= float64(p.Rows)
	}
	out := &report{
		Result: r, File: filepath.Base(f.path), Rows: f.N, Clusters: len(f.names) == 0, Classes: classes,
		Pairs: confused[:min(len(confused), reportPairs)], Points: mapOf(f, r, classes),
	}
	slices.SortStableFunc(classes, func(a, b *reportClass) int { return cmp.Compare(b.Rows, a.Rows) })
	return out
}

// mapOf places the sample on the map.
func mapOf(f *labelledFile, r *file.Result, classes []*reportClass) []reportPoint {
	most := 1e-9
	for _, at := range r.Positions {
		most = max(most, math.Abs(float64(at[0])), math.Abs(float64(at[1])))
	}
	var out []reportPoint
	for i, row := range r.Sample {
		c := classes[r.Labels[row]]
		out = append(out, reportPoint{
			X:      mapSize / 2 * (1 + .96*float64(r.Positions[i][0])/most),
			Y:      mapSize / 2 * (1 - .96*float64(r.Positions[i][1])/most),
			Colour: c.Colour, Title: fmt.Sprintf("row %d: %s, %.2f", f.rowOf(int(row)), c.Name, r.Confidence[row]),
		})
	}
	return out
}

// reportPage is one file that loads nothing from the network.
var reportPage = template.Must(template.New("report").Parse(`<!doctype html>
<html lang="en"><meta charset="utf-8"><title>{{.File}}, labelled</title>
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<style>
body{font:15px/1.5 system-ui,sans-serif;max-width:70em;margin:2em auto;padding:0 1em;color:#222}
table{border-collapse:collapse;margin:1em 0}td,th{padding:.2em .7em;text-align:right;border-bottom:1px solid #ddd}
td:first-child,th:first-child{text-align:left}i{display:inline-block;width:.8em;height:.8em;border-radius:50%;margin-right:.4em}
small{color:#555}svg{border:1px solid #ddd}
</style>
<h1>{{.File}}</h1>
<p>{{.Rows}} rows, {{len .Classes}} {{if .Clusters}}clusters{{else}}classes{{end}}. {{.Plan}}. The order of the rows tells {{printf "%.2f" .Coherence}} of 1.
Confidence is {{if .Calibrated}}calibrated on labelled rows that were held out{{else}}not calibrated: compare it within this file only{{end}}.</p>
<h2>Sizes and examples</h2>
<table><tr><th>label<th>rows<th>mean confidence<th>called unknown<th>surest rows<th>least sure rows</tr>
{{range .Classes}}<tr><td><i style="background:{{.Colour}}"></i>{{.Name}}<td>{{.Rows}}<td>{{printf "%.2f" .Confidence}}<td>{{.Unknown}}
<td>{{range .Surest}}{{.}} {{end}}<td>{{range .Least}}{{.}} {{end}}</tr>
{{end}}</table>
<h2>Pairs that are easily confused</h2>
{{if .Pairs}}<table><tr><th>label<th>next to it<th>rows below .8<th>their mean confidence</tr>
{{range .Pairs}}<tr><td>{{.First}}<td>{{.Second}}<td>{{.Rows}}<td>{{printf "%.2f" .Confidence}}</tr>
{{end}}</table>{{else}}<p>None: no row has a confidence below .8.</p>{{end}}
<h2>Map</h2><p><small>{{len .Points}} rows spread over the file, along the two directions in which they vary most.</small></p>
<svg viewBox="0 0 640 640" width="640" height="640" role="img" aria-label="map of a sample of the rows">
{{range .Points}}<circle cx="{{printf "%.1f" .X}}" cy="{{printf "%.1f" .Y}}" r="2.5" style="fill:{{.Colour}}"><title>{{.Title}}</title></circle>
{{end}}</svg>
</html>
`))
