package api

import "time"

// timestamp is a point in time on the wire: ISO 8601 in UTC with milliseconds.
type timestamp time.Time

const timestampLayout = "2006-01-02T15:04:05.000Z"

// MarshalJSON implements json.Marshaler.
func (t timestamp) MarshalJSON() ([]byte, error) {
	return t.append(make([]byte, 0, len(timestampLayout)+2)), nil
}

// JSONSchema implements schema.Described, of core/internal/schema.
func (timestamp) JSONSchema() any {
	return object{"type": "string", "format": "date-time", "pattern": `^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$`}
}

func (t timestamp) append(b []byte) []byte {
	b = append(b, '"')
	b = time.Time(t).UTC().AppendFormat(b, timestampLayout)
	return append(b, '"')
}

// stamp returns t for the wire, or nil for no time.
func stamp(t *time.Time) *timestamp {
	if t == nil {
		return nil
	}
	s := timestamp(*t)
	return &s
}
