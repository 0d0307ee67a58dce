package record

// cloudEvent decodes a value that must be a CloudEvent in structured mode.
func (d *Decoder) cloudEvent(raw *Raw, value []byte, e *envelope, items []Item) ([]Item, *Rejection) {
	f := &d.fields
	bad := f.read(value, d.field, d.scratch)
	d.scratch = f.vector[:0]
	switch {
	case bad != nil:
		return items, bad
	case f.specVersion == nil:
		return items, reject(Unreadable, "not a CloudEvent: no specversion")
	}
	return d.structured(raw, f, e, items)
}

// structured decodes the data of an event in structured mode. The data's own fields override the
// event's attributes.
func (d *Decoder) structured(raw *Raw, f *fields, e *envelope, items []Item) ([]Item, *Rejection) {
	if e.within {
		return items, reject(Unreadable, "a CloudEvent within a CloudEvent")
	}
	e.over(f)
	e.within = true
	e.contentType = mediaType(f.contentType)
	switch {
	case f.data64 != nil:
		data, bad := decodeBase64(f.data64)
		if bad != nil {
			return items, bad.within("data_base64")
		}
		if len(data) == 0 {
			return items, reject(Unreadable, "the event's data is empty")
		}
		return d.value(raw, data, e, items)
	case f.data == nil:
		return items, reject(Unreadable, "the event has no data")
	case f.data[0] == '"' || f.data[0] == '[': // the data is the vector, in base64 or itself
		return d.json(raw, append(append([]byte(`{"vector":`), f.data...), '}'), e, items)
	}
	return d.json(raw, f.data, e, items)
}
