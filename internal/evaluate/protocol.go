package evaluate

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/stat/distuv"
)

// Mix says how the queries of a task are distributed over its classes.
type Mix struct {
	Name  string  // balanced, dirichlet:A, absent, few:FROM-TO or few:FROM-TO:N
	Alpha float64 // of dirichlet
	// few: N queries, or all if there are fewer, of From to To of the task's classes
	From, To, Queries int
}

// fewQueries is N if few does not give it.
const fewQueries = 64

// ParseMix reads balanced, absent, dirichlet:A, few:FROM-TO or few:FROM-TO:N.
func ParseMix(name string) (Mix, error) {
	if name == "balanced" || name == "absent" {
		return Mix{Name: name}, nil
	}
	if text, ok := strings.CutPrefix(name, "dirichlet:"); ok {
		if alpha, err := strconv.ParseFloat(text, 64); err == nil && alpha > 0 && alpha <= 1e6 {
			return Mix{Name: name, Alpha: alpha}, nil
		}
	}
	if text, ok := strings.CutPrefix(name, "few:"); ok {
		m := Mix{Name: name, Queries: fewQueries}
		classes, queries, given := strings.Cut(text, ":")
		from, to, _ := strings.Cut(classes, "-")
		var faults [3]error
		m.From, faults[0] = strconv.Atoi(from)
		m.To, faults[1] = strconv.Atoi(to)
		if given {
			m.Queries, faults[2] = strconv.Atoi(queries)
		}
		if errors.Join(faults[:]...) == nil && m.From >= 1 && m.From <= m.To && m.Queries >= 1 {
			return m, nil
		}
	}
	return Mix{}, fmt.Errorf("mix %q: not balanced, absent, dirichlet:A with A above 0, or few:FROM-TO:N", name)
}

// Split is a set split for few-shot tasks: tasks draw from the novel classes, the mean and the metric are
// learned from the rows of all other classes.
type Split struct {
	set        *Set
	rows       map[int32][]int32 // of each class
	novel      []int32           // classes, ascending
	base       []int32           // classes, ascending
	BaseRows   []int32
	small      bool // m = 10
	fewQueries bool // m = 20, but the median novel class has fewer than 30 rows
}

// newSplit splits the set: by the novel classes given, else by those that the set names, else by half of the
// classes with enough rows, at least five, drawn by seed.
func newSplit(set *Set, novel []int32, seed uint64) (*Split, error) {
	ids, rows := set.classes()
	p := &Split{set: set, rows: rows}
	least := leastRows(ids, rows)
	p.small = least == 10
	if novel == nil {
		novel = set.Novel
	}
	if novel == nil {
		for _, id := range ids {
			if len(rows[id]) >= least {
				novel = append(novel, id)
			}
		}
		if len(novel) < 5 {
			return nil, fmt.Errorf("data %s: %d classes have %d rows or more, tasks need at least 5", set.Name,
				len(novel), least)
		}
		random := rand.New(rand.NewPCG(seed, 0x51171))
		random.Shuffle(len(novel), func(i, j int) { novel[i], novel[j] = novel[j], novel[i] })
		novel = novel[:max(5, len(novel)/2)]
	}
	p.novel = slices.Compact(slices.Sorted(slices.Values(novel)))
	var sizes []int
	for _, id := range p.novel {
		if rows[id] == nil {
			return nil, fmt.Errorf("data %s: novel class %d has no rows", set.Name, id)
		}
		sizes = append(sizes, len(rows[id]))
	}
	p.fewQueries = !p.small && Median(sizes) < 30
	for _, id := range ids {
		if _, isNovel := slices.BinarySearch(p.novel, id); !isNovel {
			p.base = append(p.base, id)
			p.BaseRows = append(p.BaseRows, rows[id]...)
		}
	}
	slices.Sort(p.BaseRows)
	return p, nil
}

// leastRows returns m: 20 rows per class if the set has enough such classes to be typical of it, else 10.
func leastRows(ids []int32, rows map[int32][]int32) int {
	var sizes []int // of the classes with at least 10 rows
	twenty := 0
	for _, id := range ids {
		if n := len(rows[id]); n >= 10 {
			sizes = append(sizes, n)
			if n >= 20 {
				twenty++
			}
		}
	}
	if twenty < 5 || Median(sizes) < 20 && twenty < 20 {
		return 10
	}
	return 20
}

// Median returns the middle value, or the mean of the two middle ones if their number is even; 0 if
// there are none.
func Median[T int | float64](values []T) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	return float64(sorted[(len(sorted)-1)/2]+sorted[len(sorted)/2]) / 2
}

// Task is one few-shot task: rows of the set, the support first, and the task's class of each. The class of a
// query is for scoring only.
type Task struct {
	Ways    int
	Support int     // number of labelled rows, the first of Rows
	Rows    []int32 // of the set
	Truth   []int32 // 0 to Ways-1 for each row
}

// drawAttempts bounds the attempts to draw a task, which would not end if nearly all classes were too small.
const drawAttempts = 100_000

