package record

import (
	"encoding/binary"
	"encoding/json"
	"strings"
	"time"

	"github.com/slkstream/slkstream/internal/kernel"
)

// Cluster is what a stream's cluster is like now, as the topic of --identities has it. Doc describes its fields.
type Cluster struct {
	Stream  string    `json:"stream" doc:"the stream that found the cluster"`
	Cluster string    `json:"cluster" doc:"as it was found: cluster-17"`
	Label   string    `json:"label,omitempty" doc:"its name after a labelled member"`
	Model   string    `json:"model,omitempty" doc:"the embedder"`
	Mean    []byte    `json:"mean" doc:"of its last items at length 1: base64 of little-endian float16; its length falls short of 1 as its items differ"`
	Items   int64     `json:"items" doc:"answered with it"`
	Seen    time.Time `json:"seen" doc:"event time of its last item"`
	Item    string    `json:"item,omitempty" doc:"the id of the result of its last item, whose picture shows it"`
	Apart   []string  `json:"apart,omitempty" doc:"clusters of the stream that were in one frame with it"`
}

// MostApart bounds the clusters in Apart.
const MostApart = 256

// ClusterName is how records speak of a cluster of a stream: cam-3/cluster-17.
func ClusterName(stream, cluster string) string { return stream + "/" + cluster }

// FitsCluster says whether the labels topic takes the name of a cluster; see ClusterName.
func FitsCluster(stream, cluster string) bool {
	return len(ClusterName(stream, cluster)) <= longestName
}

// Record returns the record of the cluster. Its partition is the first, so that there is one order of all clusters.
func (c *Cluster) Record(topic string) Out {
	x := *c
	x.Seen = nearest(x.Seen)
	return Out{
		Topic: topic, Key: []byte(ClusterName(c.Stream, c.Cluster)), Value: appendJSON(nil, &x),
		Headers: []Header{{"content-type", []byte("application/json")}},
	}
}

// NoCluster returns the tombstone of a cluster that is gone.
func NoCluster(topic, stream, cluster string) Out {
	return Out{Topic: topic, Key: []byte(ClusterName(stream, cluster))}
}

// DecodeCluster decodes a record of the topic of clusters. Of a cluster that is gone only Stream and Cluster are set. A
// record that it cannot use is a *Rejection.
func DecodeCluster(raw *Raw) (*Cluster, error) {
	if raw.Rejected != nil {
		return nil, raw.Rejected
	}
	if len(raw.Value) == 0 {
		key := string(raw.Key)
		at := strings.LastIndexByte(key, '/')
		if at < 0 {
			return nil, reject(Unreadable, "the key %q is not STREAM/CLUSTER", short(raw.Key))
		}
		return &Cluster{Stream: key[:at], Cluster: key[at+1:]}, nil
	}
	c := new(Cluster)
	if err := json.Unmarshal(raw.Value, c); err != nil {
		return nil, reject(Unreadable, "no cluster: %v", err)
	}
	if bad := tooLong("STREAM/CLUSTER, label or model", max(len(ClusterName(c.Stream, c.Cluster)), len(c.Label), len(c.Model))); bad != nil {
		return nil, bad
	}
	mean, bad := rawVector(nil, c.Mean, "f16")
	if bad == nil {
		bad = CheckVector(mean)
	}
	switch {
	case bad != nil:
		return nil, bad.within("mean")
	case c.Cluster == "" || string(raw.Key) != ClusterName(c.Stream, c.Cluster):
		return nil, reject(Unreadable, "the key %q is not that of the cluster", short(raw.Key))
	case len(c.Apart) > MostApart:
		return nil, reject(TooLarge, "apart has more than %d clusters", MostApart)
	}
	return c, nil
}

// Halves returns numbers as Cluster.Mean has them.
func Halves(v []float32) []byte {
	b := make([]byte, 0, 2*len(v))
	for _, x := range v {
		b = binary.LittleEndian.AppendUint16(b, kernel.Half(x))
	}
	return b
}

// Vector returns the numbers of Mean; nil: the cluster is gone.
func (c *Cluster) Vector() []float32 {
	v, _ := rawVector(nil, c.Mean, "f16")
	return v
}
