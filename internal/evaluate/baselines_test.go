package evaluate

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/slkstream/slkstream/index"
	"github.com/slkstream/slkstream/solver"
)

// rings are points on two circles, one inside the other: the graph separates them, means do not.
func rings(random *rand.Rand) *Set {
	s := &Set{Name: "rings", D: 3}
	for i := range 200 {
		radius := 1.
		if i%2 == 1 {
			radius = .3
		}
		angle := 2 * math.Pi * random.Float64()
		s.Rows = append(s.Rows, float32(radius*math.Cos(angle)), float32(radius*math.Sin(angle)), 1)
		s.Labels = append(s.Labels, int32(i%2))
		s.N++
	}
	return s
}

// blobs are three well separated clusters.
func blobs(random *rand.Rand) *Set {
	s := &Set{Name: "blobs", D: 3}
	for i := range 150 {
		for j := range 3 {
			v := .1 * random.NormFloat64()
			if j == i%3 {
				v++
			}
			s.Rows = append(s.Rows, float32(v))
		}
		s.Labels = append(s.Labels, int32(i%3))
		s.N++
	}
	return s
}

func TestEveryMethodFindsBlobs(t *testing.T) {
	set := blobs(rand.New(rand.NewPCG(1, 1)))
	cluster := Cluster{K: 3, Methods: ClusterMethods, Seed: 2}
	results, err := cluster.Run(t.Context(), set)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range results {
		if r.Method == "kernel-kmeans" || r.Method == "lk" || r.Method == "kmodes" {
			continue // these depend on a random start; the tests below set it
		}
		if r.Accuracy != 1 || r.NMI < .999 || r.ARI < .999 || r.ObjectiveRises != 0 {
			t.Errorf("%s: %+v", r.Method, r)
		}
	}
}

func TestNormalisedCutPartsRings(t *testing.T) {
	set := rings(rand.New(rand.NewPCG(3, 1)))
	cluster := Cluster{K: 2, Methods: []string{"ncut", "kmeans"}, Seed: 1}
	results, err := cluster.Run(t.Context(), set)
	if err != nil {
		t.Fatal(err)
	}
	if results[0].Accuracy < .99 || results[1].Accuracy > .9 {
		t.Errorf("ncut %.3f, k-means %.3f", results[0].Accuracy, results[1].Accuracy)
	}
}

func TestLeadingEigenvectorsAreThoseOfTheDenseMatrix(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 1))
	set := rings(random)
	space, err := newSpace(t.Context(), set, 6, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	a := normalised(space.graph)
	dense := mat.NewSymDense(set.N, nil)
	for p := range set.N {
		columns, weights := a.Row(p)
		for j, q := range columns {
			dense.SetSym(p, int(q), float64(weights[j]))
		}
	}
	var eigen mat.EigenSym
	eigen.Factorize(dense, false)
	want := eigen.Values(nil)
	_, got, err := leadingEigenvectors(t.Context(), a, 6, random)
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range got {
		if math.Abs(v-want[set.N-1-i]) > 1e-4 {
			t.Errorf("eigenvalue %d is %v, want %v", i, v, want[set.N-1-i])
		}
	}
}

func TestKernelKMeansLowersTheNormalisedCut(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 1))
	set := blobs(random)
	space, err := newSpace(t.Context(), set, 5, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	start := make([]int32, set.N)
	for p := range start { // a fifth of the rows in a wrong cluster
		if start[p] = set.Labels[p]; random.IntN(5) == 0 {
			start[p] = int32(random.IntN(3))
		}
	}
	end := kernelKMeans(space.graph, 3, start)
	if before, after := cut(space.graph, start, 3), cut(space.graph, end, 3); after >= before ||
		ClusterAccuracy(set.Labels, end) < .9 {
		t.Errorf("normalised cut %.3f to %.3f, accuracy %.3f", before, after, ClusterAccuracy(set.Labels, end))
	}
}

// cut returns the normalised cut: the sum over clusters of the share of edges that leave it.
func cut(graph *index.Affinity, labels []int32, k int) (sum float64) {
	out, volume := make([]float64, k), make([]float64, k)
	for p, c := range labels {
		columns, weights := graph.Row(p)
		for j, q := range columns {
			volume[c] += float64(weights[j])
			if labels[q] != c {
				out[c] += float64(weights[j])
			}
		}
	}
	for c := range out {
		sum += out[c] / max(volume[c], 1e-9)
	}
	return sum
}

