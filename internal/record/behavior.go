package record

import "google.golang.org/protobuf/encoding/protowire"

// NVIDIA's behavior analytics publishes an nv.Behavior for each object that it has tracked for a while: the
// sensor, the best view of the object, and embeddings over time. It becomes one item. The behavior's id is
// the item's id and its track.

// behavior says whether the fields are those of an nv.Behavior.
func (f *fields) behavior() bool {
	return f.values[sensorField] != nil && (f.values[objectField] != nil || f.values[embeddingsField] != nil)
}

// jsonBehavior decodes nv.Behavior in JSON.
func (d *Decoder) jsonBehavior(f *fields) *Rejection {
	e := &d.envelope
	sensor, bad := memberName(f.values[sensorField], "id", "sensor.id")
	if bad != nil {
		return bad
	}
	if len(sensor) > 0 {
		e.texts[streamField] = sensor
	}
	if end := f.values[endField]; len(end) > 0 {
		s := scanner{b: end}
		text, ok := s.name("end")
		if !ok {
			return s.bad
		}
		if e.time, bad = parseTime(text); bad != nil {
			return bad.within("end")
		}
	}
	var o fields
	if value := f.values[objectField]; isObject(value) {
		if bad = d.read(&o, value, ""); bad != nil {
			return bad.within("object")
		}
	}
	o.vector = clone(o.vector)
	if list := f.values[embeddingsField]; len(o.vector) == 0 && list != nil {
		s := scanner{b: list}
		if !s.array(func(int) bool { return o.readVector(&s, true) }) {
			return s.bad.within("embeddings")
		}
	}
	if bad = o.labelOfInfo(); bad != nil && len(o.vector) > 0 {
		return bad
	}
	return d.behaviorItem(&o)
}

// behaviorItem adds the item of a behavior's object, whose vector may be missing.
func (d *Decoder) behaviorItem(o *fields) *Rejection {
	e := &d.envelope
	if len(o.vector) == 0 {
		return nil
	}
	if label := o.values[labelField]; len(label) > 0 {
		e.texts[labelField] = label
	}
	if len(e.texts[trackField]) == 0 {
		e.texts[trackField] = e.texts[idField]
	}
	return d.append(e, o.vector, -1, o.description("object", o.values[idField]))
}

// Field numbers of nv.Behavior, from the order in NVIDIA's documentation. Object and embeddings have numbers
// that nv.Frame does not use.
const (
	behaviorID         = 1
	behaviorTimestamp  = 2
	behaviorEnd        = 3
	behaviorSensor     = 15
	behaviorObject     = 17
	behaviorEmbeddings = 23
)

// isBehavior says whether the bytes are a protobuf nv.Behavior.
func isBehavior(value []byte) bool {
	found := false
	bad := protobuf(value, func(number int, wire protowire.Type, _ []byte, _ uint64) *Rejection {
		found = found || wire == protowire.BytesType && (number == behaviorObject || number == behaviorEmbeddings)
		return nil
	})
	return bad == nil && found
}

// behavior decodes nv.Behavior in protobuf.
func (d *Decoder) behavior(value []byte) *Rejection {
	e := &d.envelope
	has, bad := parts(value, behaviorID, behaviorTimestamp, behaviorEnd, behaviorSensor, behaviorObject,
		behaviorEmbeddings)
	if has[0] != nil {
		e.texts[idField] = has[0]
	}
	if has[2] == nil {
		has[2] = has[1]
	}
	if bad == nil && has[2] != nil {
		e.time, bad = timestamp(has[2])
	}
	if bad == nil {
		var sensor [6][]byte
		if sensor, bad = parts(has[3], 1); sensor[0] != nil {
			e.texts[streamField] = sensor[0]
		}
	}
	var o fields
	if bad == nil {
		bad = o.readObject(has[4])
	}
	if bad == nil && len(o.vector) == 0 {
		bad = o.addEmbedding(has[5])
	}
	if bad != nil {
		return bad
	}
	return d.behaviorItem(&o)
}
