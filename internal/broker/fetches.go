package broker

import (
	"math"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// completeFetches lets the size of a fetch be decided by what each partition may bring. Where the broker cuts
// a fetch because all of it together would be too much, it leaves out which transactions were given up in the
// partition that it cuts, and a reader of committed records would take theirs for good ones.
func completeFetches(cluster *kfake.Cluster) {
	cluster.ControlKey(int16(kmsg.Fetch), func(request kmsg.Request) (kmsg.Response, error, bool) {
		request.(*kmsg.FetchRequest).MaxBytes = math.MaxInt32
		return nil, nil, false
	})
}
