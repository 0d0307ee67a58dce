package evaluate

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/slkstream/slkstream/internal/kernel"
	"github.com/slkstream/slkstream/internal/linkage"
	"github.com/slkstream/slkstream/solver/identity"
	"github.com/slkstream/slkstream/solver/stream"
)

// Identities measures whether things get one identity over several streams. The classes of a set come to
// Streams streams, each to two or more of them with items of its own, in bursts; a set with frames is cut into
// stretches of time instead. Each stream shows its items through a shift of its own: rotated by Shift of the
// way to another space, with an offset, a scale and noise.
type Identities struct {
	Streams int
	Shift   float64
	Seed    uint64
}

const (
	// identityRows is how many rows are drawn at most, evenly over the classes: the rival that groups all at
	// once needs the likeness of each two.
	identityRows    = 4000
	identityEpisode = 100
	// identityExamples is how many items of a stream are labelled, of each class that is.
	identityExamples = 3
)

// sighting is an item of one of the streams.
type sighting struct {
	stream  int
	truth   int32
	frame   string
	vector  []float32
	cluster string // that its stream found
}

// IdentityResult is the score of one method.
type IdentityResult struct {
	Data    string  `json:"data"`
	Streams int     `json:"streams"`
	Shift   float64 `json:"shift"`
	Method  string  `json:"method"`
	PairF1  float64 `json:"pair_f1"`
	NMI     float64 `json:"nmi"`
	// Of the answers as they were given; nil: the method answers afterwards.
	Switches *int     `json:"switches,omitempty"` // items with another identity than the one before of their class
	Wait     *float64 `json:"wait,omitempty"`     // items of a class that come to a further stream before its identity is there
	Found    int      `json:"found"`              // identities
	Classes  int      `json:"classes"`
}

// IdentityHeading is the heading of the rows of IdentityResult.
const IdentityHeading = "data\tstreams\tshift\tmethod\tpair F1\tNMI\tswitches\twait\tfound\tclasses\t"

// Row is the result as a row under IdentityHeading.
func (r IdentityResult) Row() string {
	online := "-\t-"
	if r.Switches != nil {
		online = fmt.Sprintf("%d\t%.1f", *r.Switches, *r.Wait)
	}
	return fmt.Sprintf("%s\t%d\t%g\t%s\t%.3f\t%.3f\t%s\t%d\t%d\t",
		r.Data, r.Streams, r.Shift, r.Method, r.PairF1, r.NMI, online, r.Found, r.Classes)
}

// Run measures a set: the link; its rivals, which are leaders over the items of all streams in one list, average
// link over all items at once after the fact, and each stream apart; and the link again over every second class,
// without and with labelled examples of the others.
func (p *Identities) Run(ctx context.Context, set *Set) ([]IdentityResult, error) {
	episodes, err := p.draw(set)
	if err != nil {
		return nil, err
	}
	updates, err := p.clusters(ctx, episodes)
	if err != nil {
		return nil, err
	}
	now, end, err := link(episodes, updates, nil)
	if err != nil {
		return nil, err
	}
	items := slices.Concat(episodes...)
	examples, rest := examplesOf(items)
	nowTaught, endTaught, err := link(episodes, updates, examples)
	if err != nil {
		return nil, err
	}
	var out []IdentityResult
	score := func(method string, of []int, now, end []int32) {
		r := IdentityResult{Data: set.Name, Streams: p.Streams, Shift: p.Shift, Method: method}
		out = append(out, r.score(chosen(items, of), chosen(now, of), chosen(end, of)))
	}
	leaders, apart := leadersOf(items, set.D), clustersOf(items)
	score("link", nil, now, end)
	score("leaders", nil, leaders, leaders)
	score("at-once", nil, nil, atOnce(items, set.D))
	score("apart", nil, apart, apart)
	score("half", rest, now, end)
	score("half-labelled", rest, nowTaught, endTaught)
	return out, nil
}

// chosen returns some of a list; nil: all.
func chosen[T any](list []T, of []int) []T {
	if of == nil || list == nil {
		return list
	}
	out := make([]T, len(of))
	for i, at := range of {
		out[i] = list[at]
	}
	return out
}

// examplesOf returns labelled examples of every second class from each stream, and the items of the others.
func examplesOf(items []*sighting) (examples []identity.Labelled, rest []int) {
	taken := map[visit]int{}
	for i, it := range items {
		if it.truth%2 == 0 {
			rest = append(rest, i)
			continue
		}
		of := visit{it.stream, it.truth}
		if taken[of] < identityExamples {
			taken[of]++
			examples = append(examples, identity.Labelled{
				Stream: camera(it.stream), Label: className(it.truth), Vector: it.vector,
			})
		}
	}
	return examples, rest
}

// clusters has each stream answer its episodes, and returns what each has found after each episode.
func (p *Identities) clusters(ctx context.Context, episodes [][]*sighting) ([][]identity.Cluster, error) {
	settings := stream.Defaults()
	settings.Discover, settings.Summaries = true, true
	streams := make([]*stream.Stream, p.Streams)
	engine := new(stream.Engine)
	var updates [][]identity.Cluster
	for number, episode := range episodes {
		at := episode[0].stream
		if streams[at] == nil {
			streams[at] = stream.New(camera(at), settings)
		}
		if err := answerClusters(ctx, streams[at], engine, episode); err != nil {
			return nil, err
		}
		updates = append(updates, changed(streams[at], episode, int64(number)))
	}
	return updates, nil
}

