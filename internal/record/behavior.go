package record

import "encoding/json"

// NVIDIA's behavior analytics publishes an nv.Behavior for each object that it has tracked for a while: the
// sensor, the best view of the object, and embeddings over time. It becomes one item. The behavior's id is
// the item's id and its track.

// behavior says whether the fields are those of an nv.Behavior.
func (f *fields) behavior() bool { return f.sensor != nil && (f.object != nil || f.embeddings != nil) }

// jsonBehavior decodes nv.Behavior in JSON.
func (d *Decoder) jsonBehavior(raw *Raw, f *fields, e *envelope, items []Item) ([]Item, *Rejection) {
	sensor, bad := memberName(f.sensor, "id", "sensor.id")
	if bad != nil {
		return items, bad
	}
	if len(sensor) > 0 {
		e.stream = sensor
	}
	if len(f.end) > 0 {
		s := scanner{b: f.end}
		text, ok := s.name("end")
		if !ok {
			return items, s.bad
		}
		if e.time, bad = parseTime(text); bad != nil {
			return items, bad.within("end")
		}
	}
	var o fields
	if object(f.object) {
		bad = o.read(f.object, "", d.scratch)
		d.scratch = o.vector[:0]
		if bad != nil {
			return items, bad.within("object")
		}
	}
	vector := clone(o.vector)
	if len(vector) == 0 && f.embeddings != nil {
		s := scanner{b: f.embeddings}
		var last fields
		if !s.array(func(int) bool { return last.readVector(&s, true) }) {
			return items, s.bad.within("embeddings")
		}
		vector = last.vector
	}
	label := o.label
	if label == nil && len(vector) > 0 {
		if label, bad = memberName(o.info, "label", "info.label"); bad != nil {
			return items, bad
		}
	}
	return d.behaviorItem(raw, e, items, vector, label, o.parts().attributes("object", o.id))
}

func (d *Decoder) behaviorItem(raw *Raw, e *envelope, items []Item, vector []float32, label []byte,
	attributes json.RawMessage,
) ([]Item, *Rejection) {
	if len(vector) == 0 {
		d.empty = NoEmbeddings
		return items, nil
	}
	if len(label) > 0 {
		e.label = label
	}
	if len(e.track) == 0 {
		e.track = e.id
	}
	return d.append(raw, e, items, vector, -1, attributes, nil)
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
	bad := protobuf(value, func(number, wire int, _ []byte, _ uint64) *Rejection {
		found = found || wire == wireBytes && (number == behaviorObject || number == behaviorEmbeddings)
		return nil
	})
	return bad == nil && found
}

// behavior decodes nv.Behavior in protobuf.
func (d *Decoder) behavior(raw *Raw, value []byte, e *envelope, items []Item) ([]Item, *Rejection) {
	var o, last detection
	bad := protobuf(value, func(number, wire int, b []byte, _ uint64) (bad *Rejection) {
		if wire != wireBytes {
			return nil
		}
		switch number {
		case behaviorID:
			e.id = b
		case behaviorTimestamp:
			if e.time.IsZero() {
				e.time, bad = timestamp(b)
			}
		case behaviorEnd:
			e.time, bad = timestamp(b)
		case behaviorSensor:
			bad = protobuf(b, func(number, wire int, b []byte, _ uint64) *Rejection {
				if number == 1 && wire == wireBytes {
					e.stream = b
				}
				return nil
			})
		case behaviorObject:
			o, bad = readObject(b)
		case behaviorEmbeddings:
			last = detection{vector: last.vector[:0]}
			bad = last.addEmbedding(b)
		}
		return bad
	})
	if bad != nil {
		return items, bad
	}
	vector := o.vector
	if len(vector) == 0 {
		vector = last.vector
	}
	return d.behaviorItem(raw, e, items, vector, o.info["label"], o.parts().attributes("object", o.id))
}
