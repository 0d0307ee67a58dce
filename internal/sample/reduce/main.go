// Command reduce makes this tree's sample data from the whole sets: Debian's package
// dataset-fashion-mnist (its folder of IDX files) and digits.csv.gz of the scikit-learn distribution. The
// same sets give the same sample.
package main

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"encoding/csv"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
)

func main() {
	fashion := flag.String("fashion", "/usr/share/datasets/fashion-mnist",
		"folder of train-images-idx3-ubyte.gz and train-labels-idx1-ubyte.gz")
	digits := flag.String("digits", "digits.csv.gz",
		"digits.csv.gz of scikit-learn: 64 pixels and the digit, a row each")
	out := flag.String("out", "internal/sample", "folder to write to")
	flag.Parse()
	if err := reduce(*fashion, *digits, *out); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func reduce(fashion, digits, out string) error {
	images, err := unpack(filepath.Join(fashion, "train-images-idx3-ubyte.gz"))
	if err != nil {
		return err
	}
	labels, err := unpack(filepath.Join(fashion, "train-labels-idx1-ubyte.gz"))
	if err != nil {
		return err
	}
	const imageHead, labelHead = 16, 8
	if err := write(filepath.Join(out, "fashion"), images[imageHead:], labels[labelHead:], 28, 220); err != nil {
		return err
	}
	table, err := unpack(digits)
	if err != nil {
		return err
	}
	rows, err := csv.NewReader(bytes.NewReader(table)).ReadAll()
	if err != nil {
		return fmt.Errorf("%s: %w", digits, err)
	}
	var pixels, classes []byte
	for _, row := range rows {
		for i, text := range row {
			x, err := strconv.ParseFloat(text, 64)
			if err != nil {
				return fmt.Errorf("%s: %w", digits, err)
			}
			if i < 64 {
				pixels = append(pixels, byte(x))
			} else {
				classes = append(classes, byte(x))
			}
		}
	}
	return write(filepath.Join(out, "digits"), pixels, classes, 8, 150)
}

func unpack(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return io.ReadAll(z)
}

// write writes the given number of pictures of each class, in random order.
func write(name string, pixels, labels []byte, side, each int) error {
	var keptPixels, keptLabels []byte
	kept := map[byte]int{}
	for _, i := range rand.New(rand.NewPCG(1, 1)).Perm(len(labels)) {
		if c := labels[i]; kept[c] < each {
			kept[c]++
			keptLabels = append(keptLabels, c)
			keptPixels = append(keptPixels, pixels[i*side*side:(i+1)*side*side]...)
		}
	}
	if err := pack(name+"-images.idx.gz", keptPixels, len(keptLabels), side, side); err != nil {
		return err
	}
	return pack(name+"-labels.idx.gz", keptLabels, len(keptLabels))
}

// pack writes a compressed array of bytes in the IDX format.
func pack(name string, values []byte, shape ...int) error {
	b := []byte{0, 0, 8, byte(len(shape))}
	for _, n := range shape {
		b = binary.BigEndian.AppendUint32(b, uint32(n))
	}
	var packed bytes.Buffer
	z, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return err
	}
	if _, err := z.Write(append(b, values...)); err != nil {
		return err
	}
	if err := z.Close(); err != nil {
		return err
	}
	return os.WriteFile(name, packed.Bytes(), 0o644)
}
