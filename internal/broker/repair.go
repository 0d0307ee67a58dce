package broker

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/slkstream/slkstream/internal/topic"
)

// The broker, when it starts, cuts a segment before the first batch that it cannot read, with all that comes after it.
// Therefore damaged batches are set aside before: their bytes go to a file of their own, and in their place is an
// empty batch with their offsets and length, so that the batches after it stay, and no offset is used again. A batch
// that is cut short, at the end, is cut off: it was never acknowledged.

const indexEntry = 15 // bytes for each batch in the index beside a segment

// setDamageAside repairs the segments below a data directory, of which nobody may make use meanwhile, and logs each
// batch that is set aside.
func setDamageAside(dir string, log *slog.Logger) error {
	err := filepath.WalkDir(filepath.Join(dir, "partitions"), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".dat" {
			return err
		}
		return repair(path, filepath.Clean(dir)+".damaged", log)
	})
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("embedded broker: set damaged batches aside: %w", err)
	}
	return nil
}

// span is a range of bytes in a segment.
type span struct{ from, to int }

// repair repairs one segment.
func repair(path, aside string, log *slog.Logger) error {
	segment, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	base, err := strconv.ParseInt(strings.TrimSuffix(filepath.Base(path), ".dat"), 10, 64)
	if err != nil {
		return nil // no segment of the broker's
	}
	entries, err := os.ReadFile(indexOf(path))
	if err != nil && !os.IsNotExist(err) {
		return err
	}
	whole, damaged, end := batches(segment, base)
	all := slices.Concat(whole, damaged)
	slices.SortFunc(all, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	partition := filepath.Base(filepath.Dir(path))
	for _, d := range damaged {
		first, last := lost(segment, base, whole, d)
		kept := filepath.Join(aside, fmt.Sprintf("%s-%d", partition, first))
		err := os.MkdirAll(aside, 0o700)
		if err == nil {
			err = os.WriteFile(kept, segment[d.from:d.to], 0o600)
		}
		if err != nil {
			return err
		}
		log.Error("embedded broker: a damaged batch is set aside: its records are lost, those after it are not",
			"partition", partition, "offset", first, "last", last, "bytes", d.to-d.from, "file", kept)
		topic.StoredBatch(segment[d.from:d.to]).Empty(first, last)
	}
	index := reindexed(segment, all, entries)
	if !bytes.Equal(index, entries) {
		if err := overwrite(indexOf(path), index); err != nil {
			return err
		}
	}
	if len(damaged) == 0 && end == len(segment) {
		return nil
	}
	return overwrite(path, segment[:end])
}

func indexOf(segment string) string { return strings.TrimSuffix(segment, ".dat") + ".idx" }

// overwrite replaces a file's contents as a whole.
func overwrite(path string, contents []byte) error {
	if err := os.WriteFile(path+".tmp", contents, 0o600); err != nil {
		return err
	}
	return os.Rename(path+".tmp", path)
}

// batches returns the whole batches of a segment, the ranges of bytes between them that are none, and where both end:
// a batch after it is cut short. Offsets of batches grow; the first is not below base.
func batches(segment []byte, base int64) (whole, damaged []span, at int) {
	next := base
	for at < len(segment) {
		if size := batchAt(segment, at).Size(); size > 0 && batchAt(segment, at).First() >= next &&
			!misplaced(segment, span{at, at + size}, next) {
			whole = append(whole, span{at, at + size})
			next = batchAt(segment, at).Last() + 1
			at += size
			continue
		}
		end := at + 1
		for end < len(segment) && (batchAt(segment, end).Size() == 0 || batchAt(segment, end).First() < next) {
			end++
		}
		if end == len(segment) && batchAt(segment, at).Claimed() != end-at || end-at < topic.BatchHead {
			break
		}
		damaged = append(damaged, span{at, end})
		at = end
	}
	return whole, damaged, at
}

func batchAt(segment []byte, at int) topic.StoredBatch { return segment[at:] }

// misplaced says whether a batch's first offset, which no checksum covers, is beyond that of the batch after it.
func misplaced(segment []byte, b span, next int64) bool {
	after := batchAt(segment, b.to)
	return after.Size() > 0 && after.First() >= next && after.First() <= batchAt(segment, b.from).Last()
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// lost returns the offsets of a damaged range: those between the batches around it, or, at the end, as many as it
// claims if that can be.
func lost(segment []byte, base int64, whole []span, d span) (first, last int64) {
	const most = 1 << 20 // records of one batch
	first, last = base, -1
	for _, b := range whole {
		if b.from < d.from {
			first = batchAt(segment, b.from).Last() + 1
		} else if last < 0 {
			last = batchAt(segment, b.from).First() - 1
		}
	}
	if last < 0 {
		last = first
		if delta := batchAt(segment, d.from).Delta(); delta > 0 && delta < most {
			last += int64(delta)
		}
	}
	return first, max(first, last)
}

// reindexed returns the index of a segment: the entries that there are, if they are as many as the batches and whole,
// else new ones, by which every batch of a transaction is in one until its end.
func reindexed(segment []byte, all []span, entries []byte) []byte {
	good := len(entries) == len(all)*indexEntry
	for e := range slices.Chunk(entries, indexEntry) {
		good = good && byte(crc32.Checksum(e[2:], castagnoli)) == e[1]
	}
	if good {
		return entries
	}
	const version = 1
	var index []byte
	epoch := int32(0)
	for _, b := range all {
		batch := batchAt(segment, b.from)
		epoch = max(epoch, batch.Leader())
		e := [indexEntry]byte{0: version}
		binary.LittleEndian.PutUint32(e[2:], uint32(epoch))
		if batch.InTransaction() {
			e[14] = 1
		}
		e[1] = byte(crc32.Checksum(e[2:], castagnoli))
		index = append(index, e[:]...)
	}
	return index
}
