package record

// json decodes a JSON object: one embedding, a frame that holds several, or a CloudEvent around either.
func (d *Decoder) json(value []byte) *Rejection {
	if d.scopes != nil {
		reached, bad := d.mapped(value)
		switch {
		case bad != nil || reached:
			return bad
		case !d.examples && !d.options.Usual: // examples may also have the default format
			return d.noVector()
		}
	}
	f, e := &d.fields, &d.envelope
	if bad := d.read(f, value, d.field); bad != nil {
		return bad
	}
	if f.values[versionField] != nil && !f.hasVector && f.values[objectsField] == nil {
		return d.structured(f)
	}
	streamer := f.streamer()
	if streamer {
		f.streamerFrame()
	}
	e.over(f)
	switch {
	case f.values[objectsField] != nil:
		return d.jsonFrame(f)
	case f.hasVector:
	case streamer:
		return d.streamerTensors(f)
	default:
		return &Rejection{Unreadable, ErrNoVector.Error() + ": --vector-field says where it is", true}
	}
	e.bytes = f.bytes
	attributes := f.values[attributesField]
	if d.options.Paths.Attributes == Nowhere {
		attributes = nil
	}
	if d.field != "" && f.stream == nil {
		if stream, _ := memberName(attributes, d.field, d.field); stream != nil {
			e.stream = stream
		}
	}
	return d.append(e, f.vector, -1, text(attributes))
}

// read reads a JSON object with the decoder's scratch vector.
func (d *Decoder) read(f *fields, value []byte, stream string) *Rejection {
	s := scanner{b: value}
	ok := f.read(&s, stream, d.scratch) && s.end()
	d.scratch = f.vector[:0]
	if ok {
		return nil
	}
	if s.i == 0 && s.next() == '[' {
		return reject(Unreadable, "a list, not an object: --vector-field [].vector reads a list of items")
	}
	return s.bad
}

// cloudEvent decodes a value that must be a CloudEvent in structured mode.
func (d *Decoder) cloudEvent(value []byte) *Rejection {
	f := &d.fields
	switch bad := d.read(f, value, d.field); {
	case bad != nil:
		return bad
	case f.values[versionField] == nil:
		return reject(Unreadable, "not a CloudEvent: no specversion")
	}
	return d.structured(f)
}

// structured decodes the data of an event in structured mode. The data's own fields override the
// event's attributes.
func (d *Decoder) structured(f *fields) *Rejection {
	e, data := &d.envelope, f.values[dataField]
	if e.within {
		return reject(Unreadable, "a CloudEvent within a CloudEvent")
	}
	e.over(f)
	e.within = true
	e.contentType = mediaType(f.values[dataTypeField])
	switch encoded := f.values[data64Field]; {
	case encoded != nil:
		data, bad := decodeBase64(nil, encoded)
		if bad != nil {
			return bad.within("data_base64")
		}
		if len(data) == 0 {
			return reject(Unreadable, "the event's data is empty")
		}
		return d.value(data)
	case data == nil:
		return reject(Unreadable, "the event has no data")
	case data[0] == '"' || data[0] == '[': // the data is the vector, in base64 or itself
		data = append(append([]byte(`{"vector":`), data...), '}')
	}
	return d.json(data)
}
