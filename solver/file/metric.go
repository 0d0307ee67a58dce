package file

import "github.com/slkstream/slkstream/solver/metric"

// learnMetric maps the points to a space in which the directions along which the rows of one class spread
// count less. It learns from an answer for all rows, stretch by stretch, because adjacent rows share the
// conditions of the moment.
func (l *loaded) learnMetric(answer []int32, rank int, shrink float64, told progress) error {
	d := l.points.D
	s := metric.NewScatter(d)
	scratch := l.points.Scratch(chunk)
	for from := 0; from < l.all; from += chunk {
		to := min(l.all, from+chunk)
		told(from, l.all)
		s.Observe(l.points.Rows(from, to, scratch))
		s.AddLabelled(l.points.Rows(from, to, scratch), l.class[from:to], l.k)
	}
	every := max(1, l.n/sampleRows)
	for from := 0; from < l.n; from += stretch * every {
		to := min(l.n, from+stretch)
		// classes of the stretch, numbered by first row
		number := map[int32]int{}
		for _, c := range answer[from:to] {
			if _, ok := number[c]; !ok {
				number[c] = len(number)
			}
		}
		soft := make([]float32, (to-from)*len(number))
		for i, c := range answer[from:to] {
			soft[i*len(number)+number[c]] = 1
		}
		residuals, freedom := s.PointResiduals(l.points.Rows(from, to, scratch), soft, len(number))
		s.Points.Add(residuals, d, freedom)
	}
	m, err := s.Refresh(rank, shrink)
	if err != nil || m == nil {
		return err
	}
	var u metric.Map
	m.About(nil, &u)
	eachChunk(l.all, func(_, from, to int) {
		rows := l.points.Rows(from, to, l.points.Scratch(to-from))
		u.Apply(rows, nil)
		if l.points.Codes != nil {
			for p := from; p < to; p++ {
				l.points.Write(p, rows[(p-from)*d:(p-from+1)*d])
			}
		}
	})
	return nil
}
