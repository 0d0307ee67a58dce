package evaluate

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/slkstream/slkstream/internal/array"
)

// StreamProtocol says how a stream is drawn from a labelled set.
type StreamProtocol struct {
	Order      string  // rows, bursts, class, shuffled, dirichlet, or given
	Alpha      float64 // of order dirichlet, above 0
	Given      []int32 // the row order of order given
	Episode    int     // items per episode
	Shots      int     // labelled items per class before the start; 0: none, clusters are scored
	VectorRows int     // rows of each class that make its class vector before the start
	ByName     bool    // each class has the vector of its name that comes with the set
	NameTaught bool    // that vector is an example of its class, labelled before the start as a shot is
	SupportBy  string  // class, first, group
	Groups     []int32 // the group of each row, for support-by group
	Frames     []int32 // the frame of each row; below 0: none; nil: no frames
	Tracks     []int32 // the track of each row; below 0: none; nil: no tracks
	MinRows    int     // classes with fewer rows are left out; 0: 20 with first, else shots + 1

	Drift float64 // how far each class moves towards another one's mean by the end
	Teach float64 // share of the items that carry their label, or that may be asked about
	// random: the item carries its label; later, review: the label comes with the next episode
	TeachBy           string
	UnlabelledClasses float64 // share of the classes without support
	Newcomers         float64 // share of further classes without support that come in the second half only
	Absent            float64 // share of the classes that never come
	Garbage           int     // episodes of noise
	WrongSupports     float64 // share of the supports with another class's label

	// Nobody decides about rows without a class, such as false detections. "" or out: they are left out;
	// unknown: they come without labels; taught: Teach also labels some of them, as a class "nobody".
	Nobody string
}

// Read takes an order, a way of supports, frames and tracks as users give them, files among them: dirichlet:A
// or a file of row numbers as the order, group:FILE as the supports' groups; no frames or tracks where "".
func (p *StreamProtocol) Read(order, supportBy, frames, tracks string) error {
	p.Order, p.SupportBy = order, supportBy
	files := map[string]*[]int32{"frame": &p.Frames, "track": &p.Tracks}
	paths := map[string]string{"frame": frames, "track": tracks}
	if alpha, ok := strings.CutPrefix(order, "dirichlet:"); ok {
		p.Order = "dirichlet"
		p.Alpha, _ = strconv.ParseFloat(alpha, 64) // Validate refuses 0
	} else if !slices.Contains([]string{"rows", "bursts", "class", "shuffled"}, order) {
		p.Order = "given"
		files["order: not rows, bursts, class or shuffled, and as a file"] = &p.Given
		paths["order: not rows, bursts, class or shuffled, and as a file"] = order
	}
	if file, ok := strings.CutPrefix(supportBy, "group:"); ok {
		p.SupportBy = "group"
		files["support-by"], paths["support-by"] = &p.Groups, file
	}
	for name, to := range files {
		if paths[name] == "" {
			continue
		}
		numbers, err := array.ReadIntegers(paths[name])
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		*to = numbers
	}
	return nil
}

// Validate reports every fault at once.
func (p *StreamProtocol) Validate() error {
	var faults []error
	bad := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	if !slices.Contains([]string{"rows", "bursts", "class", "shuffled", "dirichlet", "given"}, p.Order) {
		bad("order %q: not rows, bursts, class, shuffled, dirichlet:A or a file", p.Order)
	}
	if p.Order == "dirichlet" && !(p.Alpha > 0 && p.Alpha <= 1e6) {
		bad("order dirichlet:%g: not above 0", p.Alpha)
	}
	if !slices.Contains([]string{"class", "first", "group"}, p.SupportBy) {
		bad("support-by %q: not class, first or group:FILE", p.SupportBy)
	}
	if p.SupportBy == "first" && p.Shots > firstRows {
		bad("shots %d: support-by first draws from the first %d rows of a class", p.Shots, firstRows)
	}
	if !slices.Contains([]string{"", "out", "unknown", "taught"}, p.Nobody) {
		bad("nobody %q: not out, unknown or taught", p.Nobody)
	}
	if !slices.Contains([]string{"random", "later", "review"}, p.TeachBy) {
		bad("teach-by %q: not random, later or review", p.TeachBy)
	}
	if p.Episode < 1 {
		bad("episode-size %d: below 1", p.Episode)
	}
	if p.Shots < 0 || p.Garbage < 0 || p.MinRows < 0 {
		bad("shots %d, garbage %d, min-rows %d: none may be below 0", p.Shots, p.Garbage, p.MinRows)
	}
	for name, v := range map[string]float64{
		"drift": p.Drift, "teach": p.Teach,
		"unlabelled-classes": p.UnlabelledClasses, "newcomers": p.Newcomers, "absent": p.Absent,
		"wrong-supports": p.WrongSupports,
	} {
		if !(v >= 0 && v <= 1) {
			bad("%s %g: not between 0 and 1", name, v)
		}
	}
	return errors.Join(faults...)
}

