package web

import (
	"hash/fnv"
	"maps"
	"slices"
	"strings"
	"sync"
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

// marks are given once and kept while the process runs: a new name changes no other. The order of the labels
// topic decides between names that would like the same slot, so that every process gives the same marks.
type marks struct {
	mu   sync.Mutex
	of   map[string]mark
	used [slots]int
}

// give returns the marks of names, of which new ones get theirs in this order.
func (m *marks) give(names ...string) map[string]mark {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.of == nil || len(m.of) > 4*mostLabels {
		m.of, m.used = map[string]mark{}, [slots]int{}
	}
	out := make(map[string]mark, len(names))
	for _, name := range names {
		given, known := m.of[name]
		if !known {
			given = m.next(name)
			m.of[name] = given
		}
		out[name] = given
	}
	return out
}

// next chooses the slot that the name's hash prefers, or the next one that is used least. Steps of 7 reach all
// slots and change the shape.
func (m *marks) next(name string) mark {
	const step = 7
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(name))
	sum := hash.Sum32()
	slot, least := int((sum^sum>>15)%slots), slices.Min(m.used[:])
	for m.used[slot] > least {
		slot = (slot + step) % slots
	}
	m.used[slot]++
	taken := map[string]bool{}
	for other := range maps.Values(m.of) {
		if other.Slot == slot {
			taken[other.Initials] = true
		}
	}
	initials := candidates(name)
	at := max(0, slices.IndexFunc(initials, func(s string) bool { return !taken[s] }))
	return mark{slot, initials[at]}
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

// markedNames returns the names that may be on a page: classes in the order of their examples, then what they
// are called, then what answers were called.
func (p *Page) markedNames() []string {
	examples, _ := p.stage.Counts()
	p.marking.Lock()
	defer p.marking.Unlock()
	same := len(examples) == len(p.classOrder)
	for _, name := range p.classOrder {
		same = same && examples[name] > 0
	}
	if !same {
		p.classOrder = nil
		seen := map[string]bool{}
		for e := range p.stage.Examples() {
			if !seen[e.Label] {
				seen[e.Label] = true
				p.classOrder = append(p.classOrder, e.Label)
			}
		}
	}
	counts, said := p.questions.used()
	names := slices.Concat(p.classOrder, said, slices.Sorted(maps.Keys(counts)))
	return names[:min(len(names), 2*mostLabels)]
}

// marked returns the marks of the names that may be on a page. A class that is called something without
// examples of its own keeps its mark.
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
	var own []string
	names := p.markedNames()
	names = append(names, slices.Sorted(maps.Keys(keeps))...)
	for _, name := range names {
		own = append(own, root(name))
	}
	given := p.marks.give(own...)
	out := make(map[string]mark, len(names))
	for _, name := range names {
		out[name] = given[root(name)]
	}
	return out
}
