package pipeline

import (
	"fmt"
	"strings"
	"sync"
	"time"
)

// contact follows whether this process takes part in its group and whether the brokers answer it. Without
// either it gets no records, and nothing that it knows of its partitions holds any more.
type contact struct {
	mutex    sync.Mutex
	group    string
	limit    time.Duration // that may pass without contact; the group's session
	left     time.Time     // since when it takes part in no generation; zero: it does
	whyLeft  error         // the last failure to join
	silent   time.Time     // since when the brokers answer nothing; zero: they do
	whyQuiet error
	missing  []string  // inputs that the brokers do not have
	lacking  time.Time // since when there are any
}

// lacks notes which inputs are missing.
func (c *contact) lacks(missing []string, now time.Time) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if len(c.missing) == 0 {
		c.lacking = now
	}
	c.missing = missing
}

// inputs says that inputs have been missing for longer than the limit, if so.
func (c *contact) inputs(now time.Time) (Trouble, bool) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	lasting := now.Sub(c.lacking)
	if len(c.missing) == 0 || lasting < c.limit {
		return Trouble{}, false
	}
	return Trouble{
		What: fmt.Sprintf("input topics have been missing for %v: %s; other inputs are answered",
			lasting.Round(time.Second), strings.Join(c.missing, ", ")),
		Do: "make them, give the right to describe them, or take them from --in; it goes on by itself",
	}, true
}

// joined notes a generation of the group.
func (c *contact) joined() {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.left, c.whyLeft = time.Time{}, nil
}

// lost notes that this process takes part in no generation, and why, as far as that is known.
func (c *contact) lost(err error, now time.Time) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.left.IsZero() {
		c.left = now
	}
	if err != nil {
		c.whyLeft = err
	}
}

// asked notes what came of a question to the brokers that was asked at begin.
func (c *contact) asked(err error, begin time.Time) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	switch {
	case err == nil:
		c.silent, c.whyQuiet = time.Time{}, nil
	case c.silent.IsZero():
		c.silent, c.whyQuiet = begin, err
	default:
		c.whyQuiet = err
	}
}

// lasting is for how long there has been no contact: 0 below the limit.
func (c *contact) lasting(now time.Time) time.Duration {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	longest, _ := c.longest(now)
	return longest
}

// longest is lasting, and why, for the holder of the mutex.
func (c *contact) longest(now time.Time) (longest time.Duration, why error) {
	if !c.left.IsZero() {
		longest, why = now.Sub(c.left), c.whyLeft
	}
	if !c.silent.IsZero() && now.Sub(c.silent) > longest {
		longest, why = now.Sub(c.silent), c.whyQuiet
	}
	if longest < c.limit {
		return 0, nil
	}
	return longest, why
}

// trouble says that there has been no contact for longer than the limit, if so.
func (c *contact) trouble(now time.Time) (Trouble, bool) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	lasting, why := c.longest(now)
	if lasting == 0 {
		return Trouble{}, false
	}
	t := Trouble{
		What: fmt.Sprintf("cut off for %v: this process takes no part in group %s, or no broker answers it; "+
			"it reads and answers nothing", lasting.Round(time.Second), c.group),
		Do: "see that the brokers run and can be reached from here; it goes on by itself",
	}
	if why != nil {
		t.Cause, t.Do = why.Error(), remedy(why)
	}
	return t, true
}
