package file

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/slkstream/slkstream/internal/vector"
)

// islands is a problem whose classes are groups without neighbours outside them, except for a few rows
// half-way between the first group of a class, the only labelled one, and the second group of the next class.
func islands(bridges int) (p *Problem, truth []int32, labelled []bool) {
	const n, d, k, groups, along = 7200, 24, 3, 4, 4
	random := rand.New(rand.NewPCG(5, 5))
	normal := func(rows int) vector.Matrix {
		out := vector.New(rows, d)
		for i := range out.Values {
			out.Values[i] = float32(random.NormFloat64())
		}
		return out
	}
	classes, centres, directions := normal(k), normal(k*groups), normal(k*groups*along)
	for g := range k * groups {
		for j, v := range classes.Row(g / groups) {
			centres.Row(g)[j] = v + .7*centres.Row(g)[j]
		}
	}
	draw := func(g int) []float32 {
		row := slices.Clone(centres.Row(g))
		for a := range along {
			by := .3 * float32(random.NormFloat64())
			for j, v := range directions.Row(g*along + a) {
				row[j] += by * v
			}
		}
		return row
	}
	var rows [][]float32
	for range n {
		g := random.IntN(k * groups)
		rows, truth = append(rows, draw(g)), append(truth, int32(g/groups))
		labelled = append(labelled, g%groups == 0)
	}
	for i := range bridges {
		one, other := draw(i%k*groups), draw((i+1)%k*groups+1)
		for j := range one {
			one[j] = (one[j] + other[j]) / 2
		}
		rows, truth, labelled = append(rows, one), append(truth, -1), append(labelled, false)
	}
	p = &Problem{N: len(rows), D: d, K: k, Support: vector.New(2*k, d)}
	p.Read = func(use func([]float32, int32) error) error {
		for _, row := range rows {
			if err := use(row, -1); err != nil {
				return err
			}
		}
		return nil
	}
	for i := range 2 * k {
		p.SupportClasses = append(p.SupportClasses, int32(i%k))
		copy(p.Support.Row(i), draw(i%k*groups))
	}
	return p, truth, labelled
}

// Where no label, or hardly any, arrives over the graph, the prototypes of the labelled rows decide, and the
// confidence is lower.
func TestLabelsThatDoNotArrive(t *testing.T) {
	for name, bridges := range map[string]int{"islands": 0, "bridges": 3} {
		t.Run(name, func(t *testing.T) {
			p, truth, labelled := islands(bridges)
			nearest, err := Baseline(t.Context(), p, "nearest", Settings{})
			if err != nil {
				t.Fatal(err)
			}
			r, err := Solve(t.Context(), p, Settings{Uncalibrated: true})
			if err != nil {
				t.Fatal(err)
			}
			floor, right := accuracy(nearest, truth), accuracy(r.Labels, truth)
			if right < floor-.01 || right < .9 {
				t.Errorf("%.3f are right, %.3f by the nearest mean of the labelled rows", right, floor)
			}
			var said [2][]float32
			for i, confidence := range r.Confidence {
				side := 1
				if labelled[i] {
					side = 0
				}
				said[side] = append(said[side], confidence)
			}
			if near, far := vector.Median(said[0]), vector.Median(said[1]); far >= near-.02 {
				t.Errorf("confidence is %.3f where labels are, %.3f where none arrives", near, far)
			}
		})
	}
}

// In the order of a similarity rows stand mostly beside rows of their class, each row occurs once, and
// communities of each level are fewer and cover those of the level below.
func TestCommunitiesStandSideBySide(t *testing.T) {
	p, truth, _ := islands(0)
	l, err := load(t.Context(), p, &Settings{}, true, false, &Plan{})
	if err != nil {
		t.Fatal(err)
	}
	lists, err := l.search(t.Context(), &Settings{})
	if err != nil {
		t.Fatal(err)
	}
	similar := similarities(lists, 1)
	order, same := similar.order, 0
	for i, row := range order[1:] {
		if a, b := row, order[i]; int(a) < p.N && int(b) < p.N && truth[a] == truth[b] {
			same++
		}
	}
	if share := float64(same) / float64(p.N); share < .95 {
		t.Errorf("%.2f of the rows follow one of their class", share)
	}
	below := len(order)
	for i, begins := range similar.levels {
		all := int(begins[len(begins)-1])
		if begins[0] != 0 || all != below || !slices.IsSorted(begins) || len(begins)-1 >= below {
			t.Errorf("level %d: %d communities of %d begin at %v", i+1, len(begins)-1, below, begins)
		}
		below = len(begins) - 1
	}
	slices.Sort(order)
	for i, row := range order {
		if int(row) != i {
			t.Fatalf("row %d stands at position %d", row, i)
		}
	}
}

// Evidence that names other classes than labels that spread counts less, and is less sure. Where no label arrives nothing
// is compared.
func TestEvidenceThatDisagrees(t *testing.T) {
	p, truth := blobs(600, 16, 4, 1, false, .3, 3)
	l, err := load(t.Context(), p, &Settings{}, true, false, &Plan{})
	if err != nil {
		t.Fatal(err)
	}
	lists, err := l.search(t.Context(), &Settings{})
	if err != nil {
		t.Fatal(err)
	}
	similar, settings := similarities(lists, 1), l.labelling(&Settings{}, byMeans)
	order, ranked := byFirstRow(l.class, l.k)
	sharp := func(alone *spread) (weight, sure float32) {
		e := l.newEvidence(ranked, order, similar, alone, settings)
		said := e.of(0, l.k)
		for i, p := range e.order {
			if int(p) < l.n {
				sure += slices.Max(said[i*l.k:(i+1)*l.k]) / float32(l.n)
			}
		}
		return e.weight, sure
	}
	weight, sure := sharp(nil)
	for name, of := range map[string]struct {
		value float32
		shift int
		same  bool
	}{"agrees": {1, 0, true}, "disagrees": {1, 1, false}, "does not arrive": {0, 1, true}} {
		alone := newSpread(l.all)
		for i := range l.all {
			alone.value[i] = of.value
			if i < l.n {
				alone.class[i] = (truth[i] + int32(of.shift*i)) % int32(l.k)
			}
		}
		if w, s := sharp(&alone); (w == weight && s == sure) != of.same || !of.same && (w > leastWeight || s > .5) {
			t.Errorf("%s: weight %.4f of %.4f, sure %.2f of %.2f", name, w, weight, s, sure)
		}
	}
}
