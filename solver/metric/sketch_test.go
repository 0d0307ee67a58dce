package metric

import (
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/slkstream/slkstream/internal/kernel"
	"github.com/slkstream/slkstream/internal/vector"
)

// turned returns orthonormal rows of dimension d.
func turned(random *rand.Rand, d int) []float32 {
	axes, rows := make([]float32, d*d), make([]float32, d*d)
	for i := range rows {
		rows[i] = float32(random.NormFloat64())
	}
	vector.Orthonormal(axes, rows, d, 2)
	return axes
}

// ofOneClass returns an episode of n rows of one class, all of them zero.
func ofOneClass(n, d int) Rows {
	of := Rows{make([]float32, n*d), make([]float32, d), make([]float32, n), make([]float32, n), 1}
	for i := range n {
		of.S[i], of.Inverse[i] = 1, 1
	}
	return of
}

// spreading returns an episode of n rows of one class that spread along axes, less along each.
func spreading(random *rand.Rand, axes []float32, n, d, spread int) Rows {
	of := ofOneClass(n, d)
	for i := range n {
		for a := range spread {
			kernel.Axpy(float32(random.NormFloat64())/float32(1+a), axes[a*d:a*d+d], of.Z[i*d:i*d+d])
		}
	}
	return of
}

// apart returns the distance of two metrics' maps, relative to the second's from none.
func apart(a, b *Metric) float64 {
	d := len(a.Centre)
	maps := [2][]float32{}
	for i, m := range []*Metric{a, b} {
		maps[i] = make([]float32, d*d)
		for j := range d {
			maps[i][j*d+j] = 1
		}
		mapOf(m).Shrink(maps[i], nil)
	}
	kernel.Axpy(-1, maps[1], maps[0])
	for j := range d {
		maps[1][j*d+j]--
	}
	return math.Sqrt(float64(kernel.Dot(maps[0], maps[0]) / kernel.Dot(maps[1], maps[1])))
}

// A metric of a sketch is near the one of the whole scatter, whether residuals spread in fewer directions
// than the sketch has or in all of them, with labelled items and without, and after many metrics.
func TestSketchMakesTheMetricOfTheWholeScatter(t *testing.T) {
	const rank, shrink = 8, .85
	for _, c := range []struct {
		d, spread, labelled int
		most                float64
	}{
		{24, 24, 0, .05},
		{96, 10, 0, .05},
		{96, 96, 0, .1},
		{96, 96, 20, .1},
		{256, 256, 0, .2},
		{256, 256, 90, .2},
	} {
		random := rand.New(rand.NewPCG(uint64(c.d), uint64(c.spread)))
		axes := turned(random, c.d)
		whole := NewScatter(c.d)
		var seen *Sketch
		for episode := range min(20, freedomKept*c.d/30) { // the whole scatter does not fade
			of := spreading(random, axes, 30, c.d, c.spread)
			whole.Observe(of.Z)
			whole.AddPoints(of.Z, of.S, 1)
			seen = seen.With(of, rank)
			labels := make([]int32, c.labelled)
			labelled := spreading(random, axes, c.labelled, c.d, c.spread).Z
			whole.Labelled = Residuals{}
			whole.AddLabelled(labelled, labels, 1)
			want, err := whole.Refresh(rank, shrink)
			if err != nil {
				t.Fatal(err)
			}
			from := Material{Seen: seen, Variety: 1, Rank: rank, Shrink: shrink}
			from.Z, from.Labels, from.Classes = labelled, labels, 1
			m, next, err := from.Metric()
			if err != nil || (m == nil) != (want == nil) {
				t.Fatalf("%+v, episode %d: %v, %v, %v", c, episode, m, want, err)
			}
			if m == nil {
				continue
			}
			most := c.most
			if next.Root == nil { // the rows have four bits a number
				most = max(most, .1)
			}
			if got := apart(m, want); !(got < most) {
				t.Errorf("%+v, episode %d: apart by %.3f", c, episode, got)
			}
			seen = next
		}
	}
}

// Residuals that come to spread along another axis, in which no direction of the sketch lies, show in the
// metric, and those of before fade.
func TestSketchFollowsADrift(t *testing.T) {
	const d, rank = 96, 4
	random := rand.New(rand.NewPCG(1, 2))
	axes := turned(random, d)
	var seen *Sketch
	var m *Metric
	for episode := range 120 {
		some := axes[:4*d]
		if episode >= 20 {
			some = axes[8*d : 12*d]
		}
		var err error
		seen = seen.With(spreading(random, some, 40, d, 4), rank)
		from := Material{Seen: seen, Variety: 1, Rank: rank, Shrink: .5}
		if m, seen, err = from.Metric(); err != nil || m == nil {
			t.Fatal(m, err)
		}
	}
	for axis, want := range map[int]bool{0: false, 8: true} {
		row := slices.Clone(axes[axis*d : axis*d+d])
		mapOf(m).Shrink(row, nil)
		if short := kernel.Dot(row, row) < .5; short != want {
			t.Errorf("axis %d has the squared length %.2f", axis, kernel.Dot(row, row))
		}
	}
}

