package evaluate

import (
	"fmt"
	"os"
	"path/filepath"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// PlotEnergies draws the energies over lambda, as the paper's figure does.
func PlotEnergies(path string, rows []EnergyRow) error {
	lines := []struct {
		name string
		of   func(EnergyRow) float64
	}{
		{"LK, k-means++ start", func(r EnergyRow) float64 { return r.LK }},
		{"LK, graph start", func(r EnergyRow) float64 { return r.LKGraph }},
		{"SLK-MS, k-means++ start", func(r EnergyRow) float64 { return r.SLKPlusPlus }},
		{"SLK-MS", func(r EnergyRow) float64 { return r.SLK }},
	}
	p := plot.New()
	p.Title.Text = "Discrete objective E, " + rows[0].Data
	p.X.Label.Text, p.Y.Label.Text = "lambda", "E at the end (lower is better)"
	for i, line := range lines {
		points := make(plotter.XYs, len(rows))
		for j, r := range rows {
			points[j].X, points[j].Y = r.Lambda, line.of(r)
		}
		if err := addLine(p, i, line.name, points); err != nil {
			return err
		}
	}
	return saveSVG(path, p)
}

// PlotTrace draws R after every half-step.
func PlotTrace(path, title string, trace []float64) error {
	p := plot.New()
	p.Title.Text = "Objective R, " + title
	p.X.Label.Text, p.Y.Label.Text = "half-step", "R"
	points := make(plotter.XYs, len(trace))
	for i, r := range trace {
		points[i].X, points[i].Y = float64(i), r
	}
	if err := addLine(p, 0, "R", points); err != nil {
		return err
	}
	return saveSVG(path, p)
}

func addLine(p *plot.Plot, i int, name string, points plotter.XYs) error {
	line, marks, err := plotter.NewLinePoints(points)
	if err != nil {
		return fmt.Errorf("plot: %s: %w", name, err)
	}
	line.Color, line.Dashes = plotutil.Color(i), plotutil.Dashes(i)
	marks.Color, marks.Shape = plotutil.Color(i), plotutil.Shape(i)
	p.Add(line, marks)
	p.Legend.Add(name, line, marks)
	return nil
}

func saveSVG(path string, p *plot.Plot) error {
	p.Add(plotter.NewGrid())
	p.Legend.Top, p.Legend.Left = true, true
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("plot: %w", err)
	}
	canvas := vgsvg.New(18*vg.Centimeter, 11*vg.Centimeter)
	p.Draw(draw.New(canvas))
	file, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("plot: %w", err)
	}
	defer file.Close()
	if _, err := canvas.WriteTo(file); err != nil {
		return fmt.Errorf("plot: %w", err)
	}
	return file.Close()
}
