package broker

import (
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/slkstream/slkstream/internal/topic"
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
				topic.RaiseHighestTime(p.Records, now.Add(-tooOld), now)
			}
		}
		return nil, nil, false
	})
}
