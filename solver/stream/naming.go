package stream

// called returns the name of a class or a cluster in the stream.
func (l *followedLabels) called(class string) string { return l.names.Of(l.stream, class) }

// calledClasses maps classes to their names; several may share one.
type calledClasses struct {
	names []string
	of    []int // of each class, the number of its name
	row   []float32
}

// calledClasses returns the names of an episode's classes; nil if none is renamed.
func (l *followedLabels) calledClasses(classes []string) *calledClasses {
	if l.names.none() {
		return nil
	}
	out := &calledClasses{of: make([]int, len(classes))}
	named := false
	numbers := make(map[string]int, len(classes))
	for c, class := range classes {
		called := l.called(class)
		named = named || called != class
		at, known := numbers[called]
		if !known {
			at = len(out.names)
			numbers[called], out.names = at, append(out.names, called)
		}
		out.of[c] = at
	}
	if !named {
		return nil
	}
	out.row = make([]float32, len(out.names))
	return out
}

// answer turns an answer among the classes, with its row of S and its confidence, into one among their names.
// Values of classes with one name add up. of is the likeliest class of that name. The row is valid until the
// next call.
func (n *calledClasses) answer(class int32, row []float32, confidence float32) (
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

// alike reports whether two classes have the same name.
func (l *followedLabels) alike(a, b string) bool { return a == b || l.called(a) == l.called(b) }
