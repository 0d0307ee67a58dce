package web

import (
	"cmp"
	"hash/fnv"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// slots is how many colours there are. The shape of a name's mark is its slot modulo 3.
const slots = 24

// mark is what stands for a name beside its letters: a slot, and initials that no other name of the slot has
// where letters allow.
type mark struct {
	Slot     int    `json:"slot"`
	Initials string `json:"initials"`
}

// marksFor is how long the order of the names counts: it takes all examples to find.
const marksFor = 10 * time.Second

// step reaches all slots and changes the shape.
const step = 7

// preferred is the slot that a name has where no earlier name has it: what follows a number gets another one, so that
// gate 1 to gate 24 differ. The page's script computes the same, for cameras.
func preferred(name string) int {
	stem := strings.TrimRight(name, "0123456789")
	digits := name[len(stem):]
	number, _ := strconv.Atoi(digits[max(0, len(digits)-6):])
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(stem))
	sum := hash.Sum32()
	return (int((sum^sum>>15)%slots) + step*number) % slots
}

// marksOf gives names their marks, in this order: each has its preferred slot, or the next one that is used least. So
// a new name at the end changes no other, and all processes that know the same names give the same marks.
func marksOf(names []string) map[string]mark {
	out, used, taken := make(map[string]mark, len(names)), [slots]int{}, map[mark]bool{}
	for _, name := range names {
		if _, known := out[name]; known {
			continue
		}
		slot, least := preferred(name), slices.Min(used[:])
		for used[slot] > least {
			slot = (slot + step) % slots
		}
		used[slot]++
		initials := candidates(name)
		at := max(0, slices.IndexFunc(initials, func(s string) bool { return !taken[mark{slot, s}] }))
		out[name] = mark{slot, initials[at]}
		taken[out[name]] = true
	}
	return out
}

// candidates are initials for a name, the best first: of two words their first letters, of one word its first
// two; a short number at the end is kept.
func candidates(name string) (out []string) {
	words := strings.FieldsFunc(name, func(r rune) bool { return unicode.IsSpace(r) || r == '_' || r == '-' })
	if len(words) == 0 {
		return []string{"?"}
	}
	first := firstOf(words[0])
	add := func(rest string) { out = append(out, strings.ToUpper(first+rest)) }
	last := words[len(words)-1]
	if isNumber := strings.Trim(last, "0123456789") == ""; isNumber && len(words) > 1 {
		add(last[max(0, len(last)-2):])
	}
	for _, word := range append(words[1:len(words):len(words)], strings.TrimPrefix(words[0], first)) {
		for _, letter := range word {
			add(string(letter))
		}
	}
	for _, digit := range "0123456789" {
		add(string(digit))
	}
	return out
}

func firstOf(word string) string {
	for _, letter := range word {
		return string(letter)
	}
	return ""
}

// inOrder returns the classes in the order in which they were first taught, by the oldest example that each has: the
// labels topic keeps the time of an example, not its place.
func (p *Page) inOrder() []string {
	examples, _ := p.stage.Counts()
	p.marking.Lock()
	defer p.marking.Unlock()
	same := len(examples) == len(p.classOrder) && time.Since(p.ordered) < marksFor
	for _, name := range p.classOrder {
		same = same && examples[name] > 0
	}
	if !same {
		first := map[string]time.Time{}
		for e := range p.stage.Examples() {
			if at, known := first[e.Label]; !known || e.At.Before(at) {
				first[e.Label] = e.At
			}
		}
		p.classOrder = slices.SortedFunc(
			maps.Keys(first),
			func(a, b string) int { return cmp.Or(first[a].Compare(first[b]), strings.Compare(a, b)) },
		)
		p.ordered = time.Now()
	}
	return p.classOrder
}

// marked returns the marks of the names that may be on a page: classes, what they are called, what answers were called.
// A class that is called something without examples of its own keeps its mark.
func (p *Page) marked() map[string]mark {
	examples, _ := p.stage.Counts()
	keeps := map[string]string{} // the class whose mark a name keeps
	for _, n := range p.stage.Names() {
		if n.Into != "" && examples[n.Into] == 0 && keeps[n.Into] == "" {
			keeps[n.Into] = n.Name
		}
	}
	root := func(name string) string {
		for range len(keeps) {
			if keeps[name] == "" {
				break
			}
			name = keeps[name]
		}
		return name
	}
	counts, said := p.questions.used()
	names := slices.Concat(p.inOrder(), slices.Sorted(maps.Keys(keeps)), said, slices.Sorted(maps.Keys(counts)))
	names = names[:min(len(names), 2*mostLabels)]
	own := make([]string, len(names))
	for i, name := range names {
		own[i] = root(name)
	}
	given := marksOf(own)
	out := make(map[string]mark, len(names))
	for i, name := range names {
		out[name] = given[own[i]]
	}
	return out
}
