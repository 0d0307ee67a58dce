package record

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// frame holds the fields that all objects of an nv.Frame share.
type frame struct {
	id       []byte
	envelope envelope // its stream is the sensor
	field    []byte
}

// name sets the frame's name: the frame's id, else the name in the envelope, else the record's position.
func (f *frame) name(raw *Raw) *Rejection {
	if len(f.id) > longestName {
		return reject(TooLarge, "the frame's id is %d bytes long, more than %d", len(f.id), longestName)
	}
	switch {
	case len(f.id) > 0:
		f.envelope.frame = f.id
	case len(f.envelope.frame) == 0:
		f.envelope.frame = Source{raw.Topic, raw.Partition, raw.Offset, -1}.AppendID(nil)
	}
	return nil
}

// object adds the item of one object. Its id is the object's; the frame's id is among the attributes.
func (d *Decoder) object(raw *Raw, f *frame, items []Item, i int, id, track, label []byte, vector []float32,
	attributes json.RawMessage,
) ([]Item, *Rejection) {
	e := f.envelope
	e.id, e.label, e.track = id, label, track
	if d.options.TrackBy == "object" {
		e.track = id
	}
	return d.append(raw, &e, items, vector, int32(i), attributes, f.field)
}

// parts are what a frame says of an object besides its embedding, as JSON.
type parts struct{ kind, confidence, box, info []byte }

// attributes returns the parts as attributes, with the id of the frame or the object, if any, as name.
func (p parts) attributes(name string, id []byte) json.RawMessage {
	var about members
	about.text(name, clean(id))
	about.add("type", p.kind)
	about.add("confidence", p.confidence)
	about.add("bbox", p.box)
	about.add("info", p.info)
	return text(about.json())
}

// faults collects the rejections of single objects of a frame.
type faults struct {
	fault   Fault
	reasons []string
	count   int
}

func (f *faults) add(i int, bad *Rejection) {
	const told = 5
	if bad == nil {
		return
	}
	if f.count == 0 {
		f.fault = bad.Fault
	}
	if f.count++; f.count <= told {
		f.reasons = append(f.reasons, "object "+strconv.Itoa(i)+": "+bad.Reason)
	}
}

func (f *faults) rejection() *Rejection {
	if f.count == 0 {
		return nil
	}
	reason := strings.Join(f.reasons, "; ")
	if more := f.count - len(f.reasons); more > 0 {
		reason += fmt.Sprintf("; and %d more", more)
	}
	return &Rejection{f.fault, reason}
}

// Wire types of protobuf.
const (
	wireVarint  = 0
	wireFixed64 = 1
	wireBytes   = 2
	wireFixed32 = 5
)

// protobuf calls field with each field of a message: its number, its wire type, and its bytes or its integer
// value. It stops at the first rejection.
func protobuf(b []byte, field func(number, wire int, bytes []byte, value uint64) *Rejection) *Rejection {
	for len(b) > 0 {
		tag, n := binary.Uvarint(b)
		if n <= 0 || tag>>3 == 0 || tag>>3 > 1<<29-1 {
			return reject(Unreadable, "not nv.Frame: a field's tag is broken, %d bytes before the end", len(b))
		}
		b = b[n:]
		number, wire := int(tag>>3), int(tag&7)
		var bytes []byte
		var value uint64
		switch wire {
		case wireVarint:
			value, n = binary.Uvarint(b)
		case wireFixed64:
			if n = 8; len(b) >= n {
				value = binary.LittleEndian.Uint64(b)
			}
		case wireFixed32:
			if n = 4; len(b) >= n {
				value = uint64(binary.LittleEndian.Uint32(b))
			}
		case wireBytes:
			size, m := binary.Uvarint(b)
			if m <= 0 || size > uint64(len(b)-m) {
				return reject(Unreadable, "not nv.Frame: field %d ends after the record does", number)
			}
			n = m + int(size)
			bytes = b[m:n]
		default:
			return reject(Unreadable, "not nv.Frame: field %d has the unknown wire type %d", number, wire)
		}
		if n <= 0 || n > len(b) {
			return reject(Unreadable, "not nv.Frame: field %d ends after the record does", number)
		}
		b = b[n:]
		if bad := field(number, wire, bytes, value); bad != nil {
			return bad
		}
	}
	return nil
}

// isFrame says whether the bytes are a protobuf nv.Frame with at least one embedding.
func isFrame(value []byte) bool {
	embedded := false
	bad := protobuf(value, func(number, wire int, b []byte, _ uint64) *Rejection {
		if number <= 5 && wire != wireBytes {
			return reject(Unreadable, "field %d is no text and no message", number)
		}
		if number != 5 {
			return nil
		}
		return protobuf(b, func(number, wire int, _ []byte, _ uint64) *Rejection {
			embedded = embedded || number == 6 && wire == wireBytes
			return nil
		})
	})
	return bad == nil && embedded
}

