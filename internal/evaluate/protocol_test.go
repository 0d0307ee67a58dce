package evaluate

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/slkstream/slkstream/internal/sample"
	"github.com/slkstream/slkstream/solver"
)

// digits returns the tree's sample of handwritten digits: 10 classes of 150.
func digits() *Set {
	s := sample.Digits()
	rows := s.Rows()
	return &Set{Name: "digits", Rows: rows, N: s.N(), D: len(rows) / s.N(), Labels: s.Labels}
}

// classesOf returns a set of one-dimensional rows with the given number of rows in each class.
func classesOf(sizes ...int) *Set {
	s := &Set{Name: "sizes", D: 1}
	for class, n := range sizes {
		for range n {
			s.Rows, s.Labels = append(s.Rows, float32(class)), append(s.Labels, int32(class))
			s.N++
		}
	}
	return s
}

func mixes(t *testing.T, names ...string) []Mix {
	t.Helper()
	var out []Mix
	for _, name := range names {
		mix, err := ParseMix(name)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, mix)
	}
	return out
}

func TestTasksKeepTheProtocol(t *testing.T) {
	set := digits()
	few := FewShot{Ways: 4, Shots: []int{1, 5}, Mixes: mixes(t, "balanced", "dirichlet:2", "dirichlet:0.5",
		"absent"), Tasks: 30, Seed: 7, SplitSeed: 3}
	split, cells, err := few.Draw(set)
	if err != nil {
		t.Fatal(err)
	}
	if len(split.novel) != 5 || len(split.base) != 5 || len(split.BaseRows) != 5*150 {
		t.Fatalf("%d novel classes, %d base classes, %d base rows", len(split.novel), len(split.base),
			len(split.BaseRows))
	}
	for _, row := range split.BaseRows {
		if slices.Contains(split.novel, set.Labels[row]) {
			t.Fatalf("base row %d is of the novel class %d", row, set.Labels[row])
		}
	}
	for _, cell := range cells {
		for _, task := range cell.Tasks {
			checkTask(t, set, split, cell, task)
		}
	}
	_, again, err := few.Draw(set)
	if err != nil {
		t.Fatal(err)
	}
	few.Seed++
	_, others, err := few.Draw(set)
	if err != nil {
		t.Fatal(err)
	}
	for i, cell := range cells {
		for j, task := range cell.Tasks {
			if !slices.Equal(task.Rows, again[i].Tasks[j].Rows) {
				t.Fatalf("%s, task %d: the same seed draws other rows", cell.Name(), j)
			}
		}
		if slices.Equal(cell.Tasks[0].Rows, others[i].Tasks[0].Rows) {
			t.Errorf("%s: another seed draws the same task", cell.Name())
		}
	}
}

func checkTask(t *testing.T, set *Set, split *Split, cell Cell, task *Task) {
	t.Helper()
	class := map[int32]int32{} // of the task -> of the set
	support, queries := make([]int, task.Ways), make([]int, task.Ways)
	seen := map[int32]bool{}
	for i, row := range task.Rows {
		if seen[row] {
			t.Fatalf("%s: row %d is in the task twice, so that a query may be in the support", cell.Name(), row)
		}
		seen[row] = true
		y := task.Truth[i]
		if old, there := class[y]; there && old != set.Labels[row] {
			t.Fatalf("%s: class %d of the task is %d and %d", cell.Name(), y, old, set.Labels[row])
		}
		class[y] = set.Labels[row]
		if !slices.Contains(split.novel, set.Labels[row]) {
			t.Fatalf("%s: row %d is of the base class %d", cell.Name(), row, set.Labels[row])
		}
		if i < task.Support {
			support[y]++
		} else {
			queries[y]++
		}
	}
	total := 0
	for y, n := range support {
		if n != cell.Shots {
			t.Fatalf("%s: class %d has %d labelled rows", cell.Name(), y, n)
		}
		total += queries[y]
	}
	want, wantTotal := []int(nil), 75
	switch cell.Mix.Name {
	case "balanced":
		want, wantTotal = []int{15, 15, 15, 15}, 60
	case "absent":
		want, wantTotal = []int{25, 25, 0, 0}, 50
	}
	if want != nil && !slices.Equal(queries, want) || total != wantTotal {
		t.Fatalf("%s: queries a class %v", cell.Name(), queries)
	}
	p := task.problem(set, nil)
	for i, l := range p.Labels {
		if i < task.Support && l != task.Truth[i] || i >= task.Support && l != -1 {
			t.Fatalf("%s: the solver sees label %d of row %d, support is the first %d", cell.Name(), l, i,
				task.Support)
		}
	}
	if !reflect.DeepEqual(p, &solver.Problem{Rows: p.Rows, K: p.K, Labels: p.Labels}) {
		t.Fatalf("%s: the problem holds more than rows and the labels of the support", cell.Name())
	}
}

func TestLeastRows(t *testing.T) {
	repeat := func(n, size int) []int { return slices.Repeat([]int{size}, n) }
	for _, c := range []struct {
		sizes []int
		want  int
	}{
		{repeat(5, 20), 20},
		{repeat(4, 20), 10},
		{append(repeat(5, 20), repeat(3, 12)...), 20},  // the median of those with 10 is 20
		{append(repeat(5, 20), repeat(30, 12)...), 10}, // it is 12, and fewer than 20 classes have 20
		{append(repeat(20, 20), repeat(50, 12)...), 20},
		{append(repeat(5, 20), repeat(90, 9)...), 20}, // classes below 10 do not count
	} {
		ids, rows := classesOf(c.sizes...).classes()
		if got := leastRows(ids, rows); got != c.want {
			t.Errorf("sizes %v: m = %d, want %d", c.sizes, got, c.want)
		}
	}
}

