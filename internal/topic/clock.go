package topic

import (
	"context"
	"math"
	"regexp"
	"strconv"
	"sync"
	"time"
)

// clock is the brokers' clock as far as their answers tell it. Brokers refuse records whose times are too far from
// it, so a record without a time gets the brokers' where this machine's clock differs from theirs.
type clock struct {
	mutex  sync.Mutex
	theirs time.Time // the brokers' time
	read   time.Time // when they had it
	told   time.Time // when a difference was last logged
}

// ToleratedSkew is the difference between clocks that changes nothing: brokers take an hour by default.
const ToleratedSkew = time.Minute

// fresh is how long a reading counts: either clock may be set.
const fresh = time.Minute

// now returns the time for records that are written now.
func (c *clock) now() time.Time {
	now := time.Now()
	if skew, known := c.skew(); known && skew.Abs() > ToleratedSkew {
		return now.Add(-skew)
	}
	return now
}

// skew returns how far this machine's clock is ahead of the brokers'; false: it was not read lately.
func (c *clock) skew() (time.Duration, bool) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.read.IsZero() || time.Since(c.read) > fresh {
		return 0, false
	}
	return c.read.Round(0).Sub(c.theirs), true
}

// learn reads the clock, and says whether the difference is to be logged: once a minute, while there is one.
func (c *clock) learn(theirs time.Time) (tell bool) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.theirs, c.read = theirs, time.Now()
	if c.read.Round(0).Sub(theirs).Abs() <= ToleratedSkew || time.Since(c.told) < time.Minute {
		return false
	}
	c.told = c.read
	return true
}

// Skew returns how far this machine's clock is ahead of the brokers'; false: no answer has told it in the last
// minute. Brokers tell it when they refuse a record for its time.
func (c *Client) Skew() (time.Duration, bool) { return c.clock.skew() }

// readClock takes the brokers' time from their reason to refuse a record of a topic for its time, if it holds it.
func (c *Client) readClock(ctx context.Context, name, reason string) {
	bounds := timeBounds.FindStringSubmatch(reason)
	if bounds == nil {
		return
	}
	first, err := strconv.ParseInt(bounds[1], 10, 64)
	last, err2 := strconv.ParseInt(bounds[2], 10, 64)
	if err != nil || err2 != nil {
		return
	}
	d, err := c.Describe(ctx, name)
	if err != nil {
		return
	}
	setting := func(key string, byDefault int64) int64 {
		if v, err := strconv.ParseInt(d.Settings["message.timestamp."+key+".max.ms"], 10, 64); err == nil {
			return v
		}
		return byDefault
	}
	now := last - setting("after", time.Hour.Milliseconds())
	if last < first || setting("after", 0) == math.MaxInt64 { // the last one is no time
		now = first + setting("before", math.MaxInt64)
	}
	if c.clock.learn(time.UnixMilli(now)) {
		skew, _ := c.clock.skew()
		c.log.Error("this machine's clock differs from the brokers': records carry the brokers' time until it is set",
			"ahead", skew.Round(time.Second), "topic", name)
	}
}

// timeBounds finds the bounds of times in the reason of a refusal.
var timeBounds = regexp.MustCompile(`within \[(-?\d+), (-?\d+)\]`)
