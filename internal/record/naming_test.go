package record

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"
)

// raw returns an Out as it is read back.
func raw(o Out) *Raw {
	return &Raw{Topic: o.Topic, Offset: 7, Key: o.Key, Value: o.Value, Headers: o.Headers, Time: when}
}

// Rejections and names are read back as they were written, and examples with their author and time.
func TestNamesAndRejectionsComeBack(t *testing.T) {
	d := decoder(t, Options{StreamBy: "partition"})
	for _, n := range []Name{
		{Name: "cluster-17", Into: "anna"},
		{Name: "a \"b\"", Into: "ä", Stream: "cam/7", By: "kim", At: when},
		{Name: "anna"},
		{Name: "anna", By: "kim", Called: []CalledSo{{Class: "cluster-17"}, {Class: "b", Stream: "cam/7"}}},
	} {
		out := NameRecord("labels", &n)
		l, err := d.DecodeLabel(context.Background(), raw(out))
		if err != nil || l.Name == nil || !reflect.DeepEqual(*l.Name, n) || l.By != n.By || !l.At.Equal(n.At) {
			t.Errorf("%s: %+v, %v", out.Value, l.Name, err)
		}
		l, err = d.DecodeLabel(context.Background(), raw(Forget("labels", NameKey(n.Name, n.Stream))))
		if err != nil || l.Forget != string(out.Key) {
			t.Errorf("undone: %+v, %v", l, err)
		}
	}
	for _, n := range []NotThis{
		{ID: "i1", Not: []string{"anna"}, Vector: []float32{1, .5}},
		{
			ID: "i2", Not: []string{"anna", "b"}, Stream: "cam-7", Model: "m", Track: "4", Vector: []float32{1, 2},
			By: "kim", At: when,
		},
	} {
		l, err := d.DecodeLabel(context.Background(), raw(Not("labels", &n)))
		if err != nil || l.Not == nil || !reflect.DeepEqual(*l.Not, n) {
			t.Errorf("%+v, %v", l.Not, err)
		}
	}
	l, err := d.DecodeLabel(context.Background(),
		raw(Teach("labels", &Example{ID: "e", Label: "anna", Vector: []float32{1}, By: "kim", At: when})))
	if err != nil || l.Teach == nil || l.By != "kim" || !l.At.Equal(when) {
		t.Errorf("%+v, %v", l, err)
	}
	// Members by, at, name, into and not of a sender's own are ignored, unless they form a name or a rejection.
	for _, value := range []string{
		`{"label":"a","vector":[1],"by":{"x":1},"at":"home","name":"x","into":"y"}`,
		`{"label":"a","vector":[1],"by":7,"at":[],"name":[1],"stream":7}`,
	} {
		l, err := d.DecodeLabel(context.Background(), rawRecord(value))
		if err != nil || l.Teach == nil || !l.At.IsZero() {
			t.Errorf("%s: %+v, %v", value, l, err)
		}
	}
}

