package record

import "cmp"

// Bounds of the memory for one record. A record beyond them is rejected before memory is allocated for it.
const (
	longestValue    = 16 << 20 // bytes, far above the brokers' default; see Options.LongestValue
	longestInKey    = 64 << 10 // bytes of an input record's key
	longestName     = 1024     // bytes of an id, label, stream, model, frame, track or trace context
	longestLabelKey = 8 * 1024 // bytes of a key that is made of an id and a place or a stream
	mostObjects     = 10000    // of one record
	mostDimension   = 16384    // of a vector
	mostAttributes  = 64 << 20 // bytes, of all items of a record, which may share some
)

// check rejects a record that is empty or too large.
func (d *Decoder) check(raw *Raw) *Rejection {
	switch most := cmp.Or(d.options.LongestValue, longestValue); {
	case len(raw.Value) == 0:
		return reject(Unreadable, "the value is empty")
	case len(raw.Value) > most:
		return reject(TooLarge, "the value is %d bytes long, more than %d", len(raw.Value), most)
	case len(raw.Key) > longestInKey:
		return reject(TooLarge, "the key is %d bytes long, more than %d", len(raw.Key), longestInKey)
	}
	return nil
}

// checkObjects rejects a record of more objects than allowed.
func checkObjects(n int) *Rejection {
	if n <= mostObjects {
		return nil
	}
	return reject(TooLarge, "the record holds more than %d objects", mostObjects)
}

// checkAttributes rejects a record whose items have n bytes of attributes: each result repeats what they share.
func checkAttributes(n int) *Rejection {
	if n <= mostAttributes {
		return nil
	}
	return reject(TooLarge, "the attributes of all objects, of each those that they share, are more than %d bytes", mostAttributes)
}

// tooLong rejects a record for a name of n bytes; nil: it is not too long. what names it in the reason.
func tooLong(what string, n int) *Rejection {
	if n <= longestName {
		return nil
	}
	return reject(TooLarge, "%s is %d bytes long, more than %d", what, n, longestName)
}
