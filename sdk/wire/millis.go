package wire

import "time"

// Millis is a duration in whole milliseconds, as the API writes durations.
type Millis int64

// MillisOf returns d in whole milliseconds.
func MillisOf(d time.Duration) Millis { return Millis(d.Milliseconds()) }

// MeanMillis is a mean of durations in milliseconds.
type MeanMillis float64

// MeanOf returns a mean in milliseconds.
func MeanOf(d time.Duration) MeanMillis { return MeanMillis(float64(d) / float64(time.Millisecond)) }

// Duration converts to a time.Duration.
func (m MeanMillis) Duration() time.Duration {
	return time.Duration(float64(m) * float64(time.Millisecond))
}

// Duration converts to a time.Duration.
func (m Millis) Duration() time.Duration { return time.Duration(m) * time.Millisecond }
