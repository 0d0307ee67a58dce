// Package ordered is a persistent ordered list: any number of versions exist at once, and each shares most of
// its memory with the one it was made from.
package ordered

import (
	"iter"
	"slices"
)

// chunkMost is the maximum length of a chunk. An edit copies one chunk and the list of chunks.
const chunkMost = 512

// List holds values in the order of its compare function, each once. It is immutable: Edit returns another
// list. The zero List is empty and cannot be edited; see New.
type List[T any] struct {
	compare func(a, b T) int
	chunks  [][]T // none is empty
	length  int
}

// New returns an empty list.
func New[T any](compare func(a, b T) int) List[T] { return List[T]{compare: compare} }

// Edit inserts a value, replacing an equal one, or with Out removes the equal one, if there is one.
type Edit[T any] struct {
	Value T
	Out   bool
}

// Edit returns the list with the edits applied. It sorts edits; of several with equal values the last counts.
func (l List[T]) Edit(edits []Edit[T]) List[T] {
	if len(edits) == 0 {
		return l
	}
	slices.SortStableFunc(edits, func(a, b Edit[T]) int { return l.compare(a.Value, b.Value) })
	next := List[T]{compare: l.compare, chunks: make([][]T, 0, len(l.chunks)+1+2*len(edits)/chunkMost)}
	chunks := l.chunks
	if len(chunks) == 0 {
		chunks = [][]T{nil}
	}
	for i, chunk := range chunks {
		n := len(edits)
		if i+1 < len(chunks) {
			n, _ = slices.BinarySearchFunc(edits, chunks[i+1][0],
				func(e Edit[T], first T) int { return l.compare(e.Value, first) })
		}
		if n > 0 {
			chunk = l.merge(chunk, edits[:n])
			edits = edits[n:]
		}
		next.append(chunk)
	}
	return next
}

// merge returns a chunk with edits applied, in new memory.
func (l List[T]) merge(chunk []T, edits []Edit[T]) []T {
	out := make([]T, 0, len(chunk)+len(edits))
	for i, e := range edits {
		if i+1 < len(edits) && l.compare(e.Value, edits[i+1].Value) == 0 {
			continue
		}
		at, found := slices.BinarySearchFunc(chunk, e.Value, l.compare)
		out = append(out, chunk[:at]...)
		chunk = chunk[at:]
		if found {
			chunk = chunk[1:]
		}
		if !e.Out {
			out = append(out, e.Value)
		}
	}
	return append(out, chunk...)
}

// append adds a chunk at the end: it splits one that is too long and joins a short one to the one before.
func (l *List[T]) append(chunk []T) {
	l.length += len(chunk)
	if n := len(l.chunks); n > 0 && len(chunk) > 0 && len(chunk)+len(l.chunks[n-1]) <= chunkMost/2 {
		l.chunks[n-1] = slices.Concat(l.chunks[n-1], chunk)
		return
	}
	for parts := (len(chunk) + chunkMost - 1) / chunkMost; parts > 1; parts-- {
		n := len(chunk) / parts
		l.chunks = append(l.chunks, chunk[:n:n])
		chunk = chunk[n:]
	}
	if len(chunk) > 0 {
		l.chunks = append(l.chunks, chunk)
	}
}

// Len is the number of values.
func (l List[T]) Len() int { return l.length }

// All returns the values in order.
func (l List[T]) All() iter.Seq[T] {
	return func(yield func(T) bool) {
		for _, chunk := range l.chunks {
			for _, v := range chunk {
				if !yield(v) {
					return
				}
			}
		}
	}
}

// At returns the value at an index. It panics if there is no such index.
func (l List[T]) At(index int) T {
	for _, chunk := range l.chunks {
		if index < len(chunk) {
			return chunk[index]
		}
		index -= len(chunk)
	}
	panic("ordered: there is no such index")
}

// Search returns the first value that is not below the key, and whether there is one. compare compares a
// value with a key; it must ascend in the list's order.
func Search[T, K any](l List[T], key K, compare func(T, K) int) (v T, ok bool) {
	for v := range From(l, key, compare) {
		return v, true
	}
	return v, false
}

// From returns the values from the first that is not below the key, in order. compare is as for Search.
func From[T, K any](l List[T], key K, compare func(T, K) int) iter.Seq[T] {
	return func(yield func(T) bool) {
		i, _ := slices.BinarySearchFunc(l.chunks, key, func(chunk []T, key K) int {
			if compare(chunk[len(chunk)-1], key) < 0 {
				return -1
			}
			return 1
		})
		for ; i < len(l.chunks); i++ {
			from, _ := slices.BinarySearchFunc(l.chunks[i], key, compare)
			for _, v := range l.chunks[i][from:] {
				if !yield(v) {
					return
				}
			}
		}
	}
}
