// Package sample holds the small labelled picture sets of the demo and the tests, and an embedding that needs
// no neural network.
//
// Fashion is a reduced sample of Fashion-MNIST (Zalando SE, MIT licence), Digits one of the UCI handwritten
// digits (E. Alpaydin and C. Kaynak, CC BY 4.0). LICENCES.md beside this file has the terms, and how both
// were drawn.
package sample

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"encoding/binary"
	"fmt"
	"io"
	"sync"
)

// Set is a labelled set of square grey pictures.
type Set struct {
	Side   int      // pixels per side
	Pixels []byte   // N x Side x Side
	Labels []int32  // N, index into Names
	Names  []string // class names
}

// N is the number of pictures.
func (s *Set) N() int { return len(s.Labels) }

// Image returns the pixels of picture i.
func (s *Set) Image(i int) []byte {
	n := s.Side * s.Side
	return s.Pixels[i*n : (i+1)*n : (i+1)*n]
}

// Rows returns the pixels as rows of float32, one per picture.
func (s *Set) Rows() []float32 {
	rows := make([]float32, len(s.Pixels))
	for i, p := range s.Pixels {
		rows[i] = float32(p)
	}
	return rows
}

var (
	//go:embed fashion-images.idx.gz
	fashionImages []byte
	//go:embed fashion-labels.idx.gz
	fashionLabels []byte
	//go:embed digits-images.idx.gz
	digitsImages []byte
	//go:embed digits-labels.idx.gz
	digitsLabels []byte
)

// Fashion returns 220 pictures of each of ten articles of clothing, 28 x 28, 0 to 255, in random order. The
// set is shared: do not write to it.
var Fashion = sync.OnceValue(func() *Set {
	return mustRead(fashionImages, fashionLabels, []string{
		"t-shirt", "trousers", "pullover", "dress", "coat",
		"sandal", "shirt", "sneaker", "bag", "ankle boot",
	})
})

// Digits returns 150 pictures of each digit, 8 x 8, 0 to 16, in random order. The set is shared: do not write
// to it.
var Digits = sync.OnceValue(func() *Set {
	return mustRead(digitsImages, digitsLabels, []string{"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"})
})

// mustRead reads an embedded set. It panics on a fault, which can only come from the build.
func mustRead(images, labels []byte, names []string) *Set {
	s, err := read(images, labels, names)
	if err != nil {
		panic(fmt.Errorf("sample data: %w", err))
	}
	return s
}

func read(images, labels []byte, names []string) (*Set, error) {
	size, pixels, err := readIDX(images)
	if err != nil {
		return nil, err
	}
	count, classes, err := readIDX(labels)
	if err != nil {
		return nil, err
	}
	if len(size) != 3 || len(count) != 1 || size[0] != count[0] || size[1] != size[2] {
		return nil, fmt.Errorf("images of shape %v and labels of shape %v do not match", size, count)
	}
	s := &Set{Side: size[1], Pixels: pixels, Names: names, Labels: make([]int32, len(classes))}
	for i, c := range classes {
		if int(c) >= len(names) {
			return nil, fmt.Errorf("label %d of picture %d: there are %d classes", c, i, len(names))
		}
		s.Labels[i] = int32(c)
	}
	return s, nil
}

// readIDX reads a compressed array of bytes in the IDX format.
func readIDX(b []byte) (shape []int, values []byte, err error) {
	z, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		return nil, nil, err
	}
	b, err = io.ReadAll(z)
	if err != nil {
		return nil, nil, err
	}
	const bytesOfType = 8
	if len(b) < 4 || b[0] != 0 || b[1] != 0 || b[2] != bytesOfType || len(b) < 4+4*int(b[3]) {
		return nil, nil, fmt.Errorf("not an IDX array of bytes")
	}
	n := 1
	for i := range int(b[3]) {
		shape = append(shape, int(binary.BigEndian.Uint32(b[4+4*i:])))
		n *= shape[i]
	}
	if values = b[4+4*len(shape):]; len(values) != n {
		return nil, nil, fmt.Errorf("%d bytes are not of shape %v", len(values), shape)
	}
	return shape, values, nil
}