// link returns the identity of each item as it was given, and as it is in the end. Examples are known from the
// second episode of the first stream on.
func link(episodes [][]*sighting, updates [][]identity.Cluster, examples []identity.Labelled) (now, end []int32, err error) {
	link := identity.New(identity.Defaults())
	for i, episode := range episodes {
		if i > 0 && episodes[0][0].stream == episode[0].stream && examples != nil {
			if err := link.Learn(examples); err != nil {
				return nil, nil, err
			}
			examples = nil
		}
		link.Update(updates[i], nil)
		for _, it := range episode {
			now = append(now, int32(link.Of(it.key())))
		}
	}
	for _, it := range slices.Concat(episodes...) {
		end = append(end, int32(link.Of(it.key())))
	}
	return now, end, nil
}

// clustersOf numbers the clusters of items, those of each stream apart.
func clustersOf(items []*sighting) []int32 {
	numbers, out := map[identity.Key]int32{}, make([]int32, len(items))
	for i, it := range items {
		if _, known := numbers[it.key()]; !known {
			numbers[it.key()] = int32(len(numbers))
		}
		out[i] = numbers[it.key()]
	}
	return out
}

// answer sets the clusters of an episode's items.
func answerClusters(ctx context.Context, s *stream.Stream, engine *stream.Engine, episode []*sighting) error {
	list := make([]stream.Item, len(episode))
	for i, it := range episode {
		list[i] = stream.Item{Vector: it.vector, Frame: it.frame}
	}
	answers, _, err := s.Answer(ctx, engine, list, nil)
	for i := range answers {
		episode[i].cluster = answers[i].Class
	}
	return err
}

// changed returns what a stream knows of the clusters of an episode.
func changed(s *stream.Stream, episode []*sighting, now int64) (out []identity.Cluster) {
	of := map[string]bool{}
	for _, it := range episode {
		of[it.cluster] = true
	}
	for _, f := range s.Clusters() {
		if of[f.Cluster] {
			out = append(out, identity.Cluster{
				Key:  identity.Key{Stream: camera(episode[0].stream), Cluster: f.Cluster},
				Mean: f.Mean, Items: f.Items, Seen: now, Apart: f.Apart,
			})
		}
	}
	return out
}

func camera(number int) string { return "camera-" + strconv.Itoa(number) }

func (it *sighting) key() identity.Key {
	return identity.Key{Stream: camera(it.stream), Cluster: it.cluster}
}

func leadersOf(items []*sighting, d int) []int32 {
	t := &Trial{D: d}
	for _, it := range items {
		t.Items = append(t.Items, StreamItem{Vector: it.vector})
	}
	out := make([]int32, len(items))
	for i, a := range t.leaders() {
		n, _ := strconv.Atoi(a.Label)
		out[i] = int32(n)
	}
	return out
}

// atOnce groups all items at once by average link, less the mean of all, and cuts at the limit that is best
// for pair F1, which nobody knows without the classes.
func atOnce(items []*sighting, d int) []int32 {
	n := len(items)
	mean, rows, alike := make([]float32, d), make([]float32, 0, n*d), make([]float32, n*n)
	for _, it := range items {
		kernel.Axpy(1/float32(n), unitRow(it.vector), mean)
	}
	truth := make([]int32, n)
	for i, it := range items {
		row := unitRow(it.vector)
		kernel.Axpy(-1, mean, row)
		rows = append(rows, unitRow(row)...)
		truth[i] = it.truth
	}
	kernel.Gram(alike, rows, n, d)
	kernel.Mirror(alike, n)
	for i := range n {
		for j := range i {
			if a, b := items[i], items[j]; a.frame != "" && a.frame == b.frame && a.stream == b.stream {
				alike[i*n+j], alike[j*n+i] = float32(math.Inf(-1)), float32(math.Inf(-1))
			}
		}
	}
	merges := linkage.Average(alike, n, nil, -1)
	var best []int32
	score := -1.
	for cut := 0; cut <= len(merges); cut += max(1, len(merges)/400) {
		answer := make([]int32, n)
		for g, members := range linkage.Groups(n, merges[:cut]) {
			for _, i := range members {
				answer[i] = int32(g)
			}
		}
		if f1 := PairF1(truth, answer); f1 > score {
			score, best = f1, answer
		}
	}
	return best
}

// visit is a class at a stream.
type visit struct {
	stream int
	class  int32
}

// score scores identities as they were given, nil if they were not, and as they are in the end.
func (r IdentityResult) score(items []*sighting, now, end []int32) IdentityResult {
	truth, counts := make([]int32, len(items)), map[int32]map[int32]int{}
	for i, it := range items {
		truth[i] = it.truth
		if counts[it.truth] == nil {
			counts[it.truth] = map[int32]int{}
		}
		counts[it.truth][end[i]]++
	}
	r.PairF1, r.NMI, r.Classes = PairF1(truth, end), NMI(truth, end), len(counts)
	r.Found = len(slices.Compact(slices.Sorted(slices.Values(end))))
	if now == nil {
		return r
	}
	right := map[int32]int32{} // the identity of most items of the class
	for class, of := range counts {
		for id, n := range of {
			if best, known := right[class]; !known || n > of[best] || n == of[best] && id < best {
				right[class] = id
			}
		}
	}
	home, waits, over, sum := map[int32]int{}, map[visit]int{}, map[visit]bool{}, 0
	for i, it := range items {
		if _, known := home[it.truth]; !known {
			home[it.truth] = it.stream
		}
		v := visit{it.stream, it.truth}
		if it.stream == home[it.truth] || over[v] {
			continue
		}
		waits[v] += 0
		if over[v] = now[i] == right[it.truth]; !over[v] {
			waits[v]++
			sum++
		}
	}
	switches, wait := IDSwitches(truth, now), float64(sum)/float64(max(1, len(waits)))
	r.Switches, r.Wait = &switches, &wait
	return r
}