// firstRows is how many rows of each class support-by first draws from and removes from the stream.
const firstRows = 10

// StreamItem is one item of a drawn stream.
type StreamItem struct {
	Row    int32 // of the set; -1 for noise
	Vector []float32
	Truth  int32 // -1 for noise and for rows without a class
	Known  bool  // its class has support
	Taught bool  // its label is given, at once or with the next episode, and it is not scored
}

// Class reports whether the item has a class.
func (i *StreamItem) Class() bool { return i.Truth >= 0 }

// Nobody reports whether the item is a row without a class.
func (i *StreamItem) Nobody() bool { return i.Truth < 0 && i.Row >= 0 }

// Trial is a drawn stream: the method's input, and the truth that scores it.
type Trial struct {
	Name          string
	D             int
	Classes       []int32 // ascending
	Items         []StreamItem
	Episodes      [][]int // items of each episode
	Supports      [][]float32
	SupportRows   []int32 // -1 for a name
	SupportLabels []int32
	ClassVectors  map[int32][]float32
	NobodyTaught  bool // items without a class are taught as one class
	Half          int  // the first item of the second half; 0: no newcomers
}

// Draw draws the stream of a seed. Each choice has its own random source, so that changing one setting
// changes nothing else.
func (p *StreamProtocol) Draw(set *Set, seed uint64) (*Trial, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	if (p.ByName || p.NameTaught) && set.Names == nil {
		return nil, fmt.Errorf("data %s: no vectors of class names", set.Name)
	}
	for name, numbers := range map[string][]int32{"frame": p.Frames, "track": p.Tracks} {
		if numbers != nil && len(numbers) != set.N {
			return nil, fmt.Errorf("data %s: %s: %d numbers for %d rows", set.Name, name, len(numbers), set.N)
		}
	}
	source := func(choice uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, choice)) }
	ids, rows := set.classes()
	least := p.MinRows
	if least == 0 {
		if least = p.Shots + p.VectorRows + 1; p.SupportBy == "first" {
			least = 20
		}
	}
	ids = slices.DeleteFunc(ids, func(id int32) bool { return len(rows[id]) < least })
	if len(ids) == 0 {
		return nil, fmt.Errorf("data %s: no class has %d rows", set.Name, least)
	}
	ordered := ids
	if p.Nobody == "unknown" || p.Nobody == "taught" {
		if rows[-1] = set.without(); len(rows[-1]) > 0 {
			ordered = append([]int32{-1}, ids...)
		}
	}
	order, err := p.order(set, ordered, rows, source(1))
	if err != nil {
		return nil, fmt.Errorf("data %s: %w", set.Name, err)
	}
	t := &Trial{Name: set.Name, D: set.D, Classes: ids, NobodyTaught: p.Nobody == "taught"}
	labelled := map[int32]bool{}
	late := int(math.Round(p.Newcomers * float64(len(ids))))
	held := choose(source(2), ids, min(len(ids), late+int(math.Round(p.UnlabelledClasses*float64(len(ids))))))
	late = min(late, len(held))
	for _, id := range ids {
		labelled[id] = (p.ByName || p.NameTaught || p.Shots+p.VectorRows > 0) && !slices.Contains(held, id)
	}
	out := p.supports(set, t, order, labelled, source(3))
	p.wrong(t, source(4))
	for _, id := range choose(source(5), ids, int(math.Round(p.Absent*float64(len(ids))))) {
		for _, row := range rows[id] {
			out[row] = true
		}
	}
	for i, row := range order {
		y := set.Labels[row]
		if late > 0 && t.Half == 0 && 2*i >= len(order) {
			t.Half = len(t.Items)
		}
		early := 2*i < len(order) && slices.Contains(held[:late], y)
		if !out[row] && !early {
			t.Items = append(t.Items, StreamItem{Row: row, Vector: set.row(row), Truth: y, Known: labelled[y]})
		}
	}
	if len(t.Items) == 0 {
		return nil, fmt.Errorf("data %s: no item is left for the stream", set.Name)
	}
	if p.Drift > 0 {
		p.drift(set, t, ids, rows, source(6))
	}
	if p.Teach > 0 && p.TeachBy != "review" {
		var may, nobody []int32
		for i := range t.Items {
			if t.Items[i].Known {
				may = append(may, int32(i))
			} else if t.Items[i].Nobody() {
				nobody = append(nobody, int32(i))
			}
		}
		teach := func(may []int32, random *rand.Rand) {
			for _, i := range choose(random, may, int(math.Round(p.Teach*float64(len(may))))) {
				t.Items[i].Taught = true
			}
		}
		teach(may, source(7))
		if p.Nobody == "taught" {
			teach(nobody, source(9))
		}
	}
	for from := 0; from < len(t.Items); from += p.Episode {
		var episode []int
		for i := from; i < min(from+p.Episode, len(t.Items)); i++ {
			episode = append(episode, i)
		}
		t.Episodes = append(t.Episodes, episode)
	}
	if p.Garbage > 0 {
		p.garbage(set, t, source(8))
	}
	return t, nil
}

