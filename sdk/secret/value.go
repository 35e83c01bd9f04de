package secret

import (
	"fmt"
	"log/slog"
	"time"
)

// redacted is what is printed in place of every value.
const redacted = "[redacted]"

// Value is a secret. However it is printed, logged or encoded, its bytes do not appear: Reveal is the only way
// to them.
type Value struct {
	// data is nil when there is no value. Package fmt calls no method of a Value in a field that is not exported, and prints
	// what it is made of: it follows one pointer there with a verb that does not fit, and never two.
	data     **[]byte
	version  string
	notAfter time.Time
}

// NewValue makes a value. It keeps data, which the caller does not change afterwards. A zero notAfter says
// that the value does not expire; version is the provider's, for telling values apart.
func NewValue(data []byte, version string, notAfter time.Time) Value {
	v := Value{version: version, notAfter: notAfter}
	if data != nil {
		at := &data
		v.data = &at
	}
	return v
}

// Reveal returns the bytes. The caller does not change them, and does not let them get into text for people.
func (v Value) Reveal() []byte {
	if v.data == nil {
		return nil
	}
	return **v.data
}

// Version is the provider's name for this value; empty if it has none.
func (v Value) Version() string { return v.version }

// NotAfter is when the value stops being valid; zero: never.
func (v Value) NotAfter() time.Time { return v.notAfter }

// Len is the number of bytes.
func (v Value) Len() int { return len(v.Reveal()) }

// IsZero reports whether there is no value at all: an empty secret is one with an empty, not a nil, slice.
func (v Value) IsZero() bool { return v.data == nil && v.version == "" && v.notAfter.IsZero() }

// String implements fmt.Stringer.
func (v Value) String() string { return redacted }

// GoString implements fmt.GoStringer.
func (v Value) GoString() string { return redacted }

// Format implements fmt.Formatter: %x and %d would reach the bytes without it.
func (v Value) Format(s fmt.State, _ rune) { _, _ = s.Write([]byte(redacted)) }

// MarshalText implements encoding.TextMarshaler, and so JSON, YAML and XML.
func (v Value) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// MarshalBinary implements encoding.BinaryMarshaler, and so gob.
func (v Value) MarshalBinary() ([]byte, error) { return []byte(redacted), nil }

// LogValue implements slog.LogValuer.
func (v Value) LogValue() slog.Value { return slog.StringValue(redacted) }
