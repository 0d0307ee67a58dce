package broker

import (
	"encoding/binary"
	"hash/crc32"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Where a batch of records has its fields.
const (
	batchLength   = 8
	batchSum      = 17
	batchSummed   = 21 // what the checksum is of begins here
	batchGreatest = 35 // timestamp of its records, in ms
	batchHead     = 61
)

// tooOld is the age from which on a batch counts from when it is written. Topics keep records for a week by default, and
// the broker deletes, with a batch that is older, all that come before it: one record of a camera whose clock is wrong,
// or of last year, would take others that nobody has read.
const tooOld = 6 * 24 * time.Hour

// keepOld has each batch of old records deleted as one that is written now. The records keep their own times.
func keepOld(cluster *kfake.Cluster) {
	cluster.ControlKey(int16(kmsg.Produce), func(request kmsg.Request) (kmsg.Response, error, bool) {
		now := time.Now()
		for _, t := range request.(*kmsg.ProduceRequest).Topics {
			for _, p := range t.Partitions {
				countFrom(p.Records, now)
			}
		}
		return nil, nil, false
	})
}

// countFrom replaces the greatest timestamp of a batch that is too old.
func countFrom(batch []byte, now time.Time) {
	if len(batch) < batchHead || int(binary.BigEndian.Uint32(batch[batchLength:]))+batchLength+4 != len(batch) {
		return // the broker refuses it
	}
	sum, greatest := batch[batchSum:], batch[batchGreatest:]
	if now.Sub(time.UnixMilli(int64(binary.BigEndian.Uint64(greatest)))) < tooOld ||
		binary.BigEndian.Uint32(sum) != checksum(batch) {
		return
	}
	binary.BigEndian.PutUint64(greatest, uint64(now.UnixMilli()))
	binary.BigEndian.PutUint32(sum, checksum(batch))
}

func checksum(batch []byte) uint32 { return crc32.Checksum(batch[batchSummed:], castagnoli) }