// order lists the rows of the classes in their order of arrival.
func (p *StreamProtocol) order(set *Set, ids []int32, rows map[int32][]int32,
	random *rand.Rand,
) ([]int32, error) {
	used := make([]bool, set.N)
	for _, id := range ids {
		for _, row := range rows[id] {
			used[row] = true
		}
	}
	var out []int32
	switch p.Order {
	case "rows":
		for row := range int32(set.N) {
			if used[row] {
				out = append(out, row)
			}
		}
	case "given":
		seen := make([]bool, set.N)
		for i, row := range p.Given {
			if row < 0 || int(row) >= set.N || seen[row] {
				return nil, fmt.Errorf("order: entry %d, %d, is not one of %d rows or comes twice", i, row, set.N)
			}
			if seen[row] = true; used[row] {
				out = append(out, row)
			}
		}
	case "class":
		for _, id := range choose(random, ids, len(ids)) {
			out = append(out, choose(random, rows[id], len(rows[id]))...)
		}
	case "shuffled":
		for _, id := range ids {
			out = append(out, rows[id]...)
		}
		out = choose(random, out, len(out))
	case "bursts":
		out = bursts(ids, rows, random)
	case "dirichlet":
		out = p.correlated(ids, rows, random)
	}
	return out, nil
}

// correlated spreads the rows of each class over as many stretches as there are episodes, by proportions
// drawn from a Dirichlet: the smaller Alpha, the fewer stretches hold a class.
func (p *StreamProtocol) correlated(ids []int32, rows map[int32][]int32, random *rand.Rand) (out []int32) {
	all := 0
	for _, id := range ids {
		all += len(rows[id])
	}
	stretches := make([][]int32, (all+p.Episode-1)/p.Episode)
	share := make([]float64, len(stretches)) // logarithms: a gamma of small Alpha underflows
	for _, id := range ids {
		for i := range share {
			g := distuv.Gamma{Alpha: p.Alpha + 1, Beta: 1, Src: random}.Rand()
			share[i] = math.Log(g) + math.Log(1-random.Float64())/p.Alpha
		}
		softmaxInto(share, slices.Clone(share))
		for _, row := range choose(random, rows[id], len(rows[id])) {
			u, i := random.Float64(), 0
			for i < len(share)-1 && u >= share[i] {
				u -= share[i]
				i++
			}
			stretches[i] = append(stretches[i], row)
		}
	}
	for _, stretch := range stretches {
		out = append(out, choose(random, stretch, len(stretch))...)
	}
	return out
}

// bursts mixes three classes at a time. Each stays for 8 to 20 items, then another replaces it.
func bursts(ids []int32, rows map[int32][]int32, random *rand.Rand) (out []int32) {
	const atOnce, shortest, longest = 3, 8, 20
	left := map[int32][]int32{}
	for _, id := range ids {
		left[id] = choose(random, rows[id], len(rows[id]))
	}
	type burst struct {
		class int32
		items int
	}
	var active []burst
	for {
		for len(active) < atOnce {
			var waiting []int32
			for _, id := range ids {
				if len(left[id]) > 0 && !slices.ContainsFunc(active, func(b burst) bool { return b.class == id }) {
					waiting = append(waiting, id)
				}
			}
			if len(waiting) == 0 {
				break
			}
			id := waiting[random.IntN(len(waiting))]
			active = append(active, burst{id, min(shortest+random.IntN(longest-shortest+1), len(left[id]))})
		}
		if len(active) == 0 {
			return out
		}
		i := random.IntN(len(active))
		b := &active[i]
		out = append(out, left[b.class][0])
		left[b.class] = left[b.class][1:]
		if b.items--; b.items == 0 {
			active = slices.Delete(active, i, i+1)
		}
	}
}

