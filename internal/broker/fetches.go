package broker

import (
	"math"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// completeFetches leaves only the limit for each partition to bound a fetch. When the broker cuts a fetch
// because its total is too large, it omits the list of aborted transactions of the partition that it cuts,
// and a reader of committed records would read their records as committed.
func completeFetches(cluster *kfake.Cluster) {
	cluster.ControlKey(int16(kmsg.Fetch), func(request kmsg.Request) (kmsg.Response, error, bool) {
		request.(*kmsg.FetchRequest).MaxBytes = math.MaxInt32
		return nil, nil, false
	})
}
