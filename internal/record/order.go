package record

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"
)

// Values of ControlHeader for orders to the stage. A pause holds until a record of the same key revokes it. A
// skipped record is never answered.
const (
	ControlPause  = "pause"
	ControlResume = "resume"
	ControlSkip   = "skip"
)

// Order pauses everything, one stream, or one input partition, or skips one record.
type Order struct {
	Skip      string    `json:"id,omitempty"` // the record, TOPIC/PARTITION/OFFSET[/OBJECT]; "": a pause
	Stream    string    `json:"stream,omitempty"`
	Topic     string    `json:"topic,omitempty"` // of Partition; "": every input topic
	Partition *int32    `json:"partition,omitempty"`
	By        string    `json:"by,omitempty"`
	At        time.Time `json:"at,omitzero"`
}

// orderPrefix begins the keys of orders.
const orderPrefix = "slkstream-order/"

// IsOrder says whether a key of the labels topic belongs to an order.
func IsOrder(key string) bool { return strings.HasPrefix(key, orderPrefix) }

// Key returns the order's record key. Orders with the same target have the same key.
func (o *Order) Key() string {
	switch {
	case o.Skip != "":
		return orderPrefix + ControlSkip + "/" + o.Skip
	case o.Partition != nil:
		return orderPrefix + "partition/" + o.Topic + "/" + strconv.Itoa(int(*o.Partition))
	case o.Stream != "":
		return orderPrefix + "stream/" + o.Stream
	}
	return orderPrefix + "all"
}

// What names the order's target, for messages.
func (o *Order) What() string {
	switch {
	case o.Skip != "":
		return "record " + o.Skip
	case o.Partition != nil && o.Topic != "":
		return "partition " + o.Topic + "/" + strconv.Itoa(int(*o.Partition))
	case o.Partition != nil:
		return "partition " + strconv.Itoa(int(*o.Partition))
	case o.Stream != "":
		return "stream " + o.Stream
	}
	return "everything"
}

// Record returns the record of the order.
func (o *Order) Record(topic string) Out {
	kind := ControlPause
	if o.Skip != "" {
		kind = ControlSkip
	}
	return Out{
		Topic: topic, Partition: -1, Key: []byte(o.Key()), Value: appendJSON(nil, o),
		Headers: []Header{{"content-type", []byte("application/json")}, {ControlHeader, []byte(kind)}},
	}
}

// Resume returns the record that revokes the order.
func (o *Order) Resume(topic string) Out {
	return Out{
		Topic: topic, Partition: -1, Key: []byte(o.Key()),
		Headers: []Header{{ControlHeader, []byte(ControlResume)}},
	}
}

// order decodes an order, or the record that revokes one.
func (d *Decoder) order(kind string, raw *Raw) (Label, error) {
	o := &Order{}
	if len(raw.Value) > 0 {
		if bad := d.check(raw); bad != nil {
			return Label{}, bad
		}
		if err := json.Unmarshal(raw.Value, o); err != nil {
			return Label{}, reject(Unreadable, "%s: %v", kind, err)
		}
	}
	if kind == ControlResume {
		if len(raw.Value) == 0 && IsOrder(string(raw.Key)) {
			return Label{Forget: string(raw.Key)}, nil
		}
	}
	if key := string(raw.Key); key != "" && key != o.Key() {
		return Label{}, reject(Unreadable, "%s: the key %q is not that of the order, %q", kind, short(raw.Key),
			short([]byte(o.Key())))
	}
	if kind == ControlResume {
		return Label{Forget: o.Key()}, nil
	}
	if bad := tooLong(kind+": a name", max(len(o.Skip), len(o.Stream), len(o.Topic), len(o.By))); bad != nil {
		return Label{}, bad
	}
	switch {
	case kind == ControlPause && o.Skip != "", o.Stream != "" && o.Partition != nil:
		return Label{}, reject(Unreadable, "%s: of id, stream and partition one at most has a meaning", kind)
	case kind == ControlSkip:
		if _, ok := ParseID(o.Skip); !ok {
			return Label{}, reject(Unreadable, "skip: id %q is no TOPIC/PARTITION/OFFSET", short([]byte(o.Skip)))
		}
	}
	return Label{Order: o, Key: o.Key(), By: o.By, At: o.At}, nil
}

// ParseID parses the id of a result, TOPIC/PARTITION/OFFSET[/OBJECT]; without an object, Object is -1.
func ParseID(id string) (s Source, ok bool) {
	parts := strings.Split(id, "/")
	if len(parts) < 3 || len(parts) > 4 || parts[0] == "" {
		return s, false
	}
	n := [3]int64{2: -1}
	for i, text := range parts[1:] {
		bits := 31
		if i == 1 {
			bits = 63
		}
		v, err := strconv.ParseUint(text, 10, bits)
		if err != nil {
			return s, false
		}
		n[i] = int64(v)
	}
	return Source{Topic: parts[0], Partition: int32(n[0]), Offset: n[1], Object: int32(n[2])}, true
}