// supports draws the labelled items of each class and returns the rows that leave the stream for that.
func (p *StreamProtocol) supports(set *Set, t *Trial, order []int32, labelled map[int32]bool,
	random *rand.Rand,
) map[int32]bool {
	out := map[int32]bool{}
	t.ClassVectors = map[int32][]float32{}
	for _, id := range t.Classes {
		if p.ByName && labelled[id] {
			t.ClassVectors[id] = set.Names[id]
		}
		if p.NameTaught && labelled[id] {
			t.Supports = append(t.Supports, set.Names[id])
			t.SupportRows = append(t.SupportRows, -1)
			t.SupportLabels = append(t.SupportLabels, id)
		}
	}
	if p.Shots+p.VectorRows == 0 {
		return out
	}
	rows := map[int32][]int32{}
	for _, row := range order {
		rows[set.Labels[row]] = append(rows[set.Labels[row]], row)
	}
	for _, id := range t.Classes {
		pool := rows[id]
		switch p.SupportBy {
		case "first":
			pool = pool[:min(firstRows, len(pool))]
		case "group":
			var groups []int32
			for _, row := range pool {
				if !slices.Contains(groups, p.Groups[row]) {
					groups = append(groups, p.Groups[row])
				}
			}
			from := choose(random, groups, min(2, len(groups)))
			pool = slices.DeleteFunc(slices.Clone(pool), func(row int32) bool {
				return !slices.Contains(from,
					p.Groups[row])
			})
		}
		chosen := choose(random, pool, min(p.Shots+p.VectorRows, len(pool)))
		if p.SupportBy == "class" {
			pool = chosen
		}
		for _, row := range pool {
			out[row] = true
		}
		if !labelled[id] {
			continue
		}
		shots := min(p.Shots, len(chosen))
		if mean := chosen[shots:]; len(mean) > 0 {
			t.ClassVectors[id] = set.unitMean(mean)
		}
		for _, row := range chosen[:shots] {
			t.Supports = append(t.Supports, set.row(row))
			t.SupportRows = append(t.SupportRows, row)
			t.SupportLabels = append(t.SupportLabels, id)
		}
	}
	return out
}

// wrong gives some of the supports another class's label.
func (p *StreamProtocol) wrong(t *Trial, random *rand.Rand) {
	var labels []int32
	for _, y := range t.SupportLabels {
		if !slices.Contains(labels, y) {
			labels = append(labels, y)
		}
	}
	n := int(math.Round(p.WrongSupports * float64(len(t.Supports))))
	if len(labels) < 2 || n == 0 {
		return
	}
	all := make([]int32, len(t.Supports))
	for i := range all {
		all[i] = int32(i)
	}
	for _, i := range choose(random, all, n) {
		for was := t.SupportLabels[i]; t.SupportLabels[i] == was; {
			t.SupportLabels[i] = labels[random.IntN(len(labels))]
		}
	}
}

// drift moves each class's rows over the stream towards the mean of another class.
func (p *StreamProtocol) drift(set *Set, t *Trial, ids []int32, rows map[int32][]int32, random *rand.Rand) {
	mean := map[int32][]float32{}
	for _, id := range ids {
		mean[id] = powerMean(set, rows[id], 1)
	}
	ring := choose(random, ids, len(ids)) // each moves towards the next one
	towards := map[int32]int32{}
	for i, id := range ring {
		towards[id] = ring[(i+1)%len(ring)]
	}
	for i := range t.Items {
		item := &t.Items[i]
		far := float32(p.Drift * float64(i) / float64(max(1, len(t.Items)-1)))
		vector := slices.Clone(item.Vector)
		own, other := mean[item.Truth], mean[towards[item.Truth]]
		for j := range vector {
			vector[j] += far * (other[j] - own[j])
		}
		item.Vector = vector
	}
}

// garbage inserts episodes of noise, with the mean and spread of each column of the data, before random
// episodes; never first, so that there is something to harm.
func (p *StreamProtocol) garbage(set *Set, t *Trial, random *rand.Rand) {
	mean, square := make([]float64, set.D), make([]float64, set.D)
	for _, item := range t.Items {
		for j, v := range item.Vector {
			mean[j] += float64(v)
			square[j] += float64(v) * float64(v)
		}
	}
	n := float64(len(t.Items))
	for range p.Garbage {
		var episode []int
		for range p.Episode {
			vector := make([]float32, set.D)
			for j := range vector {
				m := mean[j] / n
				vector[j] = float32(m + random.NormFloat64()*math.Sqrt(max(0, square[j]/n-m*m)))
			}
			episode = append(episode, len(t.Items))
			t.Items = append(t.Items, StreamItem{Row: -1, Vector: vector, Truth: -1})
		}
		at := min(1+random.IntN(max(1, len(t.Episodes))), len(t.Episodes))
		t.Episodes = slices.Insert(t.Episodes, at, episode)
	}
	// Items are in their order of arrival.
	var items []StreamItem
	for _, episode := range t.Episodes {
		for i, at := range episode {
			items = append(items, t.Items[at])
			episode[i] = len(items) - 1
		}
	}
	t.Items = items
}