func TestBadNamesAndRejections(t *testing.T) {
	d := decoder(t, Options{})
	long := strings.Repeat("x", 1<<20)
	many := strings.Repeat(`"a",`, mostRejected) + `"a"`
	for _, c := range []struct{ key, value, says string }{
		{"i", `{"not":["anna"]}`, "without the vector"},
		{"i", `{"not":["anna"],"vector":[]}`, ""},
		{"i", `{"not":["anna"],"vector":[0,0]}`, ""},
		{"i", `{"not":[],"vector":[1]}`, "no class"},
		{"i", `{"not":[""],"vector":[1]}`, "without a name"},
		{"i", `{"not":"anna","vector":[1]}`, ""},
		{"i", `{"not":[{}],"vector":[1]}`, "not"},
		{"i", `{"not":["anna"],"label":"anna","vector":[1]}`, "both"},
		{"i", `{"not":["` + long + `"],"vector":[1]}`, "bytes long"},
		{"i", `{"not":[` + many + `],"vector":[1]}`, "more than"},
		{"name:a", `{"name":"a","into":"a"}`, "into itself"},
		{"name:a", `{"name":"a","into":""}`, "null forgets"},
		{"name:a", `{"name":"a","into":7}`, "neither"},
		{"name:", `{"name":"","into":"a"}`, "empty"},
		{"name:a/s", `{"name":"a","into":null,"stream":"s"}`, "all streams"},
		{"a", `{"name":"a","into":"b"}`, "key"},
		{"", `{"name":"a","into":"b"}`, "key"},
		{"name:b", `{"name":"a","into":"b"}`, "key"},
		{"name:a/x", `{"name":"a","into":"b","stream":"y"}`, "key"},
		{"name:a", `{"name":"a","into":"` + long + `"}`, "bytes long"},
		{"name:a", `{"name":"a","into":"b","stream":"` + long + `"}`, "bytes long"},
		{"name:" + long, `{"name":"` + long + `","into":"b"}`, "bytes long"},
	} {
		l, err := d.DecodeLabel(context.Background(), &Raw{Key: []byte(c.key), Value: []byte(c.value), Time: when})
		_, rejected := err.(*Rejection)
		if !rejected || !strings.Contains(err.Error(), c.says) || len(err.Error()) > 300 {
			t.Errorf("%.60s %.80s: %+v, %.300v", c.key, c.value, l, err)
		}
	}
}

// Any record of the labels topic is rejected or has exactly one meaning, which can be written and read back.
// TestLongKeysAreNoIDs: the key of an example or a rejection is its id, which states and topics carry, so it
// is bounded as ids are, by what it is written as.
func TestLongKeysAreNoIDs(t *testing.T) {
	for _, value := range []string{`{"not":["a"],"vector":[1,2]}`, `{"label":"a","vector":[1,2]}`} {
		for _, c := range []struct {
			key   string
			taken bool
		}{
			{strings.Repeat("k", 1024), true},
			{strings.Repeat("k", 1025), false},
			{strings.Repeat("\xff", 511), true}, // 0x and two digits each
			{strings.Repeat("\xff", 512), false},
		} {
			d := decoder(t, Options{})
			r := &Raw{Key: []byte(c.key), Value: []byte(value), Time: when}
			_, err := d.DecodeLabel(context.Background(), r)
			var bad *Rejection
			if (err == nil) != c.taken || !c.taken && (!errors.As(err, &bad) || bad.Fault != TooLarge) {
				t.Errorf("%s under a key of %d bytes: %v", value, len(c.key), err)
			}
		}
	}
}

func FuzzLabel(f *testing.F) {
	for _, seed := range []string{
		`{"name":"a","into":"b"}`, `{"name":"a","into":null}`, `{"not":["a"],"vector":[1,2],"by":"x"}`,
		`{"label":"a","vector":[1],"at":"2026-01-02T03:04:05Z"}`, `{"name":"a","into":"b","not":["a"]}`, ``,
	} {
		f.Add([]byte("name:a"), []byte(seed))
	}
	f.Fuzz(func(t *testing.T, key, value []byte) {
		d := decoder(t, Options{})
		l, err := d.DecodeLabel(context.Background(), &Raw{Key: key, Value: value, Time: when})
		if err != nil {
			return
		}
		var again Out
		switch {
		case l.Not != nil:
			again = Not("labels", l.Not)
		case l.Name != nil:
			again = NameRecord("labels", l.Name)
		default:
			return
		}
		back, err := d.DecodeLabel(context.Background(), raw(again))
		if err != nil || !reflect.DeepEqual(back.Not, l.Not) || !reflect.DeepEqual(back.Name, l.Name) {
			t.Errorf("%s: %+v %+v, %v, not %+v %+v", again.Value, back.Not, back.Name, err, l.Not, l.Name)
		}
	})
}