// Residuals that are not there, all zero, or tiny do no harm.
func TestSketchOfNothing(t *testing.T) {
	const d = 40
	for _, size := range []float32{0, 1e-30, 1e-12, 1e12} {
		of := ofOneClass(30, d)
		for i := range of.Z {
			of.Z[i] = size * float32(i%7)
		}
		var seen *Sketch
		for range 3 {
			seen = seen.With(of, 4)
			m, next, err := (&Material{Seen: seen, Variety: 1, Rank: 4, Shrink: .85}).Metric()
			if err != nil {
				t.Fatal(size, err)
			}
			if m != nil && m.Check(d) != nil {
				t.Error(size, m.Check(d))
			}
			seen = next
		}
	}
}

// Numbers of a restored state that are too large for a scatter end without rows, not in a search for them without end.
func TestSketchOfOtherNumbers(t *testing.T) {
	const d, m = 8, 4
	large := slices.Repeat([]float32{math.MaxFloat32}, m)
	for name, root := range map[string][]int8{
		"infinite": slices.Repeat([]int8{127}, m*d), "opposite": slices.Repeat([]int8{127, -127}, m*d/2),
	} {
		r := Sketch{Sum: make([]float64, d), Directions: slices.Repeat([]int8{1}, m*d), Root: root, Scales: large}
		var w workspace
		r.rows(&w)
		r.pack(&w, w.rows)
		if r.rows(&w); len(r.Root) != m*d || vector.NotFinite(w.rows) >= 0 {
			t.Errorf("%s: %v", name, w.rows)
		}
	}
}

// sketchOf has seen episodes of 30 rows that spread along these axes.
func sketchOf(random *rand.Rand, axes []float32, episodes, d, rank int) (seen *Sketch) {
	for range episodes {
		seen = seen.With(spreading(random, axes, 30, d, d), rank)
	}
	return seen
}

// A sketch never changes: a stream that is copied shares it. Labels that suffice leave no residuals.
func TestSketchIsImmutable(t *testing.T) {
	const d = 40
	random := rand.New(rand.NewPCG(1, 2))
	axes := turned(random, d)
	first := (*Sketch)(nil).With(spreading(random, axes, 3, d, d), 4)
	scales := []float32{1, 1, 1, 1}
	for episode := range 8 { // the rows themselves, then products
		kept := *first
		kept.Sum, kept.Scales = slices.Clone(first.Sum), slices.Clone(first.Scales)
		kept.Root, kept.Rows = slices.Clone(first.Root), nil
		for _, piece := range first.Rows {
			kept.Rows = append(kept.Rows, slices.Clone(piece))
		}
		second := first.With(spreading(random, axes, 3, d, d), 4)
		var w workspace
		second.rows(&w)
		third := second.about(&w, Of(make([]float32, d), axes[:4*d], scales), w.rows, 4)
		if !reflect.DeepEqual(kept, *first) {
			t.Errorf("episode %d: changed", episode)
		}
		if !second.Fits(d) || !third.Fits(d) {
			t.Errorf("episode %d: sizes that do not fit: %+v, %+v", episode, second, third)
		}
		first = third
	}
	none := first.With(spreading(random, axes, 30, d, d), 0)
	if none.Root != nil || none.Freedom != 0 || none.Count != 57 {
		t.Errorf("%+v", none)
	}
}

// A sketch never stays about a metric that is no longer in force: that of enough labelled items leaves no
// residuals.
func TestNoResidualsAboutAnotherMetric(t *testing.T) {
	const d, rank = 40, 4
	random := rand.New(rand.NewPCG(1, 2))
	axes := turned(random, d)
	seen := sketchOf(random, axes, 3, d, rank)
	from := Material{Seen: seen, Variety: 1, Rank: rank, Shrink: .85, Classes: 1}
	for _, labelled := range []int{2, 38} {
		from.Z, from.Labels = spreading(random, axes, labelled, d, d).Z, make([]int32, labelled)
		m, next, err := from.Metric()
		if err != nil || m == nil {
			t.Fatal(m, err)
		}
		if few := labelled < 10; (next.Metric == m) != few || (len(next.Scales) > 0) != few {
			t.Errorf("%d labelled items: %d rows", labelled, len(next.Scales))
		}
	}
}