func TestSimplexProjection(t *testing.T) {
	random := rand.New(rand.NewPCG(9, 1))
	for range 200 {
		k := 1 + random.IntN(6)
		point, row := make([]float64, k), make([]float64, k)
		for i := range point {
			point[i] = 2 * random.NormFloat64()
		}
		copy(row, point)
		toSimplex(row, make([]float64, k))
		var sum float64
		for _, v := range row {
			sum += v
			if v < 0 {
				t.Fatalf("%v projects to %v", point, row)
			}
		}
		if math.Abs(sum-1) > 1e-9 {
			t.Fatalf("%v projects to %v, which sums to %v", point, row, sum)
		}
		for range 50 { // no point of the simplex is nearer
			other, total := make([]float64, k), 0.
			for i := range other {
				other[i] = random.ExpFloat64()
				total += other[i]
			}
			for i := range other {
				other[i] /= total
			}
			if squared(point, other) < squared(point, row)-1e-9 {
				t.Fatalf("%v projects to %v, yet %v is nearer", point, row, other)
			}
		}
	}
}

// At fixed modes LK is a convex problem: at its end no feasible step decreases the objective,
// whatever the start.
func TestLKEndsAtTheMinimumOfItsRelaxation(t *testing.T) {
	set := blobs(rand.New(rand.NewPCG(11, 1)))
	space, err := newSpace(t.Context(), set, 5, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	settings, err := solver.Clustering("slk-ms")
	if err != nil {
		t.Fatal(err)
	}
	m := newModel(space.rows, set.N, set.D, 3, space.graph, settings)
	a := m.costs(m.prototypes(m.oneHot(set.Labels), nil))
	degree := make([]float64, set.N)
	for p := range degree {
		_, weights := space.graph.Row(p)
		for _, w := range weights {
			degree[p] += float64(w)
		}
	}
	var values []float64
	for _, start := range [][]int32{set.Labels, make([]int32, set.N)} {
		s := m.oneHot(start)
		m.relax(s, a, degree, 1/(2*m.lambda*20))
		values = append(values, m.relaxed(s, a, degree))
	}
	if math.Abs(values[0]-values[1]) > 1e-3*math.Abs(values[0]) {
		t.Errorf("two starts end at %v", values)
	}
	if labels, err := laplacianKModes(t.Context(), m, set.Labels); err != nil ||
		ClusterAccuracy(set.Labels, labels) < .99 {
		t.Errorf("from the truth LK leaves it: %.3f, %v", ClusterAccuracy(set.Labels, labels), err)
	}
}

func TestEnergyIsWhatItsFormulaSays(t *testing.T) {
	set := &Set{Name: "line", D: 1, N: 3, Rows: []float32{0, 1, 3}, Labels: []int32{0, 0, 1}}
	graph := &index.Affinity{
		Offsets: []int64{0, 1, 3, 4}, Columns: []int32{1, 0, 2, 1},
		Weights: []float32{1, 1, .5, .5},
	}
	settings := solver.Settings{Method: "slk-means", Tau: 2, Lambda: 3}
	m := newModel(set.Rows, 3, 1, 2, graph, settings)
	// Means are .5 and 3: tau (.25 + .25); one edge of weight .5 is cut, (3/4) * 2 * (.5 + .5)/2 * 2 = 1.5; all
	// edges weigh 3.
	energy, objective, graphPart := m.discrete(set.Labels)
	if math.Abs(energy-2.5) > 1e-6 || math.Abs(graphPart-1.5) > 1e-6 || math.Abs(objective-(2.5-4.5)) > 1e-6 {
		t.Errorf("E %v, graph %v, R %v", energy, graphPart, objective)
	}
}

func TestSLKEndsBelowLKAndBelowItsKMeansStart(t *testing.T) {
	set := digits()
	paper := Paper{Seed: 1, Note: func(string) {}}
	small, err := set.sample(40, 1)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := paper.energiesOf(t.Context(), small, 10)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		if r.SLK >= r.LK || r.SLK >= r.SLKPlusPlus || r.Rises != 0 {
			t.Errorf("%+v", r)
		}
	}
	folder := t.TempDir()
	if err := PlotEnergies(folder+"/energy.svg", rows); err != nil {
		t.Error(err)
	}
}
