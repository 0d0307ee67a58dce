package array

import (
	"bytes"
	"path/filepath"
	"slices"
	"testing"
)

func TestWhatIsWrittenReadsBack(t *testing.T) {
	var file bytes.Buffer
	if err := WriteNPY(&file, []float32{1, -2, 3, 4, 5, 6}, 3, 2); err != nil {
		t.Fatal(err)
	}
	if data := file.Len() - 24; data%64 != 0 {
		t.Errorf("data begin at %d, not at a multiple of 64", data)
	}
	a, err := readNPY(&file, numbers)
	if err != nil || !slices.Equal(a.Floats, []float32{1, -2, 3, 4, 5, 6}) ||
		!slices.Equal(a.Shape, []int{3, 2}) {
		t.Errorf("%v, %v", a, err)
	}
	path := filepath.Join(t.TempDir(), "labels.npy")
	labels := make([]int32, 100_000)
	for i := range labels {
		labels[i] = int32(i) - 1
	}
	if err := WriteNPYFile(path, labels, len(labels)); err != nil {
		t.Fatal(err)
	}
	if a, err = ReadIntegers(path); err != nil || !slices.Equal(a.Integers, labels) {
		t.Errorf("labels: %v", err)
	}
	file.Reset()
	if err := WriteNPY(&file, []uint8{0, 255}, 2); err != nil {
		t.Fatal(err)
	}
	if a, err = readNPY(&file, numbers); err != nil || !slices.Equal(a.Floats, []float32{0, 255}) {
		t.Errorf("bytes: %v, %v", a, err)
	}
	if err := WriteNPY(&file, []uint8{0, 255}, 3); err == nil {
		t.Error("2 values were written as 3")
	}
}
