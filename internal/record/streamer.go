package record

import (
	"strconv"
	"time"
)

// DL Streamer's gvametaconvert with add-tensor-data=true writes one JSON object for each frame. It has
// the detected objects, each with one tensor for each network; or, if a network runs on whole frames,
// only tensors.

// streamer says whether the fields are those of a DL Streamer frame.
func (f *fields) streamer() bool {
	return f.values[tensorsField] != nil || f.values[objectsField] != nil && f.values[sourceField] != nil
}

// streamerFrame sets the common fields from DL Streamer's: source is the stream. timestamp is the position in
// the video in nanoseconds; only one from the year 2000 on is taken as a time.
func (f *fields) streamerFrame() {
	const century = 946684800 * int64(time.Second) // 2000
	if n, err := strconv.ParseInt(string(f.values[timeField]), 10, 64); err == nil {
		f.time = time.Time{}
		if n >= century {
			f.time = time.Unix(0, n).UTC()
		}
	}
	if stream := &f.values[streamField]; len(*stream) == 0 {
		*stream = textOf(f.values[sourceField])
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

// tensor makes the embedding among the tensors of an object or a frame its vector, if there is one, and what
// DL Streamer says of it its attributes. model is the embedder asked for; timestamp the frame's.
func (f *fields) tensor(model string, timestamp []byte) *Rejection {
	t, ok, bad := pick(f.values[tensorsField], model)
	if bad != nil {
		return bad.within("tensors")
	}
	f.vector, f.hasVector, f.network, f.values[labelField] = t.vector, ok, t.model, nil
	if !ok {
		return nil
	}
	var about, box object
	about.add("roi_type", f.values[roiField])
	if s := (scanner{b: f.values[detectionField]}); s.next() == '{' {
		s.object(func(name []byte) bool {
			part, ok := s.skip()
			if ok && (string(name) == "label" || string(name) == "confidence") {
				about.add(string(name), part)
			}
			return ok
		})
	}
	for i, name := range [...]string{"x", "y", "w", "h"} {
		box.add(name, f.values[xField+field(i)])
	}
	about.add("bbox", box.json())
	about.text("timestamp", string(timestamp))
	f.about = text(about.json())
	return nil
}

// streamerTensors adds the item of a whole frame.
func (d *Decoder) streamerTensors(f *fields) *Rejection {
	if bad := f.tensor(d.options.Model, f.values[timeField]); bad != nil || !f.hasVector {
		return bad
	}
	if len(f.network) > 0 {
		d.envelope.texts[modelField] = f.network
	}
	return d.append(&d.envelope, f.vector, -1, f.about)
}
