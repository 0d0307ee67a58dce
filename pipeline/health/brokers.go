package health

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Brokers tracks whether this process takes part in its group and whether the brokers answer. Without either
// it gets no records, and what it knows of its partitions may be out of date.
type Brokers struct {
	Group string
	Limit time.Duration // time without contact before it is reported; the group's session timeout

	left    fault // in no generation; the cause is the last failure to join
	silent  fault // no answers from the brokers
	missing fault // inputs that the brokers do not have; the cause names them
}

// Joined records a generation of the group.
func (b *Brokers) Joined() { b.left.ends() }

// Left records that this process is in no generation, and why, if that is known.
func (b *Brokers) Left(err error, now time.Time) { b.left.holds(err, now) }

// Asked records the outcome of a request to the brokers that was sent at begin.
func (b *Brokers) Asked(err error, begin time.Time) {
	if err == nil {
		b.silent.ends()
	} else {
		b.silent.holds(err, begin)
	}
}

// Missing records which inputs are missing.
func (b *Brokers) Missing(topics []string, now time.Time) {
	if len(topics) == 0 {
		b.missing.ends()
	} else {
		b.missing.holds(errors.New(strings.Join(topics, ", ")), now)
	}
}

// CutOff returns for how long there has been no contact, and why; 0 below the limit.
func (b *Brokers) CutOff(now time.Time) (time.Duration, error) {
	left, why := b.left.lasting(now, b.Limit)
	if silent, cause := b.silent.lasting(now, b.Limit); silent > left {
		return silent, cause
	}
	return left, why
}

// Troubles reports that there has been no contact, or that inputs have been missing, for longer than the limit.
func (b *Brokers) Troubles(now time.Time) (list []Trouble) {
	if lasting, why := b.CutOff(now); lasting > 0 {
		const what = "cut off for %v: this process takes no part in group %s, or no broker answers it; " +
			"it reads and answers nothing"
		list = append(list, noContact(why, what, lasting.Round(time.Second), b.Group))
	}
	if lasting, topics := b.missing.lasting(now, b.Limit); lasting > 0 {
		list = append(list, Trouble{
			Of: OfInput,
			What: fmt.Sprintf("input topics have been missing for %v: %v; other inputs are answered",
				lasting.Round(time.Second), topics),
			Do: "make them, give the right to describe them, or take them from --in; it goes on by itself",
		})
	}
	return list
}

// noContact is the trouble of a process that the brokers keep from its work.
func noContact(why error, format string, args ...any) Trouble {
	t := Trouble{
		Of: OfBrokers, What: fmt.Sprintf(format, args...),
		Do: "see that the brokers run and can be reached from here; it goes on by itself",
	}
	if why != nil {
		t.Cause, t.Do = why.Error(), Remedy(why)
	}
	return t
}
