package record

import (
	"context"
	"strings"
	"testing"
)

// dimensionFeed decodes records with vectors of ones, at increasing offsets, and collects the
// dimension changes.
type dimensionFeed struct {
	t       *testing.T
	decoder *Decoder
	offset  int64
	changes []DimensionChange
}

func newDimensionFeed(t *testing.T, o Options) *dimensionFeed {
	f := &dimensionFeed{t: t}
	o.DimensionGivenUp = func(c DimensionChange) { f.changes = append(f.changes, c) }
	f.decoder = decoder(t, o)
	return f
}

// send decodes n records of a dimension and returns how many were accepted.
func (f *dimensionFeed) send(dimension, n int) (taken int) {
	for range n {
		r := rawRecord(floats(ones(dimension)...))
		r.Offset = f.offset
		f.offset++
		if _, err := f.decoder.Decode(context.Background(), r, nil); err == nil {
			taken++
		}
	}
	return taken
}

func ones(n int) []float32 {
	v := make([]float32, n)
	for i := range v {
		v[i] = 1
	}
	return v
}

// Odd records at the start cause no rejection of good ones: three equal records establish a dimension.
func TestDimensionIsAgreedOn(t *testing.T) {
	f := newDimensionFeed(t, Options{Format: "f32"})
	if f.send(7, 1) != 1 || f.send(128, 1) != 1 || f.send(9, 1) != 1 || f.send(7, 1) != 1 {
		t.Error("before records agree, any dimension is taken")
	}
	if f.decoder.Agreed() != nil || f.send(128, 2) != 2 {
		t.Error("good records were refused")
	}
	if agreed := f.decoder.Agreed(); agreed[""] != 128 || f.decoder.Agreed() != nil {
		t.Errorf("agreed on %v", agreed)
	}
	if f.send(7, 1) != 0 || f.send(128, 100) != 100 || len(f.changes) != 0 {
		t.Error("what was agreed on does not hold")
	}
}

// A dimension that a few odd records established is dropped, and the records refused for it are reported.
func TestWrongDimensionIsGivenUp(t *testing.T) {
	f := newDimensionFeed(t, Options{Format: "f32"})
	if f.send(7, 3) != 3 {
		t.Fatal("the odd ones were refused")
	}
	if taken := f.send(128, 100); taken < 85 {
		t.Errorf("%d of 100 good records were taken", taken)
	}
	if len(f.changes) != 1 {
		t.Fatalf("changes %+v", f.changes)
	}
	c := f.changes[0]
	if c.From != 7 || c.To != 128 || c.First.Offset != 3 || c.Last.Offset != 2+int64(c.Refused) {
		t.Errorf("%+v", c)
	}
	if f.send(7, 20) != 0 {
		t.Error("the odd ones are taken again")
	}
}

// A dimension that thousands of records have is not dropped for hundreds of another, nor for one large frame.
func TestAgreementIsHardToTurn(t *testing.T) {
	f := newDimensionFeed(t, Options{Format: "f32"})
	f.send(128, 1000)
	if f.send(7, 500) != 0 || f.send(128, 10) != 10 || len(f.changes) != 0 {
		t.Errorf("changes %+v", f.changes)
	}
	for range 2000 { // one good record for every two bad ones
		if f.send(128, 1) != 1 || f.send(7, 2) != 0 {
			t.Fatalf("changes %+v", f.changes)
		}
	}
	d := decoder(t, Options{})
	for i := range 5 {
		r := rawRecord(`{"vector":[1,2]}`)
		r.Offset = int64(i)
		if _, err := d.Decode(context.Background(), r, nil); err != nil {
			t.Fatal(err)
		}
	}
	frame := `{"objects":[` + strings.Repeat(`{"embedding":[1,2,3]},`, 999) + `{"embedding":[1,2,3]}]}`
	if items, err := d.Decode(context.Background(), rawRecord(frame), nil); len(items) != 0 || err == nil {
		t.Errorf("%d objects of another dimension were taken", len(items))
	}
}

// A dimension from the state can be dropped too, across restarts. Numbers of a wrong type do not change the
// dimension of many labels.
func TestToldDimension(t *testing.T) {
	f := newDimensionFeed(t, Options{Format: "f32"})
	f.decoder.Expect("", 7)
	if f.send(7, 1) != 1 || f.send(128, toldWeight+20) < 10 {
		t.Error("the state's dimension is never given up")
	}
	f = newDimensionFeed(t, Options{Format: "f32"})
	f.decoder.Suggest("", 64, 1)
	if f.send(128, 50) != 50 {
		t.Error("one label decides about the feed")
	}
	f = newDimensionFeed(t, Options{Format: "f32"})
	f.decoder.Suggest("", 64, 1)
	if first, second := f.send(64, 1), f.send(64, 1); first != 1 || second != 1 || f.send(128, 1) != 0 {
		t.Error("a label and records that agree with it are not enough")
	}
	f = newDimensionFeed(t, Options{Format: "f32"})
	f.decoder.Suggest("", 64, 40)
	if f.send(128, 300) != 0 {
		t.Error("float64 was taken for float32")
	}
	f = newDimensionFeed(t, Options{Format: "f32"})
	f.decoder.Suggest("", 60, 40)
	if f.send(128, 300) < 280 {
		t.Error("labels of another embedder refuse the whole feed")
	}
	f = newDimensionFeed(t, Options{Format: "f32", Dimension: 3})
	if f.send(3, 2) != 2 || f.send(5, 2000) != 0 {
		t.Error("the dimension that was set does not hold")
	}
}

func TestDimensionIsOfTheModel(t *testing.T) {
	d := decoder(t, Options{})
	send := func(value string) error {
		_, err := d.Decode(context.Background(), rawRecord(value), nil)
		return err
	}
	for i, value := range []string{
		`{"vector":[1,2]}`, `{"vector":[1,2]}`, `{"vector":[1,2]}`,
		`{"model":"b","vector":[1]}`,
	} {
		r := rawRecord(value)
		r.Offset = int64(i)
		if _, err := d.Decode(context.Background(), r, nil); err != nil {
			t.Error(err)
		}
	}
	if send(`{"vector":[1]}`) == nil || d.Dimension("") != 2 || d.Dimension("b") != 0 {
		t.Errorf("dimensions %d, %d", d.Dimension(""), d.Dimension("b"))
	}
	for i := range 3 * rememberedModels {
		if err := send(`{"model":"m` + strings.Repeat("x", i) + `","vector":[1]}`); err != nil {
			t.Fatal(err)
		}
		_ = send(`{"vector":[1,2]}`)
	}
	if len(d.dimensions.models) > rememberedModels || d.Dimension("") != 2 {
		t.Errorf("%d models are remembered, the first with dimension %d", len(d.dimensions.models), d.Dimension(""))
	}
}