// draw draws one task of the novel classes. It draws again if a class is too small.
func (p *Split) draw(random *rand.Rand, ways, shots int, mix Mix) (*Task, error) {
	for range drawAttempts {
		classes := choose(random, p.novel, ways)
		var counts []int
		if mix.From > 0 {
			counts = p.fewCounts(random, classes, shots, mix)
		} else {
			counts = p.queryCounts(random, ways, mix)
		}
		if task := p.take(random, classes, shots, counts); task != nil {
			return task, nil
		}
	}
	return nil, fmt.Errorf("data %s: no %d-way %d-shot task with mix %s: its %d novel classes are too small",
		p.set.Name, ways, shots, mix.Name, len(p.novel))
}

// fewCounts draws the queries among all rows of a few of the classes, which are in random order.
func (p *Split) fewCounts(random *rand.Rand, classes []int32, shots int, mix Mix) []int {
	var pool []int32
	for c := range min(mix.From+random.IntN(mix.To-mix.From+1), len(classes)) {
		for range len(p.rows[classes[c]]) - shots {
			pool = append(pool, int32(c))
		}
	}
	counts := make([]int, len(classes))
	for _, c := range choose(random, pool, min(mix.Queries, len(pool))) {
		counts[c]++
	}
	return counts
}

// queryCounts draws the number of queries of each class.
func (p *Split) queryCounts(random *rand.Rand, ways int, mix Mix) []int {
	counts := make([]int, ways)
	size := func(normal, few, small int) int {
		switch {
		case p.small:
			return small
		case p.fewQueries:
			return few
		}
		return normal
	}
	switch {
	case mix.Name == "balanced":
		for c := range counts {
			counts[c] = size(15, 15, 5)
		}
	// classes are in random order, so the last two may be the absent ones
	case mix.Name == "absent":
		for c := range counts[:ways-absentClasses] {
			counts[c] = size(25, 15, 5)
		}
	default:
		share, sum := make([]float64, ways), 0. // normalised gammas are Dirichlet
		for c := range share {
			share[c] = distuv.Gamma{Alpha: mix.Alpha, Beta: 1, Src: random}.Rand()
			sum += share[c]
		}
		for range size(75, 30, 12) {
			u, c := random.Float64()*sum, 0
			for c < ways-1 && u >= share[c] {
				u -= share[c]
				c++
			}
			counts[c]++
		}
	}
	return counts
}

// absentClasses is the number of classes without a query in a task of mix absent.
const absentClasses = 2

// take draws rows of each class, shots for the support and counts[c] for the queries; nil if a class
// has too few.
func (p *Split) take(random *rand.Rand, classes []int32, shots int, counts []int) *Task {
	task := &Task{Ways: len(classes), Support: shots * len(classes)}
	var queries, truth []int32
	for c, class := range classes {
		rows := p.rows[class]
		if len(rows) < shots+counts[c] {
			return nil
		}
		chosen := choose(random, rows, shots+counts[c])
		task.Rows = append(task.Rows, chosen[:shots]...)
		for range shots {
			task.Truth = append(task.Truth, int32(c))
		}
		queries = append(queries, chosen[shots:]...)
		for range counts[c] {
			truth = append(truth, int32(c))
		}
	}
	random.Shuffle(len(queries), func(i, j int) { // the order must not reveal the class
		queries[i], queries[j] = queries[j], queries[i]
		truth[i], truth[j] = truth[j], truth[i]
	})
	task.Rows, task.Truth = append(task.Rows, queries...), append(task.Truth, truth...)
	return task
}

// choose draws n distinct elements in random order.
func choose(random *rand.Rand, from []int32, n int) []int32 {
	out := slices.Clone(from)
	for i := range n {
		j := i + random.IntN(len(out)-i)
		out[i], out[j] = out[j], out[i]
	}
	return out[:n]
}

// baseTask draws one earlier 5-shot, 15-query task of the base classes; nil if fewer than two
// have seven rows.
func (p *Split) baseTask(random *rand.Rand, ways int) *Task {
	var usable []int32
	for _, id := range p.base {
		if len(p.rows[id]) >= 7 {
			usable = append(usable, id)
		}
	}
	ways = min(ways, len(usable))
	if ways < 2 {
		return nil
	}
	classes := choose(random, usable, ways)
	counts := make([]int, ways)
	for c, class := range classes {
		counts[c] = min(15, len(p.rows[class])-5)
	}
	return p.take(random, classes, 5, counts)
}

// check reports, before drawing, faults that would make every draw fail.
func (p *Split) check(ways, shots int, mix Mix) error {
	if ways < 2 || shots < 1 {
		return fmt.Errorf("ways %d and shots %d: at least 2 and 1", ways, shots)
	}
	if mix.From > ways {
		return fmt.Errorf("mix %s: a task has %d classes, see ways", mix.Name, ways)
	}
	if mix.Name == "absent" && ways <= absentClasses {
		return fmt.Errorf("ways %d: mix absent leaves two classes without queries and needs at least 3", ways)
	}
	if len(p.novel) < ways {
		return fmt.Errorf("data %s: %d novel classes, fewer than ways %d", p.set.Name, len(p.novel), ways)
	}
	least, enough := shots, 0
	if mix.Name == "balanced" {
		least += p.queryCounts(nil, ways, mix)[0]
	}
	for _, id := range p.novel {
		if len(p.rows[id]) >= least {
			enough++
		}
	}
	if enough < ways {
		return fmt.Errorf(
			"data %s: %d novel classes have the %d rows that shots %d and mix %s need, fewer than ways %d",
			p.set.Name,
			enough,
			least,
			shots,
			mix.Name,
			ways,
		)
	}
	return nil
}