// frame decodes the protobuf nv.Frame: version 1, id 2, timestamp 3, sensorId 4, objects 5.
func (d *Decoder) frame(raw *Raw, value []byte, e *envelope, items []Item) ([]Item, *Rejection) {
	if isBehavior(value) {
		return d.behavior(raw, value, e, items)
	}
	f := frame{envelope: *e}
	bad := protobuf(value, func(number, wire int, b []byte, _ uint64) (bad *Rejection) {
		switch {
		case wire != wireBytes:
		case number == 2:
			f.id = b
		case number == 3:
			f.envelope.time, bad = timestamp(b)
		case number == 4:
			f.envelope.stream = b
		}
		return bad
	})
	if bad != nil {
		return items, bad
	}
	if bad := f.name(raw); bad != nil {
		return items, bad
	}
	switch d.field {
	case "id":
		f.field = f.id
	case "sensorId":
		f.field = f.envelope.stream
	}
	i, before := -1, len(items)
	var faults faults
	bad = protobuf(value, func(number, wire int, b []byte, _ uint64) *Rejection {
		if number != 5 || wire != wireBytes {
			return nil
		}
		i++
		if bad := checkObjects(i + 1); bad != nil {
			return bad
		}
		o, bad := readObject(b)
		if bad == nil && o.embedded {
			attributes := o.parts().attributes("frame", f.id)
			items, bad = d.object(raw, &f, items, i, o.id, nil, o.info["label"], o.vector, attributes)
		}
		faults.add(i, bad)
		return nil
	})
	if bad != nil {
		return items[:before], bad
	}
	d.nothing(i + 1)
	return items, faults.rejection()
}

// nothing sets the reason for the case that a frame of so many objects has no items.
func (d *Decoder) nothing(objects int) {
	d.empty = NoEmbeddings
	if objects == 0 {
		d.empty = NoObjects
	}
}

// timestamp decodes google.protobuf.Timestamp: seconds 1, nanos 2.
func timestamp(b []byte) (time.Time, *Rejection) {
	var seconds, nanos int64
	bad := protobuf(b, func(number, wire int, _ []byte, value uint64) *Rejection {
		switch {
		case wire != wireVarint:
		case number == 1:
			seconds = int64(value)
		case number == 2:
			nanos = int64(int32(value))
		}
		return nil
	})
	const first, last = -62135596800, 253402300799 // years 1 to 9999, the range of the type
	if bad == nil && (seconds < first || seconds > last || nanos < 0 || nanos >= 1e9) {
		bad = reject(Unreadable, "timestamp: %d s and %d ns is no time", seconds, nanos)
	}
	if bad != nil {
		return time.Time{}, bad
	}
	return time.Unix(seconds, nanos).UTC(), nil
}

// detection is an object of a protobuf frame: id 1, type 3, confidence 4, info 5, embedding 6.
type detection struct {
	id         []byte
	kind       []byte
	confidence []byte
	info       map[string][]byte
	names      []string // of info, in order
	vector     []float32
	embedded   bool
}

func readObject(b []byte) (o detection, bad *Rejection) {
	bad = protobuf(b, func(number, wire int, b []byte, value uint64) *Rejection {
		switch {
		case number == 1 && wire == wireBytes:
			o.id = b
		case number == 3 && wire == wireBytes:
			o.kind = b
		case number == 4 && wire == wireFixed32:
			if x := math.Float32frombits(uint32(value)); x-x == 0 {
				o.confidence = strconv.AppendFloat(nil, float64(x), 'g', -1, 32)
			}
		case number == 5 && wire == wireBytes:
			return o.addInfo(b)
		case number == 6 && wire == wireBytes:
			o.embedded = true
			return o.addEmbedding(b)
		}
		return nil
	})
	return o, bad
}

// mostInfo bounds the entries of an object's info, because an entry takes far more memory than its bytes.
const mostInfo = 1000

// addInfo adds one entry of the map info: key 1, value 2.
func (o *detection) addInfo(b []byte) *Rejection {
	var name string
	var text []byte
	bad := protobuf(b, func(number, wire int, b []byte, _ uint64) *Rejection {
		switch {
		case wire != wireBytes:
		case number == 1:
			name = clean(b)
		case number == 2:
			text = b
		}
		return nil
	})
	if bad != nil {
		return bad
	}
	if o.info == nil {
		o.info = map[string][]byte{}
	}
	if _, ok := o.info[name]; !ok {
		if len(o.names) >= mostInfo {
			return reject(TooLarge, "info has more than %d entries", mostInfo)
		}
		o.names = append(o.names, name)
	}
	o.info[name] = text
	return nil
}

// addEmbedding appends the numbers of field 1, packed or not, to the vector.
func (o *detection) addEmbedding(b []byte) *Rejection {
	return protobuf(b, func(number, wire int, b []byte, value uint64) *Rejection {
		switch {
		case number != 1:
		case wire == wireFixed32:
			o.vector = append(o.vector, math.Float32frombits(uint32(value)))
		case wire == wireBytes:
			var bad *Rejection
			if o.vector, bad = rawVector(o.vector, b, float32s); bad != nil {
				return bad.within("embedding")
			}
		}
		return nil
	})
}

func (o *detection) parts() parts {
	p := parts{confidence: o.confidence}
	if o.kind != nil {
		p.kind = appendString(nil, clean(o.kind))
	}
	if o.info != nil {
		info := []byte{'{'}
		for i, name := range o.names {
			if i > 0 {
				info = append(info, ',')
			}
			info = append(appendString(info, name), ':')
			info = appendString(info, clean(o.info[name]))
		}
		p.info = append(info, '}')
	}
	return p
}
