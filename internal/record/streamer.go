package record

import (
	"strconv"
	"time"
)

// DL Streamer's gvametaconvert with add-tensor-data=true writes one JSON object for each frame. It has
// the detected objects, each with one tensor for each network; or, if a network runs on whole frames,
// only tensors.

// streamer says whether the fields are those of a DL Streamer frame.
func (f *fields) streamer() bool { return f.tensors != nil || f.objects != nil && f.source != nil }

// streamerFrame sets the common fields from DL Streamer's: source is the stream. timestamp is the position in
// the video in nanoseconds; only one from the year 2000 on is taken as a time.
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

// tensor is the output of one network.
type tensor struct {
	model  []byte
	vector []float32
}

// pick reads a list of tensors and returns the embedding: the longest tensor of the given model, else the
// longest of all. A tensor with a label is a classification, and one named detection is the detector's
// output; both are skipped. ok is false if none is left.
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

// streamerObject adds the item of one object, if it has an embedding.
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
	var about members
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
	var box members
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
	o.label = nil
	return d.object(raw, &with, items, i, o, t.vector, text(about.json()))
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
	var about members
	if len(f.timeText) > 0 {
		about.add("timestamp", appendString(nil, string(f.timeText)))
	}
	return d.append(raw, e, items, t.vector, -1, text(about.json()), nil)
}