func TestQueryCountsFollowTheSizeOfTheSet(t *testing.T) {
	for _, c := range []struct {
		sizes []int
		mix   string
		want  int // queries of a task with five classes
	}{
		{slices.Repeat([]int{60}, 12), "balanced", 75},
		{slices.Repeat([]int{60}, 12), "dirichlet:2", 75},
		{slices.Repeat([]int{60}, 12), "absent", 75},
		{slices.Repeat([]int{29}, 12), "balanced", 75},
		{slices.Repeat([]int{29}, 12), "dirichlet:2", 30},
		{slices.Repeat([]int{29}, 12), "absent", 45},
		{slices.Repeat([]int{12}, 12), "balanced", 25},
		{slices.Repeat([]int{12}, 12), "dirichlet:2", 12},
		{slices.Repeat([]int{12}, 12), "absent", 15},
	} {
		split, err := newSplit(classesOf(c.sizes...), nil, 1)
		if err != nil {
			t.Fatal(err)
		}
		task, err := split.draw(randomFor(1, "test"), 5, 1, mixes(t, c.mix)[0])
		if err != nil {
			t.Fatal(err)
		}
		if got := len(task.Rows) - task.Support; got != c.want {
			t.Errorf("classes of %d, %s: %d queries, want %d", c.sizes[0], c.mix, got, c.want)
		}
	}
}

func TestNovelClassesOfASet(t *testing.T) {
	set := classesOf(30, 30, 30, 30, 30, 30, 30)
	set.Novel = []int32{6, 0, 1, 2, 3}
	split, err := newSplit(set, nil, 1)
	if err != nil || !slices.Equal(split.novel, []int32{0, 1, 2, 3, 6}) ||
		!slices.Equal(split.base, []int32{4, 5}) {
		t.Errorf("%v, %v", split, err)
	}
	if split, err = newSplit(set, []int32{1, 5}, 1); err != nil || !slices.Equal(split.novel, []int32{1, 5}) {
		t.Errorf("a given pool: %v, %v", split, err)
	}
	if _, err = newSplit(set, []int32{99}, 1); err == nil || !strings.Contains(err.Error(), "99") {
		t.Errorf("a class without rows: %v", err)
	}
}

func TestTasksThatCannotBeDrawnAreRefusedAtOnce(t *testing.T) {
	for _, c := range []struct {
		sizes       []int
		ways, shots int
		mix, says   string
	}{
		{slices.Repeat([]int{30}, 8), 9, 1, "balanced", "fewer than ways 9"},
		{slices.Repeat([]int{30}, 10), 5, 16, "balanced", "31 rows"},
		{slices.Repeat([]int{30}, 10), 5, 31, "dirichlet:2", "31 rows"},
		{slices.Repeat([]int{30}, 10), 2, 1, "absent", "at least 3"},
		{slices.Repeat([]int{3}, 10), 5, 1, "balanced", "0 classes have 10 rows"},
	} {
		few := FewShot{Ways: c.ways, Shots: []int{c.shots}, Mixes: mixes(t, c.mix), Tasks: 1}
		if _, _, err := few.Draw(classesOf(c.sizes...)); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%d classes of %d, %d ways, %d shots, %s: %v; want %q", len(c.sizes), c.sizes[0], c.ways, c.shots,
				c.mix, err, c.says)
		}
	}
	for _, name := range []string{
		"", "even", "dirichlet:", "dirichlet:-1", "dirichlet:0", "dirichlet:NaN",
		"dirichlet:x",
	} {
		if mix, err := ParseMix(name); err == nil {
			t.Errorf("mix %q was read as %v", name, mix)
		}
	}
}

func TestTheMetricSeesNoNovelRow(t *testing.T) {
	set := digits()
	few := FewShot{Ways: 5, Shots: []int{1}, Mixes: mixes(t, "balanced"), Tasks: 1, SplitSeed: 1}
	split, _, err := few.Draw(set)
	if err != nil {
		t.Fatal(err)
	}
	var earlier []*Task
	for range 5 {
		task := split.baseTask(randomFor(1, fmt.Sprint(len(earlier))), 5)
		for _, row := range task.Rows {
			if slices.Contains(split.novel, set.Labels[row]) {
				t.Fatalf("an earlier task holds row %d of the novel class %d", row, set.Labels[row])
			}
		}
		if len(task.Rows) != 5*20 || task.Support != 5*5 {
			t.Fatalf("an earlier task of %d rows, %d labelled", len(task.Rows), task.Support)
		}
		earlier = append(earlier, task)
	}
	settings := preset(t, "default").Settings
	want, err := learnBase(t.Context(), set, split.BaseRows, earlier, settings)
	if err != nil || want.Metric == nil {
		t.Fatalf("no metric: %v", err)
	}
	changed := *set
	changed.Rows = slices.Clone(set.Rows)
	for i, l := range set.Labels {
		if slices.Contains(split.novel, l) {
			for j := range set.D {
				changed.Rows[i*set.D+j] = 1000
			}
		}
	}
	got, err := learnBase(t.Context(), &changed, split.BaseRows, earlier, settings)
	if err != nil || !slices.Equal(got.Mean, want.Mean) ||
		!slices.Equal(got.Metric.Units, want.Metric.Units) {
		t.Errorf("other novel rows change the mean or the metric: %v", err)
	}
}
