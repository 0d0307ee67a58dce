package health

import (
	"fmt"
	"strings"
	"sync"
	"time"
)

// Brokers tracks whether this process takes part in its group and whether the brokers answer. Without either
// it gets no records, and what it knows of its partitions may be out of date.
type Brokers struct {
	Group string
	Limit time.Duration // time without contact before it is reported; the group's session timeout

	mutex   sync.Mutex
	left    fault    // in no generation; the cause is the last failure to join
	silent  fault    // no answers from the brokers
	missing []string // inputs that the brokers do not have
	lacking fault    // of them
}

// Joined records a generation of the group.
func (b *Brokers) Joined() {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	b.left = fault{}
}

// Left records that this process is in no generation, and why, if that is known.
func (b *Brokers) Left(err error, now time.Time) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	b.left.holds(err, now)
}

// Asked records the outcome of a request to the brokers that was sent at begin.
func (b *Brokers) Asked(err error, begin time.Time) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	if err == nil {
		b.silent = fault{}
	} else {
		b.silent.holds(err, begin)
	}
}

// Missing records which inputs are missing.
func (b *Brokers) Missing(topics []string, now time.Time) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	if b.missing = topics; len(topics) == 0 {
		b.lacking = fault{}
	} else {
		b.lacking.holds(nil, now)
	}
}

// CutOff returns for how long there has been no contact, and why; 0 below the limit.
func (b *Brokers) CutOff(now time.Time) (time.Duration, error) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	longest := &b.left
	if b.silent.lasting(now) > longest.lasting(now) {
		longest = &b.silent
	}
	if lasting := longest.lasting(now); lasting >= b.Limit {
		return lasting, longest.why
	}
	return 0, nil
}

// Troubles reports that there has been no contact, or that inputs have been missing, for longer than the limit.
func (b *Brokers) Troubles(now time.Time) (list []Trouble) {
	if lasting, why := b.CutOff(now); lasting > 0 {
		t := Trouble{
			Of: OfBrokers,
			What: fmt.Sprintf("cut off for %v: this process takes no part in group %s, or no broker answers it; "+
				"it reads and answers nothing", lasting.Round(time.Second), b.Group),
			Do: "see that the brokers run and can be reached from here; it goes on by itself",
		}
		if why != nil {
			t.Cause, t.Do = why.Error(), Remedy(why)
		}
		list = append(list, t)
	}
	b.mutex.Lock()
	defer b.mutex.Unlock()
	if lasting := b.lacking.lasting(now); len(b.missing) > 0 && lasting >= b.Limit {
		list = append(list, Trouble{
			Of: OfInput,
			What: fmt.Sprintf("input topics have been missing for %v: %s; other inputs are answered",
				lasting.Round(time.Second), strings.Join(b.missing, ", ")),
			Do: "make them, give the right to describe them, or take them from --in; it goes on by itself",
		})
	}
	return list
}
