package api

import (
	"time"

	"github.com/wardroom/wardroom/sdk/wire"
)

// timestamp is a point in time on the wire: ISO 8601 in UTC with milliseconds.
type timestamp time.Time

// MarshalJSON implements json.Marshaler.
func (t timestamp) MarshalJSON() ([]byte, error) {
	return t.append(make([]byte, 0, len(wire.TimeLayout)+2)), nil
}

// JSONSchema implements schema.Described, of core/internal/schema.
func (timestamp) JSONSchema() any {
	return object{"type": "string", "format": "date-time", "pattern": `^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$`}
}

func (t timestamp) append(b []byte) []byte {
	b = append(b, '"')
	b = time.Time(t).UTC().AppendFormat(b, wire.TimeLayout)
	return append(b, '"')
}
