package record

import (
	"encoding/json"
	"strconv"
	"time"
)

// DL Streamer's gvametaconvert with add-tensor-data=true writes one JSON object a frame: its objects, each
// with what the networks said of it, a tensor each; or, where a network looked at the whole frame, the
// tensors alone.

// streamer says whether the fields are a DL Streamer frame.
func (f *fields) streamer() bool { return f.tensors != nil || f.objects != nil && f.source != nil }

// streamerFrame gives what a frame says its meaning: source is the stream, and timestamp is the position in
// the stream in nanoseconds, a time only where it is one of this century.
func (f *fields) streamerFrame() {
	const century = 946684800 * int64(time.Second) // 2000
	if n, err := strconv.ParseInt(string(f.timeText), 10, 64); err == nil {
		f.time = time.Time{}
		if n >= century {
			f.time = time.Unix(0, n).UTC()
		}
	}
	s := scanner{b: f.source}
	if len(f.stream) == 0 && s.next() == '"' {
		f.stream, _ = s.text()
	}
}

// tensor is what one network said.
type tensor struct {
	model  []byte
	vector []float32
}

// pick reads a list of tensors and returns the one that is the embedding: that of the model asked for, else
// the longest. A tensor with a label is a class, and the one named detection the detector's; neither is one.
// ok is false if there is none.
func pick(tensors []byte, model string) (best tensor, ok bool, bad *Rejection) {
	s := scanner{b: tensors}
	named := false
	s.array(func(int) bool {
		var t tensor
		class := false
		if !s.object(func(name []byte) (ok bool) {
			switch string(name) {
			case "model_name":
				t.model, ok = s.name("model_name")
			case "label":
				class, ok = true, s.pass(0)
			case "name":
				var name []byte
				name, ok = s.name("name")
				class = class || string(name) == "detection"
			case "data":
				if s.null() {
					return true
				}
				t.vector, ok = s.floats(nil)
			default:
				ok = s.pass(0)
			}
			return ok
		}) {
			return false
		}
		asked := model != "" && string(t.model) == model
		if !class && len(t.vector) > 0 && (asked && !named || asked == named && len(t.vector) > len(best.vector)) {
			best, named, ok = t, asked, true
		}
		return true
	})
	return best, ok, s.bad
}

// streamerObject adds the item of one object.
func (d *Decoder) streamerObject(raw *Raw, f *frame, timestamp []byte, o *fields, items []Item,
	i int,
) ([]Item, *Rejection) {
	t, ok, bad := pick(o.tensors, d.options.Model)
	if bad != nil {
		return items, bad.within("tensors")
	}
	if !ok {
		return items, nil
	}
	var about attributes
	about.add("roi_type", o.roiType)
	if o.detection != nil {
		s := scanner{b: o.detection}
		if s.next() == '{' {
			s.object(func(name []byte) bool {
				part, ok := s.skip()
				if ok && (string(name) == "label" || string(name) == "confidence") {
					about.add(string(name), part)
				}
				return ok
			})
		}
	}
	var box attributes
	box.add("x", o.x)
	box.add("y", o.y)
	box.add("w", o.w)
	box.add("h", o.h)
	about.add("bbox", box.json())
	if len(timestamp) > 0 {
		about.add("timestamp", appendString(nil, string(timestamp)))
	}
	with := *f
	if len(t.model) > 0 {
		with.envelope.model = t.model
	}
	return d.object(raw, &with, items, i, o.id, o.track, nil, t.vector, text(about.json()))
}

// streamerTensors adds the item of a whole frame.
func (d *Decoder) streamerTensors(raw *Raw, f *fields, e *envelope, items []Item) ([]Item, *Rejection) {
	t, ok, bad := pick(f.tensors, d.options.Model)
	switch {
	case bad != nil:
		return items, bad.within("tensors")
	case !ok:
		d.empty = NoEmbeddings
		return items, nil
	}
	if len(t.model) > 0 {
		e.model = t.model
	}
	var about attributes
	if len(f.timeText) > 0 {
		about.add("timestamp", appendString(nil, string(f.timeText)))
	}
	return d.append(raw, e, items, t.vector, -1, text(about.json()), nil)
}

// attributes is a JSON object in the making, of parts that are JSON; an empty part is left out.
type attributes []byte

func (a *attributes) add(name string, part []byte) {
	if len(part) == 0 {
		return
	}
	opening := byte(',')
	if *a == nil {
		opening = '{'
	}
	*a = append(appendString(append(*a, opening), name), ':')
	*a = append(*a, part...)
}

// json is the object, nil if nothing was added.
func (a attributes) json() json.RawMessage {
	if a == nil {
		return nil
	}
	return json.RawMessage(append(a, '}'))
}
