package labels

import (
	"cmp"
	"maps"
	"slices"

	"github.com/slkstream/slkstream/internal/record"
	"github.com/slkstream/slkstream/internal/topic"
)

// Orders holds the pauses and skipped records in force. nil means none. It is immutable.
type Orders struct {
	paused     []*record.Order // by key
	all        bool
	partitions map[topic.TopicPartition]bool // topic "": every input
	streams    map[string]bool
	skipped    map[record.Source]bool
}

// mostOrders bounds the orders kept; the oldest skipped records are dropped first.
const mostOrders = 10_000

// order adds the record of a key's order, or that cancels it.
func (l *history) order(key string, r *Record) {
	if before := l.given[key]; before != nil && before.Written.After(r.Written) {
		return // of several partitions the latest counts
	}
	l.given[key], l.orders = r, nil
	if len(l.given) > mostOrders {
		l.dropOrders()
	}
}

// dropOrders drops cancelled orders, and if these were few the older half of the skipped records.
func (l *history) dropOrders() {
	maps.DeleteFunc(l.given, func(_ string, r *Record) bool { return r.Order == nil })
	if len(l.given) <= mostOrders {
		return
	}
	var skipped []string
	for key, r := range l.given {
		if r.Order.Skip != "" {
			skipped = append(skipped, key)
		}
	}
	slices.SortFunc(skipped, func(a, b string) int {
		return cmp.Or(l.given[a].Written.Compare(l.given[b].Written), cmp.Compare(a, b))
	})
	for _, key := range skipped[:(len(skipped)+1)/2] {
		delete(l.given, key)
	}
}

// standing returns the orders in force; nil: none.
func (l *history) standing() *Orders {
	if l.orders != nil || len(l.given) == 0 {
		return l.orders
	}
	l.orders = &Orders{
		partitions: map[topic.TopicPartition]bool{}, streams: map[string]bool{},
		skipped: map[record.Source]bool{},
	}
	for _, key := range slices.Sorted(maps.Keys(l.given)) {
		o := l.given[key].Order
		switch {
		case o == nil:
			continue
		case o.Skip != "":
			if source, ok := record.ParseID(o.Skip); ok {
				l.orders.skipped[source] = true
			}
			continue
		case o.Partition != nil:
			l.orders.partitions[topic.TopicPartition{Topic: o.Topic, Partition: *o.Partition}] = true
		case o.Stream != "":
			l.orders.streams[o.Stream] = true
		default:
			l.orders.all = true
		}
		l.orders.paused = append(l.orders.paused, o)
	}
	return l.orders
}

// Paused lists the pauses in force, by key.
func (o *Orders) Paused() []*record.Order {
	if o == nil {
		return nil
	}
	return o.paused
}

// PausesPartition says whether reading a partition is paused.
func (o *Orders) PausesPartition(name string, number int32) bool {
	return o != nil && (o.all || o.partitions[topic.TopicPartition{Partition: number}] ||
		o.partitions[topic.TopicPartition{Topic: name, Partition: number}])
}

func (o *Orders) PausesStream(name string) bool { return o != nil && o.streams[name] }

func (o *Orders) Skips(s record.Source) bool {
	if o == nil || len(o.skipped) == 0 {
		return false
	}
	if o.skipped[s] {
		return true
	}
	s.Object = -1
	return o.skipped[s]
}
