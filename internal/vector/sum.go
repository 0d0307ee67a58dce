package vector

import (
	"hash/maphash"
	"unsafe"
)

var sumSeed = maphash.MakeSeed()

// Sum returns a hash of a row's bits, which is another one in each process.
func Sum(row []float32) uint64 {
	if len(row) == 0 {
		return 0
	}
	return maphash.Bytes(sumSeed, unsafe.Slice((*byte)(unsafe.Pointer(&row[0])), 4*len(row)))
}
