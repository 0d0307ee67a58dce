package telemetry

import "time"

var started = time.Now()

// Uptime is how long ago the process started. It passes at its own pace when somebody sets the machine's clock, unlike
// Unix time: it is for moments that are kept as a number.
func Uptime() time.Duration { return time.Since(started) }
