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
	got, h, err := readNPY(&file, numbers, kind.number)
	if err != nil || !slices.Equal(got, []float32{1, -2, 3, 4, 5, 6}) || !slices.Equal(h.shape, []int{3, 2}) {
		t.Errorf("%v, %v, %v", got, h, err)
	}
	path := filepath.Join(t.TempDir(), "labels.npy")
	labels := make([]int32, 100_000)
	for i := range labels {
		labels[i] = int32(i) - 1
	}
	if err := WriteNPYFile(path, labels, len(labels)); err != nil {
		t.Fatal(err)
	}
	if got, err := ReadIntegers(path); err != nil || !slices.Equal(got, labels) {
		t.Errorf("labels: %v", err)
	}
	file.Reset()
	if err := WriteNPY(&file, []uint8{0, 255}, 2); err != nil {
		t.Fatal(err)
	}
	if got, _, err = readNPY(&file, numbers, kind.number); err != nil || !slices.Equal(got, []float32{0, 255}) {
		t.Errorf("bytes: %v, %v", got, err)
	}
	if err := WriteNPY(&file, []uint8{0, 255}, 3); err == nil {
		t.Error("2 values were written as 3")
	}
}
