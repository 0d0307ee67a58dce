package view

// MostOthers bounds the alternatives of an answer.
const MostOthers = 3

// Others are the next best classes beside an answer.
type Others struct {
	best  [MostOthers]Other
	count int
}

// Other is one of them.
type Other struct {
	Class      int
	Confidence float64
}

// All lists them, the best first.
func (o *Others) All() []Other { return o.best[:o.count] }

// Alternatives returns the next best classes beside an answer, by a row of S. They share 1 - confidence in
// proportion to S. Each is capped at the answer's confidence; what a cap cuts off goes to no class.
func Alternatives(row []float32, answer int32, confidence float64) (o Others) {
	for c, v := range row {
		if v < 1e-4 || int32(c) == answer {
			continue
		}
		at := o.count
		for at > 0 && v > row[o.best[at-1].Class] {
			at--
		}
		if at == MostOthers {
			continue
		}
		o.count = min(o.count+1, MostOthers)
		copy(o.best[at+1:o.count], o.best[at:])
		o.best[at].Class = c
	}
	rest := 1 - float64(row[answer])
	for i := range o.All() {
		v := float64(row[o.best[i].Class])
		o.best[i].Confidence = min(confidence, v/max(rest, v)*(1-confidence))
	}
	return o
}
