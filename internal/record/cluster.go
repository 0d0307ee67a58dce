package record

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"strconv"
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
	Mean    Halves    `json:"mean" doc:"of its last items at length 1: base64 of little-endian float16; its length falls short of 1 as its items differ"`
	Items   int64     `json:"items" doc:"answered with it"`
	Seen    time.Time `json:"seen" doc:"event time of its last item"`
	Item    string    `json:"item,omitempty" doc:"the id of the result of its last item, whose picture shows it"`
	Apart   []string  `json:"apart,omitempty" doc:"clusters of the stream that were in one frame with it"`
	Visits  []Visit   `json:"visits,omitempty" doc:"with --transit, its last visits: from and to, in milliseconds since 1970"`

	// AsOf is the offset up to which its record takes those before it into account: its own, or if the link wrote it
	// (ByLink) that of the last record that the link had read. The stream may have written others in between.
	AsOf   int64 `json:"-"`
	ByLink bool  `json:"-"`
}

// Visit is when a stream saw a cluster without a pause, from and to, in milliseconds since 1970.
type Visit = [2]int64

const asOf = "as-of" // header of AsOf

// MostApart bounds the clusters in Apart, MostVisits the Visits.
const (
	MostApart  = 256
	MostVisits = 16
)

// clusterPrefix is how the names of clusters begin.
const clusterPrefix = "cluster-"

// AllClusters stands for all clusters of a stream: they are gone.
const AllClusters = clusterPrefix + "*"

// ClusterName is how records speak of a cluster of a stream: cam-3/cluster-17 or, if it has a model,
// cam-3/cluster-17/clip.
func ClusterName(of StreamID, cluster string) string {
	name := of.Name + "/" + cluster
	if of.Model != "" {
		name += "/" + of.Model
	}
	return name
}

// ClusterOf returns the cluster of a name by ClusterName; ok is false if it is none.
func ClusterOf(name string) (of StreamID, cluster string, ok bool) {
	at := strings.LastIndex(name, "/"+clusterPrefix)
	if at < 0 {
		return of, "", false
	}
	cluster, of.Model, _ = strings.Cut(name[at+1:], "/")
	of.Name = name[:at]
	return of, cluster, ClusterName(of, cluster) == name
}

// FitsCluster says whether the labels topic takes the name of a cluster of a group, and ClusterOf gives the cluster back.
func FitsCluster(group string, of StreamID, cluster string) bool {
	name := ClusterName(of, cluster)
	again, _, ok := ClusterOf(name)
	return ok && again == of && len(InGroup(group, name)) <= longestName
}

// Record returns the record of the cluster. Its partition is the first, so that there is one order of all clusters.
func (c *Cluster) Record(topic string) Out {
	x := *c
	x.Seen = NearestTime(x.Seen)
	return Out{
		Topic: topic, Key: []byte(c.Name()), Value: appendJSON(nil, &x),
		Headers: []Header{isJSON},
	}
}

// of returns the stream of the cluster.
func (c *Cluster) of() StreamID { return StreamID{Name: c.Stream, Model: c.Model} }

// Name returns the name of the cluster; see ClusterName.
func (c *Cluster) Name() string { return ClusterName(c.of(), c.Cluster) }

// NoCluster returns the tombstone of a cluster that is gone.
func NoCluster(topic string, of StreamID, cluster string) Out {
	return Out{Topic: topic, Key: []byte(ClusterName(of, cluster))}
}

// FromLink marks a record of the topic of clusters as the link's, which had read the topic up to this offset.
func FromLink(out Out, offset int64) Out {
	out.Headers = append(out.Headers, Header{asOf, strconv.AppendInt(nil, offset, 10)})
	return out
}

// DecodeCluster decodes a record of the topic of clusters. Of one that is gone only its name and place are set. A record
// that it cannot use is a *Rejection.
func DecodeCluster(raw *Raw) (*Cluster, error) {
	if raw.Rejected != nil {
		return nil, raw.Rejected
	}
	at, byLink := raw.Offset, false
	if text, is := raw.Header(asOf); is {
		if earlier, err := strconv.ParseInt(string(text), 10, 64); err == nil && earlier < at { // else it was copied here
			at, byLink = earlier, true
		}
	}
	if len(raw.Value) == 0 {
		of, cluster, ok := ClusterOf(string(raw.Key))
		if !ok {
			return nil, reject(Unreadable, "the key %q is not STREAM/CLUSTER", short(raw.Key))
		}
		return &Cluster{Stream: of.Name, Model: of.Model, Cluster: cluster, AsOf: at, ByLink: byLink}, nil
	}
	c := &Cluster{AsOf: at, ByLink: byLink}
	if err := json.Unmarshal(raw.Value, c); err != nil {
		return nil, reject(Unreadable, "no cluster: %v", err)
	}
	if bad := tooLong("STREAM/CLUSTER/MODEL or label", max(len(c.Name()), len(c.Label))); bad != nil {
		return nil, bad
	}
	of, cluster, _ := ClusterOf(string(raw.Key))
	switch bad := CheckVector(c.Mean); {
	case bad != nil:
		return nil, bad.within("mean")
	case cluster != c.Cluster || of != c.of() || cluster == AllClusters:
		return nil, reject(Unreadable, "the key %q is not that of the cluster", short(raw.Key))
	case len(c.Apart) > MostApart:
		return nil, reject(TooLarge, "apart has more than %d clusters", MostApart)
	case len(c.Visits) > MostVisits:
		return nil, reject(TooLarge, "visits has more than %d", MostVisits)
	}
	return c, nil
}

// Halves are numbers that are written with 16 bits each.
type Halves []float32

// MarshalText implements encoding.TextMarshaler.
func (h Halves) MarshalText() ([]byte, error) {
	b := make([]byte, 0, 2*len(h))
	for _, x := range h {
		b = binary.LittleEndian.AppendUint16(b, kernel.Half(x))
	}
	return base64.StdEncoding.AppendEncode(nil, b), nil
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (h *Halves) UnmarshalText(text []byte) error {
	b, err := base64.StdEncoding.AppendDecode(nil, text)
	if err != nil {
		return err
	}
	v, bad := rawVector(nil, b, "f16")
	if bad != nil {
		return bad
	}
	*h = v
	return nil
}
