package main

import (
	"fmt"
	"os"
	"strings"
)

// table records measurements over time, one line each, in a file.
type table struct {
	rows []row
	file *os.File // nil: not written
}

// row is one line: memory of both stages, lag, and the counts of the good records so far.
type row struct {
	seconds       int
	steady, other int64
	lag           int64 // -1: unknown
	counts
}

// newTable creates a file of comma-separated values; none if name is empty.
func newTable(name string) (*table, error) {
	t := &table{}
	if name == "" {
		return t, nil
	}
	file, err := os.Create(name)
	if err != nil {
		return nil, err
	}
	t.file = file
	_, err = fmt.Fprintln(file, "seconds,steady_mib,killed_mib,lag,oldest_wait_s,sent,answered,repeats,overdue")
	return t, err
}

func (t *table) add(r row) {
	if n := len(t.rows); n > 0 && t.rows[n-1].seconds == r.seconds {
		return
	}
	t.rows = append(t.rows, r)
	if t.file != nil { // a failed write loses a line of the file only
		fmt.Fprintf(t.file, "%d,%d,%d,%d,%.1f,%d,%d,%d,%d\n",
			r.seconds, r.steady>>20, r.other>>20, r.lag, r.oldest.Seconds(), r.sent, r.results, r.repeats, r.overdue)
	}
}

func (t *table) close() {
	if t.file != nil {
		t.file.Close()
	}
}

// draw draws the table: resident memory, lag and the oldest wait over time.
func (t *table) draw(name string) error {
	if name == "" || len(t.rows) < 2 {
		return nil
	}
	panels := []struct {
		title string
		of    []func(row) float64
	}{
		{"resident memory, MiB: the stage that is never killed, and the other", []func(row) float64{
			func(r row) float64 { return float64(r.steady >> 20) },
			func(r row) float64 { return float64(r.other >> 20) },
		}},
		{"records not committed", []func(row) float64{func(r row) float64 { return float64(max(r.lag, 0)) }}},
		{"oldest record without an answer, s", []func(row) float64{func(r row) float64 { return r.oldest.Seconds() }}},
	}
	const width, height, left, gap = 760, 130, 60, 40
	var b strings.Builder
	fmt.Fprintf(
		&b,
		`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12">`,
		left+width+20,
		len(panels)*(height+gap)+20,
	)
	b.WriteString("\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n")
	end := float64(t.rows[len(t.rows)-1].seconds)
	for i, p := range panels {
		top := float64(i*(height+gap) + gap - 10)
		most := 1.
		for _, f := range p.of {
			for _, r := range t.rows {
				most = max(most, f(r))
			}
		}
		fmt.Fprintf(
			&b,
			`<text x="%d" y="%g">%s</text><text x="%d" y="%g" text-anchor="end">%.0f</text><text x="%d" y="%g" text-anchor="end">0</text>`+"\n",
			left,
			top-6,
			p.title,
			left-6,
			top+10,
			most,
			left-6,
			top+height,
		)
		fmt.Fprintf(&b, `<rect x="%d" y="%g" width="%d" height="%d" fill="none" stroke="#999"/>`+"\n", left, top,
			width, height)
		for j, f := range p.of {
			fmt.Fprintf(&b, `<polyline fill="none" stroke="%s" points="`, []string{"#1f5fa8", "#c26a1a"}[j])
			for _, r := range t.rows {
				fmt.Fprintf(&b, "%.1f,%.1f ", left+width*float64(r.seconds)/end, top+height*(1-f(r)/most))
			}
			b.WriteString("\"/>\n")
		}
	}
	fmt.Fprintf(&b, `<text x="%d" y="%d" text-anchor="end">%.0f minutes</text></svg>`+"\n", left+width,
		len(panels)*(height+gap)+14, end/60)
	return os.WriteFile(name, []byte(b.String()), 0o644)
}