// Ten thousand streams each keep a metric, so neither that nor its material holds more memory than its values
// need: first the rows, in four bits a number, later a root of their scatter in eight.
func TestAMetricHoldsItsValuesOnly(t *testing.T) {
	const d, k, rank = 150, 10, 32
	z, soft := episode(rand.New(rand.NewPCG(1, 2)), d)
	var seen *Sketch
	for _, root := range []bool{false, true, true, true} {
		seen = seen.With(Rows{z, make([]float32, d), make([]float32, len(z)/d), soft, k}, rank)
		from := Material{Seen: seen, Variety: 1, Rank: rank, Shrink: .85}
		from.Z, from.Labels, from.Classes = z[:d], []int32{0}, k
		m, next, err := from.Metric()
		if err != nil || m == nil {
			t.Fatal(m, err)
		}
		if m.Units == nil || cap(m.Units) > (rank+1)*d || cap(m.Scales) > rank+1 {
			t.Errorf("%d vector values and %d scales take memory for %d and %d", len(m.Units), len(m.Scales),
				cap(m.Units), cap(m.Scales))
		}
		if next.Metric != m || (next.Root != nil) != root {
			t.Errorf("%d pieces of rows, %d bytes of a root", len(next.Rows), len(next.Root))
		}
		size := cap(next.Root) + cap(next.Directions)
		for _, piece := range next.Rows {
			size += cap(piece)
		}
		if n := len(next.Scales); !root && size > n*85+512 {
			t.Errorf("%d rows take %d bytes", n, size)
		}
		if most := (2*rank)*d + 200; root && size > most {
			t.Errorf("a root takes %d bytes", size)
		}
		seen = next
	}
}

// A young stream's residuals grow with each episode until they determine a metric, then with fewer.
func TestFolds(t *testing.T) {
	folds := func(freedom float64) (out []int64) {
		r := &Sketch{Sum: make([]float64, 64), Freedom: freedom}
		for episode := range int64(49) {
			if episode > 0 && Turn(0).Folds(r, episode) {
				out = append(out, episode)
			}
		}
		return out
	}
	first := []int64{1, 2, 3, 4, 5, 6, 7, 8}
	later := append(slices.Clone(first), 10, 12, 14, 16, 20, 24, 28, 32, 40, 48)
	if got := folds(64); !slices.Equal(got, later) {
		t.Errorf("with many residuals %v, not %v", got, later)
	}
	if got := folds(63); len(got) != 32+2 || got[31] != 32 {
		t.Errorf("with few %v, not all of the first 32 and each eighth", got)
	}
	var none *Sketch
	for _, episode := range []int64{1, 8, 9, 32} {
		if !Turn(5).Folds(none, episode) {
			t.Errorf("the first residuals do not come in episode %d", episode)
		}
	}
}

// From the 33rd episode on, a stream of any turn makes a metric and folds as often as any other, and folds whenever it makes a metric.
func TestTurns(t *testing.T) {
	made := map[int64]int{}
	for turn := range Turn(often / 2) {
		var metrics, folds int
		for episode := int64(33); episode <= 96; episode++ {
			if turn.Folds(nil, episode) {
				folds++
			}
			if turn.Refreshes(episode) {
				metrics++
				made[episode]++
				if !turn.Folds(nil, episode) || !turn.Refreshes(episode+often) {
					t.Errorf("turn %d: a metric in episode %d, without a fold or not again", turn, episode)
				}
			}
		}
		if metrics != 1 || folds != 8 {
			t.Errorf("turn %d: %d metrics, %d folds", turn, metrics, folds)
		}
		for episode := int64(1); episode <= 32; episode++ {
			if turn.Refreshes(episode) != Turn(0).Refreshes(episode) {
				t.Errorf("turn %d: episode %d", turn, episode)
			}
		}
	}
	if len(made) != often/2 {
		t.Errorf("metrics are made in %d of 32 episodes", len(made))
	}
}

// Streams of other first items have other turns.
func TestTurnOf(t *testing.T) {
	turns, random := map[Turn]int{}, rand.New(rand.NewPCG(1, 2))
	for range 640 {
		row := make([]float32, 32)
		for i := range row {
			row[i] = random.Float32()
		}
		turn := TurnOf(row)
		if turns[turn]++; turn != TurnOf(row) || turn < 0 || turn >= often/2 {
			t.Fatalf("turn %d", turn)
		}
	}
	for turn, n := range turns {
		if n > 40 { // twenty are expected, with a deviation of four or five
			t.Errorf("%d streams of 640 have turn %d", n, turn)
		}
	}
	if len(turns) < 31 {
		t.Errorf("%d turns", len(turns))
	}
}
