package pipeline

import (
	"fmt"
	"strings"
	"sync"
	"time"
)

// contact tracks whether this process takes part in its group and whether the brokers answer. Without either
// it gets no records, and what it knows of its partitions may be out of date.
type contact struct {
	mutex   sync.Mutex
	group   string
	limit   time.Duration // time without contact before it is reported; the group's session timeout
	left    since         // that it is in no generation; why: the last failure to join
	silent  since         // that the brokers do not answer
	missing []string      // inputs that the brokers do not have
	lacking since         // that inputs are missing
}

// since is how long something has lasted, and its last cause; zero: it does not hold.
type since struct {
	at  time.Time
	why error
}

func (s *since) holds(why error, at time.Time) {
	if s.at.IsZero() {
		s.at = at
	}
	if why != nil {
		s.why = why
	}
}

// lacks records which inputs are missing.
func (c *contact) lacks(missing []string, now time.Time) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.missing = missing; len(missing) == 0 {
		c.lacking = since{}
	} else {
		c.lacking.holds(nil, now)
	}
}

// inputs reports inputs that have been missing for longer than the limit.
func (c *contact) inputs(now time.Time) (Trouble, bool) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	lasting := now.Sub(c.lacking.at)
	if len(c.missing) == 0 || lasting < c.limit {
		return Trouble{}, false
	}
	return Trouble{
		Of: ofInput,
		What: fmt.Sprintf("input topics have been missing for %v: %s; other inputs are answered",
			lasting.Round(time.Second), strings.Join(c.missing, ", ")),
		Do: "make them, give the right to describe them, or take them from --in; it goes on by itself",
	}, true
}

// joined records a generation of the group.
func (c *contact) joined() {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.left = since{}
}

// lost records that this process is in no generation, and why, if that is known.
func (c *contact) lost(err error, now time.Time) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.left.holds(err, now)
}

// asked records the outcome of a request to the brokers that was sent at begin.
func (c *contact) asked(err error, begin time.Time) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if err == nil {
		c.silent = since{}
	} else {
		c.silent.holds(err, begin)
	}
}

// lasting returns for how long there has been no contact, and why; 0 below the limit.
func (c *contact) lasting(now time.Time) (longest time.Duration, why error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	for _, s := range []since{c.left, c.silent} {
		if lasting := now.Sub(s.at); !s.at.IsZero() && lasting > longest {
			longest, why = lasting, s.why
		}
	}
	if longest < c.limit {
		return 0, nil
	}
	return longest, why
}

// trouble reports that there has been no contact for longer than the limit.
func (c *contact) trouble(now time.Time) (Trouble, bool) {
	lasting, why := c.lasting(now)
	if lasting == 0 {
		return Trouble{}, false
	}
	t := Trouble{
		Of: ofBrokers,
		What: fmt.Sprintf("cut off for %v: this process takes no part in group %s, or no broker answers it; "+
			"it reads and answers nothing", lasting.Round(time.Second), c.group),
		Do: "see that the brokers run and can be reached from here; it goes on by itself",
	}
	if why != nil {
		t.Cause, t.Do = why.Error(), remedy(why)
	}
	return t, true
}
