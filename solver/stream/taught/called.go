package taught

// Called returns the name of a class or a cluster in the stream.
func (l *ForStream) Called(class string) string { return l.names.Of(l.stream, class) }

// Alike reports whether two classes have the same name.
func (l *ForStream) Alike(a, b string) bool { return a == b || l.Called(a) == l.Called(b) }

// Renamed maps classes to their names; several may share one.
type Renamed struct {
	Names []string
	of    []int // of each class, the number of its name
	row   []float32
}

// Rename returns the names of an episode's classes; nil if none is renamed.
func (l *ForStream) Rename(classes []string) *Renamed {
	if l.names.none() {
		return nil
	}
	out := &Renamed{of: make([]int, len(classes))}
	renamed := false
	numbers := make(map[string]int, len(classes))
	for c, class := range classes {
		called := l.Called(class)
		renamed = renamed || called != class
		at, known := numbers[called]
		if !known {
			at = len(out.Names)
			numbers[called], out.Names = at, append(out.Names, called)
		}
		out.of[c] = at
	}
	if !renamed {
		return nil
	}
	out.row = make([]float32, len(out.Names))
	return out
}

// Answer turns an answer among the classes, with its row of S and its confidence, into one among their names.
// Values of classes with one name add up. of is the likeliest class of that name. The row is valid until the
// next call.
func (n *Renamed) Answer(class int32, row []float32, confidence float32) (
	called, of int32, named []float32, sure float32,
) {
	clear(n.row)
	for c, v := range row {
		n.row[n.of[c]] += v
	}
	best := n.of[class]
	for at, v := range n.row {
		if v > n.row[best] {
			best = at
		}
	}
	of = class
	for c, v := range row {
		if n.of[c] == best && (n.of[of] != best || v > row[of]) {
			of = int32(c)
		}
	}
	return int32(best), of, n.row, min(1, confidence*n.row[best]/max(row[class], 1e-6))
}
