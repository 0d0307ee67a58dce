package record

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

const (
	// agreeing records of a dimension establish it. Before that, vectors of every dimension are accepted.
	agreeing = 3
	// Each accepted record adds acceptedWeight to the weight of a dimension, up to greatestWeight. Each refused
	// one of the same dimension as the refused ones before it subtracts 1. A dimension from the state starts
	// with toldWeight. So a dimension that three odd records established is dropped after a dozen good ones. One
	// that thousands had is dropped only after about a thousand records of another, and four more for each of
	// its own that arrives meanwhile.
	acceptedWeight = 4
	greatestWeight = 1024
	toldWeight     = 256
	// rememberedModels bounds the models whose dimension is kept. The least recently used one is evicted.
	rememberedModels = 100
)

// DimensionChange reports that a model's vectors have another dimension than was assumed. Records
// between First and Last that were refused for their dimension are in the dead letters, and are accepted
// if sent again.
type DimensionChange struct {
	Model       string
	From, To    int
	First, Last Source
	Refused     int // records of dimension To
}

// dimensions learns the dimension of each model's vectors from the records. The result depends only on the
// records and their order, so that a replay repeats it.
type dimensions struct {
	fixed   int                   // for every model; 0: learned
	models  map[string]*agreement // by DimensionKey
	clock   uint64
	changed bool // since Agreed was called
	given   func(DimensionChange)
}

// agreement is the evidence for the dimension of one model's vectors.
type agreement struct {
	dimension int  // 0: not established
	weight    int  // of the evidence for it
	labelled  bool // enough labelled examples have it
	counts    [4]struct{ dimension, records int }
	rival     int // the dimension of most of the recently refused records
	refused   int // refused records of it, minus those of others
	first     Source
	voted     Source // the last record seen, so that a record of many objects counts once
	used      uint64
}

// DimensionKey is the key under which a model's dimension is kept: its name, or of a long name a digest, so
// that as many models as are remembered fit into each journal of a state topic with a small record limit. The
// key of a key is the key itself.
func DimensionKey(model string) string {
	const digest = 16 // bytes
	if len(model) <= 2*digest {
		return model
	}
	sum := sha256.Sum256([]byte(model))
	return hex.EncodeToString(sum[:digest])
}

func (d *dimensions) model(name string) *agreement {
	name = DimensionKey(name)
	a := d.models[name]
	if a == nil {
		if len(d.models) >= rememberedModels {
			d.forget()
		}
		a = &agreement{}
		d.models[name] = a
	}
	d.clock++
	a.used = d.clock
	return a
}

// forget evicts the least recently used model.
func (d *dimensions) forget() {
	oldest, found := "", d.clock+1
	for name, a := range d.models {
		if a.used < found {
			oldest, found = name, a.used
		}
	}
	delete(d.models, oldest)
	d.changed = true
}

// Expect sets the dimension of a model's vectors, by its name or DimensionKey, from the state, where it was
// learned before.
// Options.Dimension overrides it, and it is dropped if the records show another.
func (d *dimensions) Expect(model string, dimension int) { d.model(model).agree(dimension, toldWeight) }

// Suggest adds the dimension of so many labelled examples of a model to the evidence: fewer than agreeing
// count as records do, more establish it, until records show another.
func (d *dimensions) Suggest(model string, dimension, examples int) {
	a := d.model(model)
	switch {
	case a.dimension != 0:
		a.labelled = a.labelled || a.dimension == dimension && examples >= agreeing
	case examples >= agreeing:
		a.agree(dimension, agreeing*acceptedWeight)
		a.labelled = true
	default:
		a.count(dimension, min(examples, agreeing-1))
	}
}

func (a *agreement) agree(dimension, weight int) {
	*a = agreement{dimension: dimension, weight: weight, voted: a.voted, used: a.used}
}

// count adds records of a dimension while none is established, and returns their total.
func (a *agreement) count(dimension, records int) int {
	least := 0
	for i := range a.counts {
		c := &a.counts[i]
		if c.dimension == dimension {
			c.records += records
			return c.records
		}
		if c.records < a.counts[least].records {
			least = i
		}
	}
	a.counts[least].dimension, a.counts[least].records = dimension, records
	return records
}

// accept counts a valid vector of that dimension and returns nil if it is accepted. bytes means that its
// numbers came as bytes, whose type the sender may have declared wrongly.
func (d *dimensions) accept(model string, dimension int, source Source, bytes bool) *Rejection {
	if d.fixed > 0 {
		if dimension == d.fixed {
			return nil
		}
		return wrongDimension(dimension, d.fixed, bytes)
	}
	a := d.model(model)
	counted := a.voted.Offset == source.Offset && a.voted.Topic == source.Topic
	a.voted = source
	switch {
	case a.dimension == 0:
		if !counted && a.count(dimension, 1) >= agreeing {
			a.agree(dimension, agreeing*acceptedWeight)
			d.changed = true
		}
		return nil
	case a.dimension == dimension:
		if !counted {
			a.weight = min(a.weight+acceptedWeight, greatestWeight)
		}
		return nil
	}
	if !counted && !(bytes && a.trusted() && mistyped(dimension, a.dimension)) && a.refuse(dimension, source) {
		change := DimensionChange{model, a.dimension, dimension, a.first, source, a.refused}
		a.agree(dimension, agreeing*acceptedWeight)
		d.changed = true
		if d.given != nil {
			d.given(change)
		}
		return nil
	}
	return wrongDimension(dimension, a.dimension, bytes)
}

// trusted says whether the evidence is so strong that vectors of twice or half the dimension are taken as
// numbers of a wrong type, not as evidence for another dimension.
func (a *agreement) trusted() bool { return a.labelled || a.weight > 2*agreeing*acceptedWeight }

// refuse counts a record of another dimension. True: the established dimension is dropped, and the
// record accepted.
func (a *agreement) refuse(dimension int, source Source) bool {
	switch {
	case a.rival == dimension:
		a.refused++
	case a.refused > 1:
		a.refused--
		return false
	default:
		a.rival, a.refused, a.first = dimension, 1, source
	}
	a.weight--
	return a.weight <= 0 && a.refused >= agreeing
}

// Agreed returns the learned dimensions by DimensionKey if they have changed since the last call, else nil.
// With Expect another Decoder can continue from them, except that the weight of the evidence is lost.
func (d *dimensions) Agreed() map[string]int {
	if !d.changed {
		return nil
	}
	d.changed = false
	all := make(map[string]int, len(d.models))
	for name, a := range d.models {
		if a.dimension > 0 {
			all[name] = a.dimension
		}
	}
	return all
}

// Dimension returns the dimension of a model's vectors; 0: not known yet, so any is accepted.
func (d *dimensions) Dimension(model string) int {
	if d.fixed > 0 {
		return d.fixed
	}
	if a := d.models[DimensionKey(model)]; a != nil {
		return a.dimension
	}
	return 0
}

// mistyped says whether a vector would have this dimension if want numbers of twice or half the size were
// read with the wrong type.
func mistyped(dimension, want int) bool { return dimension == 2*want || 2*dimension == want }

func wrongDimension(dimension, want int, bytes bool) *Rejection {
	hint := ""
	switch {
	case !bytes:
	case dimension == 2*want:
		hint = fmt.Sprintf(": twice as many, as if %d float64 had been sent as float32", want)
	case 2*dimension == want:
		hint = fmt.Sprintf(": half as many, as if %d float16 or bfloat16 had been sent as float32", want)
	}
	return reject(WrongDimension, "the vector has dimension %d, not %d%s", dimension, want, hint)
}
