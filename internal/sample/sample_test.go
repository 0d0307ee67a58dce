package sample

import (
	"math"
	"testing"
)

func TestSets(t *testing.T) {
	for name, c := range map[string]struct {
		set        *Set
		side, each int
		brightest  byte
	}{"fashion": {Fashion(), 28, 220, 255}, "digits": {Digits(), 8, 150, 16}} {
		count := make([]int, len(c.set.Names))
		for _, l := range c.set.Labels {
			count[l]++
		}
		for class, n := range count {
			if n != c.each {
				t.Errorf("%s: %d pictures of %s, not %d", name, n, c.set.Names[class], c.each)
			}
		}
		brightest := byte(0)
		for _, p := range c.set.Pixels {
			brightest = max(brightest, p)
		}
		if c.set.Side != c.side || len(c.set.Image(1)) != c.side*c.side || brightest != c.brightest ||
			len(c.set.Rows()) != c.set.N()*c.side*c.side {
			t.Errorf("%s: side %d, brightest %d", name, c.set.Side, brightest)
		}
	}
}

func TestBrokenSetsAreNamed(t *testing.T) {
	for name, pair := range map[string][2][]byte{
		"not compressed": {[]byte("x"), fashionLabels},
		"other labels":   {fashionImages, digitsLabels}, "cut": {fashionImages[:1000], fashionLabels},
	} {
		if _, err := read(pair[0], pair[1], make([]string, 10)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if _, err := read(fashionImages, fashionLabels, make([]string, 3)); err == nil {
		t.Error("labels beyond the classes: no error")
	}
}

// HOG represents shape: the nearest mean of five embeddings per class labels most pictures right, and
// doubling the brightness changes little.
func TestHOG(t *testing.T) {
	set := Fashion()
	var d int
	var means [][]float64
	taken := make([]int, len(set.Names))
	right, all := 0, 0
	for i := range 600 {
		v := HOG(set.Image(i), set.Side)
		if means == nil {
			d = len(v)
			for range set.Names {
				means = append(means, make([]float64, d))
			}
		}
		class := set.Labels[i]
		if taken[class] < 5 {
			taken[class]++
			for j, x := range v {
				means[class][j] += float64(x) / 5
			}
			continue
		}
		best, nearest := math.Inf(1), int32(0)
		for c, mean := range means {
			distance := 0.
			for j, x := range v {
				distance += (float64(x) - mean[j]) * (float64(x) - mean[j])
			}
			if distance < best {
				best, nearest = distance, int32(c)
			}
		}
		if all++; nearest == class {
			right++
		}
	}
	if share := float64(right) / float64(all); share < .6 {
		t.Errorf("%.2f of the pictures named right", share)
	}
	dim := make([]byte, len(set.Image(0)))
	for i, p := range set.Image(0) {
		dim[i] = p / 2
	}
	bright, dark := HOG(set.Image(0), set.Side), HOG(dim, set.Side)
	product, a, b := 0., 0., 0.
	for j := range bright {
		product += float64(bright[j] * dark[j])
		a += float64(bright[j] * bright[j])
		b += float64(dark[j] * dark[j])
	}
	if cosine := product / math.Sqrt(a*b); cosine < .95 {
		t.Errorf("half the light turns the embedding to a cosine of %.3f", cosine)
	}
}

func TestHOGOfNothingIsFinite(t *testing.T) {
	for _, x := range HOG(make([]byte, 28*28), 28) {
		if x != 0 {
			t.Fatalf("%g", x)
		}
	}
}

func BenchmarkHOG(b *testing.B) {
	set := Fashion()
	for b.Loop() {
		HOG(set.Image(0), set.Side)
	}
}
