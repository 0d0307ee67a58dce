package record

import "fmt"

const (
	// agreeing records fix a dimension: until then, vectors of every dimension are taken.
	agreeing = 3
	// each accepted record adds acceptedWeight to what speaks for a dimension, up to greatestWeight; each
	// refused one that agrees with the refused ones before it takes 1 away. What the state tells starts with
	// toldWeight. So a dimension that three odd records fixed is given up after a dozen good ones, and one that
	// thousands had only if a thousand more of another follow, or four times as many as of its own.
	acceptedWeight = 4
	greatestWeight = 1024
	toldWeight     = 256
	// rememberedModels bounds the models whose dimension is remembered; beyond, the one that was used least
	// recently is forgotten.
	rememberedModels = 100
)

// DimensionChange says that a model's vectors turned out to have another dimension than was believed. What
// was refused for it from First to Last is in the dead letters, and good if it is fed again.
type DimensionChange struct {
	Model       string
	From, To    int
	First, Last Source
	Refused     int // records of dimension To
}

// dimensions learns how long each model's vectors are, from what records agree on. It depends on the records
// and their order alone.
type dimensions struct {
	fixed   int // of every model; 0: learned
	models  map[string]*agreement
	clock   uint64
	changed bool // what is agreed on, since Agreed was called
	given   func(DimensionChange)
}

// agreement is what is known of one model's vectors.
type agreement struct {
	dimension int  // 0: not agreed on
	weight    int  // what speaks for it
	labelled  bool // labelled examples have it
	counts    [4]struct{ dimension, records int }
	rival     int // the dimension that the refused records of late agree on
	refused   int // records of it, less those of others
	first     Source
	voted     Source // the last record that was counted: one of many objects counts once
	used      uint64
}

func (d *dimensions) model(name string) *agreement {
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

// forget drops the model that was used least recently.
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

// expect tells what the state says.
func (d *dimensions) expect(model string, dimension int) {
	a := d.model(model)
	a.agree(dimension, toldWeight)
}

// suggest tells what so many labelled examples have: a few count as records do, more are believed until
// records say otherwise.
func (d *dimensions) suggest(model string, dimension, examples int) {
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

// count adds records of a dimension that is not agreed on yet and returns how many there are.
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

// accept says whether a good vector of that dimension is taken. bytes says that its numbers came as bytes,
// whose type a sender may have got wrong.
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

// trusted says that so much speaks for the dimension that twice or half of it is rather numbers of another
// type.
func (a *agreement) trusted() bool { return a.labelled || a.weight > 2*agreeing*acceptedWeight }

// refuse counts a refused record and says whether the dimension is given up, in which case it is not refused.
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

// agreed are the dimensions that are agreed on.
func (d *dimensions) agreed() map[string]int {
	all := make(map[string]int, len(d.models))
	for name, a := range d.models {
		if a.dimension > 0 {
			all[name] = a.dimension
		}
	}
	return all
}

// of is the dimension of that model's vectors, 0 if it is not agreed on.
func (d *dimensions) of(model string) int {
	if d.fixed > 0 {
		return d.fixed
	}
	if a := d.models[model]; a != nil {
		return a.dimension
	}
	return 0
}

// mistyped says that so many numbers are what the bytes of that many numbers of twice or half their size
// would be.
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
