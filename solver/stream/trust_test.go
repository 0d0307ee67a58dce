package stream

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/slkstream/slkstream/internal/vector"
)

// drawnAbout draws rows of unit length about each of the means in turn, which it returns with their classes.
func drawnAbout(random *rand.Rand, means [][]float32, each int, deviation float64) (rows []float32, classes []int32) {
	for range each {
		for c, mean := range means {
			row := make([]float32, len(mean))
			for j, v := range mean {
				row[j] = v + float32(deviation*random.NormFloat64())
			}
			vector.Unit(row, row)
			rows, classes = append(rows, row...), append(classes, int32(c))
		}
	}
	return rows, classes
}

func meansOf(random *rand.Rand, k, d int) (means [][]float32) {
	for range k {
		mean := make([]float32, d)
		for j := range mean {
			mean[j] = float32(random.NormFloat64())
		}
		vector.Unit(mean, mean)
		means = append(means, mean)
	}
	return means
}

// counted are the times of so many items that come one after the other.
func counted(n int) (times []int) {
	for i := range n {
		times = append(times, i)
	}
	return times
}

// Examples are trusted where items look as they do, less where the items of a class look alike but elsewhere, less
// where classes look alike, and less where items are near-copies of each other.
func TestTrustIsOfHowItemsLook(t *testing.T) {
	const k, d = 8, 32
	random := rand.New(rand.NewPCG(1, 2))
	means := meansOf(random, k, d)
	examples, classes := drawnAbout(random, means, 5, .2)
	trust := func(items []float32) float64 {
		m, ok := compareRows(items, examples, counted(len(items)/d), classes, d)
		if !ok {
			t.Fatal("nothing compared")
		}
		return m.trust()
	}
	about := func(means [][]float32, deviation float64) float64 {
		items, _ := drawnAbout(random, means, 12, deviation)
		return trust(items)
	}
	moved := meansOf(random, k, d)
	for c, mean := range moved {
		for j, v := range means[c] {
			mean[j] += v / 2
		}
		vector.Unit(mean, mean)
	}
	var tracks []float32 // of 12 items that are all but the same
	first, _ := drawnAbout(random, means, 1, .2)
	for at := 0; at < len(first); at += d {
		rows, _ := drawnAbout(random, [][]float32{first[at : at+d]}, 12, .01)
		tracks = append(tracks, rows...)
	}
	alike, away, overlap, copies := about(means, .2), about(moved, .2), about(means, .5), trust(tracks)
	if alike < .8 || away > .4*alike || overlap > .8*alike || copies > .6*alike {
		t.Errorf("trust %g where items look as examples do, %g where they lie elsewhere, %g where classes overlap, %g of copies",
			alike, away, overlap, copies)
	}
}

// Copies of an item say nothing about how near items are to each other, and items that are all the same nothing at
// all, as do examples of one class.
func TestTrustOfCopies(t *testing.T) {
	const k, d = 8, 32
	random := rand.New(rand.NewPCG(3, 4))
	means := meansOf(random, k, d)
	examples, classes := drawnAbout(random, means, 5, .1)
	items, _ := drawnAbout(random, means, 6, .1)
	times := counted(len(items) / d)
	once, _ := compareRows(items, examples, times, classes, d)
	twice, ok := compareRows(append(items, items...), examples, append(times, times...), classes, d)
	if !ok || twice != once {
		t.Errorf("%+v, of two copies %+v", once, twice)
	}
	same := append(items[:d:d], items[:d]...)
	if m, ok := compareRows(same, examples, times[:2], classes, d); ok {
		t.Errorf("%+v of items that are the same", m)
	}
	if m, ok := compareRows(items, examples[:d], times, classes[:1], d); ok {
		t.Errorf("%+v in one class", m)
	}
}

// Items of another moment are those lagUnit items away; where there are none, any other item counts.
func TestMomentsOfTrust(t *testing.T) {
	const d = 16
	random := rand.New(rand.NewPCG(5, 6))
	means := meansOf(random, 2, d)
	examples, classes := drawnAbout(random, means, 5, .1)
	var items []float32
	for _, mean := range meansOf(random, 4, d) {
		rows, _ := drawnAbout(random, [][]float32{mean}, lagUnit, .05)
		items = append(items, rows...)
	}
	m, _ := compareRows(items, examples, counted(len(items)/d), classes, d)
	if !(m.toMoment > 5*m.toItem) {
		t.Errorf("%g to items of another moment, %g to any", m.toMoment, m.toItem)
	}
	if m, ok := compareRows(items[:lagUnit*d], examples, counted(lagUnit), classes, d); !ok || m.toMoment != m.toItem {
		t.Errorf("of one moment %+v", m)
	}
}

// Where each class has moved away from its examples, answers are less sure than where none has, and it is said once
// that items look unlike the examples.
func TestItemsFarFromExamplesAreTrustedLess(t *testing.T) {
	sure := func(away float32) (confidence float64, unlike, said int) {
		f, moved := newCamera(7, 6, 24, .3), newCamera(8, 6, 24, .3)
		s, e := New("cam", settings(t)), new(Engine)
		labels := f.labels(3)
		for c, centre := range f.centres {
			for j := range centre {
				centre[j] += away * moved.centres[c][j]
			}
		}
		sum, count := 0., 0.
		for range 4 {
			items, _ := f.episode(60, 0)
			answers, report := answer(t, s, e, items, labels)
			if report.Unlike {
				unlike++
			}
			for _, note := range report.Notes {
				if strings.Contains(note, "unlike the examples") {
					said++
				}
			}
			for _, a := range answers {
				sum, count = sum+a.Confidence, count+1
			}
		}
		return sum / count, unlike, said
	}
	near, unlikeNear, saidNear := sure(0)
	far, unlikeFar, saidFar := sure(2)
	if !(far < near-.2) {
		t.Errorf("confidence %g near the examples, %g far from them", near, far)
	}
	if unlikeNear != 0 || saidNear != 0 || unlikeFar != 4 || saidFar != 1 {
		t.Errorf("unlike in %d episodes near the examples and in %d far from them, said %d and %d times",
			unlikeNear, unlikeFar, saidNear, saidFar)
	}
}

func compareRows(items, examples []float32, times []int, classes []int32, d int) (m distances, ok bool) {
	return (&comparison{items: items, examples: examples}).compare(times, classes, d)
}
