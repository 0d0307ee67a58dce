package record

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
)

// frame collects the items of an nv.Frame.
type frame struct {
	d       *Decoder // its envelope has what the objects share; its stream is the sensor
	id      []byte
	count   int      // objects
	bad     int      // objects that are rejected
	fault   Fault    // of the first
	reasons []string // of the first ones
}

// name sets the frame's name: the frame's id, else the name in the envelope, else the record's position.
func (f *frame) name() *Rejection {
	if bad := tooLong("the frame's id", len(f.id)); bad != nil {
		return bad
	}
	name := &f.d.envelope.texts[frameField]
	switch {
	case len(f.id) > 0:
		*name = f.id
	case len(*name) == 0:
		*name = Source{f.d.raw.Topic, f.d.raw.Partition, f.d.raw.Offset, -1}.appendID(nil)
	}
	return nil
}

// add adds the item of the next object, if it has an embedding, or else the object's rejection.
func (f *frame) add(o *fields, bad *Rejection) {
	if bad == nil && o.hasVector {
		e := f.d.envelope
		for _, field := range [...]field{idField, labelField, trackField} {
			e.texts[field] = o.values[field]
		}
		if f.d.options.TrackBy == "object" {
			e.texts[trackField] = o.values[idField]
		}
		if len(o.network) > 0 {
			e.texts[modelField] = o.network
		}
		if o.about == nil {
			o.about = o.description("frame", f.id)
		}
		bad = f.d.append(&e, o.vector, int32(f.count), o.about)
	}
	f.next(bad)
}

// next counts an object, which is rejected or not.
func (f *frame) next(bad *Rejection) {
	const told = 5
	if bad != nil {
		if f.bad++; f.bad == 1 {
			f.fault = bad.Fault
		}
		if f.bad <= told {
			f.reasons = append(f.reasons, "object "+strconv.Itoa(f.count)+": "+bad.Reason)
		}
	}
	f.count++
}

// end returns the rejection of objects.
func (f *frame) end() *Rejection {
	if f.count == 0 {
		f.d.empty = NoObjects
	}
	if f.bad == 0 {
		return nil
	}
	reason := strings.Join(f.reasons, "; ")
	if more := f.bad - len(f.reasons); more > 0 {
		reason += fmt.Sprintf("; and %d more", more)
	}
	return &Rejection{Fault: f.fault, Reason: reason}
}

// jsonFrame decodes nv.Frame in JSON. Each object with an embedding becomes an item.
func (d *Decoder) jsonFrame(f *fields) *Rejection {
	frame := frame{d: d, id: f.values[idField]}
	if bad := frame.name(); bad != nil {
		return bad
	}
	s := scanner{b: f.values[objectsField]}
	if !s.array(func(int) bool {
		if s.refuse(checkObjects(frame.count + 1)) {
			return false
		}
		var o fields
		var bad *Rejection
		if from := s.i; !o.read(&s, "", d.scratch) { // the object is passed over, as objects is known to be JSON
			bad, s.bad, s.i = s.bad, nil, from
			s.pass(0)
		}
		d.scratch = o.vector[:0]
		switch {
		case bad != nil:
		case o.values[tensorsField] != nil:
			bad = o.tensor(d.options.Model, f.values[timeField])
		case o.hasVector:
			bad = o.labelOfInfo()
		}
		frame.add(&o, bad)
		return true
	}) {
		return d.none(s.bad.within("objects"))
	}
	return frame.end()
}

// description returns what a frame says of an object besides its embedding, with the id of the frame or the
// object, if any, as name.
func (f *fields) description(name string, id []byte) json.RawMessage {
	var about object
	about.text(name, clean(id))
	about.add("type", f.values[kindField])
	about.add("confidence", f.values[confidenceField])
	about.add("bbox", f.values[boxField])
	about.add("info", f.values[infoField])
	return text(about.json())
}

// protobuf calls field with each field of a message: its number, its wire type, and its bytes or its integer
// value. It stops at the first rejection.
func protobuf(
	b []byte, field func(number int, wire protowire.Type, bytes []byte, value uint64) *Rejection,
) *Rejection {
	for len(b) > 0 {
		number, wire, n := protowire.ConsumeTag(b)
		if n < 0 {
			return reject(Unreadable, "not nv.Frame: a field's tag is broken, %d bytes before the end", len(b))
		}
		b = b[n:]
		var bytes []byte
		var value uint64
		switch wire {
		case protowire.VarintType:
			value, n = protowire.ConsumeVarint(b)
		case protowire.Fixed64Type:
			value, n = protowire.ConsumeFixed64(b)
		case protowire.Fixed32Type:
			var bits uint32
			bits, n = protowire.ConsumeFixed32(b)
			value = uint64(bits)
		case protowire.BytesType:
			bytes, n = protowire.ConsumeBytes(b)
		default:
			return reject(Unreadable, "not nv.Frame: field %d has the unknown wire type %d", number, wire)
		}
		if n < 0 {
			return reject(Unreadable, "not nv.Frame: field %d ends after the record does", number)
		}
		b = b[n:]
		if bad := field(int(number), wire, bytes, value); bad != nil {
			return bad
		}
	}
	return nil
}

