package vector

import (
	"math"

	"github.com/slkstream/slkstream/internal/kernel"
)

// A half row has four bits a number, in blocks: first the block's largest value, as a part of the row's, then
// its numbers, 0 to halfMost with a sign. Small numbers are nearer to each other than large ones, and few
// large ones in a row, as many embedders make them, leave the others as they are.
const (
	halfBlock = 32
	halfMost  = 7
	halfSize  = 1 + halfBlock/2 // bytes of a block
)

// HalfBytes is the size of a half row of d numbers.
func HalfBytes(d int) int { return (d + halfBlock - 1) / halfBlock * halfSize }

var (
	halfLevels [2 * (halfMost + 1)]float32 // of the block's largest value, by code
	halfCodes  [256]byte                   // by 255 times the part of it
)

func init() {
	for c := range halfMost + 1 {
		level := float32(math.Pow(float64(c)/halfMost, 4./3))
		halfLevels[c], halfLevels[halfMost+1+c] = level, -level
	}
	for i := range halfCodes {
		halfCodes[i] = byte(math.Round(halfMost * math.Pow(float64(i)/255, 3./4)))
	}
}

// halfPart is the largest value of a block.
func halfPart(scale float32, part byte) float32 { return scale * (float32(part) / 255) }

// Halve fills row, of HalfBytes, with a half row of values, and returns its scale: the largest value, without
// its sign.
func Halve(row []byte, values []float32) (scale float32) {
	scale = kernel.Largest(values)
	if scale == 0 {
		clear(row)
		return 0
	}
	for ; len(row) >= halfSize; row = row[halfSize:] {
		some := values[:min(halfBlock, len(values))]
		values = values[len(some):]
		row[0] = byte(math.Ceil(255 * float64(kernel.Largest(some)) / float64(scale)))
		largest, codes := halfPart(scale, row[0]), (*[halfBlock / 2]byte)(row[1:halfSize])
		if *codes = ([halfBlock / 2]byte{}); largest == 0 {
			continue
		}
		for j, v := range some {
			codes[j/2] |= halfCode(v, largest) << (j % 2 * 4)
		}
	}
	return scale
}

// halfCode is the code of a value of a block.
func halfCode(v, largest float32) byte {
	bits := math.Float32bits(v)
	part := 255 * (math.Float32frombits(bits&^(1<<31)) / largest)
	return halfCodes[min(255, int32(part))] | byte(bits>>31)<<3
}

// Unhalve fills values from a half row of as many.
func Unhalve(values []float32, row []byte, scale float32) {
	for ; len(row) >= halfSize; row = row[halfSize:] {
		largest, levels := halfPart(scale, row[0]), halfLevels
		for c := range levels {
			levels[c] *= largest
		}
		var last [halfBlock]float32 // for a row that ends within a block
		block := &last
		if len(values) >= halfBlock {
			block = (*[halfBlock]float32)(values)
		}
		for j, codes := range (*[halfBlock / 2]byte)(row[1:halfSize]) {
			block[2*j], block[2*j+1] = levels[codes&15], levels[codes>>4]
		}
		values = values[copy(values, block[:]):]
	}
}
