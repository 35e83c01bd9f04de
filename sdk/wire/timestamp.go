package wire

import "time"

// TimeLayout is how the API, frames and webhooks write times, in UTC: always with three digits of milliseconds.
const TimeLayout = "2006-01-02T15:04:05.000Z"

// Timestamp is a time that is written in TimeLayout. What is finer is cut off.
type Timestamp time.Time

// MarshalText implements encoding.TextMarshaler.
func (t Timestamp) MarshalText() ([]byte, error) {
	return time.Time(t).UTC().AppendFormat(nil, TimeLayout), nil
}

// UnmarshalText implements encoding.TextUnmarshaler. It takes any time of RFC 3339.
func (t *Timestamp) UnmarshalText(text []byte) error { return (*time.Time)(t).UnmarshalText(text) }

// IsZero reports whether t is the zero time, for omitzero.
func (t Timestamp) IsZero() bool { return time.Time(t).IsZero() }