// parts returns the fields of a message that are texts or messages, by their numbers; nil: it has none. Of
// repeated ones the last counts.
func parts(b []byte, numbers ...int) (found [6][]byte, bad *Rejection) {
	bad = protobuf(b, func(number int, wire protowire.Type, b []byte, _ uint64) *Rejection {
		if i := slices.Index(numbers, number); i >= 0 && wire == protowire.BytesType {
			found[i] = b
		}
		return nil
	})
	return found, bad
}

// isFrame says whether the bytes are a protobuf nv.Frame with at least one embedding.
func isFrame(value []byte) bool {
	embedded := false
	bad := protobuf(value, func(number int, wire protowire.Type, b []byte, _ uint64) *Rejection {
		if number <= 5 && wire != protowire.BytesType {
			return reject(Unreadable, "field %d is no text and no message", number)
		}
		if number != 5 {
			return nil
		}
		return protobuf(b, func(number int, wire protowire.Type, _ []byte, _ uint64) *Rejection {
			embedded = embedded || number == 6 && wire == protowire.BytesType
			return nil
		})
	})
	return bad == nil && embedded
}

// protobufFrame decodes the protobuf nv.Frame: version 1, id 2, timestamp 3, sensorId 4, objects 5.
func (d *Decoder) protobufFrame(value []byte) *Rejection {
	e := &d.envelope
	has, bad := parts(value, 2, 3, 4)
	f := frame{d: d, id: has[0]}
	if bad == nil && has[1] != nil {
		e.time, bad = timestamp(has[1])
	}
	if has[2] != nil {
		e.texts[streamField] = has[2]
	}
	if bad == nil {
		bad = f.name()
	}
	if bad != nil {
		return bad
	}
	switch d.field {
	case "id":
		e.stream = f.id
	case "sensorId":
		e.stream = e.texts[streamField]
	}
	if bad = protobuf(value, func(number int, wire protowire.Type, b []byte, _ uint64) *Rejection {
		if number != 5 || wire != protowire.BytesType {
			return nil
		}
		o := fields{vector: d.scratch[:0]}
		bad := checkObjects(f.count + 1)
		if bad == nil {
			f.add(&o, o.readObject(b))
		}
		d.scratch = o.vector[:0]
		return bad
	}); bad != nil {
		return d.none(bad)
	}
	return f.end()
}

// timestamp decodes google.protobuf.Timestamp: seconds 1, nanos 2.
func timestamp(b []byte) (time.Time, *Rejection) {
	var seconds, nanos int64
	bad := protobuf(b, func(number int, wire protowire.Type, _ []byte, value uint64) *Rejection {
		switch {
		case wire != protowire.VarintType:
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

// mostInfo bounds the entries of an object's info.
const mostInfo = 1000

// readObject reads an object of a protobuf frame: id 1, type 3, confidence 4, info 5, embedding 6. Its label
// is that of its info.
func (f *fields) readObject(b []byte) *Rejection {
	names := make([]string, 0, 8)
	var info map[string][]byte // of a repeated key the last value counts, as in every protobuf map
	entries := 0
	bad := protobuf(b, func(number int, wire protowire.Type, b []byte, value uint64) *Rejection {
		switch {
		case number == 1 && wire == protowire.BytesType:
			f.values[idField] = b
		case number == 3 && wire == protowire.BytesType:
			f.values[kindField] = appendString(nil, clean(b))
		case number == 4 && wire == protowire.Fixed32Type:
			if x := math.Float32frombits(uint32(value)); x-x == 0 {
				f.values[confidenceField] = strconv.AppendFloat(nil, float64(x), 'g', -1, 32)
			}
		case number == 5 && wire == protowire.BytesType:
			if entries++; entries > mostInfo {
				return reject(TooLarge, "info has more than %d entries", mostInfo)
			}
			has, bad := parts(b, 1, 2)
			if string(has[0]) == "label" {
				f.values[labelField] = has[1]
			}
			name := clean(has[0])
			if _, seen := info[name]; !seen {
				names = append(names, name)
			}
			if info == nil {
				info = map[string][]byte{}
			}
			info[name] = has[1]
			return bad
		case number == 6 && wire == protowire.BytesType:
			f.hasVector = true
			return f.addEmbedding(b)
		}
		return nil
	})
	var about object
	for _, name := range names {
		about.add(name, appendString(nil, clean(info[name])))
	}
	f.values[infoField] = about.json()
	return bad
}

// addEmbedding appends the numbers of field 1, packed or not, to the vector.
func (f *fields) addEmbedding(b []byte) *Rejection {
	return protobuf(b, func(number int, wire protowire.Type, b []byte, value uint64) (bad *Rejection) {
		switch {
		case number != 1:
		case wire == protowire.Fixed32Type:
			f.vector = append(f.vector, math.Float32frombits(uint32(value)))
		case wire == protowire.BytesType:
			if f.vector, bad = rawVector(f.vector, b, "f32"); bad != nil {
				return bad.within("embedding")
			}
		}
		return bad
	})
}
