// Package evaluate measures the stage and its peers on labelled data: the protocols, their scores, and the
// baselines of the paper. Production code does not use it.
package evaluate

import (
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"

	"github.com/slkstream/slkstream/internal/array"
	"github.com/slkstream/slkstream/internal/kernel"
)

// Set is labelled data: N rows of dimension D, Labels -1 for an unknown class.
type Set struct {
	Name   string
	Rows   []float32
	N, D   int
	Labels []int32
	Novel  []int32     // the set's own novel classes; nil: none
	Frames []int32     // the frame of each row; nil: no frames
	Tracks []int32     // the track of each row; nil: no tracks
	Groups []int32     // the group of each row, for support-by group; nil: no groups
	Order  []int32     // rows in the order in which they were recorded; nil: unknown, or as they are with Frames
	Names  [][]float32 // a vector of the name of each class, by class; nil: none
}

// ReadSets reads every folder before any work starts, so that a fault in the last is reported at once.
func ReadSets(folders []string) ([]*Set, error) {
	var sets []*Set
	for _, folder := range folders {
		set, err := ReadSet(folder)
		if err != nil {
			return nil, err
		}
		sets = append(sets, set)
	}
	return sets, nil
}

// ReadSet reads a folder of X.npy and y.npy, and of novel.npy, frame.npy, track.npy, group.npy, order.npy and
// names.npy if they exist.
func ReadSet(folder string) (*Set, error) {
	rows, n, d, err := array.ReadMatrix(filepath.Join(folder, "X.npy"))
	if err != nil {
		return nil, fmt.Errorf("data %s: %w", folder, err)
	}
	labels, err := array.ReadIntegers(filepath.Join(folder, "y.npy"))
	if err != nil {
		return nil, fmt.Errorf("data %s: %w", folder, err)
	}
	s := &Set{
		Name: filepath.Base(filepath.Clean(folder)), Rows: rows, N: n, D: d, Labels: labels,
	}
	if err := s.validate(); err != nil {
		return nil, fmt.Errorf("data %s: %w", folder, err)
	}
	return s, s.readMore(folder)
}

// readMore reads those files of a folder that a set need not have.
func (s *Set) readMore(folder string) error {
	perRow := map[string]*[]int32{
		"frame.npy": &s.Frames, "track.npy": &s.Tracks, "group.npy": &s.Groups, "order.npy": &s.Order,
	}
	all := maps.Clone(perRow)
	all["novel.npy"] = &s.Novel
	for name, to := range all {
		numbers, err := array.ReadIntegers(filepath.Join(folder, name))
		switch {
		case os.IsNotExist(err):
			continue
		case err != nil:
			return fmt.Errorf("data %s: %w", folder, err)
		case perRow[name] != nil && len(numbers) != s.N:
			return fmt.Errorf("data %s: %s: %d numbers for %d rows", folder, name, len(numbers), s.N)
		}
		*to = numbers
	}
	values, n, d, err := array.ReadMatrix(filepath.Join(folder, "names.npy"))
	switch {
	case os.IsNotExist(err):
		return nil
	case err != nil:
		return fmt.Errorf("data %s: %w", folder, err)
	case d != s.D || n <= int(slices.Max(s.Labels)):
		return fmt.Errorf("data %s: names.npy: %d vectors of %d numbers, for classes to %d and rows of %d",
			folder, n, d, slices.Max(s.Labels), s.D)
	}
	for i := range n {
		s.Names = append(s.Names, values[i*d:(i+1)*d])
	}
	return nil
}

func (s *Set) validate() error {
	if s.N == 0 || s.D == 0 {
		return fmt.Errorf("%d rows of dimension %d", s.N, s.D)
	}
	if len(s.Labels) != s.N {
		return fmt.Errorf("%d labels for %d rows", len(s.Labels), s.N)
	}
	for i, v := range s.Rows {
		if math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) {
			return fmt.Errorf("row %d holds %v at column %d", i/s.D, v, i%s.D)
		}
	}
	for i, l := range s.Labels {
		if l < -1 {
			return fmt.Errorf("label %d of row %d: not a class, nor -1 for unknown", l, i)
		}
	}
	return nil
}

// row returns row i.
func (s *Set) row(i int32) []float32 { return s.Rows[int(i)*s.D : int(i+1)*s.D] }

// unitMean returns the mean of some rows, each scaled to length 1.
func (s *Set) unitMean(rows []int32) []float32 {
	mean := make([]float32, s.D)
	for _, i := range rows {
		row := s.row(i)
		kernel.Axpy(float32(1/math.Sqrt(max(float64(kernel.Dot(row, row)), 1e-30))), row, mean)
	}
	return mean
}

// classes lists the rows of each class, classes and rows ascending. Rows of unknown class are omitted.
func (s *Set) classes() (ids []int32, rows map[int32][]int32) {
	rows = map[int32][]int32{}
	for i, l := range s.Labels {
		if l >= 0 {
			rows[l] = append(rows[l], int32(i))
		}
	}
	for id := range rows {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids, rows
}

// without lists the rows of unknown class.
func (s *Set) without() (rows []int32) {
	for i, l := range s.Labels {
		if l < 0 {
			rows = append(rows, int32(i))
		}
	}
	return rows
}
