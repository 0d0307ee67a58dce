package record

import "fmt"

// Limits bound the memory for one record. A record beyond them is rejected before memory is allocated for it.
type Limits struct {
	Bytes     int // of a value; 0 is 16 MiB, far above the brokers' default
	Key       int // of a key; 0 is 64 KiB
	Name      int // of an id, label, stream, model, frame or track; 0 is 1024
	Objects   int // of one record; 0 is 10,000
	Dimension int // of a vector; 0 is 16,384
}

// DefaultLimits returns the default limits.
func DefaultLimits() Limits {
	return Limits{Bytes: 16 << 20, Key: 64 << 10, Name: 1024, Objects: 10000, Dimension: 16384}
}

// fill replaces zeros by the defaults.
func (l *Limits) fill() error {
	d := DefaultLimits()
	for _, each := range [...]struct {
		name         string
		value, other *int
	}{{"value", &l.Bytes, &d.Bytes}, {"key", &l.Key, &d.Key}, {"name", &l.Name, &d.Name}, {
		"number of objects",
		&l.Objects, &d.Objects,
	}, {"dimension", &l.Dimension, &d.Dimension}} {
		if *each.value < 0 {
			return fmt.Errorf("greatest %s %d: negative", each.name, *each.value)
		}
		if *each.value == 0 {
			*each.value = *each.other
		}
	}
	return nil
}

// check rejects a record that is empty or too large.
func (l *Limits) check(raw *Raw) *Rejection {
	switch {
	case len(raw.Value) == 0:
		return reject(Unreadable, "the value is empty")
	case len(raw.Value) > l.Bytes:
		return reject(TooLarge, "the value is %d bytes long, more than %d", len(raw.Value), l.Bytes)
	case len(raw.Key) > l.Key:
		return reject(TooLarge, "the key is %d bytes long, more than %d", len(raw.Key), l.Key)
	}
	return nil
}

// objects rejects a record of more objects than allowed.
func (l *Limits) objects(n int) *Rejection {
	if n <= l.Objects {
		return nil
	}
	return reject(TooLarge, "the record holds more than %d objects", l.Objects)
}
