package telemetry

import "time"

// Rate measures how fast a count grows.
type Rate struct {
	Within time.Duration // the latest time over which it is measured

	at    []time.Time
	count []int64
}

// Add takes the count at time now and returns its growth per second. A count below the last one begins anew.
func (r *Rate) Add(now time.Time, count int64) float64 {
	if n := len(r.count); n > 0 && count < r.count[n-1] {
		r.at, r.count = nil, nil
	}
	r.at, r.count = append(r.at, now), append(r.count, count)
	for len(r.at) > 2 && now.Sub(r.at[0]) > r.Within {
		r.at, r.count = r.at[1:], r.count[1:]
	}
	if spent := now.Sub(r.at[0]).Seconds(); spent > 0 {
		return float64(count-r.count[0]) / spent
	}
	return 0
}
