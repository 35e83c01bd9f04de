package wire

import "time"

// Millis is a duration in whole milliseconds, as the API writes durations.
type Millis int64

// MillisOf returns d in whole milliseconds.
func MillisOf(d time.Duration) Millis { return Millis(d.Milliseconds()) }

// Duration converts to a time.Duration.
func (m Millis) Duration() time.Duration { return time.Duration(m) * time.Millisecond }
